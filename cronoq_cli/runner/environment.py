"""The variables of tasks' processes, and arrays of C strings to hand them over in. Nothing is started here."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from cronoq_cli.wire.runner import encode_text

# What execvp of the C library takes for a PATH that is not set.
_DEFAULT_PATH: Final = b"PATH=/bin:/usr/bin"

Variables = dict[bytes, bytes]
"""Whole `NAME=VALUE` strings by name, as they go to a process."""


def read_variables(texts: Collection[str]) -> Variables:
    """These `NAME=VALUE` by name; what cannot be in an environment, without a name, sign or with a NUL, is left out."""
    whole = "\0".join(texts)
    if whole.count("\0") >= len(texts):
        whole = "\0".join(text for text in texts if "\0" not in text)
    found = {}
    for variable in encode_text(whole).split(b"\0"):
        name, sign, _ = variable.partition(b"=")
        if sign and name:
            found[name] = variable
    return found


class CStrings:
    """An array of C strings as execve takes it; those of `first` stand before the others and are not copied."""

    __slots__ = ("_first", "_pointers", "_text")

    def __init__(self, strings: Iterable[bytes], first: CStrings | None = None) -> None:
        """No string may hold a NUL."""
        strings = list(strings)
        self._first = first
        self._text = array("b", b"\0".join(strings) + b"\0")
        self._pointers: array[int] = array("L") if first is None else first._pointers[:-1]
        at, _ = self._text.buffer_info()
        for string in strings:
            self._pointers.append(at)
            at += len(string) + 1
        self._pointers.append(0)

    @property
    def address(self) -> int:
        """Where the array is, as long as this object lives."""
        return self._pointers.buffer_info()[0]


class Environment:
    """What an environment is before a task's own variables, and with them."""

    __slots__ = ("_rest", "_shadowed", "strings", "variables")

    def __init__(self, variables: Variables, strings: CStrings | None = None) -> None:
        self.variables = variables
        self.strings = CStrings(variables.values()) if strings is None else strings
        self._shadowed: set[bytes] = set()
        self._rest = self.strings

    def extend(self, own: Variables) -> Environment:
        """One with more variables; they go before what has the same name here."""
        rest = self._list_rest(self.variables.keys() & own.keys())
        return Environment({**self.variables, **own}, CStrings(own.values(), rest))

    def _list_rest(self, shadowed: set[bytes]) -> CStrings:
        """All but the variables of these names; kept, since the tasks that share an environment set the same."""
        if shadowed != self._shadowed:
            self._shadowed = shadowed
            self._rest = CStrings(text for name, text in self.variables.items() if name not in shadowed)
        return self._rest

    @property
    def search_path(self) -> bytes:
        """The PATH a command is sought along."""
        return self.variables.get(b"PATH", _DEFAULT_PATH)[len(b"PATH=") :]

    def list_pairs(self) -> Mapping[bytes, bytes]:
        """Values by name."""
        return {name: variable[len(name) + 1 :] for name, variable in self.variables.items()}
