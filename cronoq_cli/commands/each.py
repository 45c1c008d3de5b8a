"""One task a line: `{}` in the command is the line, as one argument; without any `{}` the line comes last."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cronoq_cli.errors import InvalidError

HOLE = "{}"


def list_lines(text: str, where: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; empty ones are passed over. Raises InvalidError for one with a NUL in it."""
    for number, line in enumerate(text.split("\n"), 1):
        if "\0" in line:
            raise InvalidError(f"{where}, line {number}: it contains a NUL character", hint="one argument a line")
        if line:
            yield number, line


def fill_words(words: list[str], line: str) -> list[str]:
    """The argument vector with the line in the place of each `{}`."""
    if any(HOLE in word for word in words):
        return [word.replace(HOLE, line) for word in words]
    return [*words, line]


def fill_shell_line(shell_line: str, line: str) -> str:
    """The shell line with the line, quoted, in the place of each `{}`."""
    quoted = shlex.quote(line)
    if HOLE in shell_line:
        return shell_line.replace(HOLE, quoted)
    return f"{shell_line} {quoted}"
