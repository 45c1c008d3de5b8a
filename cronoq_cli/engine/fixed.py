"""Fixed starts (`--start-at`): capacity reserved ahead, and what becomes of one that is missed.

The arithmetic of reservations is in `reservations`, holding workers back in `admission`.
"""

from __future__ import annotations

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.reservations import decide_limit
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.errors import ConflictError
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.task import TaskSpec


def reserve_all(state: State, specs: dict[int, TaskSpec], now: Now) -> None:
    """Reserve for the fixed starts among new tasks, by id, all or none. Raises ConflictError (exit 4)."""
    reserved: list[tuple[LivePool, int]] = []
    try:
        for task_id, spec in specs.items():
            if spec.start_at is not None and spec.start_at > now.wall:
                _reserve(state, task_id, spec)
                reserved.append((state.pools[spec.pool], task_id))
    except ConflictError:
        for pool, task_id in reserved:
            pool.reservations.remove(task_id)
        raise


def _reserve(state: State, task_id: int, spec: TaskSpec) -> None:
    pool = state.get_pool(spec.pool)
    limit = decide_limit(pool.plan.reservable_fraction, pool.most)
    expected_s = state.run_times.expected_s(spec.pool, spec.kind, spec.estimate_s, pool.plan.default_duration_s)
    assert spec.start_at is not None
    pool.reservations.check(spec.start_at, spec.slots, expected_s, limit)
    pool.reservations.add(task_id, spec.start_at, spec.slots, expected_s)


def move_reservation(state: State, task: LiveTask, spec: TaskSpec, now: Now) -> None:
    """Let a waiting task's reservation follow an edit. Raises ConflictError, then the old one stays."""
    if (spec.start_at, spec.pool, spec.slots) == (task.when.start_at, task.pool, task.slots):
        return
    pool = state.pools[task.pool]
    old = pool.reservations.find(task.id)
    pool.reservations.remove(task.id)
    try:
        reserve_all(state, {task.id: spec}, now)
    except ConflictError:
        if old is not None:
            pool.reservations.add(task.id, old.start_at, old.slots, old.expected_s)
        raise


def arm_moments(state: State, task: LiveTask) -> None:
    """Arm the timers of a task's moments: dropped if late, and missed."""
    when = task.times
    if when is None or task.attempt > 0:
        return
    if when.expires_at is not None:
        state.timers.arm_wall(when.expires_at, Due.EXPIRY, task.id)
    if when.start_at is not None:
        state.timers.arm_wall(when.start_at + when.tolerance_s, Due.MISS, task.id)


def restore_reservation(state: State, task: LiveTask, spec: TaskSpec) -> None:
    """After a restart: what was promised stays promised, whatever the fraction is now."""
    if task.is_fixed and task.is_waiting and spec.start_at is not None:
        state.pools[task.pool].reservations.add(task.id, spec.start_at, task.slots, state.expected_s(task))


def expiry_passed(state: State, task: LiveTask, now: Now) -> None:
    """Not started by `--expires`: missed."""
    expires_at = task.when.expires_at
    if expires_at is None or expires_at > now.wall or task.attempt > 0:
        return
    task.reason = "not started before it expired"
    state.move(task, Trigger.EXPIRED, Status.MISSED, now)
    state.finish(task, now)


def start_missed(state: State, task: LiveTask, now: Now) -> None:
    """A fixed start and its tolerance have passed: the miss policy decides."""
    when = task.when
    if not task.is_fixed or when.start_at is None or when.start_at + when.tolerance_s > now.wall:
        return
    if when.on_miss == "run-late":
        task.reason = "late"
        state.touch(task, now)
        state.tell(task, "late", now)
        return
    task.reason = "its fixed start was missed"
    fails = when.on_miss == "fail" and task.status in (Status.SCHEDULED, Status.READY)
    state.move(task, Trigger.EXPIRED, Status.FAILED if fails else Status.MISSED, now)
    state.finish(task, now)
