"""Names for the jobs of a crontab, made from their commands: the same command gets the same name at each import."""

from __future__ import annotations

import hashlib
import re

LONGEST = 40
_BREAK = re.compile(r"\s*(?:&&|\|\||[;|&\n])\s*")
_PREPARATIONS = frozenset({"cd", "source", ".", "test", "[", "sleep", "export", "umask", "set", "(", "exec", "nice"})
_REDIRECTION = re.compile(r"[0-9]*[<>]")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)
_GOOD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


class NameGiver:
    """Gives each job of one file a name of its own."""

    def __init__(self) -> None:
        self._commands: dict[str, tuple[str, str | None]] = {}

    def give(self, command: str, stdin: str | None, wanted: str | None = None) -> str:
        """A name for this command: `wanted`, else one made from it.

        A second command of the same short name gets four digits of its hash behind it, the same command again
        a number; both keep to the order of the file.
        """
        base = wanted if wanted is not None and _GOOD.fullmatch(wanted) else shorten_command(command)
        job = (command, stdin)
        name = base
        if name in self._commands and self._commands[name] != job:
            text = f"{command}\0{stdin or ''}".encode("utf-8", "surrogateescape")
            base = name = f"{base}-{hashlib.sha256(text).hexdigest()[:4]}"
        number = 1
        while name in self._commands:
            number += 1
            name = f"{base}-{number}"
        self._commands[name] = job
        return name


def shorten_command(command: str) -> str:
    """The first words that tell what the command does: `wrap-poll-16` of `/opt/mon/wrap /opt/mon/poll 16`."""
    parts = [part for part in _BREAK.split(command.strip(" \t()")) if part]
    telling = [part for part in parts if part.split()[0] not in _PREPARATIONS]
    words = _tell(telling[0] if telling else parts[0] if parts else "")
    name = ""
    for word in words:
        if name and len(name) + 1 + len(word) > LONGEST:
            break
        name = f"{name}-{word}" if name else word[:LONGEST]
    if name in ("", "last") or not (name[0].isalpha() or name[0] == "_"):
        return f"job-{name}" if name else "job"
    return name


def _tell(part: str) -> list[str]:
    words = []
    skip = False
    for word in part.split():
        if skip or _REDIRECTION.match(word):
            skip = not skip and word.rstrip("<>&") != word  # a bare > takes the next word along
            continue
        plain = _OTHER.sub("", word.rstrip("/").rsplit("/", 1)[-1]).strip(".-")
        if plain:
            words.append(plain)
    return words
