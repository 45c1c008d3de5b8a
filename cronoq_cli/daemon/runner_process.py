"""The process of a runner: started, and known to live by the lock of its journal."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import stat
import subprocess
import sys

from cronoq_cli.daemon.runner_link import Runner
from cronoq_cli.errors import CronoqError, TryLaterError

READY_WITHIN_S = 20.0
_NO_JOURNAL = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO})
"""Errors by which a path is known to be no journal of a living runner of ours; others say nothing of it."""


def is_file(path: str) -> bool:
    """Whether it is an ordinary file, and no link, pipe or directory that somebody has put there."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def is_locked(path: str) -> bool:
    """Whether a living runner holds the lock of its journal. A lock is proof, a pid is none.

    What cannot be looked at for want of descriptors or by a fault of the disk counts as locked: only a runner that is
    surely gone may be buried."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.errno not in _NO_JOURNAL
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


async def start_runner(runner: Runner, log_path: str) -> subprocess.Popen[bytes]:
    """Start a runner process and wait until it says that it is ready. Raises CronoqError; TryLaterError for what the
    machine or the disk refuses."""
    try:
        reading, process = _spawn_runner(runner, log_path)
    except OSError as error:
        raise TryLaterError(
            f"the runner could not be started: {error.strerror}", hint="free what is short, and try again"
        ) from error
    try:
        said = await asyncio.wait_for(_read_line(reading), READY_WITHIN_S)
    except TimeoutError:
        said = b"it did not get ready in time"
    finally:
        os.close(reading)
    if said.strip() != b"ready":
        process.kill()
        process.wait()
        raise CronoqError(f"the runner could not be started: {os.fsdecode(said).strip() or 'it ended at once'}")
    return process


def _spawn_runner(runner: Runner, log_path: str) -> tuple[int, subprocess.Popen[bytes]]:
    """The process, and the descriptor on which it will say that it is ready. Raises OSError with nothing left open."""
    words = [sys.executable, "-P", "-m", "cronoq_cli.runner", "--id", runner.name, "--journal", runner.journal]
    words += ["--socket", runner.socket]
    env = {name: value for name, value in os.environ.items() if not name.startswith("CRONOQ_")}
    with contextlib.ExitStack() as closing:
        errors = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        closing.callback(os.close, errors)
        reading, writing = os.pipe()
        closing.callback(os.close, writing)
        try:
            process = subprocess.Popen(
                [*words, "--ready-fd", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd="/",
                env=env,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
    return reading, process


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


async def _read_line(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _wake, readable)
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 4096)
