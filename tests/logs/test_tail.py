"""Reading logs: the last lines without reading the whole file, growth, rotation, and what a cap has cut out."""

from __future__ import annotations

import ctypes
import io
import os
from contextlib import closing
from pathlib import Path

import pytest

from cronoq_cli.logs.cap import NoHolesError, count_kept, cut_file, decide_cut
from cronoq_cli.logs.files import BLOCK, find_tail_offset, measure_log
from cronoq_cli.logs.tail import Tail
from cronoq_cli.model.log_cap import HEAD_KEPT, LEAST_CAP


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


def _make_cut(path: Path, head: bytes, hole: int, tail: bytes) -> None:
    """A log as a cap leaves it. Skips where holes cannot be punched."""
    path.write_bytes(head + b"x" * hole + tail)
    try:
        cut_file(os.fsencode(path), HEAD_KEPT + hole)
    except NoHolesError:
        pytest.skip("this file system has no holes")


@pytest.mark.parametrize(("lines", "shown"), [(1, b"c\n"), (2, b"b\nc\n"), (3, None), (4, None)])
def test_the_last_lines_are_counted_over_a_cut_without_reading_it(tmp_path: Path, lines: int, shown: bytes) -> None:
    log, hole = tmp_path / "log", 4 * 1024 * 1024
    head = (b"h" * 62 + b"\n") * (HEAD_KEPT // 63) + b"\n" * (HEAD_KEPT % 63)
    _make_cut(log, head, hole, b"a\nb\nc\n")
    pieces: list[bytes] = []
    with closing(Tail(str(log), pieces.append, lines=lines)) as tail:
        tail.pump()
    text = b"".join(pieces)
    if shown is not None:
        assert text == shown
    else:
        assert b"\0" not in text
        assert text.endswith(b"a\nb\nc\n")
        assert text.count(b"\n") <= lines + 2


def test_a_reader_in_the_middle_goes_on_behind_a_cut(tmp_path: Path) -> None:
    """Following may stand anywhere when the log is cut under it."""
    log = tmp_path / "log"
    log.write_bytes(b"h" * (HEAD_KEPT - 10))
    pieces: list[bytes] = []
    with closing(Tail(str(log), pieces.append)) as tail:
        tail.pump()
        _make_cut(log, b"h" * HEAD_KEPT, 4 * 1024 * 1024, b"newest")
        pieces.clear()
        tail.pump()
    assert b"".join(pieces) == b"h" * 10 + b"\n[cronoq: %d bytes cut]\n" % (4 * 1024 * 1024) + b"newest"


def test_sizes_tell_what_was_written_and_what_was_cut(tmp_path: Path) -> None:
    log, hole = tmp_path / "log", 4 * 1024 * 1024
    _make_cut(log, b"h" * HEAD_KEPT, hole, b"newest")
    assert measure_log(str(log)) == (HEAD_KEPT + hole + 6, hole)
    assert measure_log(str(tmp_path / "none")) == (None, 0)
    assert measure_log("/dev/null") == (None, 0)


@pytest.mark.parametrize("cap", [LEAST_CAP, LEAST_CAP + 1, 64 << 20])
def test_a_cut_leaves_less_than_the_cap_and_is_not_repeated_at_once(cap: int) -> None:
    size, kept_from = 0, HEAD_KEPT
    for _ in range(200):
        size += 333_333
        end = decide_cut(size, kept_from, cap)
        if end is None:
            assert count_kept(size, kept_from) <= cap
            continue
        assert end > kept_from
        assert end % 65536 == 0
        kept_from = end
        assert count_kept(size, kept_from) <= cap
        assert decide_cut(size + 65536, kept_from, cap) is None


def test_one_look_passes_on_the_newest_part_and_says_what_it_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 100 + b"tail!")
    seen: list[bytes] = []
    with closing(Tail(str(path), seen.append, most=5)) as tail:
        tail.pump()
        assert b"".join(seen) == b"\n[cronoq: 100 bytes left out]\ntail!"
        seen.clear()
        with path.open("ab") as log:
            log.write(b"more")
        assert tail.pump() == 4
        assert seen == [b"more"]
