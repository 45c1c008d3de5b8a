"""The runner's loop: descriptors and timers in one poll, asleep when nothing is due.

Knows nothing of tasks.
"""

from __future__ import annotations

import heapq
import select
import sys
import time
from collections.abc import Callable
from typing import Final

READABLE: Final = select.POLLIN
WRITABLE: Final = select.POLLOUT

# poll() takes milliseconds in a C int; a sleep of at most a day keeps far away from its end.
_LONGEST_SLEEP_S: Final = 86400.0


class Timer:
    """One call at one moment of CLOCK_MONOTONIC; `cancel` may be called at any time, also afterwards."""

    __slots__ = ("_action", "_loop", "at")

    def __init__(self, loop: Loop, at: float, action: Callable[[], None]) -> None:
        self._loop = loop
        self.at = at
        self._action: Callable[[], None] | None = action

    @property
    def cancelled(self) -> bool:
        """Whether it will not be called any more."""
        return self._action is None

    def cancel(self) -> None:
        """Never call it."""
        if self._action is not None:
            self._action = None
            self._loop.count_cancelled()

    def fire(self) -> None:
        """Call it, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


class Loop:
    """Waits for descriptors and timers and calls what belongs to them; errors there are told on stderr."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._actions: dict[int, Callable[[int], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = 0
        self._cancelled = 0
        self._again = False
        self._stopped = False

    def watch(self, descriptor: int, action: Callable[[int], None], events: int = READABLE) -> None:
        """Call `action(events)` when the descriptor is ready; replaces an earlier watch of it."""
        self._actions[descriptor] = action
        self._poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor; must be called before it is closed."""
        if self._actions.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def call_at(self, at: float, action: Callable[[], None]) -> Timer:
        """Call `action` when CLOCK_MONOTONIC has reached `at`."""
        timer = Timer(self, at, action)
        self._serial += 1
        heapq.heappush(self._timers, (at, self._serial, timer))
        return timer

    def call_after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        """Call `action` after `delay_s` seconds of time awake."""
        return self.call_at(time.monotonic() + delay_s, action)

    def count_cancelled(self) -> None:
        """Told by a timer; a heap of mostly cancelled timers is rebuilt, so that long limits of short tasks
        do not pile up.
        """
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled]
            heapq.heapify(self._timers)
            self._cancelled = 0

    def turn_again(self) -> None:
        """Do not sleep before the next turn."""
        self._again = True

    def stop(self) -> None:
        """Leave `run` after this turn."""
        self._stopped = True

    def run(self, settle: Callable[[], None]) -> None:
        """Turn until stopped; `settle` is called at the end of each turn."""
        while not self._stopped:
            for descriptor, events in self._poll.poll(self._sleep_ms()):
                action = self._actions.get(descriptor)
                if action is not None:
                    _guard(action, events)
            self._fire_timers()
            _guard(settle)

    def _sleep_ms(self) -> float | None:
        if self._again:
            self._again = False
            return 0
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
            self._cancelled -= 1
        if not self._timers:
            return None
        left_s = min(self._timers[0][0] - time.monotonic(), _LONGEST_SLEEP_S)
        # Python rounds the milliseconds up, so a timer is never found a little too early again and again.
        return max(left_s * 1000.0, 0.0)

    def _fire_timers(self) -> None:
        if not self._timers:
            return
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.cancelled:
                self._cancelled -= 1
            else:
                _guard(timer.fire)


def _guard(action: Callable[..., None], *arguments: int) -> None:
    """Whatever goes wrong in one place must not end the process that keeps everybody's exit codes."""
    try:
        action(*arguments)
    except Exception:
        sys.__excepthook__(*sys.exc_info())
        sys.stderr.flush()
