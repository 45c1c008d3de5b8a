"""The file a task writes `key=value` lines to (CRONOQ_REPORT): made before the start, read at the end."""

from __future__ import annotations

import os
import stat
from typing import Final

from cronoq_cli.runner.spare import Spare

MAX_BYTES: Final = 64 * 1024
"""What is read of a report file; a line cut by this limit is left out."""

_AS_MADE: Final = stat.S_IFREG | 0o600
_MOST_UNUSED: Final = 32


class Reports:
    """Makes report files, out of unused ones where there are any: renaming is far cheaper than making and
    deleting an inode for each of many short tasks. `spare`: what a task said counts also when no descriptor is left.
    """

    def __init__(self, spare: Spare) -> None:
        self._spare = spare
        self._unused: list[bytes] = []

    def make(self, path: bytes) -> None:
        """An empty file with mode 0600, its directories made if absent. Raises OSError."""
        if self._unused:
            try:
                os.rename(self._unused.pop(), path)
                return
            except OSError:
                pass  # the old one or the new directory is not there: made below
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(open_making_parents(path, flags, 0o600))

    def read(self, path: bytes) -> list[tuple[str, str]] | None:
        """What was reported; None when the file is as it was made."""
        try:
            status = os.lstat(path)
        except OSError:
            return []
        if status.st_size:
            with self._spare:
                return read_report(path)
        return None if (status.st_mode, status.st_nlink) == (_AS_MADE, 1) else []

    def reuse(self, path: bytes) -> bool:
        """Take back a file that was not written to and that no process of its task can write to any more."""
        if len(self._unused) >= _MOST_UNUSED:
            return False
        self._unused.append(path)
        return True

    def clear(self) -> None:
        """Delete the unused ones."""
        for path in self._unused:
            remove_report(path)
        self._unused.clear()


def open_making_parents(path: bytes, flags: int, mode: int) -> int:
    """The opened file; absent directories above it are made with mode 0700. Raises OSError."""
    try:
        return os.open(path, flags, mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, mode)


def read_report(path: bytes) -> list[tuple[str, str]]:
    """The pairs a task reported, in order, bytes that are not UTF-8 surrogate-escaped.

    Lines without a name or a `=` are left out; a file that cannot be read reports nothing.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        data = os.read(descriptor, MAX_BYTES + 1)
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return parse_report(data)


def parse_report(data: bytes) -> list[tuple[str, str]]:
    """The pairs of the first MAX_BYTES bytes of a report."""
    if len(data) > MAX_BYTES:
        data = data[: data.rfind(b"\n", 0, MAX_BYTES) + 1]
    pairs = []
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        name, sign, value = line.partition("=")
        if sign and name.strip():
            pairs.append((name.strip(), value.rstrip("\r")))
    return pairs


def remove_report(path: bytes) -> None:
    """Delete the file if it is there."""
    try:
        os.unlink(path)
    except OSError:
        return
