"""Reading log files: where the last lines begin, and raw pieces without the part a cap has cut out.

Bytes only; whatever is in them is passed on. Following a file that still grows lives in `tail`; nothing here writes.
"""

from __future__ import annotations

import errno
import os
from typing import BinaryIO

BLOCK = 64 * 1024
HEAD_KEPT = 1024 * 1024
"""Bytes from the beginning of a log that a cap never cuts: a hole before them is the task's own doing."""


def find_tail_offset(file: BinaryIO, lines: int) -> int:
    """Where the last `lines` lines begin, read backwards from the end in blocks: a large file costs no more.

    A last line without newline counts as a line.
    """
    end = file.seek(0, os.SEEK_END)
    if lines <= 0 or end == 0:
        return end
    file.seek(end - 1)
    wanted = lines + (file.read(1) == b"\n")
    position = end
    while position > 0:
        start = max(0, position - BLOCK)
        file.seek(start)
        block = file.read(position - start)
        found = block.count(b"\n")
        if found >= wanted:
            return start + _nth_newline_from_end(block, wanted) + 1
        wanted -= found
        position = start
    return 0


def _nth_newline_from_end(block: bytes, number: int) -> int:
    place = len(block)
    for _ in range(number):
        place = block.rindex(b"\n", 0, place)
    return place


def find_data(descriptor: int, offset: int) -> int:
    """The first offset at or after `offset` with data, behind a part that a cap has cut out; else `offset`."""
    if offset < HEAD_KEPT:
        return offset
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EINVAL, errno.EOPNOTSUPP):
            return offset
        raise


def cut_notice(size: int) -> bytes:
    """What stands in the place of `size` bytes that are gone."""
    return b"\n[cronoq: %d bytes cut]\n" % size
