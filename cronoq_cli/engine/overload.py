"""Who is shed when a pool, or the whole queue, is full: the sheddable pending tasks by class and age.

Which tasks are sheddable and which policy holds is the caller's: fixed starts and blocked tasks are never put here.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from cronoq_cli.model.task import Priority

SHEDDING = frozenset({"shed-lowest", "shed-oldest"})
"""The overflow policies that have victims."""
SLACK = 64
"""So many stale entries beside those that count are left alone."""


class _Ages:
    """Ids in a heap, smallest first, with lazy deletion; rebuilt when most of its entries count no more."""

    __slots__ = ("_heap", "_sign")

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._heap: list[int] = []

    def add(self, task_id: int, members: set[int]) -> None:
        """A member has come; `members` already holds it."""
        if len(self._heap) > 2 * len(members) + SLACK:
            self._heap = [self._sign * member for member in members]
            heapify(self._heap)
        else:
            heappush(self._heap, self._sign * task_id)

    def first(self, members: set[int]) -> int | None:
        """The first that is still a member."""
        heap = self._heap
        while heap:
            task_id = self._sign * heap[0]
            if task_id in members:
                return task_id
            heappop(heap)
        return None


class Victims:
    """The pending tasks that may be shed. Age is the order of ids; all costs O(log n), spread over the calls."""

    __slots__ = ("_members", "_newest", "_oldest_low")

    def __init__(self) -> None:
        self._members: list[set[int]] = [set() for _ in Priority]
        self._newest = [_Ages(-1) for _ in Priority]
        self._oldest_low = _Ages(1)

    def __len__(self) -> int:
        return sum(map(len, self._members))

    def add(self, task_id: int, priority: int) -> None:
        """A task waits and may be shed. One of another class before has been discarded first."""
        members = self._members[priority]
        if task_id in members:
            return
        members.add(task_id)
        self._newest[priority].add(task_id, members)
        if priority == Priority.LOW:
            self._oldest_low.add(task_id, members)

    def discard(self, task_id: int, priority: int) -> None:
        """The task waits no more, is held or blocked, or leaves its class; nothing happens when it is not here."""
        self._members[priority].discard(task_id)

    def newest_below(self, priority: int) -> int | None:
        """`shed-lowest` (specification section 5): the newest task of the lowest class strictly below `priority`."""
        for below in range(priority):
            if self._members[below]:
                return self._newest[below].first(self._members[below])
        return None

    def oldest_low(self) -> int | None:
        """`shed-oldest` (specification section 5): the oldest low task."""
        return self._oldest_low.first(self._members[Priority.LOW])


OVERFLOWS: dict[str, Callable[[Victims, int], int | None]] = {
    "wait": lambda victims, priority: None,
    "reject": lambda victims, priority: None,
    "shed-lowest": lambda victims, priority: victims.newest_below(priority),
    "shed-oldest": lambda victims, priority: victims.oldest_low(),
}
"""The overflow policies: the task that makes room for a newcomer of this priority, or None: there is no room."""
