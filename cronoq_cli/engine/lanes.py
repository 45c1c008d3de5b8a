"""The order of what is ready in one pool: classes, lanes of equal wants, and the score that chooses between heads.

A lane is a heap by its rank with lazy deletion: an entry counts while its task still stands where the entry says.
Choosing costs O(log n) of the waiting tasks, times the few lanes (one a class, one more a different set of wants).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from itertools import islice
from typing import Any

from cronoq_cli.engine.live import DEADLINE, FIXED, PLAIN, READY, LaneName, LiveTask

Place = tuple[bool, float, float]
"""Whether its fixed start has come, its score, and its sequence negated: the greatest starts first."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """score = base + min(rate × wait, cap) (specification section 4); bases from low to critical."""

    bases: tuple[float, float, float, float] = (10.0, 100.0, 1000.0, 10000.0)
    rate: float = 2.0
    cap: float = 800.0

    def score(self, task: LiveTask, wall: float) -> float:
        """The score of a ready task at the moment `wall`, without urgency."""
        base, ready_at = self.bases[task.priority], task.ready_at
        if ready_at is None or ready_at >= wall:
            return base
        gained = self.rate * (wall - ready_at)
        return base + (gained if gained < self.cap else self.cap)


Rank = tuple[Any, ...]
"""Numbers, the last of them the id."""


def rank_of(task: LiveTask, kind: int) -> Rank:
    """Where a task stands in a lane of this kind: by sequence, or by its deadline or fixed start before that."""
    if kind == DEADLINE:
        return task.when.deadline or 0.0, task.seq, task.id
    if kind == FIXED:
        return task.when.start_at or 0.0, task.seq, task.id
    return task.seq, task.id


class Lane:
    """Ready tasks of one class that want the same, in the order of their rank."""

    __slots__ = ("_heap", "_kind", "_pool", "_priority", "_tasks", "name")

    def __init__(self, pool: str, priority: int, name: LaneName | None, tasks: Mapping[int, LiveTask]) -> None:
        self._pool = pool
        self._priority = priority
        self._tasks = tasks
        self._heap: list[Rank] = []
        self._kind = 0 if name is None else name[0]
        self.name = name

    def push(self, task: LiveTask) -> None:
        """Add a ready task, unless an entry of it that still counts is here."""
        if not task.in_heap:
            task.in_heap = True
            heappush(self._heap, rank_of(task, self._kind))

    def head(self) -> LiveTask | None:
        """The first task that may start, or None; entries that count no more are dropped on the way."""
        heap, tasks = self._heap, self._tasks
        while heap:
            entry = heap[0]
            task = tasks.get(entry[-1])
            if task is not None and task.in_heap and self._is_at_home(task, entry):
                if task.status is READY and not task.leased:
                    return task
                task.in_heap = False
            heappop(heap)
        return None

    def _is_at_home(self, task: LiveTask, entry: Rank) -> bool:
        """Whether the task still stands where an entry says (it may have been moved, edited, or set aside)."""
        if task.priority != self._priority or task.pool != self._pool:
            return False
        wants = task.wants
        if wants is not self.name and wants != self.name:
            return False
        return (task.seq, task.id) == entry if self._kind == PLAIN else rank_of(task, self._kind) == entry

    def first(self, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks in order, leased ones too, without disturbing the lane."""
        found: list[LiveTask] = []
        for task in self._walk():
            found.append(task)
            if len(found) >= count:
                break
        return found

    def _walk(self) -> Iterator[LiveTask]:
        """Ready tasks in order. A task that came back to an old place may have two entries there: it counts once."""
        heap, last = self._heap, 0
        frontier = [(heap[0], 0)] if heap else []
        while frontier:
            entry, at = heappop(frontier)
            task = self._tasks.get(entry[-1])
            if (
                task is not None
                and task.id != last
                and task.in_heap
                and self._is_at_home(task, entry)
                and task.status is READY
            ):
                last = task.id
                yield task
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heappush(frontier, (heap[child], child))


class Lanes:
    """All lanes of one pool."""

    __slots__ = ("_classes", "_pool", "_tasks")

    def __init__(self, pool: str, tasks: Mapping[int, LiveTask]) -> None:
        self._pool = pool
        self._tasks = tasks
        self._classes: list[dict[LaneName | None, Lane]] = [{}, {}, {}, {}]

    def push(self, task: LiveTask) -> None:
        """Let a ready task stand in its lane."""
        name = task.wants
        lanes = self._classes[task.priority]
        lane = lanes.get(name)
        if lane is None:
            lane = lanes[name] = Lane(self._pool, task.priority, name, self._tasks)
        task.wants = lane.name  # one object for all of a lane: less memory, quicker to compare
        lane.push(task)

    def heads(self) -> list[LiveTask]:
        """The candidates (specification section 4): the head of every lane; those of full arrays stand aside."""
        return [head for lanes in self._classes if lanes for head in _list_heads(lanes)]

    def first_of_lane(self, task: LiveTask, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks of the lane in which a task stands, in order, without disturbing it."""
        return self._classes[task.priority][task.wants].first(count)

    def first(self, count: int, place_of: Callable[[LiveTask], Any]) -> list[LiveTask]:
        """Up to `count` ready tasks in the order in which they would start by today's places (for listings).

        Heads alone are compared: inside a lane the rank decides, whatever the scores say.
        """
        lanes = [lane.first(count) for lanes in self._classes for lane in lanes.values()]
        return list(islice(merge(*lanes, key=place_of, reverse=True), count))


def _list_heads(lanes: dict[LaneName | None, Lane]) -> list[LiveTask]:
    """The heads of one class that may start; an empty lane of special wants is dropped, that of plain tasks stays."""
    heads, empty = [], []
    for name, lane in lanes.items():
        head = lane.head()
        if head is None:
            empty.append(name)
        elif name is None or head.batch is None or not head.batch.is_full:
            heads.append(head)
    for name in empty:
        if name is not None:
            del lanes[name]
    return heads
