"""The daemon's life with the real command: start, stop in its three ways, takeover, autostart (specification 1).

What stops and crashes do to waiting clients is in test_waiting; crashes by the dozen are in test_storm.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

POLITE = 'trap "exit 0" TERM; touch "$1"; while :; do sleep 0.05; done'
STUBBORN = 'trap "" TERM; touch "$1"; while :; do sleep 0.05; done'


def start(cronoq: Any, mark: Path, script: str, *options: str) -> int:
    """Submit a shell script and return when it is under way."""
    task_id = cronoq.submit(*options, "--", "sh", "-c", script, "sh", str(mark))
    cronoq.wait_until(mark.exists, what=f"the start of task {task_id}")
    return task_id


def wait_gone(cronoq: Any, pid: int) -> None:
    cronoq.wait_until(lambda: not Path(f"/proc/{pid}").exists(), what=f"the end of process {pid}")


def kill_daemon(cronoq: Any, number: int = signal.SIGKILL) -> int:
    pid = cronoq.find_daemon()
    assert pid is not None
    os.kill(pid, number)
    wait_gone(cronoq, pid)
    return pid


# -- starting ----------------------------------------------------------------------------------------------------------


def test_start_answers_when_it_serves_and_a_second_one_is_harmless(cronoq) -> None:
    first = cronoq.ask("daemon", "start")
    assert first["started"] is True
    assert cronoq.status()["pid"] == first["daemon"]["pid"] == cronoq.find_daemon()
    again = cronoq.ask("daemon", "start")
    assert (again["started"], again["daemon"]["pid"]) == (False, first["daemon"]["pid"])
    pid = first["daemon"]["pid"]
    done = cronoq("daemon", "run")
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"cronoq: a daemon runs already, with pid {pid} (--standby waits until it ends)"
    ]
    assert cronoq.status()["pid"] == pid
    assert cronoq.submit("--", "true") == 1
    text = cronoq.ok("daemon", "status")
    for name in ("state", "role", "pid", "epoch", "version", "protocol", "schema", "recovered"):
        assert re.search(rf"^ +{name} ", text, re.MULTILINE), text


def test_twenty_racing_clients_start_one_daemon_and_all_are_served(cronoq) -> None:
    racing = [cronoq.start("submit", "--", "true") for _ in range(20)]
    ends = [client.communicate(timeout=60) for client in racing]
    assert [client.returncode for client in racing] == [0] * 20, ends
    assert sorted(int(out) for out, _ in ends) == list(range(1, 21))
    assert cronoq.status()["epoch"] == 1


def test_what_stands_in_the_lock_file_decides_nothing_and_a_stale_socket_is_replaced(cronoq) -> None:
    cronoq.home.mkdir(mode=0o700)
    (cronoq.home / "daemon.lock").write_text('{"pid": 1}')
    cronoq.ok("daemon", "start")
    kill_daemon(cronoq)
    assert (cronoq.home / "cronoq.sock").exists()
    (cronoq.home / "daemon.lock").write_bytes(b"garbage\0")
    cronoq.ok("daemon", "start")
    assert (cronoq.home / "cronoq.sock").stat().st_mode & 0o777 == 0o600
    assert cronoq.home.stat().st_mode & 0o777 == 0o700


def test_a_start_that_fails_says_why_and_leaves_nothing_behind(cronoq) -> None:
    cronoq.configure("[daemon]\nlog_levle = 3\n")
    for words in (["daemon", "start"], ["submit", "--", "true"]):
        done = cronoq(*words)
        assert done.returncode == 7
        assert "log_level" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (cronoq.home / "cronoq.sock").exists()
    assert cronoq.list_processes() == []
    cronoq.configure("")
    assert cronoq.submit("--", "true") == 1


def test_the_daemon_has_a_session_and_directory_of_its_own_and_nothing_of_the_caller(cronoq, tmp_path) -> None:
    reading, writing = os.pipe()
    cronoq.ok("daemon", "start", cwd=tmp_path, env={"CRONOQ_TASK_X": "1"}, pass_fds=(writing,))
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b""  # nobody holds the other end any more
    cronoq.ok("run", "--", "true")
    for pid in (cronoq.find_daemon(), *cronoq.list_runners()):
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert os.getsid(pid) == pid or os.getsid(pid) not in (os.getsid(0), 0)
        assert b"CRONOQ_" not in Path(f"/proc/{pid}/environ").read_bytes().replace(b"CRONOQ_HOME", b"")


def test_run_serves_in_the_foreground_until_it_is_told_to_stop(cronoq) -> None:
    running = cronoq.start("daemon", "run")
    cronoq.wait_until(lambda: cronoq("daemon", "status").returncode == 0, what="readiness")
    assert cronoq.status()["pid"] == running.pid
    running.terminate()
    running.communicate(timeout=20)
    assert running.returncode == 0
    assert not (cronoq.home / "cronoq.sock").exists()


# -- stopping ----------------------------------------------------------------------------------------------------------


def test_stop_interrupts_tasks_and_they_go_on_first_at_the_next_start(cronoq, tmp_path) -> None:
    cronoq.configure("[pools.default]\nworkers = 4\n[pools.one]\nworkers = 1\n")
    polite = start(cronoq, tmp_path / "polite", POLITE)
    plain = start(cronoq, tmp_path / "plain", 'touch "$1"; exec sleep 600')
    held = start(cronoq, tmp_path / "held", 'touch "$1"; exec sleep 600', "--on-lost", "hold")
    running = start(cronoq, tmp_path / "one", 'touch "$1"; test $CRONOQ_ATTEMPT = 2 || exec sleep 600', "-p", "one")
    behind = cronoq.submit("-p", "one", "--", "true")
    assert cronoq.ok("daemon", "stop") == "daemon stopped\n"
    assert cronoq.list_processes() == []
    assert cronoq.show(polite)["status"] == "succeeded"
    interrupted = cronoq.show(plain)
    assert (interrupted["status"], interrupted["attempts"][-1]["outcome"]) == ("ready", "interrupted")
    assert interrupted["max_attempts"] == 2
    assert (cronoq.show(held)["status"], cronoq.show(held)["held"]) == ("blocked", True)
    done = cronoq("daemon", "start")
    assert "resumes 4 tasks" in done.stderr
    cronoq.wait_for(plain, "running")
    assert cronoq.wait_for(running, "succeeded")["attempt"] == 2
    after = cronoq.wait_for(behind, "succeeded")
    assert after["started_at"] >= cronoq.show(running)["attempts"][-1]["finished_at"]
    assert cronoq.show(held)["status"] == "blocked"


def test_stop_kills_what_has_not_gone_when_the_time_is_over(cronoq, tmp_path) -> None:
    task_id = start(cronoq, tmp_path / "mark", STUBBORN)
    begun = time.monotonic()
    cronoq.ok("daemon", "stop", "--timeout", "300ms")
    assert time.monotonic() - begun < 8
    assert cronoq.list_processes() == []
    task = cronoq.show(task_id)
    assert (task["status"], task["attempts"][-1]["outcome"]) == ("ready", "interrupted")


def test_after_stop_nothing_is_written_and_an_order_not_started_does_not_count(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 1\n")
    cronoq.ok("submit", "--array", "0-30", "--", "sleep", "0.1")
    cronoq.wait_for(2, "running", "succeeded")
    cronoq.ok("daemon", "stop")
    before = (cronoq.home / "cronoq.db").read_bytes()
    tasks = cronoq.ask("ls", "--limit", "all")["tasks"]
    for task in tasks:
        assert task["status"] in ("succeeded", "ready")
        assert task["attempt"] == 0 or task["status"] == "succeeded" or len(cronoq.show(task["id"])["attempts"]) == 1
    assert (cronoq.home / "cronoq.db").read_bytes() == before


@pytest.mark.parametrize("way", [["daemon", "stop", "--keep-tasks"], ["daemon", "restart"], ["kill"]], ids=" ".join)
def test_a_long_task_goes_on_while_the_daemon_is_away_and_its_code_is_right(cronoq, tmp_path, way) -> None:
    go, mark = tmp_path / "go", tmp_path / "mark"
    task_id = start(cronoq, mark, f'echo $$ > "$1"; until test -e {go}; do sleep 0.05; done; echo done; exit 23')
    old = cronoq.find_daemon()
    if way == ["kill"]:
        kill_daemon(cronoq)
    else:
        cronoq.ok(*way)
        wait_gone(cronoq, old)
    assert Path(f"/proc/{mark.read_text().strip()}").exists()
    if way[-1] == "restart":
        assert cronoq.status()["recovered"]["adopted"] == 1
    go.touch()  # where no daemon runs, the runner keeps the end
    cronoq.wait_until(lambda: not Path(f"/proc/{mark.read_text().strip()}").exists())
    cronoq.ok("daemon", "start")
    task = cronoq.wait_for(task_id)
    assert (task["status"], task["exit_code"], task["attempt"], len(task["attempts"])) == ("failed", 23, 1, 1)
    assert cronoq.logs(task_id) == b"done\n"
    if way[-1] != "restart":
        assert cronoq.status()["recovered"]["ends_delivered"] == 1


def test_drain_starts_nothing_takes_nothing_and_stops_when_all_has_ended(cronoq, tmp_path) -> None:
    go = tmp_path / "go"
    cronoq.configure("[pools.default]\nworkers = 1\n")
    running = start(cronoq, tmp_path / "mark", f'touch "$1"; until test -e {go}; do sleep 0.05; done; exit 0')
    waiting = cronoq.submit("--", "true")
    draining = cronoq.start("daemon", "drain")
    cronoq.wait_until(lambda: cronoq.status()["state"] == "draining")
    refused = cronoq("submit", "--", "true")
    assert (refused.returncode, "draining" in refused.stderr) == (75, True)
    assert cronoq.show(waiting)["status"] == "ready"
    go.touch()
    draining.communicate(timeout=20)
    assert draining.returncode == 0
    assert cronoq.show(running)["status"] == "succeeded"
    assert cronoq.show(waiting)["status"] == "ready"
    assert cronoq.list_processes() == []


def test_a_signal_stops_the_daemon_and_a_second_one_kills_the_tasks(cronoq, tmp_path) -> None:
    task_id = start(cronoq, tmp_path / "mark", STUBBORN)
    pid = cronoq.find_daemon()
    os.kill(pid, signal.SIGTERM)
    cronoq.wait_until(lambda: _state(cronoq) == "stopping", what="the stop")
    os.kill(pid, signal.SIGINT)
    wait_gone(cronoq, pid)
    cronoq.wait_until(lambda: not cronoq.list_processes(), what="the end of all processes")
    assert cronoq.show(task_id)["attempts"][-1]["outcome"] == "interrupted"
    assert cronoq("hold", task_id).returncode == 5  # a stop as any other: nothing starts the daemon again


def _state(cronoq: Any) -> str:
    done = cronoq("daemon", "status", "--json")
    return str(json.loads(done.stdout)["daemon"]["state"])


def test_hangup_and_reload_read_the_configuration_whole_or_not_at_all(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 2\n")
    cronoq.ok("daemon", "start")

    def workers() -> int:
        return int(cronoq.ask("pool", "show", "default")["pool"]["workers"])

    cronoq.configure("[pools.default]\nworkers = 5\n[pools.new]\nworkers = 1\n")
    cronoq.ok("daemon", "reload")
    assert workers() == 5
    assert cronoq("run", "-p", "new", "--", "true").returncode == 0
    cronoq.configure("[pools.default]\nworkers = 6\n")
    os.kill(cronoq.find_daemon(), signal.SIGHUP)
    cronoq.wait_until(lambda: workers() == 6)
    cronoq.configure("[pools.default]\nworkers = 7\ncolour = 1\n")
    refused = cronoq("daemon", "reload")
    assert (refused.returncode, "colour" in refused.stderr) == (7, True)
    os.kill(cronoq.find_daemon(), signal.SIGHUP)
    cronoq.wait_until(lambda: (cronoq.home / "daemon.log").read_text().count("colour") > 0)
    assert workers() == 6


def test_a_pool_that_was_lowered_starts_nothing_until_it_has_room(cronoq, tmp_path) -> None:
    cronoq.configure("[pools.default]\nworkers = 3\n")
    until = f"until test -e {tmp_path}/go$CRONOQ_TASK_ID; do sleep 0.05; done"
    ids = [cronoq.submit("--", "sh", "-c", until) for _ in range(4)]
    for task_id in ids[:3]:
        cronoq.wait_for(task_id, "running")
    cronoq.configure("[pools.default]\nworkers = 1\n")
    cronoq.ok("daemon", "reload")
    for task_id in ids[:2]:
        (tmp_path / f"go{task_id}").touch()
        cronoq.wait_for(task_id, "succeeded")
    assert cronoq.show(ids[3])["status"] == "ready"
    (tmp_path / f"go{ids[2]}").touch()
    cronoq.wait_for(ids[3], "running")


# -- standby -----------------------------------------------------------------------------------------------------------


def test_a_standby_takes_over_within_a_second_and_adopts_what_runs(cronoq, tmp_path) -> None:
    go = tmp_path / "go"
    cronoq.ok("daemon", "start")
    task_id = start(cronoq, tmp_path / "mark", f'touch "$1"; until test -e {go}; do sleep 0.05; done; exit 5')
    leader = cronoq.status()["pid"]
    standby = cronoq.ask("daemon", "start", "--standby")["daemon"]
    assert (standby["role"], standby["leader_pid"]) == ("standby", leader)
    assert cronoq.status()["pid"] == leader
    os.kill(leader, signal.SIGKILL)
    killed_at = time.monotonic()
    status = cronoq.wait_until(lambda: (s := _status(cronoq)) and s.get("pid") == standby["pid"] and s, within_s=10)
    assert time.monotonic() - killed_at < 3  # a second on a machine at rest
    assert (status["role"], status["epoch"], status["recovered"]["adopted"]) == ("leader", 2, 1)
    go.touch()
    assert cronoq.wait_for(task_id)["exit_code"] == 5


def _status(cronoq: Any) -> dict[str, Any] | None:
    done = cronoq("daemon", "status", "--json")
    return dict(json.loads(done.stdout)["daemon"]) if done.returncode == 0 else None


def test_stop_ends_the_standbys_too_unless_it_hands_over(cronoq) -> None:
    cronoq.ok("daemon", "start")
    standby = cronoq.ask("daemon", "start", "--standby")["daemon"]["pid"]
    cronoq.ok("daemon", "stop", "--hand-over")
    cronoq.wait_until(lambda: (s := _status(cronoq)) and s["pid"] == standby, what="the takeover")
    cronoq.ask("daemon", "start", "--standby")
    cronoq.ok("daemon", "stop")
    cronoq.wait_until(lambda: not cronoq.list_processes(), what="the end of the standby")


# -- without a daemon --------------------------------------------------------------------------------------------------


def test_reads_answer_from_the_store_with_a_note_and_start_nothing(cronoq) -> None:
    cronoq.ok("run", "--", "echo", "hello")
    cronoq.submit("--hold", "--", "true")
    cronoq.ok("daemon", "stop")
    for words in (["ls", "--json"], ["show", "1"], ["logs", "1"], ["events", "-n", "3"], ["pool", "ls"]):
        done = cronoq(*words)
        assert done.returncode == 0
        assert "no daemon runs" in done.stderr
        assert done.stdout
    assert cronoq.logs(1) == b"hello\n"
    assert cronoq.list_processes() == []


def test_a_wanted_stop_holds_until_a_start_or_a_new_submission(cronoq) -> None:
    cronoq.submit("--hold", "--", "true")
    cronoq.ok("daemon", "stop")
    for words in (["cancel", "1"], ["events", "-f"]):
        done = cronoq(*words)
        assert (done.returncode, "was stopped" in done.stderr) == (5, True)
    assert cronoq("wait", "1").returncode == 125
    assert cronoq.find_daemon() is None
    done = cronoq("submit", "--", "true")
    assert (done.returncode, "resumes 1 task" in done.stderr) == (0, True)
    cronoq.ok("daemon", "stop")
    done = cronoq("run", "--", "true")
    assert (done.returncode, "resumes" in done.stderr) == (0, True)


def test_after_a_crash_the_next_change_starts_the_daemon_again(cronoq) -> None:
    cronoq.submit("--hold", "--", "true")
    kill_daemon(cronoq)
    assert cronoq("ls").returncode == 0
    assert cronoq.find_daemon() is None
    cronoq.ok("cancel", "1")
    assert cronoq.find_daemon() is not None


def test_autostart_can_be_forbidden(cronoq) -> None:
    done = cronoq("submit", "--", "true", env={"CRONOQ_NO_AUTOSTART": "1"})
    assert (done.returncode, "CRONOQ_NO_AUTOSTART" in done.stderr) == (5, True)
    assert cronoq("run", "--", "true", env={"CRONOQ_NO_AUTOSTART": "1"}).returncode == 125
    cronoq.configure("[daemon]\nautostart = false\n")
    done = cronoq("submit", "--", "true")
    assert (done.returncode, "autostart" in done.stderr) == (5, True)
    assert cronoq.find_daemon() is None
    cronoq.ok("daemon", "start")
    assert cronoq.submit("--", "true") == 1


def test_inside_a_task_no_daemon_is_started_but_one_is_waited_for(cronoq, tmp_path) -> None:
    words = " ".join(f"'{word}'" for word in cronoq.command)
    go = tmp_path / "go"
    script = f'touch "$1"; until test -e {go}; do sleep 0.05; done; {words} submit -- true; echo $? > {tmp_path}/status'
    task_id = start(cronoq, tmp_path / "mark", script)
    kill_daemon(cronoq)
    go.touch()
    cronoq.wait_until(lambda: b"submit" in b" ".join(_lines(cronoq)), what="the submission inside the task")
    assert cronoq.find_daemon() is None
    cronoq.ok("daemon", "start")
    cronoq.wait_for(task_id, "succeeded")
    assert (tmp_path / "status").read_text() == "0\n"
    assert cronoq.logs(task_id) == b"2\n"


def _lines(cronoq: Any) -> list[bytes]:
    return [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in cronoq.list_processes()]


def test_a_task_can_stop_the_daemon_and_nothing_hangs(cronoq) -> None:
    words = " ".join(f"'{word}'" for word in cronoq.command)
    task_id = cronoq.submit("--", "sh", "-c", f"{words} daemon stop --timeout 2s")
    cronoq.wait_until(lambda: cronoq("daemon", "status").returncode == 5, what="the stop")
    cronoq.wait_until(lambda: not cronoq.list_processes(), what="the end of all processes")
    assert cronoq.show(task_id)["attempts"][-1]["outcome"] in ("interrupted", "succeeded")


# -- another installation ----------------------------------------------------------------------------------------------


def test_daemon_and_runner_need_no_file_of_theirs_once_they_run(make_cronoq, tmp_path) -> None:
    root = Path(__file__).parents[2]
    copy = tmp_path / "installed"
    shutil.copytree(root / "cronoq_cli", copy / "cronoq_cli")
    old = make_cronoq()
    old.env["PYTHONPATH"] = str(copy)
    go = tmp_path / "go"
    old.ok("daemon", "start")
    task_id = start(old, tmp_path / "mark", f'touch "$1"; until test -e {go}; do sleep 0.05; done; exit 9')
    assert str(copy).encode() in Path(f"/proc/{old.find_daemon()}/environ").read_bytes()
    old.wait_until(lambda: "everything is loaded" in (old.home / "daemon.log").read_text(), what="the rest of its code")
    shutil.rmtree(copy)
    new = make_cronoq(old.home)  # the same home, another installation
    assert new.status()["state"] == "running"
    go.touch()
    assert new.wait_for(task_id)["exit_code"] == 9
    failing = new.submit("--retries", "1", "--backoff", "fixed:1ms", "--", "sh", "-c", "echo $CRONOQ_ATTEMPT; exit 3")
    assert new.wait_for(failing)["status"] == "dead_lettered"
    assert new.logs(failing) == b"2\n"
    assert new("submit", "--timeout", "x", "--", "true").returncode == 2
    assert "traceback" not in (old.home / "daemon.log").read_text().lower()
    new.ok("daemon", "restart")
    assert new.submit("--", "true") > failing


def test_systemd_is_told_when_it_is_ready(cronoq, tmp_path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notices.bind(str(tmp_path / "notify"))
        notices.settimeout(20)
        running = cronoq.start("daemon", "run", env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert re.match(rb"READY=1", notices.recv(4096))
        running.terminate()
        assert b"STOPPING=1" in notices.recv(4096)
        running.communicate(timeout=20)
