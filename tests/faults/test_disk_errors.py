"""Reads go well, writes and syncs fail: of the store, the runner's journal, the logs. What is acknowledged is kept,
what cannot be is refused with 75 and the reason, and all goes on by itself when the disk works again.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_processes import is_alive
from tests.faults.faulty_disk import SHORT, FaultyDisk

pytestmark = pytest.mark.acceptance

ALL = "CRONOQ_FAULTS" in os.environ
"""`make faults` tries everything, the usual tests what has most to lose."""
WAITS = "while ! [ -e go ]; do sleep 0.05; done"
WAL_SYNC, WAL_WRITE = ("sync", "/cronoq.db-wal"), ("write", "/cronoq.db-wal")
STORE = (("sync", "/cronoq.db"), ("write", "/cronoq.db"))
JOURNAL = ("write", ".journal")


@pytest.fixture
def disk(tmp_path: Path) -> FaultyDisk:
    return FaultyDisk(tmp_path)


@pytest.fixture
def prone(disk: FaultyDisk, make_cronoq: Callable[..., Any]) -> Any:
    """A cronoq with one worker whose daemon and runner, and nobody else, have that disk; it has run one task."""
    cronoq = make_cronoq()
    cronoq.configure("[pools.default]\nworkers = 1\n")
    cronoq.ok("daemon", "start", env=disk.env)
    cronoq.wait_for(cronoq.submit("--", "true"))
    return cronoq


# -- the store alone ---------------------------------------------------------------------------------------------------

TRIALS = [("write", errno.EIO, 1), ("sync", errno.EIO, 4)]
if ALL:
    TRIALS += [("write", errno.EIO, 4), ("write", errno.ENOSPC, 6), ("sync", errno.EIO, 1), ("sync", errno.ENOSPC, 6)]


@pytest.mark.parametrize(("call", "error", "count"), TRIALS)
def test_a_store_whose_disk_fails_at_any_call_keeps_what_it_acknowledged(
    disk: FaultyDisk, tmp_path: Path, call: str, error: int, count: int
) -> None:
    place = tmp_path / "lives"
    place.mkdir()
    words = [sys.executable, "-m", "tests.faults.store_trial", place, call, error, count, 1 if ALL else 5]
    done = subprocess.run(
        list(map(str, words)), env={**os.environ, **disk.env}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    met, refused = map(int, done.stdout.split()[:2])
    assert met >= 8, "the faults came"
    assert refused >= 1


# -- the daemon --------------------------------------------------------------------------------------------------------

FAULTS = [([WAL_SYNC], errno.EIO), ([WAL_WRITE], errno.ENOSPC)]
if ALL:
    FAULTS += [([WAL_WRITE], errno.EIO), ([WAL_SYNC], errno.ENOSPC), ([*STORE, JOURNAL], errno.EIO)]


@pytest.mark.parametrize(("calls", "error"), FAULTS)
def test_a_disk_that_fails_for_a_while_costs_nothing_that_was_acknowledged(
    prone: Any, disk: FaultyDisk, tmp_path: Path, calls: list[tuple[str, str]], error: int
) -> None:
    running = prone.submit("-C", tmp_path, "--", "sh", "-c", f"echo a >> runs; {WAITS}; exit 5")
    waiting = prone.submit("-C", tmp_path, "--", "sh", "-c", "echo b >> runs; exit 6")
    prone.wait_for(running, "running")
    daemon, runners = prone.find_daemon(), prone.list_runners()
    disk.fail(*calls, error=error)
    for _ in range(2):
        refused = prone("submit", "--", "true")
        assert (refused.returncode, refused.stdout) == (75, "")
        assert ("space" if (calls, error) == ([WAL_WRITE], errno.ENOSPC) else "disk") in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
    (tmp_path / "go").touch()
    assert prone.show(waiting)["status"] == "ready"
    assert prone("ls").returncode == 0
    disk.heal()
    assert prone.wait_for(running, within_s=40)["exit_code"] == 5
    assert prone.wait_for(waiting, within_s=40)["exit_code"] == 6
    prone.wait_until(lambda: prone("submit", "--", "true").returncode == 0, within_s=40)
    assert (tmp_path / "runs").read_text() == "a\nb\n", "each ran once"
    assert [task["id"] for task in prone.ask("ls", "--limit", "all")["tasks"]] == [1, running, waiting, waiting + 1]
    assert (prone.find_daemon(), prone.list_runners()) == (daemon, runners)
    assert prone("doctor").returncode in (0, 1)


def test_a_daemon_killed_while_its_disk_fails_has_lost_nothing(prone: Any, disk: FaultyDisk, tmp_path: Path) -> None:
    running = prone.submit("-C", tmp_path, "--", "sh", "-c", f"{WAITS}; exit 5")
    waiting = prone.submit("-C", tmp_path, "--", "sh", "-c", "echo ran >> runs")
    prone.wait_for(running, "running")
    disk.fail(*STORE)
    assert prone("submit", "--", "true").returncode == 75
    os.kill(prone.find_daemon(), signal.SIGKILL)
    (tmp_path / "go").touch()
    refused = prone("daemon", "start", env=disk.env)
    assert refused.returncode == 75, refused.stderr
    assert "disk" in refused.stderr
    assert "Traceback" not in refused.stderr
    disk.heal()
    prone.ok("daemon", "start")
    assert prone.wait_for(running, within_s=40)["exit_code"] == 5
    assert prone.wait_for(waiting, within_s=40)["status"] == "succeeded"
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_writes_that_are_cut_short_are_finished(prone: Any, disk: FaultyDisk, tmp_path: Path) -> None:
    disk.fail(("write", "/cronoq.db"), JOURNAL, ("write", "/daemon.log"), error=SHORT)
    tasks = [prone.submit("--", "sh", "-c", f"exit {code}") for code in (0, 3)]
    assert [prone.wait_for(task)["exit_code"] for task in tasks] == [0, 3]
    prone.ok("backup", tmp_path / "copy.db")
    prone.ok("daemon", "restart")
    assert prone.show(tasks[1])["exit_code"] == 3


# -- the runner --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC] if ALL else [errno.EIO])
def test_a_journal_that_cannot_be_written_delays_starts_and_costs_no_end(
    prone: Any, disk: FaultyDisk, tmp_path: Path, error: int
) -> None:
    running = prone.submit("-C", tmp_path, "--", "sh", "-c", f"{WAITS}; exit 5")
    prone.wait_for(running, "running")
    disk.fail(JOURNAL, error=error)
    (tmp_path / "go").touch()
    assert prone.wait_for(running)["exit_code"] == 5
    task = prone.submit("--", "sh", "-c", "exit 6")
    told = prone.wait_until(lambda: prone.show(task)["attempts"], what="a first try")
    assert told[0]["outcome"] == "not-started"
    assert "journal" in prone.show(task)["reason"]
    disk.heal()
    ended = prone.wait_for(task, within_s=40)
    assert (ended["exit_code"], ended["max_attempts"] - ended["attempt"]) == (6, 0)


def test_a_runner_killed_while_its_journal_fails_leaves_no_process_and_no_false_end(
    prone: Any, disk: FaultyDisk, tmp_path: Path
) -> None:
    running = prone.submit("-C", tmp_path, "--", "sh", "-c", f"{WAITS}; exit 5")
    pid = prone.wait_for(running, "running")["pid"]
    disk.fail(JOURNAL)
    (runner,) = prone.list_runners()
    os.kill(runner, signal.SIGKILL)
    lost = prone.wait_for(running, within_s=40)
    assert "lost" in lost["reason"]
    prone.wait_until(lambda: not is_alive(pid), what="the end of what it left")
    disk.heal()
    assert prone.wait_for(prone.submit("--", "true"), within_s=40)["status"] == "succeeded"


def test_input_that_cannot_be_laid_out_delays_the_start_and_says_why(prone: Any, disk: FaultyDisk) -> None:
    disk.fail(("open", "/stdin/"))
    task = prone.submit("--stdin", "-", "--", "cat", input="kept")
    prone.wait_until(lambda: "Input/output error" in (prone.show(task)["reason"] or ""), what="the reason")
    disk.heal()
    ended = prone.wait_for(task, within_s=40)
    assert (ended["status"], ended["max_attempts"] - ended["attempt"]) == ("succeeded", 0)
    assert prone.logs(task) == b"kept"


def test_logs_that_cannot_be_opened_or_cut_are_a_clear_reason_and_no_harm(
    prone: Any, disk: FaultyDisk, tmp_path: Path
) -> None:
    disk.fail(("open", "/logs/"), ("punch", "/logs/"), ("write", "/daemon.log"))
    task = prone.submit("--retries", "3", "--backoff", "fixed:100ms", "--", "echo", "hello")
    prone.wait_until(lambda: "Input/output error" in (prone.show(task)["reason"] or ""), what="the reason")
    disk.fail(("punch", "/logs/"), ("write", "/daemon.log"))
    assert prone.wait_for(task)["status"] == "succeeded"
    assert prone.logs(task) == b"hello\n"
    prone.ok("daemon", "reload")
    prone.configure('[logs]\ncap = "2MiB"\n')
    prone.ok("daemon", "reload")
    large = prone.submit("--", "sh", "-c", "yes | head -c 8M")
    assert prone.wait_for(large)["status"] == "succeeded"
    disk.heal()
    assert prone.wait_for(prone.submit("--", "true"))["status"] == "succeeded"
