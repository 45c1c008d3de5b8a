"""What time does: starts, ends of backoff, limits and expiries of what waits, tokens, groups, and looks at pools.

Each duty's own rule stands in its module; here it is only decided whose turn an entry of the timers is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cronoq_cli.engine import fixed, groups, occurrences, scaling
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import TimePassed
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.engine.verbs import make_ready
from cronoq_cli.model.lifecycle import Status, Trigger

MOST_OCCURRENCES = 64
"""Schedules whose occurrences become tasks in one step: of a thousand due in one second the first start soon."""


def apply_time_passed(state: State, event: TimePassed, now: Now) -> None:
    """Do what has become due. Scores have changed as well, so that another head may be first than at the last start."""
    if state.schedules:
        occurrences.note_clocks(state, now)
    apply_due(state, now)
    state.wake_all()


def apply_due(state: State, now: Now) -> None:
    """Do what has become due, before anything starts: what expired by now is not started any more."""
    occurred = 0
    for due, number in state.timers.take_due(now):
        if due is Due.TOKENS:
            state.tokens_at = None
            state.wake_all()
        elif due is Due.SCALE:
            scaling.look(state, number, now)
        elif due is Due.GATHER:
            groups.look_at_groups(state, now)
        elif due is Due.SCHEDULE:
            occurred += occurrences.look_at_schedule(state, number, now)
            if occurred >= MOST_OCCURRENCES:
                break  # what is left is due at once again: these are committed and started first
        else:
            task = state.tasks.get(number)
            if task is not None and task.is_waiting:
                _DUE[due](state, task, now)


def _start_is_due(state: State, task: LiveTask, now: Now) -> None:
    if task.status is Status.SCHEDULED and task.due_at is not None and task.due_at <= now.wall:
        make_ready(state, task, Trigger.TIME_CAME, now)


def _backoff_is_over(state: State, task: LiveTask, now: Now) -> None:
    if task.status is Status.RETRYING and task.due_awake is not None and task.due_awake <= now.awake:
        state.pools[task.pool].arrivals += 1
        make_ready(state, task, Trigger.BACKOFF_OVER, now)


def _kill_at_passed(state: State, task: LiveTask, now: Now) -> None:
    if task.leased or task.kill_at is None or task.kill_at > now.wall or state.is_run_for(task):
        return
    task.reason = task.message = "kill-at time passed before it ended"
    state.move(task, Trigger.KILL_AT_PASSED, Status.FAILED, now)
    state.finish(task, now)


def _awaited_too_long(state: State, task: LiveTask, now: Now) -> None:
    for edge in state.graph.list_open(task.id):
        if edge.awaited is not None and (edge.awaited_until or 0.0) <= now.wall:
            state.skip(task, f"no task with key {edge.awaited}", now)
            return


_DUE: Mapping[Due, Callable[[State, LiveTask, Now], None]] = {
    Due.START: _start_is_due,
    Due.BACKOFF: _backoff_is_over,
    Due.KILL_AT: _kill_at_passed,
    Due.AWAITED: _awaited_too_long,
    Due.EXPIRY: fixed.expiry_passed,
    Due.MISS: fixed.start_missed,
}
