"""What goes into a simulation and what comes out of it: arrivals, planned runs, and what became of each task and pool.

Values only; running the engine forward is `simulate`.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from cronoq_cli.engine.messages import Newcomer
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.recurring import PassedSlots
from cronoq_cli.model.task import TaskSpec


class PlannedRun(msgspec.Struct, frozen=True):
    """How each attempt of a task goes: it runs for `run_s` (None: as long as expected) and ends with `exit_code`.

    `timeout_s`: its time limit, if it has one.
    """

    run_s: float | None = None
    exit_code: int = 0
    timeout_s: float | None = None


class Arrival(msgspec.Struct, frozen=True):
    """A task that is submitted at a moment of the simulation, seconds from its start. `what`: its place in the input.

    An edge of the newcomer with an `index` is one on another arrival, by its position in the sequence of all.
    `left_out`: it is cancelled as soon as it is there (what if it did not run?).
    """

    newcomer: Newcomer
    at_s: float = 0.0
    run: PlannedRun = PlannedRun()
    what: str = ""
    left_out: bool = False


class SimulatedTask(msgspec.Struct):
    """What became of one task; moments in unix seconds. `runs`: its attempts, start and end (None: still running)."""

    id: int
    pool: str
    priority: int
    submitted_at: float
    spec: TaskSpec | None = None
    status: Status = Status.READY
    reason: str | None = None
    ready_at: float | None = None
    deadline: float | None = None
    start_at: float | None = None
    tolerance_s: float = 0.0
    ended_at: float | None = None
    runs: list[tuple[float, float | None]] = []

    @property
    def started_at(self) -> float | None:
        """Its first start in the simulation (or before it, for one that ran already)."""
        return self.runs[0][0] if self.runs else None

    def misses_deadline(self, now: float) -> bool | None:
        """Whether it ended behind its deadline, or has not ended by `now` which is behind it; None without one."""
        if self.deadline is None:
            return None
        if self.ended_at is not None:
            return self.ended_at > self.deadline or self.status is not Status.SUCCEEDED
        return now > self.deadline

    @property
    def late_s(self) -> float | None:
        """Seconds from its fixed start to its real one; None without one or without a start."""
        if self.start_at is None or not self.runs:
            return None
        return max(0.0, self.runs[0][0] - self.start_at)

    @property
    def is_late(self) -> bool | None:
        """Whether a fixed start came behind its tolerance or not at all; None without one."""
        if self.start_at is None:
            return None
        late_s = self.late_s
        return late_s is None if late_s is None else late_s > self.tolerance_s


class PoolUse(msgspec.Struct):
    """How a pool was used: slot-seconds run and there, most slots at once, starts."""

    name: str
    workers: int
    busy_s: float = 0.0
    there_s: float = 0.0
    most_busy: int = 0
    started: int = 0

    @property
    def utilisation(self) -> float | None:
        """The share of its slots' time that was used; None when it had none."""
        return self.busy_s / self.there_s if self.there_s > 0 else None


class Outcome(msgspec.Struct):
    """The result. `began_at`, `ended_at`: unix seconds, `ended_at` of the last thing that happened.

    `tasks`: by first start, those without one last. `refused`: arrivals that were not taken, and why. `passed`: slots
    of schedules that became no task. `is_whole`:
    every task has ended; else the horizon was reached, or what is left never starts as things stand.
    """

    began_at: float
    ended_at: float
    tasks: list[SimulatedTask]
    pools: list[PoolUse]
    refused: list[tuple[Arrival, str]] = []
    passed: list[PassedSlots] = []
    is_whole: bool = True

    @property
    def makespan_s(self) -> float:
        """From the beginning to the last thing that happened."""
        return self.ended_at - self.began_at

    def count_by_status(self) -> dict[Status, int]:
        """How many tasks stand in each status at the end."""
        return dict(Counter(task.status for task in self.tasks))

    def count_deadlines(self) -> tuple[int, int]:
        """Tasks with a deadline, and those that miss it."""
        found = [missed for task in self.tasks if (missed := task.misses_deadline(self.ended_at)) is not None]
        return len(found), sum(found)

    def count_fixed(self) -> tuple[int, int]:
        """Tasks with a fixed start, and those that start late or not at all."""
        found = [late for task in self.tasks if (late := task.is_late) is not None]
        return len(found), sum(found)
