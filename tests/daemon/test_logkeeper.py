"""Which logs go when all of them take too much, or are too old."""

from __future__ import annotations

import os
from pathlib import Path

from cronoq_cli.config.settings import LogSettings
from cronoq_cli.daemon.logkeeper import LogFile, decide_dropped, delete_logs, list_logs


def make(count: int, taken: int = 100) -> list[LogFile]:
    """So many logs, the first the oldest."""
    return [LogFile(float(n), taken, f"/{n}", n) for n in range(count)]


def dropped(logs: list[LogFile], settings: LogSettings, *written: int, now: float = 1000.0) -> list[int]:
    """The tasks whose logs go."""
    return [entry.task for entry in decide_dropped(reversed(logs), settings, now, lambda task: task in written)]


def test_nothing_goes_within_the_quota() -> None:
    assert dropped(make(10), LogSettings(quota=1000)) == []
    assert dropped(make(10), LogSettings(quota=0)) == []


def test_beyond_the_quota_the_oldest_go_until_a_tenth_is_free() -> None:
    assert dropped(make(11), LogSettings(quota=1000)) == [0, 1]


def test_what_is_still_written_to_stays_and_others_go_for_it() -> None:
    assert dropped(make(11), LogSettings(quota=1000), 0, 2) == [1, 3]


def test_an_empty_log_need_not_go_for_the_quota() -> None:
    logs = [LogFile(0.0, 0, "/0", 0), *make(11)[1:], LogFile(99.0, 100, "/99", 99)]
    assert dropped(logs, LogSettings(quota=1000)) == [1, 2]


def test_old_logs_go_whatever_room_there_is_unless_they_are_written_to() -> None:
    assert dropped(make(5), LogSettings(keep_s=997.5), 1) == [0, 2]


def test_logs_are_found_by_their_names_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    for name in ("7.1.log", "7.1.err", "7.1.report", "notes.txt"):
        (tmp_path / "0" / name).write_bytes(b"x" * 5000)
    outside = tmp_path / "outside"
    outside.write_bytes(b"x")
    (tmp_path / "0" / "8.1.log").symlink_to(outside)
    (tmp_path / "1").symlink_to(tmp_path / "0")
    found = list_logs(str(tmp_path))
    assert sorted(os.path.basename(entry.path) for entry in found) == ["7.1.err", "7.1.log", "8.1.log"]
    assert {entry.task for entry in found if entry.taken} >= {7}
    delete_logs(found)
    assert outside.exists()
    assert sorted(os.listdir(tmp_path / "0")) == ["7.1.report", "notes.txt"]
    delete_logs(found)
    assert list_logs(str(tmp_path / "none")) == []
