"""A disk without space: clear refusals, nothing lost, and everything goes on by itself when there is space again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

WAITS = "while ! [ -e go ]; do sleep 0.05; done"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "cronoq-test", str(place)], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    # Lazily: a process that is still there keeps only itself.
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def small(disk: Path, make_cronoq: Callable[..., Any]) -> Any:
    """A cronoq on that disk, with one worker."""
    cronoq = make_cronoq(disk / "h")
    cronoq.configure("[pools.default]\nworkers = 1\n")
    return cronoq


def fill(disk: Path) -> Path:
    """Fill the disk to the last byte; the file that does."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 512, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return path


def test_a_submission_without_space_is_refused_with_75_and_nothing_is_stored(small, disk) -> None:
    first = small.submit("--", "true")
    small.wait_for(first)
    filler = fill(disk)
    for _ in range(3):
        done = small("submit", "--", "true")
        assert done.returncode == 75
        assert "space" in done.stderr
        assert done.stdout == ""
    assert [task["id"] for task in small.ask("ls", "--limit", "all")["tasks"]] == [first]
    filler.unlink()
    small.wait_until(lambda: small("submit", "--", "true").returncode == 0, within_s=30)
    assert len(small.ask("ls", "--limit", "all")["tasks"]) == 2


def test_an_end_without_space_is_kept_and_scheduling_goes_on_when_there_is_space(small, disk, tmp_path) -> None:
    running = small.submit("-C", str(tmp_path), "--", "sh", "-c", f"{WAITS}; exit 5")
    waiting = small.submit("-C", str(tmp_path), "--", "sh", "-c", "echo ran >> runs; exit 6")
    small.wait_for(running, "running")
    daemon = small.find_daemon()
    filler = fill(disk)
    (tmp_path / "go").touch()
    small.wait_until(lambda: small.status()["refusing"], what="the daemon noticing")
    assert small.show(waiting)["status"] == "ready"
    assert small("ls").returncode == 0
    cpu = _cpu_s(daemon)
    began = time.monotonic()
    small.wait_until(lambda: time.monotonic() > began + 2, what="two seconds")
    assert _cpu_s(daemon) - cpu < 0.5
    assert len((small.home / "daemon.log").read_text().splitlines()) < 20
    filler.unlink()
    assert small.wait_for(running, within_s=60)["exit_code"] == 5
    task = small.wait_for(waiting, within_s=60)
    assert (task["exit_code"], task["attempt"]) == (6, 1)
    assert (tmp_path / "runs").read_text() == "ran\n"
    assert small.find_daemon() == daemon
    small.output("true")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_cancel_without_space_is_refused_or_kept_and_the_task_is_not_between(small, disk, tmp_path) -> None:
    task_id = small.submit("-C", str(tmp_path), "--", "sleep", "1000")
    pid = small.wait_for(task_id, "running")["pid"]
    filler = fill(disk)
    done = small("cancel", task_id)
    alive = Path(f"/proc/{pid}").exists()
    status = small.show(task_id)["status"]
    if done.returncode == 75:
        assert (status, alive) == ("running", True)
    else:
        assert (done.returncode, status) == (0, "cancelled")
    filler.unlink()
    small.wait_until(lambda: small("cancel", task_id).returncode in (0, 4), within_s=30)
    assert small.wait_for(task_id)["status"] == "cancelled"
    small.wait_until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("victims", ["daemon", "both"])
def test_a_crash_on_a_full_disk_loses_nothing(small, disk, tmp_path, victims) -> None:
    ended = small.submit("--", "sh", "-c", "exit 3")
    small.wait_for(ended)
    running = small.submit("-C", str(tmp_path), "--", "sh", "-c", f"{WAITS}; exit 5")
    waiting = small.submit("-C", str(tmp_path), "--", "sh", "-c", "echo ran >> runs")
    small.wait_for(running, "running")
    filler = fill(disk)
    if victims == "daemon":
        (tmp_path / "go").touch()
        small.wait_until(lambda: small.status()["refusing"])
    for pid in [small.find_daemon(), *(small.list_runners() if victims == "both" else [])]:
        os.kill(pid, signal.SIGKILL)
    started = small("daemon", "start")
    assert "Traceback" not in started.stderr
    if started.returncode != 0:
        assert "space" in started.stderr
    filler.unlink()
    small.ok("daemon", "start")
    assert small.show(ended)["exit_code"] == 3
    (tmp_path / "go").touch()
    task = small.wait_for(running, within_s=60)
    if victims == "daemon":
        assert (task["exit_code"], task["attempt"]) == (5, 1)
    else:
        assert "lost" in task["reason"]
    assert small.wait_for(waiting, within_s=60)["status"] == "succeeded"
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_a_daemon_that_cannot_start_for_want_of_space_says_so_and_harms_nothing(small, disk) -> None:
    task_id = small.submit("--hold", "--", "true")
    small.ok("daemon", "stop")
    filler = fill(disk)
    done = small("daemon", "start")
    assert done.returncode in (0, 75)
    if done.returncode:
        assert "space" in done.stderr
        small.wait_until(lambda: not small.list_processes(), within_s=5)
    filler.unlink()
    small.ok("daemon", "start")
    small.wait_until(lambda: small("release", task_id).returncode == 0, within_s=30)
    assert small.wait_for(task_id)["status"] == "succeeded"


def test_a_first_start_on_a_full_disk_is_a_clear_word_and_no_ruin(small, disk) -> None:
    small.configure("")
    filler = fill(disk)
    done = small("submit", "--", "true")
    assert done.returncode in (5, 75)
    assert "space" in done.stderr
    small.wait_until(lambda: not small.list_processes(), within_s=5)
    filler.unlink()
    small.output("true")


def test_a_task_whose_output_finds_no_space_gets_the_error_itself_and_ends_with_its_own_code(small, disk) -> None:
    small.configure("[logs]\nmin_free = 0\n")
    line = "dd if=/dev/zero bs=64k count=100 2>/dev/null || exit 9"
    task_id = small.submit("--", "sh", "-c", line)
    log = Path(small.show(task_id)["log"])
    small.wait_until(lambda: small.show(task_id)["status"] != "running" or small.status()["refusing"], within_s=30)
    log.unlink()
    task = small.wait_for(task_id, within_s=60)
    assert (task["status"], task["exit_code"]) == ("failed", 9)
    small.wait_until(lambda: small("run", "true").returncode == 0, within_s=60)


def test_a_full_disk_for_the_users_own_output_is_the_tasks_own_affair(cronoq, disk) -> None:
    fill(disk)
    task = cronoq.wait_for(cronoq.submit("-o", str(disk / "out"), "--", "sh", "-c", "echo x || exit 9"))
    assert task["status"] == "failed"
    assert task["exit_code"] in (9, None)
    assert cronoq.output("--", "echo", "alive") == "alive\n"


def test_below_the_guard_new_work_is_refused_and_what_runs_goes_on(cronoq, tmp_path) -> None:
    running = cronoq.submit("-C", str(tmp_path), "--", "sh", "-c", f"{WAITS}; exit 5")
    cronoq.wait_for(running, "running")
    cronoq.ok("recurring", "add", "makes-room", "--every", "300ms", "--", "true")
    cronoq.configure('[logs]\nmin_free = "100000GiB"\n')
    os.kill(cronoq.find_daemon(), signal.SIGHUP)
    done = cronoq.wait_until(lambda: (d := cronoq("submit", "--", "true")).returncode == 75 and d)
    assert "min_free" in done.stderr
    refused_at = time.time()
    cronoq.wait_until(
        lambda: any(
            run["status"] == "succeeded" and datetime.fromisoformat(run["due_at"]).timestamp() > refused_at
            for run in cronoq.ask("recurring", "history", "makes-room")["runs"]
        ),
        what="an occurrence: it was accepted before, and may be what makes room",
    )
    assert cronoq("recurring", "run", "makes-room").returncode == 75
    (tmp_path / "go").touch()
    assert cronoq.wait_for(running)["exit_code"] == 5
    cronoq.configure("")
    os.kill(cronoq.find_daemon(), signal.SIGHUP)
    cronoq.wait_until(lambda: cronoq("submit", "--", "true").returncode == 0)
