"""A loop and a clock moved by hand: what the daemon schedules is run one call at a time, when the history says so."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cronoq_cli.engine.live import Now


class Clock:
    """Unix seconds, and seconds awake."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.awake = 5_000.0

    def __call__(self) -> Now:
        return Now(self.wall, self.awake)


class Handle:
    """A call that is to come."""

    __slots__ = ("_call", "at")

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self._call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self._call = None

    def cancelled(self) -> bool:
        return self._call is None

    def when(self) -> float:
        return self.at

    def run(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


class Loop:
    """As much of an event loop as the scheduler uses."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._soon: deque[Handle] = deque()
        self._timers: list[tuple[float, int, Handle]] = []
        self._serial = 0

    def time(self) -> float:
        return self._clock.awake

    def call_soon(self, call: Callable[..., None], *arguments: Any) -> Handle:
        handle = Handle(self.time(), lambda: call(*arguments))
        self._soon.append(handle)
        return handle

    def call_later(self, delay_s: float, call: Callable[..., None], *arguments: Any) -> Handle:
        handle = Handle(self.time() + delay_s, lambda: call(*arguments))
        self._serial += 1
        heapq.heappush(self._timers, (handle.at, self._serial, handle))
        return handle

    def run_one(self) -> bool:
        """Run the next call that is due; whether there was one."""
        while self._timers and self._timers[0][0] <= self.time():
            self._soon.append(heapq.heappop(self._timers)[2])
        while self._soon:
            handle = self._soon.popleft()
            if not handle.cancelled():
                handle.run()
                return True
        return False

    def clear(self) -> None:
        """The process is dead."""
        self._soon.clear()
        self._timers.clear()


@contextmanager
def running(loop: Loop) -> Iterator[None]:
    """Within, `asyncio.get_running_loop()` is this loop."""
    asyncio.events._set_running_loop(loop)  # type: ignore[arg-type]
    try:
        yield
    finally:
        asyncio.events._set_running_loop(None)
