"""The variables of tasks' processes, and arrays of C strings to hand them over in. Nothing is started here."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
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

    __slots__ = ("_lengths", "_pointers", "_text", "first", "strings")

    def __init__(self, texts: Collection[str], first: CStrings | None = None) -> None:
        """Raises NulError, and UnicodeEncodeError for a surrogate that stands for no byte."""
        whole = encode_text("\0".join(texts))
        self.strings: list[bytes] = whole.split(b"\0") if texts else []
        """The texts as bytes."""
        if len(self.strings) != len(texts):
            raise NulError("a NUL byte in a text")
        self.first = first
        self._lengths = list(map(len, self.strings))
        self._text = array("b", whole + b"\0")
        at, _ = self._text.buffer_info()
        pointers = array("L", [at])
        for length in self._lengths:
            at += length + 1
            pointers.append(at)
        pointers[-1] = 0  # behind the last one there is none
        self._pointers: array[int] = pointers if first is None else first._pointers[:-1] + pointers

    def refill(self, texts: Collection[str]) -> bool:
        """Put other texts in the places of those here, behind the same first ones, if each is as long: False when not.

        Raises UnicodeEncodeError as above."""
        whole = encode_text("\0".join(texts))
        strings = whole.split(b"\0")
        if list(map(len, strings)) != self._lengths:
            return False
        self.strings = strings
        self._text[:-1] = array("b", whole)
        return True

    @property
    def address(self) -> int:
        """Where the array is, as long as this object lives."""
        return self._pointers.buffer_info()[0]


class Environment:
    """What an environment is before a task's own variables."""

    __slots__ = ("_extended", "_rest", "_shadowed", "_strings", "_variables")

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._strings = CStrings(variables.values())
        self._shadowed: set[str] = set()
        self._rest = self._strings
        self._extended: dict[int, CStrings] = {}

    def extend(self, own: Mapping[str, str], place: int = 0) -> TaskEnvironment:
        """That of a task whose own variables, values by name, go before what has the same name here.

        It holds until the next is asked for of the same place: those of many tasks differ by a few digits only, and
        are written over those before.
        """
        rest = self._list_rest(own)
        texts = list(map("=".join, own.items()))
        if "" in own or "\0" in "".join(texts):
            texts = list(read_variables(texts).values())
        strings = self._extended.get(place)
        if strings is None or strings.first is not rest or not strings.refill(texts):
            strings = self._extended[place] = CStrings(texts, rest)
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
