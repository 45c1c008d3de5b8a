"""Files that are damaged, gone, or not to be written: a clear word, nothing made worse, no silent new beginning."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance


def cut_to_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def zero_the_first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(4096))


def zero_pages_in_the_middle(path: Path) -> None:
    pages = path.stat().st_size // 4096
    with path.open("r+b") as file:
        for page in range(1, pages):
            file.seek(page * 4096)
            file.write(bytes(4096))


def replace_by_text(path: Path) -> None:
    path.write_text("This is no database.\n" * 1000)


def replace_by_another_programs_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("create table photographs (id integer primary key, name text)")
        other.execute("insert into photographs values (1, 'holiday')")
    other.close()


@pytest.fixture(scope="module")
def pattern(shared: Any) -> Path:
    """The home of a cronoq with history and a waiting task that was stopped in order."""
    shared.output("--", "echo", "history")
    shared.submit("--hold", "-k", "precious", "--", "true")
    shared.ok("daemon", "stop")
    return Path(shared.home)


@pytest.fixture
def stopped(cronoq: Any, pattern: Path) -> Any:
    """A copy of it."""
    shutil.copytree(pattern, cronoq.home)
    return cronoq


@pytest.mark.parametrize(
    "damage",
    [
        cut_to_half,
        cut_to_nothing,
        zero_the_first_page,
        zero_pages_in_the_middle,
        replace_by_text,
        replace_by_another_programs_database,
    ],
)
def test_a_damaged_store_is_refused_with_a_clear_word_and_left_for_rescue(stopped, damage) -> None:
    path = stopped.home / "cronoq.db"
    damage(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    done = stopped("submit", "--", "true")
    assert done.returncode in (5, 7), done.stderr
    assert "cronoq.db" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    listed = stopped("ls")
    assert listed.returncode != 0
    assert "Traceback" not in listed.stderr
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    stopped.wait_until(lambda: not stopped.list_processes(), within_s=5)
    assert not (stopped.home / "cronoq.sock").exists()


def test_a_store_that_was_restored_is_taken_up_again(stopped) -> None:
    path = stopped.home / "cronoq.db"
    good = path.read_bytes()
    replace_by_text(path)
    assert stopped("daemon", "start").returncode == 7
    path.write_bytes(good)
    stopped.ok("daemon", "start")
    assert stopped.show("precious")["status"] == "blocked"


def test_a_lost_write_ahead_log_starts_with_what_is_left_or_is_refused(cronoq) -> None:
    cronoq.output("true")
    for pid in (cronoq.find_daemon(), *cronoq.list_runners()):
        os.kill(pid, signal.SIGKILL)
    cronoq.wait_until(lambda: not cronoq.list_processes())
    for file in cronoq.home.glob("cronoq.db-*"):
        file.unlink()
    done = cronoq("daemon", "start")
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        cronoq.output("true")
    else:
        assert "cronoq.db" in done.stderr


def test_a_store_of_a_newer_version_is_refused_and_left_alone(stopped) -> None:
    path = stopped.home / "cronoq.db"
    with sqlite3.connect(path) as store:
        store.execute("pragma user_version = 9999")
    store.close()
    done = stopped("daemon", "start")
    assert done.returncode == 7
    assert "newer" in done.stderr
    with sqlite3.connect(path) as store:
        assert store.execute("pragma user_version").fetchone() == (9999,)
    store.close()


def test_a_row_that_cannot_be_read_is_set_aside_and_the_rest_goes_on(stopped) -> None:
    other = "other"
    stopped.ok("daemon", "start")
    stopped.submit("--hold", "-k", other, "--", "true")
    stopped.ok("daemon", "stop")
    store = sqlite3.connect(stopped.home / "cronoq.db")
    columns = [row[1] for row in store.execute("pragma table_info(tasks)")]
    column = "spec" if "spec" in columns else columns[-1]
    task_id = stopped.show("precious")["id"]
    store.execute(f"update tasks set {column} = ? where id = ?", ("{damaged", task_id))
    store.commit()
    store.close()
    stopped.ok("daemon", "start")
    task = stopped.ask("ls", "--limit", "all")["tasks"]
    broken = next(one for one in task if one["id"] == task_id)
    assert broken["status"] == "failed"
    assert broken["reason"]
    assert stopped.status()["recovered"]["set_aside"] == 1
    stopped.ok("release", other)
    assert stopped.wait_for(other)["status"] == "succeeded"


# -- directories -----------------------------------------------------------------------------------------------------


def test_a_removed_log_directory_is_made_again(cronoq) -> None:
    cronoq.output("true")
    shutil.rmtree(cronoq.home / "logs")
    assert cronoq.output("--", "echo", "again") == "again\n"
    assert cronoq.read_log("last") == b"again\n"
    assert cronoq("logs", "1").returncode in (0, 3)


def test_a_file_where_the_log_directory_was_fails_or_delays_the_start_with_the_reason(cronoq) -> None:
    cronoq.output("true")
    shutil.rmtree(cronoq.home / "logs")
    (cronoq.home / "logs").write_text("in the way")
    task_id = cronoq.submit("--", "true")
    cronoq.wait_until(lambda: "logs" in (cronoq.show(task_id)["reason"] or ""), what="a reason that names the place")
    cpu = _cpu_s(cronoq.find_daemon())
    began = time.monotonic()
    cronoq.wait_until(lambda: time.monotonic() > began + 2)
    assert _cpu_s(cronoq.find_daemon()) - cpu < 0.5
    (cronoq.home / "logs").unlink()
    assert cronoq.output("--", "echo", "again") == "again\n"


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_removed_directories_of_runners_and_input_come_back_with_the_next_daemon(cronoq) -> None:
    cronoq.output("true")
    cronoq.ok("daemon", "stop")
    for name in ("runners", "stdin", "logs"):
        shutil.rmtree(cronoq.home / name)
    assert cronoq.output("--stdin", "-", "--", "cat", input="kept") == "kept"


def test_a_home_removed_under_the_daemon_never_costs_a_running_task_its_end(cronoq, tmp_path) -> None:
    line = "while ! [ -e go ]; do sleep 0.05; done; echo over > over"
    task_id = cronoq.submit("-C", str(tmp_path), "--", "sh", "-c", line)
    cronoq.wait_for(task_id, "running")
    daemon, runners = cronoq.find_daemon(), cronoq.list_runners()
    moved = cronoq.home.with_name("moved")
    cronoq.home.rename(moved)
    (tmp_path / "go").touch()
    cronoq.wait_until((tmp_path / "over").exists)
    moved.rename(cronoq.home)
    assert cronoq.wait_for(task_id)["status"] == "succeeded"
    assert (cronoq.find_daemon(), cronoq.list_runners()) == (daemon, runners)


def test_a_read_only_state_directory_is_a_clear_word_while_tasks_cannot_start(
    make_cronoq: Callable[..., Any], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "cronoq-test", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a disk")
    try:
        cronoq = make_cronoq(disk / "h")
        done_id = cronoq.submit("--", "true")
        cronoq.wait_for(done_id)
        remount = ["mount", "-o", "remount,ro", str(disk)]
        cronoq.ok("daemon", "stop")
        if subprocess.run(remount, check=False, capture_output=True).returncode != 0:
            pytest.skip("a disk in use cannot be made read-only here")
        for words in (("daemon", "start"), ("submit", "--", "true")):
            done = cronoq(*words)
            assert done.returncode in (5, 7, 75)
            assert "ead-only" in done.stderr, done.stderr
            assert "Traceback" not in done.stderr
        assert cronoq.show(done_id)["status"] == "succeeded"
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        cronoq.output("true")
        assert not cronoq.finish()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
