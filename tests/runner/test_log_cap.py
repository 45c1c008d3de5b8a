"""Logs of tasks that write more than their cap: the first MiB and the newest part stay, the task notices nothing."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from cronoq_cli.logs.cap import can_cut
from cronoq_cli.logs.tail import Tail
from cronoq_cli.model.log_cap import HEAD_KEPT
from tests.runner.driver import Runner, eventually

MIB = 1024 * 1024
CAP = 4 * MIB
# Sixteen bytes a line, numbered, so that what was kept can be told from what was not.
WRITER = "import sys\nfor n in range({count} * 65536):\n    sys.stdout.write('%015d\\n' % n)\n"


@pytest.fixture(autouse=True)
def _holes(tmp_path: Path) -> None:
    if not can_cut(str(tmp_path)):
        pytest.skip("this file system has no holes")


def taken(path: Path) -> int:
    """Bytes the file takes on the disk."""
    return path.stat().st_blocks * 512


def is_at_rest(runner: Runner) -> bool:
    """Whether the kernel is to tell of the next write to a log."""
    for path in Path(f"/proc/{runner.process.pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if "inotify wd:" in path.read_text():
                return True
    return False


def write(runner: Runner, count: int, **fields: object) -> str:
    """Start a task that writes so many MiB; its token."""
    return runner.start("python3", "-c", WRITER.format(count=count), log_cap=CAP, **fields)


def test_a_log_far_above_its_cap_keeps_its_head_and_its_newest_part(runner: Runner) -> None:
    token = write(runner, 64)
    ended = runner.wait_ended(token)
    log = runner.get_log(token)
    assert (ended["exit_code"], ended["log_size"]) == (0, 64 * MIB)
    assert taken(log) <= CAP
    pieces: list[bytes] = []
    with closing(Tail(str(log), pieces.append)) as reading:
        reading.pump()
    shown = b"".join(pieces)
    head, _, rest = shown.partition(b"\n[cronoq: ")
    notice, _, tail = rest.partition(b" bytes cut]\n")
    assert head == b"".join(b"%015d\n" % n for n in range(HEAD_KEPT // 16))
    assert len(head) + int(notice) + len(tail) == 64 * MIB
    assert b"\0" not in shown
    assert tail.endswith(b"%015d\n" % (64 * 65536 - 1))
    assert len(tail) >= 2 * MIB


def test_a_log_is_cut_while_its_task_goes_on_writing(runner: Runner) -> None:
    token = runner.start("sh", "-c", "yes 0123456789abcde | head -c 48M; cat go; yes x | head -c 1M", log_cap=CAP)
    log = runner.get_log(token)
    eventually(lambda: log.exists() and log.stat().st_size >= 48 * MIB and taken(log) <= CAP)
    assert runner.wait_ended(token)["log_size"] >= 49 * MIB
    assert taken(log) <= CAP


def test_a_log_that_was_quiet_for_long_is_cut_too(runner: Runner) -> None:
    gate = runner.home / "gate"
    os.mkfifo(gate)
    token = runner.shell(f"read line < {gate}; yes | head -c 32M; sleep 60", log_cap=CAP)
    eventually(lambda: is_at_rest(runner))
    gate.write_text("go\n")
    log = runner.get_log(token)
    eventually(lambda: log.stat().st_size == 32 * MIB and taken(log) <= CAP)
    runner.send({"order": "stop", "token": token, "signal": 9, "grace_s": 0.0, "cause": "cancelled"})
    runner.wait_ended(token)


def test_both_logs_of_a_split_task_share_the_cap(runner: Runner) -> None:
    errors = runner.home / "errors.log"
    token = runner.shell("yes out | head -c 16M; yes err | head -c 16M >&2", log_cap=8 * MIB, stderr_log=str(errors))
    assert runner.wait_ended(token)["log_size"] == 32 * MIB
    assert taken(runner.get_log(token)) <= 4 * MIB
    assert taken(errors) <= 4 * MIB


def test_a_file_of_the_users_own_and_a_log_without_cap_are_left_whole(runner: Runner) -> None:
    own = runner.home / "own"
    runner.run_shell("yes | head -c 8M", log_cap=2 * MIB, stdout=str(own))
    whole = runner.shell("yes | head -c 8M")
    runner.wait_ended(whole)
    assert taken(own) >= 8 * MIB
    assert taken(runner.get_log(whole)) >= 8 * MIB


def test_what_a_task_leaves_behind_is_kept_below_the_cap_too(runner: Runner) -> None:
    gate = runner.home / "gate"
    os.mkfifo(gate)
    token = runner.shell(f"(read line < {gate}; yes | head -c 24M; touch done; sleep 60) &", log_cap=CAP)
    assert runner.wait_ended(token)["left_behind"] >= 1
    gate.write_text("go\n")
    log = runner.get_log(token)
    eventually(lambda: (runner.home / "done").exists() and taken(log) <= CAP)


def test_a_runner_whose_tasks_write_nothing_sleeps(runner: Runner) -> None:
    token = runner.start("sleep", "60", log_cap=CAP)
    eventually(lambda: is_at_rest(runner))
    status = Path(f"/proc/{runner.process.pid}/status")
    before, begun = _count_switches(status), time.monotonic()
    eventually(lambda: time.monotonic() > begun + 1.0)
    assert _count_switches(status) - before <= 1
    runner.send({"order": "stop", "token": token, "signal": 9, "grace_s": 0.0, "cause": "cancelled"})
    runner.wait_ended(token)


def _count_switches(status: Path) -> int:
    """How often the process went to sleep."""
    line = next(line for line in status.read_text().splitlines() if line.startswith("voluntary_ctxt_switches"))
    return int(line.split()[1])
