"""Slots of a schedule that become no task: rows of its history, and lines of the event history.

Which slots these are is decided in `occurrences`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.notices import note_passed
from cronoq_cli.engine.recurrence import SlotRun, key_of
from cronoq_cli.engine.schedules import LiveSchedule
from cronoq_cli.engine.state import State
from cronoq_cli.model.recurring import PassedSlots
from cronoq_cli.model.task import Transition

CLOSE_S = 3600.0
"""Slots nearer than this to each other that become no task for one reason make one row of the history."""


class Why(NamedTuple):
    """Why slots become no task: `missed` or `skipped`, and the reason for people."""

    status: str
    reason: str


MISSED = Why("missed", "nothing could run it then")
LEFT_OUT = Why("skipped", "left out as asked")


def pass_over(state: State, one: LiveSchedule, why: Why, slots: list[float], now: Now) -> None:
    """Record slots, oldest first, that become no task."""
    for slot in slots:
        last = one.passed
        if last is not None and (last.status, last.reason) == why and 0 <= slot - last.last_at < CLOSE_S:
            if slot == last.last_at:  # decided once more: a pause had taken back what was decided ahead
                continue
            longer = msgspec.structs.replace(last, last_at=slot, count=last.count + 1)
            one.passed = state.effects.passed[last.schedule, last.first_at, last.status] = longer
        else:
            _add_row(state, one, why, PassedSlots(**_place(one, why, slot, now), last_at=slot), now)


def pass_run_over(state: State, one: LiveSchedule, why: Why, run: SlotRun, now: Now) -> None:
    """Record a run of slots at once."""
    row = PassedSlots(**_place(one, why, run.oldest, now), last_at=run.newest, count=run.count)
    _add_row(state, one, why, row, now)


def _place(one: LiveSchedule, why: Why, slot: float, now: Now) -> dict[str, Any]:
    return {"schedule": one.name, "status": why.status, "first_at": slot, "reason": why.reason, "at": now.wall}


def _add_row(state: State, one: LiveSchedule, why: Why, row: PassedSlots, now: Now) -> None:
    one.passed = state.effects.passed[row.schedule, row.first_at, row.status] = row
    tell(state, one, f"recurring-{why.status}", row.at, why.reason, key=key_of(row.schedule, row.first_at))
    if why.status == MISSED.status:
        note_passed(state.incidents, one.spec, row, now)


def tell(state: State, one: LiveSchedule, kind: str, at: float, message: str | None, *, key: str | None = None) -> None:
    """Add a line about a schedule to the event history; its name stands as the key."""
    state.effects.transitions.append(
        Transition(at=at, type=kind, key=key or one.name, pool=one.spec.template.pool, message=message)
    )
