"""What becomes due when: heaps on the wall clock and on the awake clock, with lazy deletion.

An entry is (moment, kind, id); whether it still counts when it comes up is the core's to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from heapq import heappop, heappush

from cronoq_cli.engine.live import Now


class Due(IntEnum):
    """What an entry is about."""

    START = 0
    BACKOFF = 1
    KILL_AT = 2
    AWAITED = 3
    EXPIRY = 4
    MISS = 5
    TOKENS = 6
    GATHER = 7
    SCALE = 8
    SCHEDULE = 9


class Timers:
    """Due moments, O(log n) to arm and to take."""

    __slots__ = ("_awake", "_wall")

    def __init__(self) -> None:
        self._wall: list[tuple[float, int, int]] = []
        self._awake: list[tuple[float, int, int]] = []

    def arm_wall(self, at: float, kind: Due, task_id: int) -> None:
        """Due when the wall clock shows `at` (unix seconds)."""
        heappush(self._wall, (at, kind, task_id))

    def arm_awake(self, at: float, kind: Due, task_id: int) -> None:
        """Due when the awake clock shows `at` (seconds)."""
        heappush(self._awake, (at, kind, task_id))

    def take_due(self, now: Now) -> Iterator[tuple[Due, int]]:
        """The entries that have become due, oldest first, removed."""
        for heap, moment in ((self._wall, now.wall), (self._awake, now.awake)):
            while heap and heap[0][0] <= moment:
                _, kind, task_id = heappop(heap)
                yield Due(kind), task_id

    def is_due(self, now: Now) -> bool:
        """Whether an entry has become due."""
        wall, awake = self._wall, self._awake
        return bool((wall and wall[0][0] <= now.wall) or (awake and awake[0][0] <= now.awake))

    def next_due_s(self, now: Now) -> float | None:
        """Seconds until the next entry may be due (0 when one is), or None when nothing is armed."""
        waits = [heap[0][0] - moment for heap, moment in ((self._wall, now.wall), (self._awake, now.awake)) if heap]
        return max(0.0, min(waits)) if waits else None
