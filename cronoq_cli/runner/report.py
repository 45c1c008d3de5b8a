"""The file a task writes `key=value` lines to (CRONOQ_REPORT): made before the start, read at the end."""

from __future__ import annotations

import os
from typing import Final

MAX_BYTES: Final = 64 * 1024
"""What is read of a report file; a line cut by this limit is left out."""


def make_report(path: bytes) -> None:
    """An empty file with mode 0600, its directories made if absent. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    os.close(open_making_parents(path, flags, 0o600))


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
        if os.stat(path).st_size == 0:
            return []
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
