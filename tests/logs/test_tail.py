"""Reading logs: the last lines without reading the whole file, growth, rotation, and what a cap has cut out."""

from __future__ import annotations

import ctypes
import io
import os
from pathlib import Path

import pytest

from cronoq_cli.logs.files import BLOCK, HEAD_KEPT, find_tail_offset
from cronoq_cli.logs.tail import Tail


@pytest.mark.parametrize(
    ("data", "lines", "tail"),
    [
        (b"", 3, b""),
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 3, b"a\nb\nc\n"),
        (b"a\nb\nc\n", 9, b"a\nb\nc\n"),
        (b"a\n\n\n", 2, b"\n\n"),
        (b"abc", 1, b"abc"),
        (b"a\nb\n", 0, b""),
    ],
)
def test_the_last_lines_are_found_from_the_end(data: bytes, lines: int, tail: bytes) -> None:
    assert data[find_tail_offset(io.BytesIO(data), lines) :] == tail


@pytest.mark.parametrize("width", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1])
def test_lines_across_blocks_are_found(width: int) -> None:
    data = b"".join(b"%d" % number + b"x" * width + b"\n" for number in range(5))
    expected = b"".join(data.splitlines(keepends=True)[-3:])
    assert data[find_tail_offset(io.BytesIO(data), 3) :] == expected


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with open(path, "wb") as file:
        file.truncate(1 << 33)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    with open(path, "rb") as file:
        assert find_tail_offset(file, 1) == (1 << 33) + 1


def test_a_file_that_grows_is_passed_on_piece_by_piece(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    tail = Tail(str(tmp_path / "log"), pieces.append)
    assert tail.pump() == 0
    (tmp_path / "log").write_bytes(b"one")
    assert tail.pump() == 3
    with open(tmp_path / "log", "ab") as file:
        file.write(b"two")
    tail.pump()
    tail.pump()
    tail.close()
    assert pieces == [b"one", b"two"]


def test_a_rotated_file_is_gone_on_with(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    log = tmp_path / "log"
    log.write_bytes(b"a\nb\n")
    tail = Tail(str(log), pieces.append, lines=1)
    tail.pump()
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"c\nd\n")
    tail.renew()
    tail.pump()
    tail.close()
    assert b"".join(pieces) == b"b\nc\nd\n"


def test_what_was_cut_out_is_told_and_not_read_as_zeros(tmp_path: Path) -> None:
    log, hole = tmp_path / "log", 8 * 1024 * 1024
    log.write_bytes(b"h" * HEAD_KEPT + b"x" * hole + b"tail\n")
    descriptor = os.open(log, os.O_RDWR)
    punched = ctypes.CDLL(None, use_errno=True).fallocate(
        descriptor, 3, ctypes.c_int64(HEAD_KEPT), ctypes.c_int64(hole)
    )
    os.close(descriptor)
    if punched != 0:
        pytest.skip("this file system has no holes")
    pieces: list[bytes] = []
    tail = Tail(str(log), pieces.append)
    tail.pump()
    tail.close()
    assert b"".join(pieces) == b"h" * HEAD_KEPT + b"\n[cronoq: %d bytes cut]\n" % hole + b"tail\n"
