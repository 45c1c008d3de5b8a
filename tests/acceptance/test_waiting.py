"""Clients that wait: run, wait, submit -w and -f, logs -f; signals they get, daemons that go away, terminals.

What their exit status is at the end of a task is in test_exit_codes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

LOOP = "while :; do sleep 0.05; done"


@pytest.fixture(scope="module")
def one(shared) -> Any:
    shared.configure("[pools.default]\nworkers = 8\n")
    shared.ok("daemon", "start")
    return shared


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def read_pid(cronoq: Any, path: Path) -> int:
    cronoq.wait_until(lambda: path.exists() and path.read_text().strip(), what=f"a pid in {path.name}")
    return int(path.read_text())


def finish(client: Any, within_s: float = 20) -> tuple[int, bytes, bytes]:
    out, err = client.communicate(timeout=within_s)
    return client.returncode, out, err


def has_socket(pid: int) -> bool:
    """Whether the process has a socket: a client does not before it talks to the daemon."""
    with contextlib.suppress(OSError):
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        return any(link.startswith("socket:") for link in links)
    return False


def wait_parked(cronoq: Any, client: Any) -> None:
    """Return when the client sleeps on its socket: it has asked, and the answer takes its time."""
    seen: list[tuple[bool, int]] = []

    def is_quiet() -> bool:
        with open(f"/proc/{client.pid}/stat") as file:
            seen.append((has_socket(client.pid), sum(map(int, file.read().rpartition(")")[2].split()[11:13]))))
        return len(seen) > 25 and seen[-1][0] and len(set(seen[-25:])) == 1

    cronoq.wait_until(is_quiet, what="the quiet of the waiting client")


# -- output ------------------------------------------------------------------------------------------------------------


def test_run_passes_each_stream_on_as_it_comes_byte_by_byte(one, tmp_path) -> None:
    script = (
        f'printf "first\\n"; printf "\\377\\000 odd" >&2; until test -e {tmp_path}/go; do sleep 0.05; done; echo last'
    )
    running = one.start("run", "--", "sh", "-c", script)
    assert running.stdout.readline() == b"first\n"
    (tmp_path / "go").touch()
    code, out, err = finish(running)
    assert (code, out, err) == (0, b"last\n", b"\xff\x00 odd")


def test_follow_shows_all_attempts_to_the_end(one) -> None:
    done = one(
        "submit",
        "--follow",
        "--retries",
        "2",
        "--backoff",
        "fixed:10ms",
        "--",
        "sh",
        "-c",
        "echo $CRONOQ_ATTEMPT; exit 4",
    )
    assert done.returncode == 4
    assert done.stdout == "1\n2\n3\n"


def test_logs_follow_goes_on_over_a_restart_of_the_daemon(cronoq, tmp_path) -> None:
    script = f"echo one; until test -e {tmp_path}/go; do sleep 0.05; done; echo two"
    task_id = cronoq.submit("--", "sh", "-c", script)
    following = cronoq.start("logs", "-f", task_id)
    assert following.stdout.readline() == b"one\n"
    cronoq.ok("daemon", "restart")
    (tmp_path / "go").touch()
    assert finish(following)[:2] == (0, b"two\n")


def test_wait_any_returns_with_the_first_end(one) -> None:
    long, short = one.submit("--", "sleep", "600"), one.submit("--", "sh", "-c", "sleep 0.2; exit 3")
    done = one("wait", "--any", long, short, "--json")
    assert done.returncode == 1
    assert [task["id"] for task in json.loads(done.stdout)["tasks"]] == [short]
    one.ok("cancel", long)


def test_wait_means_the_tasks_that_were_there_when_it_was_asked(one, tmp_path) -> None:
    first = one.submit("--key", "moving", "--", "sh", "-c", f"until test -e {tmp_path}/go; do sleep 0.05; done")
    waiting = one.start("wait", "moving")
    wait_parked(one, waiting)
    (tmp_path / "go").touch()
    one.wait_for(first)
    one.ok("submit", "--key", "moving", "--", "sleep", "600")
    assert finish(waiting)[0] == 0
    one.ok("cancel", "moving")


# -- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_run_cancels_the_task_and_waits_until_it_is_gone(one, tmp_path, number, status) -> None:
    script = f"trap 'sleep 0.3; exit 0' TERM; echo $$ > {tmp_path}/pid; {LOOP}"
    running = one.start("run", "-k", f"told{status}", "--", "sh", "-c", script)
    pid = read_pid(one, tmp_path / "pid")
    running.send_signal(number)
    assert finish(running)[0] == status
    assert is_gone(pid)
    assert one.show(f"told{status}")["status"] == "cancelled"


def test_a_second_signal_to_run_hurries(one, tmp_path) -> None:
    running = one.start("run", "--grace", "1h", "--", "sh", "-c", f"trap '' TERM; echo $$ > {tmp_path}/pid; {LOOP}")
    pid = read_pid(one, tmp_path / "pid")
    running.send_signal(signal.SIGTERM)
    one.wait_until(lambda: one.show("last")["status"] == "cancelled")
    assert not is_gone(pid)
    running.send_signal(signal.SIGTERM)
    assert finish(running)[0] == 143
    assert is_gone(pid)


def test_hangup_detaches_run_and_the_task_goes_on(one, tmp_path) -> None:
    running = one.start("run", "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; {LOOP}")
    pid = read_pid(one, tmp_path / "pid")
    running.send_signal(signal.SIGHUP)
    code, _, err = finish(running)
    assert code == 129
    assert b"goes on" in err
    assert not is_gone(pid)
    one.ok("cancel", "last")


@pytest.mark.parametrize("words", [["wait"], ["logs", "-f"]], ids=" ".join)
def test_ctrl_c_leaves_a_waiting_command_at_once_and_the_task_alone(one, words) -> None:
    task_id = one.submit("--", "sh", "-c", f"echo up; {LOOP}")
    waiting = one.start(*words, task_id)
    one.wait_until(lambda: has_socket(waiting.pid))
    waiting.send_signal(signal.SIGINT)
    code, _, err = finish(waiting)
    assert (code, b"Traceback" in err) == (130, False)
    assert one.show(task_id)["status"] == "running"
    one.ok("cancel", task_id)


@pytest.mark.parametrize("option", ["--wait", "--follow"])
def test_ctrl_c_leaves_a_submission_that_waits_and_the_task_alone(one, tmp_path, option) -> None:
    waiting = one.start("submit", option, "--", "sh", "-c", f"touch {tmp_path}/up; {LOOP}")
    one.wait_until((tmp_path / "up").exists)
    waiting.send_signal(signal.SIGINT)
    code, _, err = finish(waiting)
    assert (code, b"Traceback" in err) == (130, False)
    assert one.show("last")["status"] == "running"
    one.ok("cancel", "last")


def test_ctrl_c_at_any_moment_of_a_start_makes_no_traceback(one) -> None:
    for number in range(6):
        client = one.start("wait", "--timeout", "5s", "--all") if number % 2 else one.start("daemon", "status")
        time.sleep(0.04 * number)  # somewhere in its start: which moment does not matter
        client.send_signal(signal.SIGINT)
        code, _, err = finish(client)
        assert b"Traceback" not in err or b"init_import_site" in err  # before a line of ours has run
        assert code in (0, 1, 3, 124, 130, -signal.SIGINT)


# -- terminals ---------------------------------------------------------------------------------------------------------


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, cronoq: Any, *words: str) -> None:
        self.cronoq = cronoq
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*cronoq.command, *words],
            env=cronoq.env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = b""

    def type(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def read_until(self, text: bytes) -> None:
        deadline = time.monotonic() + 20
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.ours, 4096)
                except OSError:
                    assert text in self.text
                    return

    def finish(self) -> int:
        code = self.process.wait(20)
        os.close(self.ours)
        return code


def test_on_a_terminal_the_first_ctrl_c_asks_and_the_second_cancels(one, tmp_path) -> None:
    terminal = Terminal(one, "run", "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; {LOOP}")
    pid = read_pid(one, tmp_path / "pid")
    terminal.interrupt()
    terminal.read_until(b"again within 2 s to cancel, d to detach")
    assert one.show("last")["status"] == "running"
    terminal.interrupt()
    assert terminal.finish() == 130
    assert is_gone(pid)


def test_on_a_terminal_d_detaches_after_the_first_ctrl_c(one, tmp_path) -> None:
    terminal = Terminal(one, "run", "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; {LOOP}")
    pid = read_pid(one, tmp_path / "pid")
    terminal.interrupt()
    terminal.read_until(b"again within")
    terminal.type(b"d")
    terminal.read_until(b"goes on")
    assert terminal.finish() == 0
    assert not is_gone(pid)
    one.ok("cancel", "last")


# -- the daemon goes away ----------------------------------------------------------------------------------------------


def test_waiting_clients_come_back_to_the_daemon_after_a_restart_and_after_a_crash(cronoq, tmp_path) -> None:
    script = f"echo up; until test -e {tmp_path}/go; do sleep 0.05; done; echo down; exit 6"
    running = cronoq.start("run", "-k", "it", "--", "sh", "-c", script)
    assert running.stdout.readline() == b"up\n"
    waiting = cronoq.start("wait", "it")
    wait_parked(cronoq, waiting)
    cronoq.ok("daemon", "restart")
    os.kill(cronoq.find_daemon(), signal.SIGKILL)
    cronoq.wait_until(lambda: cronoq.find_daemon() and cronoq("daemon", "status").returncode == 0, what="a new daemon")
    (tmp_path / "go").touch()
    code, _, err = finish(waiting)
    assert (code, err.decode()) == (6, "cronoq: task 1 failed: exit 6\n")
    code, out, err = finish(running)
    assert (code, out, err) == (6, b"down\n", b"")
    assert cronoq.show("it")["attempt"] == 1


def test_following_events_goes_on_over_a_restart_without_a_gap_or_a_repetition(cronoq) -> None:
    cronoq.ok("daemon", "start")
    following = cronoq.start("events", "-f", "--after-seq", "0", "--json")
    cronoq.ok("submit", "--wait", "--", "true")
    cronoq.ok("daemon", "restart")
    cronoq.ok("submit", "--wait", "--", "true")
    wanted = cronoq.ask("events", "-n", "100")["events"]
    got = [json.loads(following.stdout.readline()) for _ in wanted]
    following.terminate()
    following.communicate(timeout=20)
    assert [event["seq"] for event in got] == [event["seq"] for event in wanted]
