"""Reading log files: where the last lines begin, and raw pieces without the part a cap has cut out.

Bytes only; whatever is in them is passed on. Following a file that still grows lives in `tail`; nothing here writes.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

from cronoq_cli.model.log_cap import HEAD_KEPT

BLOCK = 64 * 1024
_NO_ANSWER = (errno.ENXIO, errno.EINVAL, errno.EOPNOTSUPP)


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
    cut_from, cut_to = find_cut(file)
    while position > 0:
        if cut_from < position <= cut_to:
            position = cut_from  # a hole is not read, however large it is
        floor = cut_to if position > cut_to else 0
        start = max(floor, position - BLOCK)
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
        if error.errno in _NO_ANSWER:
            return offset
        raise


def find_cut(file: BinaryIO) -> tuple[int, int]:
    """Where the part that a cap has cut out begins and ends; both 0 where nothing was cut. Moves no position."""
    try:
        descriptor = file.fileno()
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
    except (OSError, ValueError):
        return 0, 0  # a file without descriptor, or without places
    end = find_data(descriptor, HEAD_KEPT)
    os.lseek(descriptor, place, os.SEEK_SET)
    return (HEAD_KEPT, end) if end > HEAD_KEPT else (0, 0)


def open_regular(path: str | bytes) -> BinaryIO:
    """An ordinary file for reading, unbuffered. Raises OSError for all else: whoever opens a pipe that somebody has put
    in the place of a file waits for ever."""
    return open(_open_regular(path)[0], "rb", buffering=0)


def _open_regular(path: str | bytes, flags: int = 0) -> tuple[int, int]:
    """Descriptor and size of an ordinary file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not an ordinary file", os.fsdecode(path))
    return descriptor, about.st_size


def read_end(path: str | bytes, most: int) -> bytes:
    """The last bytes of an ordinary file that is no link, `most` of them at most. Raises OSError for all else."""
    descriptor, size = _open_regular(path, os.O_NOFOLLOW)
    try:
        return os.pread(descriptor, most, max(0, size - most)) if size else b""
    finally:
        os.close(descriptor)


def measure_log(path: str) -> tuple[int | None, int]:
    """Bytes that were written to a log, None when it is not there; and how many of them a cap has cut out."""
    try:
        with open_regular(path) as file:
            cut_from, cut_to = find_cut(file)
            return file.seek(0, os.SEEK_END), cut_to - cut_from
    except OSError:
        return None, 0


def cut_notice(size: int) -> bytes:
    """What stands in the place of `size` bytes that are gone."""
    return b"\n[cronoq: %d bytes cut]\n" % size
