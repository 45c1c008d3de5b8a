"""The order of what is ready in one pool: classes, lanes of equal wants, and the score that chooses between heads.

A lane is a heap by its rank with lazy deletion: an entry counts while its task still stands where the entry says.
Choosing costs O(log n) of the waiting tasks, times the few lanes (one a class, one more a different set of wants).
Behind the first of a long lane stand runs (`engine/runs`), whose tasks become objects in it as they come up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush, heapreplace, merge
from itertools import islice
from typing import Any, TypeVar

import msgspec

from cronoq_cli.engine.live import DEADLINE, FIXED, PLAIN, READY, LaneName, LiveTask, Rank
from cronoq_cli.engine.runs import Run, Standing, Tasks, begin_run

T = TypeVar("T")
Place = tuple[bool, float, float]
"""Whether its fixed start has come, its score, and its sequence negated: the greatest starts first."""


class Scoring(msgspec.Struct, frozen=True):
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

    __slots__ = ("_growing", "_heap", "_kind", "_runs", "_tasks", "name")

    def __init__(self, name: LaneName | None, tasks: Tasks) -> None:
        self._tasks = tasks
        self._heap: list[Rank] = []
        self._runs: list[tuple[Standing, Run]] = []
        self._growing: dict[tuple[int, ...], Run] = {}
        self._kind = 0 if name is None else name[0]
        self.name = name

    def push(self, task: LiveTask) -> None:
        """Add a ready task, unless an entry of it that still counts is here."""
        if task.entry is None:
            task.entry = (task.seq, task.id) if self._kind == PLAIN else rank_of(task, self._kind)
            heappush(self._heap, task.entry)

    def head(self) -> LiveTask | None:
        """The first task that may start, or None; entries that count no more are dropped on the way."""
        heap, tasks, runs = self._heap, self._tasks, self._runs
        while True:
            while runs and (not heap or runs[0][0] < heap[0]):
                self._draw()
            if not heap:
                return None
            entry = heap[0]
            task = tasks.find_made(entry[-1])
            if task is not None and task.entry is entry:
                if task.status is READY and not task.leased:
                    return task
                task.entry = None
            heappop(heap)

    # -- runs ------------------------------------------------------------------------------------------------------

    def add_run(self, run: Run) -> None:
        """Let a run of tasks stand here that nobody knows yet."""
        head = run.head
        assert head is not None and self._kind == PLAIN
        run.lane = self
        heappush(self._runs, (head, run))
        self._tasks.add_run(run)

    def fold(self, task: LiveTask) -> None:
        """Where the lane is long, and the task that has just been pushed is like any other: let it be of a run."""
        heap, tasks = self._heap, self._tasks
        if len(heap) < tasks.window or heap[-1] is not task.entry:
            return
        if self._kind != PLAIN or not task.is_as_submitted:
            return
        run = self._growing.get(task.likeness)
        if run is None or not tasks.grow(run, task):
            run = self._growing[task.likeness] = begin_run(task)
            self.add_run(run)
        heap.pop()
        task.entry = None
        tasks.fold(task, run)

    def _draw(self) -> None:
        """Make an object of the first task of the first run, or see that it is another's turn."""
        standing, run = self._runs[0]
        head = run.head
        if head == standing:
            task = self._tasks.take_first(run)
            task.entry = standing
            heappush(self._heap, standing)
            head = run.head
        if head is not None:
            heapreplace(self._runs, (head, run))
            return
        heappop(self._runs)
        self._tasks.drop_run(run)
        if self._growing.get(run.sample.likeness) is run:
            del self._growing[run.sample.likeness]

    # -- looking ---------------------------------------------------------------------------------------------------

    def first(self, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks in order, leased ones too, without disturbing the lane: those of runs as copies,
        to be looked at."""
        return [task for _, task in islice(self._walk(), count)]

    def make_first(self, count: int) -> list[LiveTask]:
        """The same as the objects that can be started."""
        return [self._tasks[task.id] for task in self.first(count)]

    def _walk(self) -> Iterator[tuple[Rank, LiveTask]]:
        return _merge(self._walk_heap(), _in_order(self._runs)) if self._runs else self._walk_heap()

    def _walk_heap(self) -> Iterator[tuple[Rank, LiveTask]]:
        for entry in _in_order(self._heap):
            task = self._tasks.find_made(entry[-1])
            if task is not None and task.entry is entry and task.status is READY:
                yield entry, task


def _in_order(heap: list[T]) -> Iterator[T]:
    """What a heap holds, the least first, and no more of it looked at than is asked for."""
    frontier = [(heap[0], 0)] if heap else []
    while frontier:
        entry, at = heappop(frontier)
        yield entry
        for child in (2 * at + 1, 2 * at + 2):
            if child < len(heap):
                heappush(frontier, (heap[child], child))


def _merge(
    line: Iterator[tuple[Rank, LiveTask]], runs: Iterator[tuple[Standing, Run]]
) -> Iterator[tuple[Rank, LiveTask]]:
    """A line and runs as one line; a run that stands behind all that is asked for is not looked into.

    `runs` come in their order, each no later than its first task stands."""
    begun = [(rank, 0, task, line) for rank, task in islice(line, 1)]
    for number, (standing, run) in enumerate(runs, 1):
        while begun and begun[0][0] < standing:
            yield _step(begun)
        one = _walk_run(run)
        for rank, task in islice(one, 1):
            heappush(begun, (rank, number, task, one))
    while begun:
        yield _step(begun)


def _step(begun: list[tuple[Rank, int, LiveTask, Iterator[tuple[Rank, LiveTask]]]]) -> tuple[Rank, LiveTask]:
    """Take the first of the lines that are begun."""
    rank, number, task, line = begun[0]
    for following, behind in islice(line, 1):
        heapreplace(begun, (following, number, behind, line))
        break
    else:
        heappop(begun)
    return rank, task


def _walk_run(run: Run) -> Iterator[tuple[Rank, LiveTask]]:
    for task_id in run:
        task = run.copy_of(task_id)
        yield (task.seq, task_id), task


class Lanes:
    """All lanes of one pool."""

    __slots__ = ("_classes", "_tasks")

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._classes: list[dict[LaneName | None, Lane]] = [{}, {}, {}, {}]

    def push(self, task: LiveTask) -> None:
        """Let a ready task stand in its lane."""
        self._get_lane(task).push(task)

    def _get_lane(self, task: LiveTask) -> Lane:
        name = task.wants
        lanes = self._classes[task.priority]
        lane = lanes.get(name)
        if lane is None:
            lane = lanes[name] = Lane(name, self._tasks)
        task.wants = lane.name  # one object for all of a lane: less memory, quicker to compare
        return lane

    def fold(self, task: LiveTask) -> None:
        """Let a task that has just been pushed be of a run, where it can."""
        self._classes[task.priority][task.wants].fold(task)

    def add_run(self, run: Run) -> None:
        """Let a run of ready tasks stand in its lane."""
        self._get_lane(run.sample).add_run(run)

    def heads(self) -> list[LiveTask]:
        """The candidates (specification section 4): the head of every lane; those of full arrays stand aside."""
        heads: list[LiveTask] = []
        for lanes in self._classes:
            if not lanes:
                continue
            plain = lanes.get(None) if len(lanes) == 1 else None
            if plain is None:
                _add_heads(lanes, heads)
            elif (head := plain.head()) is not None:
                heads.append(head)
        return heads

    def first_of_lane(self, task: LiveTask, count: int) -> list[LiveTask]:
        """Up to `count` ready tasks of the lane in which a task stands, in order, without disturbing it."""
        return self._classes[task.priority][task.wants].make_first(count)

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
