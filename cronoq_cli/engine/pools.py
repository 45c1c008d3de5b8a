"""The pools: how many slots there are, how many are taken, what stands ready, and what was given ahead.

Which task goes next is `lanes`; how far ahead to give is `decide_ahead`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cronoq_cli.engine.demand import WORKERS
from cronoq_cli.engine.lanes import Lanes
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.model.lifecycle import Status

AHEAD_WINDOW_S = 0.25
"""How much work, by learned run times, may stand at the runner ahead of need."""
AHEAD_MOST = 64
AHEAD_SHORT_S = 0.1
"""Tasks that run longer are never given ahead: strict order costs them nothing."""


class WorkerSet:
    """Workers of one kind: the pool's own (no labels), or a group with labels, `shared` with tasks that ask for none."""

    __slots__ = ("busy", "labels", "shared", "workers")

    def __init__(self, workers: int, labels: Mapping[str, str] | None = None, *, shared: bool = True) -> None:
        self.workers = workers
        self.labels = dict(labels or {})
        self.shared = shared
        self.busy = 0

    @property
    def free(self) -> int:
        """Free slots; below zero while more run than a lowered set has."""
        return self.workers - self.busy

    def serves(self, labels: tuple[tuple[str, str], ...]) -> bool:
        """Whether a task that asks for these labels may run here."""
        return all(self.labels.get(k) == v for k, v in labels) if labels else self.shared


class LivePool:
    """One pool as the engine keeps it. `busy` counts slots, not tasks.

    `configured`: workers by configuration; 0 for a pool that is there only for tasks left from an older one.
    """

    __slots__ = (
        "capped",
        "configured",
        "counts",
        "lanes",
        "leased",
        "name",
        "paused",
        "running",
        "sets",
        "totals",
        "unfit",
    )

    def __init__(self, name: str, workers: int, tasks: Mapping[int, LiveTask]) -> None:
        self.name = name
        self.sets = [WorkerSet(workers)]
        self.configured = workers
        self.paused = False
        self.capped: str | None = None
        self.running: dict[int, LiveTask] = {}
        self.leased: dict[int, LiveTask] = {}
        self.lanes = Lanes(name, tasks)
        self.unfit: dict[int, LiveTask] = {}
        self.counts: Counter[Status] = Counter()
        self.totals: Counter[str] = Counter()

    @property
    def workers(self) -> int:
        """The workers without labels."""
        return self.sets[0].workers

    @workers.setter
    def workers(self, count: int) -> None:
        self.sets[0].workers = count

    @property
    def busy(self) -> int:
        """Slots taken, in all sets."""
        return self.sets[0].busy if len(self.sets) == 1 else sum(one.busy for one in self.sets)

    @property
    def capacity(self) -> int:
        """Slots in all sets."""
        return sum(one.workers for one in self.sets)

    @property
    def is_simple(self) -> bool:
        """Whether all its workers are alike."""
        return len(self.sets) == 1

    def list_sets(self, task: LiveTask) -> list[int]:
        """The sets of workers that may run a task, by number."""
        labels = task.demand.labels if task.demand is not None else ()
        return [number for number, one in enumerate(self.sets) if one.serves(labels)]

    def can_ever_fit(self, slots: int, labels: tuple[tuple[str, str], ...] = ()) -> bool:
        """Whether so many slots are there in one set, or are there by configuration."""
        sizes = [max(one.workers, 0 if number else self.configured) for number, one in enumerate(self.sets) if one.serves(labels)]
        return bool(sizes) and slots <= max(sizes)

    def fits_now(self, task: LiveTask) -> bool:
        """Whether a set is large enough as the pool is sized now."""
        return any(task.slots <= self.sets[number].workers for number in self.list_sets(task))

    def take(self, task: LiveTask) -> None:
        """Give a task its slots, in the set that its units name."""
        self.sets[set_of(task)].busy += task.slots
        self.running[task.id] = task
        if task.batch is not None:
            task.batch.running += 1

    def give_back(self, task: LiveTask) -> None:
        """Free the slots of a task whose process tree is gone."""
        if self.running.pop(task.id, None) is not None:
            self.sets[set_of(task)].busy -= task.slots
            if task.batch is not None:
                task.batch.running -= 1


def set_of(task: LiveTask) -> int:
    """The number of the set of workers that a running task is in."""
    return 0 if task.units is None else task.units.get(WORKERS, _FIRST)[0]


_FIRST = [0]


def decide_ahead(task: LiveTask, workers: int, run_s: float | None) -> int:
    """How many tasks like this one may stand at the runner ahead of need; 0: none of them."""
    if run_s is None or run_s > AHEAD_SHORT_S or task.slots != 1 or task.kill_at is not None:
        return 0
    if task.wants is not None or task.times is not None:
        return 0
    return min(AHEAD_MOST, max(1, int(workers * AHEAD_WINDOW_S / max(run_s, 0.001))))
