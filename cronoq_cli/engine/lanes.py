"""The order of what is ready in one pool: classes, lanes of equal wants, and the score that chooses between heads.

A lane is a heap by sequence with lazy deletion: an entry counts while its task still stands where the entry says.
Choosing costs O(log n) of the waiting tasks, times the few lanes (one a class, one more a limited array).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from itertools import islice

from cronoq_cli.engine.live import LiveTask
from cronoq_cli.model.lifecycle import Status


@dataclass(frozen=True, slots=True)
class Scoring:
    """score = base + min(rate × wait, cap) (specification section 4); bases from low to critical."""

    bases: tuple[float, float, float, float] = (10.0, 100.0, 1000.0, 10000.0)
    rate: float = 2.0
    cap: float = 800.0

    def score(self, task: LiveTask, wall: float) -> float:
        """The score of a ready task at the moment `wall`."""
        wait_s = max(0.0, wall - (task.ready_at if task.ready_at is not None else wall))
        return self.bases[task.priority] + min(self.rate * wait_s, self.cap)

    def outranks(self, task: LiveTask, other: LiveTask, wall: float) -> bool:
        """Whether a task starts before another of its pool: by sequence within a class, else by score."""
        if task.priority == other.priority:
            return task.seq < other.seq
        return (self.score(task, wall), -task.seq) > (self.score(other, wall), -other.seq)


class Lane:
    """Ready tasks of one class that want the same, first in first out by sequence."""

    __slots__ = ("_heap", "_pool", "_priority", "_tasks", "want")

    def __init__(self, pool: str, priority: int, want: int | None, tasks: Mapping[int, LiveTask]) -> None:
        self._pool = pool
        self._priority = priority
        self._tasks = tasks
        self._heap: list[tuple[float, int]] = []
        self.want = want

    def push(self, task: LiveTask) -> None:
        """Add a ready task, unless an entry of it that still counts is here."""
        if not task.in_heap:
            task.in_heap = True
            heappush(self._heap, (task.seq, task.id))

    def head(self) -> LiveTask | None:
        """The first task that may start, or None; entries that count no more are dropped on the way."""
        heap, tasks = self._heap, self._tasks
        while heap:
            seq, task_id = heap[0]
            task = tasks.get(task_id)
            if task is not None and self._is_at_home(task, seq):
                if task.status is Status.READY and not task.leased:
                    return task
                task.in_heap = False
            heappop(heap)
        return None

    def _is_at_home(self, task: LiveTask, seq: float) -> bool:
        """Whether the task still stands where an entry says (it may have been moved, edited, or set aside)."""
        return task.in_heap and task.seq == seq and task.priority == self._priority and task.pool == self._pool

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
            (seq, task_id), at = heappop(frontier)
            task = self._tasks.get(task_id)
            if task is not None and task_id != last and self._is_at_home(task, seq) and task.status is Status.READY:
                last = task_id
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
        self._classes: list[dict[int | None, Lane]] = [{}, {}, {}, {}]

    def push(self, task: LiveTask) -> None:
        """Let a ready task stand in its lane."""
        want = task.batch.record.first if task.batch and task.batch.record.limit is not None else None
        lanes = self._classes[task.priority]
        lane = lanes.get(want)
        if lane is None:
            lane = lanes[want] = Lane(self._pool, task.priority, want, self._tasks)
        lane.push(task)

    def best(self, scoring: Scoring, wall: float) -> LiveTask | None:
        """The head with the highest score, the older sequence on a tie; lanes of full arrays stand aside."""
        heads = [head for lanes in self._classes if lanes for head in _list_heads(lanes)]
        if len(heads) < 2:
            return heads[0] if heads else None
        return max(heads, key=lambda head: (scoring.score(head, wall), -head.seq))

    def first(self, count: int, scoring: Scoring, wall: float) -> list[LiveTask]:
        """Up to `count` ready tasks in the order in which they would start by today's scores (for listings).

        Heads alone are compared, as in `best`: inside a lane the sequence decides, whatever the scores say.
        """
        lanes = [lane.first(count) for lanes in self._classes for lane in lanes.values()]
        return list(islice(merge(*lanes, key=lambda task: (-scoring.score(task, wall), task.seq)), count))


def _list_heads(lanes: dict[int | None, Lane]) -> list[LiveTask]:
    """The heads of one class that may start; the empty lane of an array is dropped, that of plain tasks stays."""
    heads = []
    for want, lane in tuple(lanes.items()):
        head = lane.head()
        if head is not None:
            if want is None or head.batch is None or not head.batch.is_full:
                heads.append(head)
        elif want is not None:
            del lanes[want]
    return heads
