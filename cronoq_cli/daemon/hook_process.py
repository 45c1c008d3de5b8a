"""Hooks as processes: started, read, ended at their time limit with their whole group, and reaped, all by the loop.

What they are told, and which command it is, stands in `notices` and `pings`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Collection

import msgspec

from cronoq_cli.errors import LACKING

OUTPUT_KEPT = 4096
"""Bytes of what a hook prints that its log gets; the rest is read and dropped, so that it never blocks."""
NOTICE_VARIABLE = "CRONOQ_NOTICE"
"""In the environment of a hook: the id of its notice."""
_READ_STEP = 65_536


class HookCall(msgspec.Struct, frozen=True):
    """One run of a command: `payload` is on its stdin, `timeout_s` is how long it may take."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    payload: bytes
    timeout_s: float


class HookEnd(msgspec.Struct, frozen=True):
    """How it ended: `exit_code` as subprocess has it (negative: a signal), None where it could not be started."""

    exit_code: int | None
    run_s: float
    output: bytes = b""
    timed_out: bool = False
    error: str | None = None
    cut_short: bool = False
    """It was ended because the daemon ends."""
    lacking: bool = False
    """It could not be started because the machine lacks something."""

    @property
    def is_good(self) -> bool:
        """Whether it did what it was asked to."""
        return self.exit_code == 0 and not self.timed_out


Done = Callable[[HookEnd], None]


class HookProcess:
    """One hook under way. `done` is called once, from the loop, when its process is gone and reaped."""

    def __init__(self, call: HookCall, done: Done) -> None:
        self._call = call
        self._done = done
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._output = bytearray()
        self._timed_out = self._cut_short = False
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd = self._pipe = -1

    def start(self) -> None:
        """Start it. What cannot be started ends at once, in the next turn of the loop."""
        try:
            self._spawn()
        except (OSError, ValueError) as error:
            self.kill()  # it may run already, with nothing left to watch it by
            self._close()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            lacking = isinstance(error, OSError) and error.errno in LACKING
            end = HookEnd(None, 0.0, error=f"{self._call.argv[0]}: {reason}", lacking=lacking)
            self._loop.call_soon(self._done, end)

    def _spawn(self) -> None:
        with contextlib.ExitStack() as closing:
            self._pipe, writing = os.pipe()
            closing.callback(os.close, writing)
            os.set_blocking(self._pipe, False)
            stdin = closing.enter_context(open(os.memfd_create("cronoq-notice"), "w+b"))
            stdin.write(self._call.payload)
            stdin.seek(0)
            self._process = subprocess.Popen(
                self._call.argv,
                stdin=stdin,
                stdout=writing,
                stderr=subprocess.STDOUT,
                cwd=self._call.cwd,
                env=self._call.env,
                start_new_session=True,
            )
        self._pidfd = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._pipe, self._read)
        self._loop.add_reader(self._pidfd, self._reap)
        self._timer = self._loop.call_later(self._call.timeout_s, self._expire)

    def _read(self) -> bool:
        """Take what it printed; whether there may be more."""
        try:
            data = os.read(self._pipe, _READ_STEP)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._pipe)
            return False
        self._output += data[: OUTPUT_KEPT - len(self._output)]
        return True

    def _expire(self) -> None:
        self._timed_out = True
        self.kill()

    def cut(self) -> None:
        """End it at once because the daemon ends."""
        self._cut_short = True
        self.kill()

    def kill(self) -> None:
        """End it at once, with all of its group."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        assert self._process is not None
        code = self._process.poll()
        if code is None:
            return
        if self._read() and len(self._output) < OUTPUT_KEPT:
            self._read()
        self._close()
        self._done(
            HookEnd(
                code, self._loop.time() - self._began, bytes(self._output), self._timed_out, cut_short=self._cut_short
            )
        )

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for descriptor in (self._pidfd, self._pipe):
            if descriptor >= 0:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
        self._pidfd = self._pipe = -1


class HookProcesses(msgspec.Struct):
    """The hooks under way, at most `most` at once."""

    most: int
    running: set[HookProcess] = set()
    _idle: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @property
    def has_room(self) -> bool:
        """Whether another may start."""
        return len(self.running) < self.most

    def start(self, call: HookCall, done: Done) -> None:
        """Start one; `done` is told its end."""
        process = HookProcess(call, lambda end: self._finish(process, end, done))
        self.running.add(process)
        process.start()

    def _finish(self, process: HookProcess, end: HookEnd, done: Done) -> None:
        self.running.discard(process)
        if not self.running:
            self._idle.set()
        done(end)

    async def close(self, within_s: float) -> None:
        """Wait for those under way, at most so long; then end them."""
        for limit_s in (within_s, within_s):
            self._idle.clear()
            if self.running:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._idle.wait(), limit_s)
            for process in self.running:
                process.cut()


def end_orphans(notices: Collection[str]) -> int:
    """End the hooks of a daemon that crashed, with their groups: those whose environment names one of these notices.

    Returns how many groups. They are told again, and nobody else would hold them to their limit."""
    marks = {b"%s=%s" % (NOTICE_VARIABLE.encode(), os.fsencode(notice)) for notice in notices}
    groups = set()
    for name in os.listdir("/proc") if marks else ():
        if name.isdigit() and marks & set(_read_environ(name)):
            with contextlib.suppress(ProcessLookupError):
                groups.add(os.getpgid(int(name)))
    for group in groups - {os.getpgrp()}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    return len(groups)


def _read_environ(pid: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []
