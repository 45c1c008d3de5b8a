"""Lanes: starts wait here, first in first out, until their pool has room. No process is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from cronoq_cli.runner.attempt import Attempt


class Lane:
    """The waiting starts of one pool and the slots in use; a capacity of None is no limit.

    Each running start has an index of its own, the smallest that is free (CRONOQ_SLOT)."""

    __slots__ = ("_free", "_next", "busy", "capacity", "waiting")

    def __init__(self) -> None:
        self.capacity: int | None = None
        self.busy = 0
        self._free: list[int] = []
        self._next = 0
        self.waiting: dict[str, Attempt] = {}

    def has_room(self, width: int) -> bool:
        """Whether a start of that width fits beside what runs."""
        return self.capacity is None or self.busy + width <= self.capacity

    def begin(self, attempt: Attempt) -> None:
        """Count a start as running and give it its index."""
        self.busy += attempt.width
        if self._free:
            attempt.slot = heappop(self._free)
        else:
            attempt.slot = self._next
            self._next += 1

    def end(self, attempt: Attempt) -> None:
        """Count a start no more; its index is free again."""
        self.busy -= attempt.width
        if attempt.slot is not None:
            heappush(self._free, attempt.slot)


class Lanes:
    """All lanes. A head that does not fit keeps those behind it waiting: nobody overtakes in a lane."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._waiting: dict[str, Attempt] = {}
        self._changed: dict[str, Lane] = {}

    def set_capacities(self, capacities: Mapping[str, int | None], *, only_these: bool = False) -> None:
        """New limits by pool name; with `only_these` a pool not named has none."""
        if only_these:
            for name, lane in self._lanes.items():
                if name not in capacities:
                    lane.capacity = None
                    self._changed[name] = lane
        for name, capacity in capacities.items():
            lane = self._get_lane(name)
            lane.capacity = None if capacity is None else int(capacity)
            self._changed[name] = lane

    def add(self, attempt: Attempt) -> None:
        """Queue a start at the end of its lane."""
        lane = self._get_lane(attempt.lane)
        lane.waiting[attempt.token] = attempt
        self._waiting[attempt.token] = attempt
        self._changed[attempt.lane] = lane

    def drop(self, token: str) -> bool:
        """Take a waiting start out; False when it does not wait here."""
        attempt = self._waiting.pop(token, None)
        if attempt is None:
            return False
        lane = self._lanes[attempt.lane]
        del lane.waiting[token]
        self._changed[attempt.lane] = lane
        return True

    def free(self, attempt: Attempt) -> None:
        """Give back the slots of a start that was taken."""
        lane = self._lanes[attempt.lane]
        lane.end(attempt)
        self._changed[attempt.lane] = lane

    def take(self, limit: int) -> list[Attempt]:
        """At most `limit` starts that fit now, their slots counted as in use from here on."""
        taken: list[Attempt] = []
        for name in list(self._changed):
            lane = self._changed[name]
            while len(taken) < limit and self._take_head(lane, taken):
                pass
            if len(taken) >= limit:
                break
            del self._changed[name]
        return taken

    def _take_head(self, lane: Lane, taken: list[Attempt]) -> bool:
        if not lane.waiting:
            return False
        head = next(iter(lane.waiting.values()))
        if not lane.has_room(head.width):
            return False
        del lane.waiting[head.token]
        del self._waiting[head.token]
        lane.begin(head)
        taken.append(head)
        return True

    def list_waiting(self) -> list[str]:
        """Tokens of all waiting starts."""
        return list(self._waiting)

    def drain(self) -> Iterator[str]:
        """Take everything out, giving each token."""
        for token in list(self._waiting):
            self.drop(token)
            yield token

    def __contains__(self, token: object) -> bool:
        return token in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def have_changes(self) -> bool:
        """Whether `take` has something to look at."""
        return bool(self._changed)

    def _get_lane(self, name: str) -> Lane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane()
        return lane
