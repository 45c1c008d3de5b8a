"""What people do to tasks: cancel, hold, release, start now, edit, move, signal; and what time does to them.

Each returns the ids it changed. Which tasks a selector means, and refusals for running ones, are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.engine.edges import open_edges, skip
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    Held,
    Moved,
    Released,
    SendSignal,
    Signalled,
    StartedNow,
    Stop,
    TimePassed,
)
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import LIVE, Status, Trigger

_HOLDABLE = frozenset({Status.READY, Status.SCHEDULED, Status.RETRYING})


def _live(state: State, ids: Iterable[int]) -> list[LiveTask]:
    found = map(state.tasks.get, ids)
    return [task for task in found if task is not None and task.status in LIVE]


# -- cancel --------------------------------------------------------------------------------------------------------


def apply_cancelled(state: State, event: Cancelled, now: Now) -> list[int]:
    """End live tasks at once for the engine; slots of running ones are free when their trees are gone."""
    changed = []
    for task_id in event.ids:
        task = state.tasks.get(task_id)
        if task is None or task.status not in LIVE:
            continue
        cancel_one(state, task, now, dead=event.dead, grace_s=event.grace_s, reason=event.reason)
        changed.append(task_id)
    return changed


def cancel_one(
    state: State, task: LiveTask, now: Now, *, reason: str, dead: bool = False, grace_s: float | None = None
) -> None:
    """End one live task: `cancelled`, or `dead_lettered`."""
    if task.leased or task.status is Status.RUNNING:
        grace = task.policy.grace_s if grace_s is None else grace_s
        attempt = task.attempt_at_runner
        state.effects.actions.append(Stop(task.id, attempt, task.policy.stop_signal, grace, "cancelled"))
        state.pools[task.pool].leased.pop(task.id, None)
        task.leaving = True
        task.stop_cause = "cancelled"
    task.reason = reason
    trigger, target = (Trigger.ARCHIVED, Status.DEAD_LETTERED) if dead else (Trigger.CANCELLED, Status.CANCELLED)
    state.move(task, trigger, target, now)
    state.finish(task, now)


def cancel_rest_of_batch(state: State, first: int, now: Now) -> None:
    """A batch failed more often than `--max-fails`: what is live of it is cancelled."""
    batch = state.batches.get(first)
    if batch is None:
        return
    record = batch.record
    reason = f"batch {record.first}-{record.last}: more than {record.max_fails} failed"
    for task_id in range(record.first, record.last + 1):
        task = state.tasks.get(task_id)
        if task is not None and task.batch is batch and task.status in LIVE:
            cancel_one(state, task, now, reason=reason)


# -- hold, release, start now ----------------------------------------------------------------------------------------


def apply_held(state: State, event: Held, now: Now) -> list[int]:
    """Hold waiting tasks; place and attempts are kept."""
    changed = []
    for task in _live(state, event.ids):
        if task.held or task.status is Status.RUNNING or task.leased:
            continue
        task.held = True
        changed.append(task.id)
        state.pools[task.pool].unfit.pop(task.id, None)
        if task.status in _HOLDABLE:
            state.move(task, Trigger.HELD, Status.BLOCKED, now, "held")
        state.settle(task, now)
        state.touch(task, now)
    return changed


def apply_released(state: State, event: Released, now: Now) -> list[int]:
    """Release held tasks: each goes where it belongs now."""
    changed = []
    for task in _live(state, event.ids):
        if not task.held:
            continue
        task.held = False
        changed.append(task.id)
        _unblock(state, task, Trigger.RELEASED, now)
        state.touch(task, now)
    return changed


def _unblock(state: State, task: LiveTask, trigger: Trigger, now: Now) -> None:
    target = state.decide_waiting(task, now)
    if task.status is Status.BLOCKED and target is not Status.BLOCKED:
        state.move(task, trigger, target, now, "")
    state.settle(task, now)


def apply_started_now(state: State, event: StartedNow, now: Now) -> list[int]:
    """Skip the waiting time of scheduled and retrying tasks."""
    changed = []
    for task in _live(state, event.ids):
        if task.status in (Status.SCHEDULED, Status.RETRYING):
            _make_ready(state, task, Trigger.STARTED_NOW, now)
            changed.append(task.id)
    return changed


def _make_ready(state: State, task: LiveTask, trigger: Trigger, now: Now) -> None:
    task.due_at = task.due_awake = task.not_before = None
    task.reason = None
    state.move(task, trigger, Status.READY, now)
    state.settle(task, now)


# -- edit, move, signal ----------------------------------------------------------------------------------------------


def apply_edited(state: State, event: Edited, now: Now) -> list[int]:
    """Give a waiting task another spec, and other dependencies when `edges` is given.

    Raises ConflictError when it does not wait, InvalidError for an unknown pool, too many slots or a cycle."""
    task = state.tasks.get(event.id)
    if task is None or not task.is_waiting or task.leased:
        raise ConflictError(f"task {event.id} is not waiting", hint="only waiting tasks can be edited")
    pool = state.get_pool(event.spec.pool)
    if event.spec.slots > pool.workers:
        raise InvalidError(f"{event.spec.slots} slots can never fit into pool {pool.name!r}", code="cannot-fit")
    if event.edges is not None:
        _check_no_cycle(state, event)
    _respec(state, task, event, now)
    return [task.id]


def _check_no_cycle(state: State, event: Edited) -> None:
    targets = [edge.target for edge in event.edges or () if edge.target is not None]
    cycle = state.graph.find_cycle(event.id, targets)
    if cycle is not None:
        shown = cycle if len(cycle) <= 8 else [*cycle[:4], *cycle[-3:]]
        raise InvalidError("dependency cycle: " + " -> ".join(map(str, shown)), code="cycle")


def _respec(state: State, task: LiveTask, event: Edited, now: Now) -> None:
    spec = event.spec
    old_pool = state.pools[task.pool]
    old_pool.unfit.pop(task.id, None)
    old_pool.counts[task.status] -= 1
    state.pools[spec.pool].counts[task.status] += 1
    uncounted = task.max_attempts - 1 - task.policy.retries
    task.policy = state.policy_of(spec)
    task.max_attempts = 1 + task.policy.retries + max(0, uncounted)
    task.pool, task.priority, task.slots = spec.pool, spec.priority, spec.slots
    task.kill_at, task.not_before = spec.kill_at, spec.not_before
    task.in_heap = False
    if spec.kill_at is not None:
        state.timers.arm_wall(spec.kill_at, Due.KILL_AT, task.id)
    state.effects.edited[task.id] = spec
    unmeetable = None
    if event.edges is not None:
        state.forget_edges(task)
        unmeetable = open_edges(state, task, event.edges, spec.await_deps_s, now)
    state.tell(task, Trigger.EDITED.value, now)
    if unmeetable is not None:
        skip(state, task, unmeetable, now)
        return
    _resettle(state, task, now)
    state.wake(old_pool.name)


def _resettle(state: State, task: LiveTask, now: Now) -> None:
    """Put a changed task where it belongs now."""
    target = state.decide_waiting(task, now)
    if target is not task.status and not (task.status is Status.RETRYING and target is not Status.BLOCKED):
        state.move(task, Trigger.EDITED, target, now)
    state.settle(task, now)
    state.touch(task, now)


def apply_moved(state: State, event: Moved, now: Now) -> list[int]:
    """Change the place of waiting tasks within their class, keeping their order among themselves."""
    tasks = [task for task in _live(state, event.ids) if task.is_waiting and not task.leased]
    tasks.sort(key=lambda task: task.seq)
    for task, seq in zip(tasks, _choose_seqs(state, tasks, event), strict=True):
        task.seq = seq
        task.in_heap = False
        state.tell(task, "moved", now)
        state.settle(task, now)
        state.touch(task, now)
    return [task.id for task in tasks]


def _choose_seqs(state: State, tasks: list[LiveTask], event: Moved) -> list[float]:
    if not tasks:
        return []
    if event.before is not None:
        low, high = _gap_before(state, event.before, {task.id for task in tasks})
    elif event.first:
        least = min((task.seq for task in state.tasks.values()), default=0.0)
        low, high = least - len(tasks) - 1, least
    else:
        low, high = state.last_seq, state.last_seq + len(tasks) + 1
        state.last_seq = high
    step = (high - low) / (len(tasks) + 1)
    return [low + step * (index + 1) for index in range(len(tasks))]


def _gap_before(state: State, before: int, moving: set[int]) -> tuple[float, float]:
    """The gap in front of a waiting task; the queue is numbered anew when the gap has become too small to halve."""
    target = state.tasks.get(before)
    if target is None or not target.is_waiting:
        raise ConflictError(f"task {before} is not waiting", hint="--before names a waiting task")
    others = [task for task in state.tasks.values() if task.id not in moving]
    low = max((task.seq for task in others if task.seq < target.seq), default=target.seq - len(moving) - 1)
    if target.seq - low > 1e-6:
        return low, target.seq
    _renumber(state)
    return _gap_before(state, before, moving)


def _renumber(state: State) -> None:
    for place, task in enumerate(sorted(state.tasks.values(), key=lambda task: (task.seq, task.id)), start=1):
        task.seq = float(place)
        task.in_heap = False
        state.effects.touched[task.id] = task
        if task.status is Status.READY and not task.leased and task.id not in state.pools[task.pool].unfit:
            state.pools[task.pool].lanes.push(task)


def apply_signalled(state: State, event: Signalled, now: Now) -> list[int]:
    """One signal to the trees of the running tasks among these."""
    changed = []
    for task in _live(state, event.ids):
        if task.status is Status.RUNNING:
            state.effects.actions.append(SendSignal(task.id, task.attempt, event.signal))
            changed.append(task.id)
    return changed


# -- time ------------------------------------------------------------------------------------------------------------


def apply_time_passed(state: State, event: TimePassed, now: Now) -> None:
    """Do what has become due: starts, ends of backoff, kill-at of what waits, ends of waiting for a key."""
    for due, task_id in state.timers.take_due(now):
        task = state.tasks.get(task_id)
        if task is not None and task.is_waiting:
            _DUE[due](state, task, now)


def _start_is_due(state: State, task: LiveTask, now: Now) -> None:
    if task.status is Status.SCHEDULED and task.not_before is not None and task.not_before <= now.wall:
        _make_ready(state, task, Trigger.TIME_CAME, now)


def _backoff_is_over(state: State, task: LiveTask, now: Now) -> None:
    if task.status is Status.RETRYING and task.due_awake is not None and task.due_awake <= now.awake:
        _make_ready(state, task, Trigger.BACKOFF_OVER, now)


def _kill_at_passed(state: State, task: LiveTask, now: Now) -> None:
    if task.leased or task.kill_at is None or task.kill_at > now.wall:
        return
    task.reason = task.message = "kill-at time passed before it ended"
    state.move(task, Trigger.KILL_AT_PASSED, Status.FAILED, now)
    state.finish(task, now)


def _awaited_too_long(state: State, task: LiveTask, now: Now) -> None:
    for edge in state.graph.list_open(task.id):
        if edge.awaited is not None and (edge.awaited_until or 0.0) <= now.wall:
            skip(state, task, f"no task with key {edge.awaited}", now)
            return


_DUE = {
    Due.START: _start_is_due,
    Due.BACKOFF: _backoff_is_over,
    Due.KILL_AT: _kill_at_passed,
    Due.AWAITED: _awaited_too_long,
}
