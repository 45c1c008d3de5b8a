"""Jumps of the clock and changes of the zone: the line in the event history, and what follows for what waits.

What they are is decided in `model/clock`, what they mean for recurring schedules in `schedule_changes`.
"""

from __future__ import annotations

from cronoq_cli.engine import schedule_changes
from cronoq_cli.engine.live import RETRYING, Now
from cronoq_cli.engine.messages import ClockChanged, ZoneChanged
from cronoq_cli.engine.state import State
from cronoq_cli.model.clock import JumpKind
from cronoq_cli.model.task import Transition

ZONE_CHANGED = "zone-changed"


def apply_clock_changed(state: State, event: ClockChanged, now: Now) -> None:
    """Record the jump; what goes by the wall clock follows it, what counts time awake does not."""
    _tell(state, event.kind, event.message, now)
    for task in state.tasks.made():
        if task.status is RETRYING and task.due_awake is not None:
            task.due_at = now.wall + max(0.0, task.due_awake - now.awake)
            state.touch(task, now)
    if event.kind == JumpKind.FROZEN:
        state.schedules.able_awake = now.awake  # that time counts as awake, but nothing could run then
    schedule_changes.apply_clock_changed(state, event, now)
    state.wake_all()


def apply_zone_changed(state: State, event: ZoneChanged, now: Now) -> bool:
    """Schedules follow another zone of the machine; False when it is the same."""
    if not schedule_changes.apply_zone_changed(state, event, now):
        return False
    _tell(state, ZONE_CHANGED, event.message, now)
    return True


def _tell(state: State, kind: str, message: str | None, now: Now) -> None:
    if message is not None:
        state.effects.transitions.append(Transition(at=now.wall, type=kind, message=message))
