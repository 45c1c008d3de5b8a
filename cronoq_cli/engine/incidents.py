"""What the end of an occurrence means for its schedule: failures in a row, broken chains, pauses, incidents.

An incident opens with the first bad end and closes with the next success (specification section 7).
"""

from __future__ import annotations

import msgspec

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.occurrences import arm, find_next, withdraw
from cronoq_cli.engine.passing import tell
from cronoq_cli.engine.recurrence import judge_end
from cronoq_cli.engine.schedules import LiveSchedule, put_state
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import BAD_ENDS, Status
from cronoq_cli.model.recurring import Overlap, ScheduleState


def judge_over(state: State, now: Now) -> None:
    """Judge the occurrences that have ended for good: failures in a row, broken chains, pauses, incidents."""
    over, state.over = state.over, []
    for task in over:
        name = (task.facts or {}).get("recurring")
        one = None if name is None else state.schedules.by_name.get(name)
        if one is not None:
            _judge_end(state, one, task, now)


def _judge_end(state: State, one: LiveSchedule, task: LiveTask, now: Now) -> None:
    if one.leave_ahead([task.id]):
        state.effects.schedules[one.name] = one.schedule
    before = one.state
    succeeded, failed = task.status is Status.SUCCEEDED, task.status in BAD_ENDS
    if succeeded or failed:
        after = judge_end(one.spec, before, succeeded=succeeded)
    else:
        after = msgspec.structs.replace(before, broken=before.broken or one.spec.overlap is Overlap.QUEUE_ON_SUCCESS)
    if failed and before.incident_at is None:
        after.incident_at = now.wall
    elif succeeded:
        after.incident_at = None
    if after == before:
        return
    put_state(one, after, now.wall)
    state.effects.schedules[one.name] = one.schedule
    if after.paused and not before.paused:
        _pause_after_failures(state, one, after, now)


def _pause_after_failures(state: State, one: LiveSchedule, after: ScheduleState, now: Now) -> None:
    withdraw(state, one, now, "the schedule was paused")
    find_next(state, one, now)
    arm(state, one)
    tell(state, one, "recurring-paused", now.wall, after.pause_reason)
