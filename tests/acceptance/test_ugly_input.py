"""What no client of ours would send: the daemon answers or hangs up, serves the others meanwhile, and loses nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

MIB = 1 << 20


def memory_of(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


def frame(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload) + 1) + kind + payload


def ask_raw(path: Path, data: bytes) -> bytes:
    """What the daemon answers to these bytes until it hangs up, or until nothing more can come."""
    with connect(path) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = b""
        try:
            while piece := connection.recv(1 << 16):
                answer += piece
        except ConnectionError:
            pass
        return answer


RANDOM = random.Random(7)
UGLY = {
    "one byte": b"\0",
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "random": RANDOM.randbytes(MIB),
    "four gibibytes": b"\xff\xff\xff\xff" + b"x" * 1000,
    "a hundred mebibytes announced": struct.pack(">I", 100 * MIB) + b"Q{",
    "an empty frame": struct.pack(">I", 0),
    "an unknown kind": frame(b"?", b"{}"),
    "no JSON": frame(b"Q", b"{"),
    "JSON of a wrong shape": frame(b"Q", b'[1, {"a": null}]'),
    "a wrong request": frame(b"Q", b'{"protocol":1,"client":"0","request":{"type":"no-such"}}'),
    "a wrong field": frame(b"Q", b'{"protocol":1,"client":"0","request":{"type":"cancel","select":7}}'),
    "another protocol": frame(b"Q", b'{"protocol":999,"client":"9","request":{"type":"ls"}}'),
    "deep JSON": frame(b"Q", b"[" * 100_000),
    "a huge number": frame(b"Q", b'{"protocol":' + b"9" * 10_000 + b"}"),
    "an empty command line": frame(b"A", b""),
    "a short command line": frame(b"A", b"cronoq-a1\0" + b"0\0" * 3),
    "a command line with wrong counts": frame(b"A", b"cronoq-a1\x000.1.0\0oe\x0080\x00022\x009999\x00-3\0/\0ls\0"),
    "a cut frame": frame(b"Q", b"x" * 1000)[:500],
}


def test_garbage_on_the_socket_is_answered_or_cut_and_the_next_client_is_served(cronoq) -> None:
    task_id = cronoq.submit("--hold", "--", "true")
    daemon = cronoq.find_daemon()
    for what, data in UGLY.items():
        answer = ask_raw(cronoq.home / "cronoq.sock", data)
        assert answer == b"" or answer[4:5] in (b"X", b"F", b"R"), (what, answer[:100])
        assert cronoq.show(task_id)["held"], what
    assert [task["id"] for task in cronoq.ask("ls", "--limit", "all")["tasks"]] == [task_id]
    assert cronoq.find_daemon() == daemon
    assert "Traceback" not in (cronoq.home / "daemon.log").read_text()


def test_a_message_of_a_hundred_mebibytes_is_refused_with_a_word_and_costs_no_memory(cronoq) -> None:
    cronoq.output("true")
    daemon = cronoq.find_daemon()
    before = memory_of(daemon)
    answer = ask_raw(cronoq.home / "cronoq.sock", struct.pack(">I", 100 * MIB) + b"Q" + bytes(100 * MIB))
    assert answer[4:5] == b"X"
    said = json.loads(answer[5:])
    assert "too long" in said["message"]
    assert str(64 * MIB) in said["hint"]
    assert memory_of(daemon) - before < 30 * MIB
    assert cronoq.find_daemon() == daemon


def test_a_batch_of_a_hundred_mebibytes_is_refused_whole_by_a_clear_line(cronoq, tmp_path) -> None:
    cronoq.output("true")
    daemon = cronoq.find_daemon()
    with (tmp_path / "batch").open("w") as file:
        line = json.dumps({"command": ["echo", "x" * 100_000]}) + "\n"
        for _ in range(1050):
            file.write(line)
    done = cronoq("submit", "--batch", str(tmp_path / "batch"), timeout=120)
    if done.returncode != 0:
        assert done.stderr.startswith("cronoq: ")
        assert len(done.stderr.strip().splitlines()) == 1
        assert len(cronoq.ask("ls", "--limit", "all")["tasks"]) == 1
    else:
        assert done.stdout.strip() == "2-1051"
    assert cronoq.find_daemon() == daemon
    assert cronoq.output("--", "echo", "alive", timeout=120) == "alive\n"


def test_two_hundred_silent_and_slow_clients_keep_nobody_waiting(cronoq) -> None:
    cronoq.output("true")
    path = cronoq.home / "cronoq.sock"
    silent = [connect(path) for _ in range(200)]
    for number, connection in enumerate(silent):
        if number % 2:
            connection.sendall(frame(b"Q", b"x" * 100)[: 1 + number % 50])
    began = time.monotonic()
    cronoq.ok("ls")
    assert time.monotonic() - began < 3
    cronoq.output("true")
    for connection in silent:
        connection.close()
    cronoq.wait_until(lambda: len(os.listdir(f"/proc/{cronoq.find_daemon()}/fd")) < 50, what="the descriptors freed")


def test_a_client_that_never_reads_its_answer_does_not_hold_the_daemon(cronoq) -> None:
    lines = "".join(json.dumps({"command": ["true"], "hold": True, "name": "n" * 500}) + "\n" for _ in range(3000))
    cronoq.ok("submit", "-q", "--batch", "-", input=lines)
    daemon = cronoq.find_daemon()
    deaf = [connect(cronoq.home / "cronoq.sock") for _ in range(5)]
    words = [b"ls", b"--limit", b"all", b"--json"]
    payload = b"\0".join([b"cronoq-a1", b"0.1.0", b"", b"", b"022", b"4", b"0", b"/", *words])
    for connection in deaf:
        connection.sendall(frame(b"A", payload) * 3)
    began = time.monotonic()
    cronoq.ok("show", "1")
    assert time.monotonic() - began < 5
    for connection in deaf:
        connection.close()
    assert cronoq.output("--", "echo", "alive") == "alive\n"
    assert cronoq.find_daemon() == daemon
    assert memory_of(daemon) < 300 * MIB


def test_garbage_on_the_runners_socket_harms_no_task(cronoq, tmp_path) -> None:
    task_id = cronoq.submit("-C", str(tmp_path), "--", "sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; exit 5")
    cronoq.wait_for(task_id, "running")
    runners = cronoq.list_runners()
    path = next(iter(cronoq.home.glob("runner-*.sock")))
    for data in (*UGLY.values(), struct.pack(">I", 2) + b"[]", struct.pack(">I", 17) + b'[{"order":"stop"}]'):
        ask_raw(path, data)
    wrong = json.dumps([{"order": "open", "version": 1, "store": "x", "epoch": 0, "lanes": {}}]).encode()
    ask_raw(path, struct.pack(">I", len(wrong)) + wrong)
    (tmp_path / "go").touch()
    assert cronoq.wait_for(task_id)["exit_code"] == 5
    assert cronoq.list_runners() == runners
    cronoq.output("true")


# -- sockets ---------------------------------------------------------------------------------------------------------


def test_a_home_of_two_hundred_bytes_works(make_cronoq, tmp_path) -> None:
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    cronoq = make_cronoq(deep)
    assert len(str(deep / "cronoq.sock")) > 200
    assert cronoq.output("--", "echo", "here") == "here\n"
    assert cronoq.ask("ls", "--limit", "all")["tasks"][0]["status"] == "succeeded"
    cronoq.ok("daemon", "restart")
    cronoq.output("true")


def test_a_home_with_odd_bytes_works(make_cronoq, tmp_path) -> None:
    cronoq = make_cronoq(tmp_path / os.fsdecode(b"h\xff \n'\"$"))
    assert cronoq.output("--", "echo", "here") == "here\n"
    assert cronoq("ls").returncode == 0
    cronoq.ok("daemon", "restart")


def test_a_stale_socket_is_replaced(cronoq) -> None:
    cronoq.output("true")
    for pid in (cronoq.find_daemon(), *cronoq.list_runners()):
        os.kill(pid, signal.SIGKILL)
    cronoq.wait_until(lambda: not cronoq.list_processes())
    assert (cronoq.home / "cronoq.sock").is_socket()
    assert cronoq.output("--", "echo", "again") == "again\n"


def test_a_file_where_the_socket_should_be_is_a_clear_error_and_stays(cronoq) -> None:
    cronoq.output("true")
    cronoq.ok("daemon", "stop")
    (cronoq.home / "cronoq.sock").write_text("precious")
    done = cronoq("daemon", "start")
    assert done.returncode in (5, 7)
    assert "cronoq.sock" in done.stderr
    assert "Traceback" not in done.stderr
    assert (cronoq.home / "cronoq.sock").read_text() == "precious"
    cronoq.wait_until(lambda: not cronoq.list_processes(), within_s=5)


@pytest.mark.parametrize("content", ['{"pid": %d}', "%d", "garbage\0"])
def test_what_stands_in_the_lock_file_never_keeps_a_daemon_from_starting(cronoq, content) -> None:
    cronoq.home.mkdir(mode=0o700, exist_ok=True)
    (cronoq.home / "daemon.lock").write_text(content % os.getpid() if "%d" in content else content)
    cronoq.ok("daemon", "start", timeout=20)


def test_a_socket_that_was_removed_under_a_running_daemon_is_told_and_comes_back_by_a_hangup(cronoq) -> None:
    task_id = cronoq.submit("--", "sleep", "1000")
    cronoq.wait_for(task_id, "running")
    daemon = cronoq.find_daemon()
    (cronoq.home / "cronoq.sock").unlink()
    done = cronoq("submit", "--", "true", timeout=60)
    assert "Traceback" not in done.stderr
    assert done.returncode == 5
    assert f"kill -HUP {daemon}" in done.stderr
    os.kill(daemon, signal.SIGHUP)
    cronoq.wait_until((cronoq.home / "cronoq.sock").exists)
    assert cronoq.show(task_id)["status"] == "running"
    assert cronoq.find_daemon() == daemon


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_home_of_ours_that_is_open_to_others_is_closed_or_refused(cronoq, mode) -> None:
    cronoq.home.mkdir()
    cronoq.home.chmod(mode)
    cronoq.output("true")
    assert cronoq.home.stat().st_mode & 0o777 == 0o700


def test_a_symbolic_link_as_home_is_refused(make_cronoq, tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cronoq = make_cronoq(tmp_path / "link")
    done = cronoq("submit", "--", "true")
    assert done.returncode == 7
    assert "symbolic link" in done.stderr


def test_a_reload_takes_the_defaults_of_a_pool_for_what_is_submitted_then_whole_or_not_at_all(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 2\n")
    before = cronoq.submit("--hold", "--", "false")
    cronoq.configure('[pools.default]\nworkers = 2\nretries = 1\nbackoff = "fixed:10ms"\n')
    cronoq.ok("daemon", "reload")
    after = cronoq.submit("--", "false")
    task = cronoq.wait_for(after)
    assert (task["status"], task["attempt"]) == ("dead_lettered", 2)
    cronoq.configure("[pools.default]\nworkers = 3\nretries = -1\n")
    refused = cronoq("daemon", "reload")
    assert refused.returncode == 7
    assert "retries" in refused.stderr
    assert cronoq.ask("pool", "show", "default")["pool"]["workers"] == 2
    cronoq.ok("release", before)
    task = cronoq.wait_for(before)
    assert (task["status"], task["attempt"]) == ("failed", 1)


def test_a_configuration_that_is_wrong_is_told_with_its_place_and_nothing_starts(cronoq) -> None:
    cronoq.configure("[pools.default]\nwokers = 3\n")
    done = cronoq("submit", "--", "true")
    assert done.returncode == 7
    assert "wokers" in done.stderr
    assert "workers" in done.stderr
    cronoq.configure("[pools.default\n")
    done = cronoq("submit", "--", "true")
    assert done.returncode == 7
    assert "config.toml" in done.stderr
    assert not cronoq.list_processes()
