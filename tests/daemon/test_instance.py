"""One daemon a store: the lock, readiness, the mark of a stop, and leaving the caller behind."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.daemon import instance
from cronoq_cli.daemon.detach import DaemonOptions, open_log, parse_options
from cronoq_cli.daemon.instance import InstanceLock
from cronoq_cli.errors import ConflictError, InvalidError, UsageError

PATIENCE_S = 20.0


def test_only_one_holds_the_lock_and_says_who_it_is(tmp_path: Path) -> None:
    first, second = (InstanceLock(str(tmp_path / "daemon.lock")) for _ in range(2))
    assert first.try_acquire() and first.try_acquire()
    assert not second.try_acquire()
    assert second.read_holder() == {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "boot_id": instance.find_boot_id(),
    }
    first.release()
    assert second.try_acquire()
    assert stat.S_IMODE(os.stat(tmp_path / "daemon.lock").st_mode) == 0o600


CONTENTS = {
    "empty": b"",
    "garbage": b"garbage\xff",
    "list": b"[1]",
    "stranger": b'{"pid": 1}',
    "self": f'{{"pid": {os.getpid()}}}'.encode(),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_what_the_file_says_decides_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "daemon.lock").write_bytes(content)
    lock = InstanceLock(str(tmp_path / "daemon.lock"))
    assert isinstance(lock.read_holder(), dict)
    assert lock.try_acquire()


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from cronoq_cli.daemon.instance import InstanceLock; l = InstanceLock(sys.argv[1]);"
        "print(l.try_acquire(), flush=True); sys.stdin.read()"
    )
    path = str(tmp_path / "daemon.lock")
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"True\n"
        assert not InstanceLock(path).try_acquire()
        process.kill()
        process.wait()
        lock = InstanceLock(path)
        assert lock.read_holder()["pid"] == process.pid
        assert lock.try_acquire()


def test_a_lock_whose_file_was_removed_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    first = InstanceLock(str(path))
    assert first.try_acquire()
    path.unlink()
    second = InstanceLock(str(path))
    assert second.try_acquire()
    assert not InstanceLock(str(path)).try_acquire()


def test_a_symlink_or_a_directory_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "link", tmp_path):
        with pytest.raises(InvalidError):
            InstanceLock(str(path)).try_acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_a_standby_gets_the_lock_when_it_is_given_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        leader, standby = (InstanceLock(str(tmp_path / "daemon.lock")) for _ in range(2))
        assert leader.try_acquire()
        waiting = asyncio.create_task(standby.wait())
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done and not standby.is_held
        leader.release()
        await asyncio.wait_for(waiting, PATIENCE_S)
        assert standby.is_held
        standby.release()

    asyncio.run(scenario())


def test_a_standby_that_gives_up_leaves_the_lock_to_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        leader, standby, other = (InstanceLock(str(tmp_path / "daemon.lock")) for _ in range(3))
        assert leader.try_acquire()
        waiting = asyncio.create_task(standby.wait())
        await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()
        await asyncio.wait([waiting])
        leader.release()
        await asyncio.wait_for(other.wait(), PATIENCE_S)
        assert other.is_held and not standby.is_held

    asyncio.run(scenario())


def test_a_standby_whose_lock_cannot_be_used_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidError):
        asyncio.run(InstanceLock(str(tmp_path / "no" / "daemon.lock")).wait())


def test_the_mark_of_a_stop_comes_and_goes(tmp_path: Path) -> None:
    mark = str(tmp_path / "stopped")
    assert not instance.clear_stopped(mark)
    instance.mark_stopped(mark)
    instance.mark_stopped(mark)
    assert instance.clear_stopped(mark)
    assert not os.path.exists(mark)


def test_readiness_is_told_to_the_client() -> None:
    reading, writing = os.pipe()
    instance.announce_ready(writing, {"pid": 7})
    with open(reading, "rb") as pipe:
        assert pipe.read() == b'ready {"pid": 7}\n'


def test_a_failure_is_told_to_the_client() -> None:
    reading, writing = os.pipe()
    instance.announce_failure(writing, ConflictError("a daemon runs", hint="h"))
    with open(reading, "rb") as pipe:
        word, _, about = pipe.read().partition(b" ")
    assert word == b"error"
    assert json.loads(about) == {"code": "conflict", "message": "a daemon runs", "hint": "h", "exit": 4}


def test_a_client_that_waits_no_more_harms_nobody() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    instance.announce_ready(writing, {})
    instance.announce_ready(None, {})


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        ([], DaemonOptions()),
        (["--home", "/h", "--ready-fd", "5"], DaemonOptions(home="/h", ready_fd=5)),
        (["--foreground", "--standby"], DaemonOptions(standby=True, foreground=True)),
    ],
)
def test_the_options_of_the_daemon(argv: list[str], options: DaemonOptions) -> None:
    assert parse_options(argv) == options


@pytest.mark.parametrize("argv", [["--port", "1"], ["--ready-fd"], ["--ready-fd", "1"], ["--ready-fd", "x"]])
def test_other_options_are_refused(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_options(argv)


DETACHED = """
import json, os, signal, sys
from cronoq_cli.daemon.detach import detach, parse_options
detach(parse_options(sys.argv[1:]))
out = os.fdopen(int(sys.argv[2]), "w")
json.dump({
    "pid": os.getpid(), "ppid": os.getppid(), "sid": os.getsid(0), "cwd": os.getcwd(), "umask": os.umask(0),
    "fds": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)),
    "stdin": os.readlink("/proc/self/fd/0"), "ours": [n for n in os.environ if n.startswith("CRONOQ_")],
    "ignored": [int(s) for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN],
    "blocked": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
}, out)
"""


def detached(tmp_path: Path, *more: str) -> tuple[dict[str, Any], int, int]:
    """What a detached process says of itself; the called process's id, and the descriptor it got beside the pipe."""
    reading, writing = os.pipe()
    extra = os.open("/dev/null", os.O_RDONLY)

    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    called = subprocess.Popen(
        [sys.executable, "-P", "-c", DETACHED, "--ready-fd", str(writing), *more],
        env=os.environ | {"CRONOQ_TASK_ID": "1", "CRONOQ_HOME": "/x", "PYTHONPATH": os.getcwd()},
        cwd=tmp_path,
        pass_fds=(writing, extra),
        preexec_fn=prepare,  # noqa: PLW1509  # no other thread here
        umask=0o002,
    )
    os.close(writing)
    with open(reading) as pipe:
        said: dict[str, Any] = json.loads(pipe.read())
    assert called.wait(PATIENCE_S) == 0
    os.close(extra)
    return said, called.pid, writing


def test_a_detached_daemon_keeps_nothing_of_its_caller(tmp_path: Path) -> None:
    said, called, ready = detached(tmp_path)
    assert said["pid"] != called and said["sid"] not in (os.getsid(0), called)
    assert (said["cwd"], said["umask"], said["stdin"]) == ("/", 0o077, "/dev/null")
    assert said["fds"] == [0, 1, 2, ready]
    assert said["ours"] == []
    assert said["ignored"] == [signal.SIGPIPE]
    assert said["blocked"] == []


def test_in_the_foreground_the_process_and_its_session_stay(tmp_path: Path) -> None:
    said, called, _ = detached(tmp_path, "--foreground")
    assert (said["pid"], said["sid"]) == (called, os.getsid(0))
    assert (said["cwd"], said["umask"], said["ours"]) == ("/", 0o077, [])


def test_the_log_has_utc_times_is_rotated_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(logging, "raiseExceptions", True)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    level, umask = root.level, os.umask(0o077)
    monkeypatch.setattr("cronoq_cli.daemon.detach.LOG_BYTES", 2000)
    try:
        open_log(str(tmp_path / "daemon.log"), "info")
        for number in range(200):
            logging.getLogger("x").info("line %d with \udcff", number)
        logging.getLogger("x").debug("not this")
    finally:
        os.umask(umask)
        root.setLevel(level)
        for handler in root.handlers:
            handler.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
    last = (tmp_path / "daemon.log").read_text().splitlines()[-1]
    assert last.endswith("Z INFO line 199 with \\udcff")
    assert last.startswith(time.strftime("%Y-%m-%d", time.gmtime()))
    assert stat.S_IMODE(os.stat(tmp_path / "daemon.log").st_mode) == 0o600
