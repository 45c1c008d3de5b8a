"""What a client does when a daemon runs, when none does, and when it is an older one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cronoq_cli.client import gateway as gateway_module
from cronoq_cli.client import launch
from cronoq_cli.client.connection import ProcessEnd, find_connection
from cronoq_cli.config.paths import prepare_dirs
from cronoq_cli.daemon.instance import InstanceLock
from cronoq_cli.errors import CronoqError, InvalidError, NoDaemonError, NotFoundError
from cronoq_cli.wire import codec
from cronoq_cli.wire.requests import (
    Cancel,
    DaemonStatus,
    DaemonStop,
    Hold,
    ListTasks,
    Selector,
    ShowTasks,
    Submit,
    WaitTasks,
)
from cronoq_cli.wire.sockets import bind_unix
from tests.client.harness import PATIENCE_S, Client

ALL = Selector(all=True)
STOP = DaemonStop()


def test_a_change_starts_a_daemon_and_later_requests_find_it(client: Client) -> None:
    assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == 1
    assert client.gateway.ask(Cancel(select=ALL)).doc["submitted"] == 1
    assert len(client.starts) == 1
    assert client.notes == []


def test_twenty_racing_clients_start_exactly_one_daemon_and_all_succeed(home: Path) -> None:
    gate = threading.Barrier(20)

    def submit(_: int) -> int:
        client = Client(home)
        gate.wait(PATIENCE_S)
        return int(client.gateway.ask(Submit(specs=[])).doc["submitted"])

    with ThreadPoolExecutor(20) as pool:
        counts = sorted(pool.map(submit, range(20)))
    assert counts == list(range(1, 21))
    assert len(Client(home).starts) == 1


def test_a_client_that_loses_the_lock_to_another_daemon_just_connects(client: Client) -> None:
    """As when somebody runs `daemon run` at the same moment, past the lock of the launching clients."""
    prepare_dirs(client.paths)
    lock = InstanceLock(client.paths.lock_file)
    assert lock.try_acquire()
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(client.start)
        refused = Path(client.paths.state_dir, "refused")
        while not refused.exists():
            assert not starting.done()
        lock.release()
        command = launch.build_command(client.paths, "--foreground")
        with subprocess.Popen(command, env=client.env, stdout=subprocess.PIPE) as rival:
            assert starting.result(PATIENCE_S) == {
                "daemon": {"pid": rival.pid, "version": "0.1.0", "resumed": 3},
                "started": False,
            }
            rival.kill()


def test_starting_a_running_daemon_does_nothing(client: Client) -> None:
    first, second = client.start(), client.start()
    assert (first["started"], second["started"]) == (True, False)
    assert first["daemon"]["pid"] == second["daemon"]["pid"] == client.starts[0][0]
    assert "was_stopped" not in first["daemon"]


def test_the_started_daemon_has_left_its_caller(client: Client) -> None:
    client.env |= {"CRONOQ_TASK_ID": "", "CRONOQ_DEBUG": "1", "NOTIFY_SOCKET": "/nowhere", "MARK": "kept"}
    pid = client.start()["daemon"]["pid"]
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert b"MARK=kept" in variables
    assert not [one for one in variables if one.startswith((b"CRONOQ_", b"NOTIFY_SOCKET"))]
    assert os.getsid(pid) not in (os.getsid(0), 0)
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getpgid(pid) != os.getpgid(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_reads_without_a_daemon_answer_from_the_store_and_say_so(client: Client) -> None:
    assert client.gateway.ask(ListTasks()).doc["tasks"] == []
    assert client.notes == ["no daemon runs; this is what its store says"]
    assert client.starts == []
    assert not os.path.exists(client.paths.state_dir)


def test_what_is_not_found_without_a_daemon_says_so_too(client: Client) -> None:
    for _ in range(2):
        with pytest.raises(NotFoundError):
            client.gateway.ask(ShowTasks(select=Selector(refs=["7"])))
    assert client.notes == ["no daemon runs; this is what its store says"]


def test_status_without_a_daemon_is_idle_with_exit_5(client: Client) -> None:
    reply = client.gateway.ask(DaemonStatus())
    assert (reply.doc["daemon"]["state"], reply.exit) == ("idle", 5)


@pytest.mark.parametrize("request_", [Submit(specs=[]), WaitTasks(select=ALL), Hold(select=ALL)])
def test_a_daemon_that_may_not_be_started_is_exit_5(home: Path, request_: Submit) -> None:
    client = Client(home, CRONOQ_NO_AUTOSTART="1")
    with pytest.raises(NoDaemonError) as caught:
        client.gateway.ask(request_)
    assert caught.value.exit == 5 and "CRONOQ_NO_AUTOSTART" in caught.value.message
    assert client.starts == []


def test_the_configuration_can_forbid_to_start_one(client: Client, home: Path) -> None:
    home.mkdir(0o700)
    (home / "config.toml").write_text("[daemon]\nautostart = false\n")
    with pytest.raises(NoDaemonError, match=r"daemon\.autostart"):
        client.gateway.ask(Submit(specs=[]))
    assert client.start()["started"]


def test_after_a_stop_only_a_submission_or_a_start_brings_it_back_and_says_what_goes_on(client: Client) -> None:
    client.start()
    client.streams.stop_daemon(STOP)
    for request in (Cancel(select=ALL), WaitTasks(select=ALL)):
        with pytest.raises(NoDaemonError, match="was stopped"):
            client.gateway.ask(request)
    assert client.gateway.ask(ListTasks()).doc["tasks"] == []
    client.notes.clear()
    assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == 1
    assert client.notes == ["the daemon had been stopped; it resumes 3 tasks"]
    client.streams.stop_daemon(STOP)
    assert client.start()["started"]
    assert len(client.notes) == 2


def test_after_a_crash_or_a_restart_any_change_brings_it_back(client: Client) -> None:
    client.start()
    client.kill()
    client.gateway.ask(Cancel(select=ALL))
    client.streams.stop_daemon(DaemonStop(mode="keep", restart=True))
    client.gateway.ask(Cancel(select=ALL))
    assert len(client.starts) == 3
    assert client.notes == []


def test_stop_returns_when_the_process_is_gone(client: Client) -> None:
    client.start()
    connection = find_connection(client.paths)
    assert connection is not None
    end = ProcessEnd(connection)
    client.streams.stop_daemon(STOP)
    assert end.wait(0)
    end.close()
    connection.close()
    with pytest.raises(NoDaemonError):
        client.streams.stop_daemon(STOP)


def test_inside_a_task_no_daemon_is_started(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "IN_TASK_S", 0.1)
    client = Client(home, CRONOQ_TASK_ID="7", CRONOQ_HOME=str(home))
    with pytest.raises(NoDaemonError, match="no daemon came back"):
        client.gateway.ask(Submit(specs=[]))
    assert client.starts == []


def test_inside_a_task_a_daemon_that_comes_back_is_used(home: Path) -> None:
    client = Client(home, CRONOQ_TASK_ID="7", CRONOQ_HOME=str(home))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.gateway.ask, Submit(specs=[]))
        Client(home).start()
        assert asked.result(PATIENCE_S).doc["submitted"] == 1


def test_a_home_of_its_own_is_not_inside_the_task(home: Path) -> None:
    client = Client(home, CRONOQ_TASK_ID="7", CRONOQ_HOME="/somewhere/else")
    assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == 1


def test_a_refusal_of_the_daemon_keeps_its_exit(client: Client) -> None:
    client.start()
    with pytest.raises(CronoqError) as caught:
        client.gateway.ask(ListTasks(limit=0))
    assert (caught.value.code, caught.value.exit) == ("not-found", 3)
    assert client.gateway.ask(ListTasks()).doc["submitted"] == 0


def test_a_daemon_that_cannot_start_says_why(home: Path) -> None:
    with pytest.raises(CronoqError) as caught:
        Client(home, FAKE="refuse").gateway.ask(Submit(specs=[]))
    assert caught.value.exit == 7
    assert caught.value.line() == "the configuration is wrong (mend it)"


def test_a_daemon_that_dies_silently_leaves_its_last_words(home: Path) -> None:
    with pytest.raises(NoDaemonError) as caught:
        Client(home, FAKE="silent").gateway.ask(Submit(specs=[]))
    assert "Traceback: a reason" in caught.value.line() and "daemon.log" in caught.value.line()


def test_an_interpreter_that_is_gone_is_one_clear_line(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "build_command", lambda paths, *options: ["/gone/bin/python", *options])
    with pytest.raises(NoDaemonError, match="/gone/bin/python: No such file"):
        client.start()


def test_a_change_that_was_not_answered_is_not_repeated(home: Path) -> None:
    client = Client(home, FAKE="unanswered")
    with pytest.raises(CronoqError) as caught:
        client.gateway.ask(Submit(specs=[]))
    assert (caught.value.code, caught.value.exit) == ("unanswered", 125)
    assert len(client.starts) == 1


def test_a_line_the_daemon_died_over_is_not_asked_again_but_reads_are(client: Client) -> None:
    client.gateway._unanswered = True
    client.start()
    with pytest.raises(CronoqError, match="not known"):
        client.gateway.ask(Submit(specs=[]))
    assert client.gateway.ask(ListTasks()).doc["submitted"] == 0


def test_a_connection_that_went_stale_between_two_requests_is_renewed(client: Client) -> None:
    client.gateway.ask(Submit(specs=[]))
    client.kill()
    assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == 1
    assert len(client.starts) == 2


def test_an_older_daemon_is_restarted_and_said_so(home: Path) -> None:
    Client(home, FAKE="version=0.0.1").start()
    client = Client(home)
    assert client.gateway.ask(Submit(specs=[])).doc["daemon"]["version"] == "0.1.0"
    assert [version for _, version in client.starts] == ["0.0.1", "0.1.0"]
    assert client.notes == ["restarted the daemon: it was cronoq 0.0.1, now 0.1.0"]


def test_an_older_daemon_that_is_to_stay_is_used_with_a_note(home: Path) -> None:
    home.mkdir(0o700)
    (home / "config.toml").write_text("[daemon]\nauto_upgrade = false\n")
    Client(home, FAKE="version=0.0.1").start()
    client = Client(home)
    for count in (1, 2):
        assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == count
    assert len(client.notes) == 1 and "cronoq daemon restart" in client.notes[0]
    assert len(client.starts) == 1


def test_status_of_an_older_daemon_restarts_nothing(home: Path) -> None:
    Client(home, FAKE="version=0.0.1").start()
    client = Client(home)
    assert client.gateway.ask(DaemonStatus()).doc["daemon"]["version"] == "0.0.1"
    assert client.streams.stop_daemon(STOP).exit == 0
    assert len(client.starts) == 1


def test_a_daemon_of_another_user_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.start()
    mine = os.geteuid()
    monkeypatch.setattr("cronoq_cli.client.connection.os.geteuid", lambda: mine + 1)
    with pytest.raises(InvalidError, match="belongs to user"):
        find_connection(client.paths)


def test_a_stale_socket_is_no_daemon(client: Client, home: Path) -> None:
    home.mkdir(0o700)
    bind_unix(client.paths.socket).close()
    assert find_connection(client.paths) is None
    assert client.gateway.ask(Submit(specs=[])).doc["submitted"] == 1


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", codec.encode_frame(b"F", b"stream")])
def test_a_listener_that_speaks_otherwise_is_a_protocol_error(client: Client, home: Path, said: bytes) -> None:
    home.mkdir(0o700)
    listener = bind_unix(client.paths.socket)

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(said)

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(CronoqError) as caught:
        client.gateway.ask(ListTasks())
    assert caught.value.exit == 6
    thread.join(PATIENCE_S)
    listener.close()


def test_the_real_command_is_this_interpreter_and_module(tmp_path: Path) -> None:
    paths = Client(tmp_path / "home").paths
    assert launch.build_command(paths, "--ready-fd", "5") == [
        *(sys.executable, "-P", "-m", "cronoq_cli.daemon"),
        *("--home", str(tmp_path / "home"), "--ready-fd", "5"),
    ]
