"""What people do to tasks: cancel, hold, release, start now, signal; and what time does to them.

Each returns the ids it changed. Which tasks a selector means, and refusals for running ones, are the caller's.
Another spec or another place in the queue is in `edits`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    Cancelled,
    Held,
    Released,
    SendSignal,
    Signalled,
    StartedNow,
    Stop,
)
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import LIVE, WAITING, Status, Trigger

_HOLDABLE = WAITING - {Status.BLOCKED}


def _live(state: State, ids: Iterable[int]) -> list[LiveTask]:
    found = map(state.tasks.get, ids)
    return [task for task in found if task is not None and task.status in LIVE]


# -- cancel --------------------------------------------------------------------------------------------------------


def apply_cancelled(state: State, event: Cancelled, now: Now) -> list[int]:
    """End live tasks at once for the engine; slots of running ones are free when their trees are gone."""
    changed = []
    for task_id in event.ids:
        task = state.tasks.get(task_id)
        if task is None:
            continue
        if task.leaving and event.grace_s is not None:
            hurry = Stop(task.id, task.attempt_at_runner, task.policy.stop_signal, event.grace_s, "cancelled")
            state.effects.actions.append(hurry)
            changed.append(task_id)
        if task.status not in LIVE:
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
        state.drop_lease(task)
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
        if task.held or task.status is Status.RUNNING or task.leased or task.gathered_by is not None:
            continue
        task.held = True
        changed.append(task.id)
        state.pools[task.pool].unfit.pop(task.id, None)
        if task.status is Status.RETRYING and task.due_awake is not None:
            task.due_at = now.wall + max(0.0, task.due_awake - now.awake)
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
        target = state.decide_waiting(task, now)
        if target is not Status.BLOCKED:
            state.move(task, Trigger.RELEASED, target, now, "")
        state.settle(task, now)
        state.touch(task, now)
    return changed


def apply_started_now(state: State, event: StartedNow, now: Now) -> list[int]:
    """Skip the waiting time of scheduled and retrying tasks."""
    changed = []
    for task in _live(state, event.ids):
        if task.status in (Status.SCHEDULED, Status.RETRYING):
            make_ready(state, task, Trigger.STARTED_NOW, now)
            changed.append(task.id)
    return changed


def make_ready(state: State, task: LiveTask, trigger: Trigger, now: Now) -> None:
    """A task that waited for its time is ready now."""
    state.move(task, trigger, Status.READY, now, "")
    state.settle(task, now)


def apply_signalled(state: State, event: Signalled, now: Now) -> list[int]:
    """One signal to the trees of the running tasks among these."""
    changed = []
    for task in _live(state, event.ids):
        if task.status is Status.RUNNING:
            state.effects.actions.append(SendSignal(task.id, task.attempt, event.signal))
            changed.append(task.id)
    return changed
