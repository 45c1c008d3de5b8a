"""What ends an attempt by itself: time limit, kill-at, heartbeat. Each has one timer, and none when unset."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.loop import Loop
from cronoq_cli.wire.clock_alarm import ClockAlarm
from cronoq_cli.wire.runner import Cause, encode_text

# The wall clock may be set at any moment, and no timer of the loop follows it. The kernel tells of that where it can.
_WALL_LOOK_S: Final = 30.0


class Heart:
    """The files that show life, how they were at the last look, and the longest silence in seconds."""

    __slots__ = ("limit_s", "signs", "stamp")

    def __init__(self, limit_s: float, signs: tuple[bytes, ...]) -> None:
        self.limit_s = limit_s
        self.signs = signs
        self.stamp = _read_stamp(signs)


class Limits:
    """Arms the timers of attempts and calls `on_expired(attempt, cause)` when one is reached.

    `wall` tells the time of day."""

    def __init__(
        self, loop: Loop, on_expired: Callable[[Attempt, Cause], None], wall: Callable[[], float] = time.time
    ) -> None:
        self._loop = loop
        self._on_expired = on_expired
        self._wall = wall
        self._walls: dict[Attempt, float] = {}
        self._alarm: ClockAlarm | None = None

    def arm(self, attempt: Attempt) -> None:
        """Begin to count for an attempt that has just started."""
        if attempt.limits is None:
            return
        timeout_s, kill_at, heartbeat_s = attempt.limits
        attempt.timers = {}
        if timeout_s is not None:
            self._set(attempt, Cause.TIME_LIMIT, timeout_s, self._expire(attempt, Cause.TIME_LIMIT))
        if kill_at is not None:
            self._walls[attempt] = kill_at
            self._hear_of_steps()
            self._watch_wall(attempt, kill_at)
        if heartbeat_s is not None:
            self._watch_heart(attempt, Heart(heartbeat_s, _list_signs(attempt)), heartbeat_s)

    def disarm(self, attempt: Attempt) -> None:
        """Nothing more expires for this attempt."""
        if attempt.timers is not None:
            for timer in attempt.timers.values():
                timer.cancel()
            attempt.timers = None
            self._walls.pop(attempt, None)

    def follow_wall(self) -> None:
        """Arm anew what waits for a time of day: the clock was set, or the machine has slept."""
        for attempt, kill_at in list(self._walls.items()):
            if attempt.timers is not None and Cause.KILL_AT in attempt.timers:
                attempt.timers[Cause.KILL_AT].cancel()
                self._watch_wall(attempt, kill_at)

    def _hear_of_steps(self) -> None:
        """Have the kernel say when the clock is set, from the first attempt on that goes by it."""
        if self._alarm is not None:
            return
        try:
            alarm = self._alarm = ClockAlarm()
        except OSError:
            return  # then it is looked at every half minute

        def said(events: int) -> None:
            if alarm.accept():
                self.follow_wall()

        self._loop.watch(alarm.descriptor, said)

    def _set(self, attempt: Attempt, name: str, delay_s: float, action: Callable[[], None]) -> None:
        if attempt.timers is not None:
            attempt.timers[name] = self._loop.call_after(delay_s, action)

    def _expire(self, attempt: Attempt, cause: Cause) -> Callable[[], None]:
        return lambda: self._on_expired(attempt, cause)

    def _watch_wall(self, attempt: Attempt, kill_at: float) -> None:
        left_s = kill_at - self._wall()
        if left_s <= 0:
            # Never from within the start: whoever arms must be able to finish first.
            self._set(attempt, Cause.KILL_AT, 0.0, self._expire(attempt, Cause.KILL_AT))
            return
        delay_s = min(left_s, _WALL_LOOK_S)
        self._set(attempt, Cause.KILL_AT, delay_s, lambda: self._watch_wall(attempt, kill_at))

    def _watch_heart(self, attempt: Attempt, heart: Heart, delay_s: float) -> None:
        self._set(attempt, Cause.HEARTBEAT, delay_s, lambda: self._feel_heart(attempt, heart))

    def _feel_heart(self, attempt: Attempt, heart: Heart) -> None:
        """Looked at only when the deadline comes; what was written meanwhile moves the deadline."""
        stamp = _read_stamp(heart.signs)
        if stamp == heart.stamp:
            self._on_expired(attempt, Cause.HEARTBEAT)
            return
        heart.stamp = stamp
        newest_ns = max(modified_ns for _, modified_ns in stamp)
        age_s = time.time() - newest_ns / 1e9
        # A clock that was set makes the age meaningless; that something was written is sure.
        left_s = heart.limit_s - age_s if 0.0 <= age_s < heart.limit_s else heart.limit_s
        self._watch_heart(attempt, heart, max(left_s, 0.01))


def _list_signs(attempt: Attempt) -> tuple[bytes, ...]:
    """The files whose growth or change shows that a task is alive."""
    order = attempt.order or {}
    files = [encode_text(order[name]) for name in ("stdout", "stderr") if order.get(name)]
    if attempt.report is not None:
        files.append(attempt.report)
    return (*attempt.logs, *files)


def _read_stamp(signs: tuple[bytes, ...]) -> list[tuple[int, int]]:
    stamp = [(0, 0)]
    for path in signs:
        try:
            status = os.stat(path)
        except OSError:
            continue
        stamp.append((status.st_size, status.st_mtime_ns))
    return stamp
