"""What an end adds to the statistics: the facts of an attempt or a task that are counted, taken when it ends.

How they are summed up over a window is in model/history, where they are kept is the store's.
"""

from __future__ import annotations

from bisect import bisect_left

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.model.lifecycle import FINAL, Status, Trigger
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.model.task import Ended

_JUDGED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.DEAD_LETTERED, Status.MISSED})
"""Ends that tell whether a deadline or a fixed start was kept; what somebody cancelled, or was skipped, does not."""


TOLD_WITH_ATTEMPT = frozenset(
    {Trigger.SUCCEEDED, Trigger.FAILED_PERMANENT, Trigger.FAILED_RETRYABLE, Trigger.LOST, Trigger.REVOKED_BY_TASK}
)
"""What brings a running task to its end together with its attempt, which has the facts of both."""
BOUNDS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0, 86400.0)
"""Upper bounds of the classes that waits and runs are counted in, seconds."""


class Histogram:
    """How many of the times counted lie up to each of BOUNDS_S, the last count being those above all; and their sum."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class PoolTimes:
    """Waits and runs of the attempts of a pool since the daemon began."""

    __slots__ = ("runs", "waits")

    def __init__(self) -> None:
        self.waits = Histogram()
        self.runs = Histogram()

    def add(self, ended: Ended) -> None:
        """Count one more attempt."""
        wait_s, run_s = ended.wait_s, ended.run_s
        if wait_s is not None:
            self.waits.add(wait_s)
        if run_s is not None:
            self.runs.add(run_s)


def sum_up_attempt(task: LiveTask, end: AttemptEnd, outcome: str) -> Ended:
    """The facts of an attempt that started and ended, its task already where that brought it."""
    final = task.status._value_ if task.status in FINAL else None
    run_s = end.run_s if end.run_s > 0.0 else 0.0
    if task.times is None:
        return Ended(task.policy.kind, final, outcome, _waited(task), run_s, task.slots)
    in_time = None if final is None else _was_in_time(task, end.ended_at)
    return Ended(task.policy.kind, final, outcome, _waited(task), run_s, task.slots, in_time, _was_on_time(task))


def sum_up_task(task: LiveTask, was: Status, now: Now) -> Ended:
    """The facts of a task that came to its end without the end of an attempt.

    One that was cancelled while it ran counts as having run until then: that it lets go is only a matter of time.
    """
    final = task.status._value_
    if was is not Status.RUNNING or task.started_at is None:
        return Ended(task.policy.kind, final, in_time=_was_in_time(task, now.wall), on_time=_was_on_time(task))
    run_s = max(now.wall - task.started_at, 0.0)
    on_time = _was_on_time(task)
    return Ended(task.policy.kind, final, "cancelled", _waited(task), run_s, task.slots, None, on_time)


def _waited(task: LiveTask) -> float | None:
    """How long a first attempt waited, seconds: of later ones nobody could tell waiting from running."""
    if task.attempt != 1 or task.ready_at is None or task.started_at is None:
        return None
    return max(task.started_at - task.ready_at, 0.0)


def _was_in_time(task: LiveTask, ended_at: float) -> bool | None:
    deadline = None if task.times is None else task.times.deadline
    if deadline is None or task.status not in _JUDGED:
        return None
    return task.status is Status.SUCCEEDED and ended_at <= deadline


def _was_on_time(task: LiveTask) -> bool | None:
    """Whether its first start was; told once, when that attempt ends or there will be none."""
    times = task.times
    if times is None or times.start_at is None or task.attempt > 1:
        return None
    if task.attempt == 1:
        return None if task.started_at is None else task.started_at <= times.start_at + times.tolerance_s
    return False if task.status in _JUDGED else None
