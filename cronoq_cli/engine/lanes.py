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

from cronoq_cli.engine.live import DEADLINE, FIXED, PLAIN, READY, LaneName, LiveTask, Rank

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


def rank_of(task: LiveTask, kind: int) -> Rank:
    """Where a task stands in a lane of this kind: by sequence, or by its deadline or fixed start before that."""
    if kind == DEADLINE:
        return task.when.deadline or 0.0, task.seq, task.id
    if kind == FIXED:
        return task.when.start_at or 0.0, task.seq, task.id
    return task.seq, task.id


class Lane:
    """Ready tasks of one class that want the same, in the order of their rank.

    An entry counts while it is the very one that its task names as its own: whoever gives a task another place in the
    order, another lane or none takes that away from it (`LiveTask.entry`)."""

    __slots__ = ("_heap", "_kind", "_tasks", "name")

    def __init__(self, name: LaneName | None, tasks: Mapping[int, LiveTask]) -> None:
        self._tasks = tasks
        self._heap: list[Rank] = []
        self._kind = 0 if name is None else name[0]
        self.name = name

    def push(self, task: LiveTask) -> None:
        """Add a ready task, unless an entry of it that still counts is here."""
        if task.entry is None:
            task.entry = (task.seq, task.id) if self._kind == PLAIN else rank_of(task, self._kind)
            heappush(self._heap, task.entry)

    def head(self) -> LiveTask | None:
        """The first task that may start, or None; entries that count no more are dropped on the way."""
        heap, tasks = self._heap, self._tasks
        while heap:
            entry = heap[0]
            task = tasks.get(entry[-1])
            if task is not None and task.entry is entry:
                if task.status is READY and not task.leased:
                    return task
                task.entry = None
            heappop(heap)
        return None

    def first(self, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks in order, leased ones too, without disturbing the lane."""
        return list(islice(self._walk(), count))

    def _walk(self) -> Iterator[LiveTask]:
        heap = self._heap
        frontier = [(heap[0], 0)] if heap else []
        while frontier:
            entry, at = heappop(frontier)
            task = self._tasks.get(entry[-1])
            if task is not None and task.entry is entry and task.status is READY:
                yield task
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heappush(frontier, (heap[child], child))


class Lanes:
    """All lanes of one pool."""

    __slots__ = ("_classes", "_tasks")

    def __init__(self, tasks: Mapping[int, LiveTask]) -> None:
        self._tasks = tasks
        self._classes: list[dict[LaneName | None, Lane]] = [{}, {}, {}, {}]

    def push(self, task: LiveTask) -> None:
        """Let a ready task stand in its lane."""
        name = task.wants
        lanes = self._classes[task.priority]
        lane = lanes.get(name)
        if lane is None:
            lane = lanes[name] = Lane(name, self._tasks)
        task.wants = lane.name  # one object for all of a lane: less memory, quicker to compare
        lane.push(task)

    def heads(self) -> list[LiveTask]:
        """The candidates (specification section 4): the head of every lane; those of full arrays stand aside."""
        heads: list[LiveTask] = []
        for lanes in self._classes:
            if lanes:
                _add_heads(lanes, heads)
        return heads

    def first_of_lane(self, task: LiveTask, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks of the lane in which a task stands, in order, without disturbing it."""
        return self._classes[task.priority][task.wants].first(count)

    def first(self, count: int, place_of: Callable[[LiveTask], Any]) -> list[LiveTask]:
        """Up to `count` ready tasks in the order in which they would start by today's places (for listings).

        Heads alone are compared: inside a lane the rank decides, whatever the scores say.
        """
        lanes = [lane.first(count) for lanes in self._classes for lane in lanes.values()]
        return list(islice(merge(*lanes, key=place_of, reverse=True), count))


def _add_heads(lanes: dict[LaneName | None, Lane], heads: list[LiveTask]) -> None:
    """Add the heads of one class that may start; an empty lane of special wants is dropped, that of plain tasks not."""
    empty = None
    for name, lane in lanes.items():
        head = lane.head()
        if head is None:
            if name is not None:
                empty = [name] if empty is None else [*empty, name]
        elif name is None or head.batch is None or not head.batch.is_full:
            heads.append(head)
    for name in empty or ():
        del lanes[name]
