"""The variables of tasks' processes, and arrays of C strings to hand them over in. Nothing is started here."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from itertools import accumulate, count
from operator import add
from typing import Final

from cronoq_cli.wire.runner import encode_text

# What execvp of the C library takes for a PATH that is not set.
_DEFAULT_PATH: Final = "PATH=/bin:/usr/bin"

Variables = dict[str, str]
"""Whole `NAME=VALUE` strings by name, as they go to a process."""


class NulError(ValueError):
    """A text that cannot be a C string: it has a NUL within."""


def read_variables(texts: Collection[str]) -> Variables:
    """These `NAME=VALUE` by name; what cannot be in an environment, without a name, sign or with a NUL, is left out."""
    found = {}
    for variable in texts:
        name, sign, _ = variable.partition("=")
        if sign and name and "\0" not in variable:
            found[name] = variable
    return found


class CStrings:
    """An array of C strings as execve takes it; those of `first` stand before the others and are not copied."""

    __slots__ = ("_first", "_pointers", "_text", "strings")

    def __init__(self, texts: Collection[str], first: CStrings | None = None) -> None:
        """Raises NulError, and UnicodeEncodeError for a surrogate that stands for no byte."""
        whole = encode_text("\0".join(texts))
        self.strings: list[bytes] = whole.split(b"\0") if texts else []
        """The texts as bytes."""
        if len(self.strings) != len(texts):
            raise NulError("a NUL byte in a text")
        self._first = first
        self._text = array("b", whole + b"\0")
        begin, _ = self._text.buffer_info()
        # The lengths of those before, and a NUL for each of them: what a loop would do, many times for each start.
        pointers = array("L", map(add, accumulate(map(len, self.strings), initial=begin), count()))
        pointers[-1] = 0  # behind the last one there is none
        self._pointers = pointers
        if first is not None:
            self._pointers = first._pointers[:-1] + pointers

    @property
    def address(self) -> int:
        """Where the array is, as long as this object lives."""
        return self._pointers.buffer_info()[0]


class Environment:
    """What an environment is before a task's own variables."""

    __slots__ = ("_rest", "_shadowed", "_strings", "_variables")

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._strings = CStrings(variables.values())
        self._shadowed: set[str] = set()
        self._rest = self._strings

    def extend(self, own: Mapping[str, str]) -> TaskEnvironment:
        """That of a task whose own variables, values by name, go before what has the same name here."""
        rest = self._list_rest(own)
        texts = list(map("=".join, own.items()))
        try:
            strings = CStrings(texts, rest) if "" not in own else CStrings(read_variables(texts).values(), rest)
        except NulError:
            strings = CStrings(read_variables(texts).values(), rest)
        return TaskEnvironment(self._variables, own, strings)

    def _list_rest(self, own: Mapping[str, str]) -> CStrings:
        """All but the variables of these names; kept, since the tasks that share an environment set the same."""
        shadowed = self._variables.keys() & own.keys()
        if not shadowed:
            return self._strings
        if shadowed != self._shadowed:
            self._shadowed = shadowed
            self._rest = CStrings([text for name, text in self._variables.items() if name not in shadowed])
        return self._rest


class TaskEnvironment:
    """The environment of one process: what is shared, what is its own, and all of it for the C library."""

    __slots__ = ("_own", "_shared", "strings")

    def __init__(self, shared: Variables, own: Mapping[str, str], strings: CStrings) -> None:
        self._shared = shared
        self._own = own
        self.strings = strings

    @property
    def search_path(self) -> bytes:
        """The PATH a command is sought along."""
        own = self._own.get("PATH")
        return encode_text(self._shared.get("PATH", _DEFAULT_PATH)[len("PATH=") :] if own is None else own)

    def list_pairs(self) -> dict[bytes, bytes]:
        """Values by name."""
        own = read_variables([f"{name}={value}" for name, value in self._own.items()])
        pairs = {}
        for variable in (self._shared | own).values():
            name, _, value = encode_text(variable).partition(b"=")
            pairs[name] = value
        return pairs
