"""Waiting tasks that are alike, kept as runs: two numbers a task, or none, in place of an object.

A run stands in one lane, and its tasks become objects when their turn comes or when somebody asks for one by its id.
Which tasks may be of a run is decided by `LiveTask.is_as_submitted`; the order within a lane is in `lanes`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, Protocol, overload

if TYPE_CHECKING:
    from cronoq_cli.engine.live import LiveTask

WINDOW = 64
"""Objects in a lane behind which newcomers join runs."""
MOST = 4096
"""Tasks of a run that grows one by one: its memory is given back when the last of them has left."""
BULK = 101
"""Tasks of a submission that come as runs from the beginning."""
NEVER = 1 << 62
"""For `Tasks.window` and `Tasks.bulk`."""
_BLOCK = 12
"""Runs are found by the bits of an id above these."""

Standing = tuple[float, int]
"""Where a task of a run stands in its lane: sequence and id, as the rank of a plain task."""


class Line(Protocol):
    """Where a run stands: a lane."""

    def push(self, task: LiveTask) -> None:
        """Let a task stand there as an object."""
        ...


class Run:
    """Tasks that differ by nothing but their ids, the sequences that go with them, and when they were submitted.

    `sample`: a task as all of them are, itself none of them. `ids` ascend; `at`: one moment for all, or one each.
    `lane`: where it stands.
    """

    __slots__ = ("_at", "_front", "_ids", "_taken", "lane", "sample", "shift")

    def __init__(self, sample: LiveTask, ids: Sequence[int], at: float | Sequence[float], shift: float) -> None:
        self.sample = sample
        self.shift = shift
        self.lane: Line | None = None
        self._ids = ids
        self._at = at
        self._front = 0
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._ids) - self._front - len(self._taken)

    def __contains__(self, task_id: int) -> bool:
        return self._find(task_id) is not None

    def __iter__(self) -> Iterator[int]:
        """The ids, ascending."""
        ids, taken = self._ids, self._taken
        return (task_id for place in range(self._front, len(ids)) if (task_id := ids[place]) not in taken)

    @property
    def span(self) -> range:
        """Numbers of the blocks of ids in which there are any of it, or were."""
        return range(self._ids[0] >> _BLOCK, (self._ids[-1] >> _BLOCK) + 1)

    @property
    def head(self) -> Standing | None:
        """Where its first task stands; None of an empty one."""
        ids, taken = self._ids, self._taken
        while self._front < len(ids):
            task_id = ids[self._front]
            if task_id not in taken:
                return task_id + self.shift, task_id
            taken.discard(task_id)
            self._front += 1
        return None

    def _find(self, task_id: int) -> int | None:
        ids = self._ids
        if isinstance(ids, range):
            place = task_id - ids.start
        else:
            place = bisect_left(ids, task_id)
        if not self._front <= place < len(ids) or ids[place] != task_id or task_id in self._taken:
            return None
        return place

    def find_copy(self, task_id: int) -> LiveTask | None:
        """One of its tasks as an object that nobody knows: to be looked at; None when it is not here."""
        place = self._find(task_id)
        if place is None:
            return None
        at = self._at if isinstance(self._at, float) else self._at[place]
        return self.sample.like(task_id, task_id + self.shift, at)

    def copy_of(self, task_id: int) -> LiveTask:
        """The same. Raises KeyError when it is not here."""
        copy = self.find_copy(task_id)
        if copy is None:
            raise KeyError(task_id)
        return copy

    def take(self, task_id: int) -> LiveTask:
        """The same, no task of this run from now on."""
        task = self.copy_of(task_id)
        if task_id == self._ids[self._front]:
            self._front += 1
        else:
            self._taken.add(task_id)
        return task

    def take_first(self) -> LiveTask:
        """Take its first task, where `head` has just found it."""
        place = self._front
        self._front = place + 1
        task_id = self._ids[place]
        at = self._at if isinstance(self._at, float) else self._at[place]
        return self.sample.like(task_id, task_id + self.shift, at)

    def adds(self, task: LiveTask) -> bool:
        """Take in one more task, alike but for its moment; False when it cannot stand behind the others."""
        ids, moments = self._ids, self._at
        if not isinstance(ids, array) or not isinstance(moments, array):
            return False
        if len(ids) >= MOST or task.id <= ids[-1] or task.seq - task.id != self.shift:
            return False
        ids.append(task.id)
        moments.append(task.submitted_at)
        return True

    def count_before(self, seq: float) -> int:
        """How many of its tasks have a lower sequence."""
        bound = seq - self.shift
        place = max(bisect_left(self._ids, bound), self._front)
        return place - self._front - sum(task_id < bound for task_id in self._taken)

    def last_before(self, seq: float) -> float | None:
        """The highest sequence of its tasks below `seq`, or None."""
        ids, place = self._ids, bisect_left(self._ids, seq - self.shift) - 1
        while place >= self._front and ids[place] in self._taken:
            place -= 1
        return ids[place] + self.shift if place >= self._front else None

    def twin(self, sample: LiveTask) -> Run:
        """The same tasks for an engine beside this one."""
        ids = self._ids if isinstance(self._ids, range) else self._ids[:]
        one = Run(sample, ids, self._at if isinstance(self._at, float) else self._at[:], self.shift)
        one._front, one._taken = self._front, set(self._taken)
        return one


def begin_run(task: LiveTask) -> Run:
    """A run of one task, to which others like it can be added one by one."""
    sample = task.like(task.id, task.seq, task.submitted_at)
    return Run(sample, array("q", (task.id,)), array("d", (task.submitted_at,)), task.seq - task.id)


class Tasks(dict[int, "LiveTask"]):
    """Every task the engine keeps, by id. One that is of a run becomes an object of its own when it is asked for.

    Walking over it makes objects of all. Who only looks goes by `made` and `runs`. `window`: objects in a lane behind
    which newcomers join runs; `bulk`: so many tasks of a submission come as runs from the beginning.
    """

    __slots__ = ("_blocks", "_in_runs", "_runs", "bulk", "find_made", "window")

    def __init__(self, window: int = WINDOW, bulk: int = BULK) -> None:
        super().__init__()
        self.window = window
        self.bulk = bulk
        self.find_made = super().get
        """The task of that id that is an object already, or None."""
        self._in_runs = 0
        self._runs: dict[Run, None] = {}
        self._blocks: dict[int, list[Run]] = {}

    def runs(self) -> Iterator[Run]:
        """The runs that have any task left; none may be added meanwhile."""
        return (run for run in self._runs if len(run))

    def made(self) -> ValuesView[LiveTask]:
        """The tasks that are objects: all but those that are as they were submitted, ready, and of a run."""
        return super().values()

    def add_run(self, run: Run) -> None:
        """Tasks that are not here yet."""
        self._runs[run] = None
        self._in_runs += len(run)
        for block in run.span:
            self._blocks.setdefault(block, []).append(run)

    def grow(self, run: Run, task: LiveTask) -> bool:
        """Have a run take in one more task; False when it cannot stand behind the others."""
        grown = run.adds(task)
        self._in_runs += grown
        return grown

    def fold(self, task: LiveTask, run: Run) -> None:
        """A task that was an object is one of that run, which has it already."""
        del self[task.id]
        runs = self._blocks.setdefault(task.id >> _BLOCK, [])
        if run not in runs:
            runs.append(run)

    def drop_run(self, run: Run) -> None:
        """The last task of a run has left it."""
        if self._runs.pop(run, 0) is None:
            for block in run.span:
                found = self._blocks.get(block)
                if found is not None and run in found:
                    found.remove(run)
                    if not found:
                        del self._blocks[block]

    def find_run(self, task_id: int) -> Run | None:
        """The run that has this task."""
        for run in self._blocks.get(task_id >> _BLOCK, ()):
            if task_id in run:
                return run
        return None

    def look(self, task_id: int) -> LiveTask | None:
        """The task to be looked at: where it is of a run a copy, which stays unknown."""
        task = self.find_made(task_id)
        if task is None:
            for run in self._blocks.get(task_id >> _BLOCK, ()):
                if (task := run.find_copy(task_id)) is not None:
                    break
        return task

    def take(self, run: Run, task_id: int) -> LiveTask:
        """Make an object of a task of this run; it stands in its lane as one."""
        task = self[task_id] = run.take(task_id)
        self._in_runs -= 1
        assert run.lane is not None
        run.lane.push(task)
        return task

    def take_first(self, run: Run) -> LiveTask:
        """Make an object of the first task of a run, where `head` has just found it; its lane sees to its place."""
        task = run.take_first()
        self._in_runs -= 1
        self[task.id] = task
        return task

    def make_all(self) -> None:
        """Make objects of all tasks of all runs."""
        for run in list(self._runs):
            self.make(run)

    def make(self, run: Run) -> list[LiveTask]:
        """Make objects of all tasks of one run."""
        return [self[task_id] for task_id in list(run)]

    def list_ids(self, wants: Callable[[LiveTask], bool]) -> list[int]:
        """Ids of the tasks that are wanted, ascending; a run is judged as one, by a task like those of it."""
        ids = [task.id for task in self.made() if wants(task)]
        for run in self._runs:
            if wants(run.sample):
                ids += run
        ids.sort()
        return ids

    # -- as a dictionary -------------------------------------------------------------------------------------------

    def __missing__(self, task_id: int) -> LiveTask:
        run = self.find_run(task_id)
        if run is None:
            raise KeyError(task_id)
        return self.take(run, task_id)

    @overload
    def get(self, task_id: int, default: None = None, /) -> LiveTask | None: ...
    @overload
    def get(self, task_id: int, default: Any, /) -> Any: ...
    def get(self, task_id: int, default: Any = None, /) -> Any:
        """The task of that id, as an object from now on."""
        task = self.find_made(task_id)
        if task is not None or not self._runs:
            return default if task is None else task
        try:
            return self[task_id]
        except KeyError:
            return default

    def __contains__(self, task_id: object) -> bool:
        return super().__contains__(task_id) or (isinstance(task_id, int) and self.find_run(task_id) is not None)

    def __len__(self) -> int:
        return super().__len__() + self._in_runs

    def __iter__(self) -> Iterator[int]:
        self.make_all()
        return super().__iter__()

    def keys(self) -> KeysView[int]:  # type: ignore[override]
        """All ids; every task is an object from now on."""
        self.make_all()
        return super().keys()

    def values(self) -> ValuesView[LiveTask]:  # type: ignore[override]
        """All tasks, as objects from now on."""
        self.make_all()
        return super().values()

    def items(self) -> ItemsView[int, LiveTask]:  # type: ignore[override]
        """All ids and tasks, as objects from now on."""
        self.make_all()
        return super().items()
