"""A thread that does one job at a time beside the loop, and hands its outcome back to it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Deliver = Callable[[Any], None]
"""Takes the result of a job, or the exception it ended with."""


SWITCH_S = 0.001
"""How long the thread may keep the interpreter while the loop wants it."""


class NoThreadError(Exception):
    """The machine lets no thread be started now."""


class _Job:
    """One job on its way there and back."""

    def __init__(self, call: Callable[[], Any], deliver: Deliver, loop: asyncio.AbstractEventLoop) -> None:
        self.over = threading.Event()
        self._call = call
        self._deliver: Deliver | None = deliver
        self._loop = loop
        self._outcome: Any = None

    def do(self) -> None:
        """In the thread."""
        try:
            self._outcome = self._call()
        except BaseException as error:  # handed to the loop, which knows what to say of it
            self._outcome = error
        self.over.set()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.deliver)

    def deliver(self) -> None:
        """In the loop: hand the outcome over, once."""
        deliver, self._deliver = self._deliver, None
        if deliver is not None:
            deliver(self._outcome)


class WriterThread:
    """Begins with its first job. Used from the loop alone."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: _Job | None = None

    def submit(self, call: Callable[[], Any], deliver: Deliver) -> None:
        """Do `call` in the thread; `deliver` its outcome in the running loop, later. One at a time.

        Raises NoThreadError, with nothing begun."""
        if self._thread is None:
            self._thread = self._begin()
        self._last = _Job(call, deliver, asyncio.get_running_loop())
        self._jobs.put(self._last)

    def wait(self) -> None:
        """Hold the loop until the last job is done and its outcome delivered."""
        if self._last is not None:
            self._last.over.wait()
            self._last.deliver()

    def close(self) -> None:
        """End the thread when its job is done; another job begins a new one."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _begin(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="writer", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise NoThreadError(str(error)) from error
        sys.setswitchinterval(SWITCH_S)
        return thread

    def _work(self) -> None:
        # Signals are the main thread's: here one would only cut a write short.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while (job := self._jobs.get()) is not None:
            job.do()
            del job
