"""The pools: how many slots there are, how many are taken, what stands ready, and what was given ahead.

Which task goes next is `lanes`; how far ahead to give is `decide_ahead`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cronoq_cli.engine.lanes import Lanes
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.model.lifecycle import Status

AHEAD_WINDOW_S = 0.25
"""How much work, by learned run times, may stand at the runner ahead of need."""
AHEAD_MOST = 64
AHEAD_SHORT_S = 0.1
"""Tasks that run longer are never given ahead: strict order costs them nothing."""
AHEAD_SAMPLES = 3


class LivePool:
    """One pool as the engine keeps it. `busy` counts slots, not tasks.

    `configured`: workers by configuration; 0 for a pool that is there only for tasks left from an older one.
    """

    __slots__ = (
        "busy",
        "configured",
        "counts",
        "lanes",
        "leased",
        "name",
        "paused",
        "running",
        "totals",
        "unfit",
        "workers",
    )

    def __init__(self, name: str, workers: int, tasks: Mapping[int, LiveTask]) -> None:
        self.name = name
        self.workers = workers
        self.configured = workers
        self.paused = False
        self.busy = 0
        self.running: dict[int, LiveTask] = {}
        self.leased: dict[int, LiveTask] = {}
        self.lanes = Lanes(name, tasks)
        self.unfit: dict[int, LiveTask] = {}
        self.counts: Counter[Status] = Counter()
        self.totals: Counter[str] = Counter()

    @property
    def free(self) -> int:
        """Free slots; below zero while more run than a lowered pool has."""
        return self.workers - self.busy

    def can_ever_fit(self, slots: int) -> bool:
        """Whether so many slots are there, or are there by configuration."""
        return slots <= max(self.workers, self.configured)

    def take(self, task: LiveTask) -> None:
        """Give a task its slots."""
        self.busy += task.slots
        self.running[task.id] = task
        if task.batch is not None:
            task.batch.running += 1

    def give_back(self, task: LiveTask) -> None:
        """Free the slots of a task whose process tree is gone."""
        if self.running.pop(task.id, None) is not None:
            self.busy -= task.slots
            if task.batch is not None:
                task.batch.running -= 1


class RunTimes:
    """Mean run time by (pool, kind), the newest weighing most; for giving ahead only."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, float]] = {}

    def learn(self, pool: str, kind: str, run_s: float) -> None:
        """Take one run into account."""
        count, mean = self._known.get((pool, kind), (0, run_s))
        self._known[pool, kind] = (count + 1, mean + 0.2 * (run_s - mean))

    def find(self, pool: str, kind: str) -> float | None:
        """The mean run time in seconds, once there are three samples."""
        count, mean = self._known.get((pool, kind), (0, 0.0))
        return mean if count >= AHEAD_SAMPLES else None


def decide_ahead(task: LiveTask, workers: int, run_s: float | None) -> int:
    """How many tasks like this one may stand at the runner ahead of need; 0: none of them."""
    if run_s is None or run_s > AHEAD_SHORT_S or task.slots != 1 or task.kill_at is not None:
        return 0
    if task.batch is not None and task.batch.record.limit is not None:
        return 0
    return min(AHEAD_MOST, max(1, int(workers * AHEAD_WINDOW_S / max(run_s, 0.001))))
