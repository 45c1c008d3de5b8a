"""What tasks write: straight to their log, byte for byte, in order, however much and whatever it is."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

GIB = 1 << 30
MIB = 1 << 20


def peak_memory(pid: int) -> int:
    """The highest resident memory of a process so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def read_some(stream: Any, size: int, within_s: float) -> bytes:
    """At least `size` bytes of a pipe, or what has come when the time is over."""
    deadline = time.monotonic() + within_s
    data = b""
    while len(data) < size and select.select([stream], [], [], max(deadline - time.monotonic(), 0))[0]:
        piece = os.read(stream.fileno(), 1 << 16)
        if not piece:
            break
        data += piece
    return data


@pytest.mark.slow
def test_a_gibibyte_of_output_nobody_reads_is_written_at_the_speed_of_the_disk(cronoq) -> None:
    task_id = cronoq.submit("--", "sh", "-c", f"head -c {GIB} /dev/zero >&2")
    task = cronoq.wait_for(task_id, within_s=60)
    assert (task["status"], Path(task["log"]).stat().st_size) == ("succeeded", GIB)
    for pid in (cronoq.find_daemon(), *cronoq.list_runners()):
        assert peak_memory(pid) < 200 * MIB
    Path(task["log"]).unlink()


def test_both_streams_in_turn_keep_their_true_order_in_one_log(shared) -> None:
    count = 2000
    line = f"i=0; while [ $i -lt {count} ]; do echo $i; echo $i >&2; i=$((i+1)); done"
    task_id = shared.submit("--", "sh", "-c", line)
    assert shared.wait_for(task_id)["status"] == "succeeded"
    assert shared.logs(task_id).split() == [b"%d" % (n // 2) for n in range(2 * count)]


def test_run_keeps_the_streams_apart_and_passes_every_byte_on(shared) -> None:
    line = "head -c 3000000 /dev/urandom | tee copy; printf 'err\\303' >&2"
    done = subprocess.run(
        [*shared.command, "run", "-C", str(shared.home), "--", "sh", "-c", line],
        env=shared.env,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b"err\xc3"
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256((shared.home / "copy").read_bytes()).digest()
    assert shared.logs("last", "--stderr") == done.stdout[:0]
    assert shared("logs", "last", "--stderr").stderr.encode("utf-8", "surrogateescape") == done.stderr


def test_bytes_that_are_no_text_are_stored_and_shown_as_they_are(shared) -> None:
    raw = b"a\xc1\xff\x00b\n"
    task_id = shared.submit("--", "printf", r"a\301\377\000b\n")
    task = shared.wait_for(task_id)
    assert Path(task["log"]).read_bytes() == raw
    assert shared.logs(task_id) == raw
    text = shared.ask("logs", task_id)["logs"][0]["text"]
    assert text.encode("utf-8", "surrogateescape") == raw


def test_ten_megabytes_in_one_line_of_a_progress_bar_are_kept_and_cost_no_time(shared) -> None:
    script = "import sys\nfor n in range(100000): sys.stdout.write('\\r%-98d%%' % n)"
    task_id = shared.submit("--", "/usr/bin/env", "python3", "-c", script)
    assert shared.wait_for(task_id)["status"] == "succeeded"
    began = time.monotonic()
    tail = shared.logs(task_id, "-n", "10")
    assert time.monotonic() - began < 3
    assert len(tail) == 100_000 * 100
    assert tail.endswith(b"\r%-98d%%" % 99_999)


def test_the_last_line_needs_no_newline(shared) -> None:
    task_id = shared.submit("--", "printf", "abc")
    shared.wait_for(task_id)
    assert shared.logs(task_id) == b"abc"
    assert shared.logs(task_id, "-n", "1") == b"abc"


def test_follow_shows_a_line_before_its_newline_comes(shared, tmp_path) -> None:
    line = "printf abc; while ! [ -e go ]; do sleep 0.05; done"
    task_id = shared.submit("-C", str(tmp_path), "--", "sh", "-c", line)
    follower = shared.start("logs", "-f", task_id)
    assert read_some(follower.stdout, 3, 10) == b"abc"
    (tmp_path / "go").touch()
    assert follower.communicate(timeout=20) == (b"", b"")
    assert follower.returncode == 0


def test_on_a_terminal_the_prompt_begins_on_a_line_of_its_own(shared) -> None:
    task_id = shared.submit("--", "printf", "abc")
    shared.wait_for(task_id)
    leader, terminal = pty.openpty()
    done = shared.start("logs", task_id, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    assert done.wait(20) == 0
    assert os.read(leader, 100) == b"abc\r\n"
    os.close(leader)


def test_escapes_in_names_are_shown_not_obeyed_and_json_has_them_exactly(shared) -> None:
    name = "\x1b[31mred\x07\n<b>\"quoted'\t\udcff\u202eé"
    task_id = shared.submit("-n", name, "--", "true")
    assert shared.show(task_id)["name"] == name
    assert name in [task["name"] for task in shared.ask("ls", "--limit", "all")["tasks"]]
    for words in (("ls",), ("show", task_id), ("cancel", task_id), ("events",)):
        for env in ({}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}):
            done = shared(*words, env=env)
            seen = done.stdout + done.stderr
            assert "\x1b" not in seen
            assert "\x07" not in seen
            assert "\u202e" not in seen


def test_a_reader_that_goes_away_is_no_fault(shared) -> None:
    task_id = shared.submit("--", "sh", "-c", "seq 200000")
    shared.wait_for(task_id)
    for words in (["logs", str(task_id)], ["run", "--", "seq", "200000"]):
        line = 'first=$1; shift; "$@" 2>"$first" | head -1'
        done = subprocess.run(
            ["bash", "-c", line, "bash", str(shared.home / "errors"), *shared.command, *words],
            env=shared.env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.stdout == "1\n"
        assert (shared.home / "errors").read_text() == ""


def test_files_of_the_users_own_are_appended_with_the_ids_in_their_names(shared, tmp_path) -> None:
    options = ("-C", "/usr", "-o", "out-{id}-{attempt}", "-e", "err-{name}", "-n", "job")
    first, second = (
        shared.submit(*options, "--", "sh", "-c", "echo out; echo err >&2", cwd=tmp_path) for _ in range(2)
    )
    shared.wait_for(first)
    shared.wait_for(second)
    assert (tmp_path / f"out-{first}-1").read_text() == (tmp_path / f"out-{second}-1").read_text() == "out\n"
    assert (tmp_path / "err-job").read_text() == "err\n" * 2
    assert shared.logs(first) == b"out\n"


def test_a_file_that_is_also_the_commands_own_output_is_not_shown_into_itself(shared, tmp_path) -> None:
    """It would grow until the disk is full."""
    own = tmp_path / "own"
    with own.open("ab") as stream:
        for words in (("run", "-o", str(own)), ("run", "-e", str(own)), ("submit", "-f", "-o", str(own))):
            done = shared.start(*words, "--", "sh", "-c", "echo out; echo err >&2", stdout=stream)
            notes = done.communicate(timeout=30)[1]
            assert done.returncode == 0
            assert f"{own} is what this command writes to".encode() in notes
        task_id = shared.show("last")["id"]
        assert shared.start("logs", task_id, stdout=stream, stderr=subprocess.DEVNULL).wait(30) == 0
    assert own.stat().st_size < 100


@pytest.mark.parametrize("path", ["-", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/1", "/dev/tty"])
def test_the_commands_own_streams_are_no_files_for_the_task(shared, path) -> None:
    for option in ("-o", "-e"):
        done = shared("submit", option, path, "--", "true")
        assert done.returncode == 2
        assert path in done.stderr


def test_output_into_a_pipe_is_left_to_its_reader(shared, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = shared.wait_for(shared.submit("-o", str(tmp_path / "pipe"), "--", "echo", "x"))
    assert refused["status"] == "failed"
    assert "pipe" in refused["reason"]
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    done = shared("run", "-o", str(tmp_path / "pipe"), "--", "echo", "x", timeout=20)
    assert (done.returncode, done.stdout) == (0, "")
    assert os.read(reader, 100) == b"x\n"
    os.close(reader)
    done = shared("run", "-o", "/dev/full", "--", "sh", "-c", "echo x || exit 9", timeout=20)
    assert (done.returncode, done.stdout) == (9, "")


def test_an_output_file_that_cannot_be_opened_fails_the_attempt_with_the_reason(shared, tmp_path) -> None:
    task_id = shared.submit("-o", str(tmp_path / "missing" / "file"), "--", "true")
    task = shared.wait_for(task_id)
    assert (task["status"], task["exit_code"]) == ("failed", None)
    assert "missing/file" in task["reason"]


@pytest.mark.parametrize("victim", ["daemon", "runner"])
def test_a_crash_amid_heavy_output_leaves_a_whole_log_and_following_goes_on(cronoq, tmp_path, victim) -> None:
    line = "i=0; while ! [ -e go ] || [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo last $i"
    task_id = cronoq.submit("--grace", "1s", "-C", str(tmp_path), "--", "sh", "-c", line)
    with (tmp_path / "followed").open("wb") as followed:
        follower = cronoq.start("logs", "-f", task_id, stdout=followed)
    cronoq.wait_until(lambda: (tmp_path / "followed").stat().st_size > 0)
    pids = [cronoq.find_daemon()] if victim == "daemon" else cronoq.list_runners()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    cronoq.ok("daemon", "start")
    (tmp_path / "go").touch()
    task = cronoq.wait_for(task_id)
    assert follower.wait(40) == 0, follower.stderr.read()
    follower.stderr.close()
    log = cronoq.logs(task_id)
    assert (tmp_path / "followed").read_bytes() == log
    lines = log.decode().splitlines()
    whole = lines[:-1]
    assert whole == [f"line {n}" for n in range(len(whole))]
    if victim == "daemon":
        assert task["status"] == "succeeded"
        assert lines[-1] == f"last {len(whole)}"
    else:
        assert task["status"] == "dead_lettered"


class CountingProxy:
    """A socket in a home of its own that passes everything on to a daemon and counts it."""

    def __init__(self, home: Path, target: Path) -> None:
        home.mkdir(mode=0o700)
        self.target = target
        self.passed = 0
        self._ends: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(home / "cronoq.sock"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.target))
            self._ends += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                self.passed += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        for end in (self._listener, *self._ends):
            end.close()


def test_following_one_task_costs_the_same_however_many_wait(cronoq, tmp_path) -> None:
    proxy = CountingProxy(tmp_path / "p", cronoq.home / "cronoq.sock")
    try:
        lines = "\n".join(json.dumps({"command": ["true"], "hold": True}) for _ in range(3000))
        cronoq.ok("submit", "-q", "--batch", "-", input=lines + "\n")
        task_id = cronoq.submit(
            "-C", str(tmp_path), "--", "sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; seq 100"
        )
        follower = cronoq.start("logs", "-f", task_id, env={"CRONOQ_HOME": str(tmp_path / "p")})
        cronoq.wait_until(lambda: proxy.passed > 0)
        (tmp_path / "go").touch()
        out, err = follower.communicate(timeout=30)
        assert (out.split()[-1], err) == (b"100", b"")
        assert proxy.passed < 20_000
    finally:
        proxy.close()
