"""Fixed starts (`--start-at`): capacity reserved ahead, and what becomes of one that is missed.

The arithmetic of reservations is in `reservations`, holding workers back in `admission`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cronoq_cli.engine.demand import read_demand
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.reservations import INSTANT_S, Reservation, check_reservable, decide_limit
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.errors import ConflictError
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.task import TaskSpec

# -- reserving -------------------------------------------------------------------------------------------------------


def reserve_all(state: State, specs: Mapping[int, TaskSpec], now: Now) -> None:
    """Reserve for the fixed starts ahead among these tasks, by id, all or none. Raises ConflictError (exit 4)."""
    reserved: list[int] = []
    try:
        for task_id, spec in specs.items():
            if spec.start_at is not None and spec.start_at > now.wall:
                _reserve(state, task_id, spec, spec.start_at)
                reserved.append(task_id)
    except ConflictError:
        release_all(state, {task_id: specs[task_id] for task_id in reserved})
        raise


def _reserve(state: State, task_id: int, spec: TaskSpec, start_at: float) -> None:
    """Slots are reserved among the workers that the task would get: the first set that serves and can hold it.

    Where all pools share workers, so they do what may be reserved: by the fraction of the pool that asks."""
    pool = state.pools[spec.pool]
    demand = read_demand(spec)
    number = pool.find_home(spec.slots, () if demand is None else demand.labels)
    workers = pool.sets[number]
    limit = decide_limit(pool.plan.reservable_fraction, workers.workers if number else pool.most)
    expected_s = state.run_times.expected_s(spec.pool, spec.kind, spec.estimate_s, pool.plan.default_duration_s)
    workers.reservations.check(start_at, spec.slots, expected_s, limit)
    if state.total is not None:
        wanted = Reservation(start_at, task_id, spec.slots, max(expected_s, INSTANT_S))
        limit = decide_limit(pool.plan.reservable_fraction, state.total.workers)
        those = [one.reservations for each in state.pools.values() for one in each.sets]
        check_reservable(those, wanted, limit, "in all pools together")
    workers.reservations.add(task_id, start_at, spec.slots, expected_s)


def release_all(state: State, specs: Mapping[int, TaskSpec]) -> None:
    """Take the reservations of tasks that were refused after all."""
    for task_id, spec in specs.items():
        state.pools[spec.pool].remove_reservation(task_id)


def move_reservations(state: State, edits: Iterable[tuple[LiveTask, TaskSpec]], now: Now) -> None:
    """Let the reservations of waiting tasks follow edits, all or none. Raises ConflictError, then the old ones stay."""
    moved = [(task, spec) for task, spec in edits if _moves(task, spec)]
    old = [
        (one.reservations, reservation)
        for task, _ in moved
        for one in state.pools[task.pool].sets
        if (reservation := one.reservations.find(task.id)) is not None
    ]
    for task, _ in moved:
        state.pools[task.pool].remove_reservation(task.id)
    try:
        reserve_all(state, {task.id: spec for task, spec in moved}, now)
    except ConflictError:
        for reservations, reservation in old:
            reservations.put_back(reservation)
        raise


def _moves(task: LiveTask, spec: TaskSpec) -> bool:
    """Whether a task has, or gets, a fixed start whose reservation an edit changes."""
    when = task.when
    if task.attempt > 0 or (when.start_at is None and spec.start_at is None):
        return False
    before = (when.start_at, when.estimate_s, task.pool, task.slots, task.demand)
    return before != (spec.start_at, spec.estimate_s, spec.pool, spec.slots, read_demand(spec))


def restore_reservation(state: State, task: LiveTask, now: Now) -> None:
    """After a restart: what was promised stays promised, whatever the fraction is now."""
    start_at = task.when.start_at
    if task.is_fixed and task.is_waiting and start_at is not None and start_at > now.wall:
        pool = state.pools[task.pool]
        number = pool.find_home(task.slots, () if task.demand is None else task.demand.labels)
        pool.sets[number].reservations.add(task.id, start_at, task.slots, state.expected_s(task))


# -- moments that pass -----------------------------------------------------------------------------------------------


def arm_expiry(state: State, task: LiveTask) -> None:
    """Arm the timer of a task that is dropped when it is late; one that has started once is not."""
    expires_at = task.when.expires_at
    if expires_at is not None and task.attempt == 0:
        state.timers.arm_wall(expires_at, Due.EXPIRY, task.id)


def expiry_passed(state: State, task: LiveTask, now: Now) -> None:
    """Not started by `--expires`: missed; an occurrence of a schedule may be asked to fail instead."""
    expires_at = task.when.expires_at
    if expires_at is None or expires_at > now.wall or task.attempt > 0 or state.is_run_for(task):
        return
    task.reason = "not started before it expired"
    fails = task.when.on_miss == "fail" and task.when.start_at is None and task.status is not Status.BLOCKED
    state.move(task, Trigger.EXPIRED, Status.FAILED if fails else Status.MISSED, now)
    state.finish(task, now)


def start_missed(state: State, task: LiveTask, now: Now) -> None:
    """A fixed start and its tolerance have passed while it was ready: the miss policy decides.

    One that is blocked then is judged when it gets ready (specification section 3)."""
    when = task.when
    if when.on_miss == "run-late" or task.status is not Status.READY or not task.is_fixed:
        return
    if when.start_at is None or when.start_at + when.tolerance_s > now.wall:
        return
    task.reason = "its fixed start was missed"
    state.move(task, Trigger.EXPIRED, Status.FAILED if when.on_miss == "fail" else Status.MISSED, now)
    state.finish(task, now)
