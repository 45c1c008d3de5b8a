"""What people and the machine change about recurring schedules: add, remove, pause, skip, run now; zone and clock.

What falls due is in `occurrences`. A refused event raises and has changed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from cronoq_cli.engine import recurrence
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    ClockChanged,
    Newcomer,
    OccurrenceAsked,
    SchedulesApplied,
    SchedulesKept,
    SchedulesPaused,
    SchedulesResumed,
    SlotsSkipped,
    Submitted,
    ZoneChanged,
)
from cronoq_cli.engine.notices import subject_of
from cronoq_cli.engine.occurrences import (
    arm,
    decide,
    find_next,
    forget_wrong_clock,
    look_anew,
    note_clocks,
    note_start,
    react_to,
    withdraw,
)
from cronoq_cli.engine.passing import LEFT_OUT, pass_over, tell
from cronoq_cli.engine.recurrence import Reason
from cronoq_cli.engine.schedules import LiveSchedule, put_state
from cronoq_cli.engine.state import State
from cronoq_cli.engine.submissions import apply_submitted, check_fits
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.recurring import Overlap, Schedule, ScheduleSpec, ScheduleState

# -- add, replace, remove --------------------------------------------------------------------------------------------


def apply_schedules_applied(state: State, event: SchedulesApplied, now: Now) -> SchedulesKept:
    """Add, replace and remove schedules, all or none. Raises InvalidError for what can never run, NotFoundError."""
    for spec in event.specs:
        check_schedule(state, spec, now)
    new = {spec.name for spec in event.specs}
    for name in (*event.removed, *(one for one in (*event.pausing, *event.resuming) if one not in new)):
        state.schedules.get(name)
    result = SchedulesKept()
    for name in event.removed:
        _remove(state, name, now)
        result.removed.append(name)
    for spec in event.specs:
        former = state.schedules.by_name.get(spec.name)
        if former is None:
            _add(state, spec, event, now)
            result.added.append(spec.name)
        elif former.spec == spec:
            _mend(state, former, now)
            result.unchanged.append(spec.name)
        else:
            _replace(state, former, spec, event, now)
            result.replaced.append(spec.name)
    for name in event.pausing:
        if name not in result.added:  # those are paused from the beginning
            rest = SchedulesPaused([name], reason=event.pause_reason)
            _pause(state, state.schedules.get(name), rest, now)
    for name in event.resuming:
        _resume(state, state.schedules.get(name), now)
    return result


def check_schedule(state: State, spec: ScheduleSpec, now: Now) -> None:
    """Raises InvalidError or UsageError for a schedule that could never run: no time, unknown zone, pool, resource."""
    recurrence.check_timing(spec)
    state.schedules.zone_of(spec)
    check_fits(state, recurrence.occurrence_spec(spec, recurrence.Run(now.wall, Reason.SCHEDULED)))


def _add(state: State, spec: ScheduleSpec, event: SchedulesApplied, now: Now) -> None:
    at = ScheduleState(decided_at=now.wall, paused=event.paused or spec.name in event.pausing)
    at.pause_reason = event.pause_reason if at.paused else None
    _begin_timing(state, spec, at, now)
    one = state.schedules.add(Schedule(spec=spec, state=at, added_at=now.wall, updated_at=now.wall))
    _begin(state, one, "recurring-added", now)


def _begin_timing(state: State, spec: ScheduleSpec, at: ScheduleState, now: Now) -> None:
    """From here on points of an interval and boots of the machine count."""
    if spec.every_s is not None:
        at.awake_at, at.boot_id = now.awake, state.schedules.boot_id
    elif spec.reboot:
        at.boot_id = state.schedules.boot_id


def _begin(state: State, one: LiveSchedule, kind: str, now: Now) -> None:
    find_next(state, one, now)
    arm(state, one)
    state.effects.schedules[one.name] = one.schedule
    tell(state, one, kind, now.wall, one.spec.when)


def _replace(state: State, former: LiveSchedule, spec: ScheduleSpec, event: SchedulesApplied, now: Now) -> None:
    """Another spec under the same name: what runs goes on and belongs to it, so does a pause; counts begin anew."""
    withdraw(state, former, now, "the schedule was replaced")
    before = former.state
    at = msgspec.structs.replace(before, skips=list(before.skips), ahead=[])
    if not event.refreshed:
        at.runs = at.failures = at.skip_points = 0
        at.broken, at.skips = False, []
    if timing_of(former.spec) != timing_of(spec):
        at.decided_at, at.awake_at, at.skips = now.wall, None, []
        _begin_timing(state, spec, at, now)
    elif former.spec.reserve:
        at.decided_at = min(at.decided_at, now.wall)  # what was made ahead has been taken back
    one = state.schedules.add(Schedule(spec=spec, state=at, added_at=former.schedule.added_at, updated_at=now.wall))
    one.live, one.passed = former.live, former.passed
    _begin(state, one, "recurring-changed", now)


def timing_of(spec: ScheduleSpec) -> tuple[Any, ...]:
    """What decides the slots of a schedule: with another timing they count from now on."""
    return spec.expr, spec.seconds, spec.every_s, spec.reboot, spec.tz


def _mend(state: State, one: LiveSchedule, now: Now) -> None:
    if one.state.broken:
        put_state(one, msgspec.structs.replace(one.state, broken=False), now.wall)
        state.effects.schedules[one.name] = one.schedule


def _remove(state: State, name: str, now: Now) -> None:
    one = state.schedules.remove(name)
    withdraw(state, one, now, "the schedule was removed")
    state.effects.schedules[name] = None
    state.incidents.keep(subject_of(name), None)
    tell(state, one, "recurring-removed", now.wall, None)


# -- pause, resume, skip, run now ------------------------------------------------------------------------------------


def apply_schedules_paused(state: State, event: SchedulesPaused, now: Now) -> list[str]:
    """No new occurrences of these; the names. What was made ahead of its start is taken back."""
    chosen = state.schedules.choose(event.names)
    for one in chosen:
        _pause(state, one, event, now)
    return [one.name for one in chosen]


def _pause(state: State, one: LiveSchedule, event: SchedulesPaused, now: Now) -> None:
    taken = withdraw(state, one, now, "the schedule was paused")
    at = msgspec.structs.replace(one.state, paused=True, paused_until=event.until, pause_reason=event.reason)
    if taken:
        at.decided_at = min(at.decided_at, now.wall)
    _change(state, one, at, now, "recurring-paused", event.reason)


def apply_schedules_resumed(state: State, event: SchedulesResumed, now: Now) -> list[str]:
    """Occurrences again, of these; the names."""
    chosen = state.schedules.choose(event.names)
    for one in chosen:
        _resume(state, one, now)
    return [one.name for one in chosen]


def _resume(state: State, one: LiveSchedule, now: Now) -> None:
    at = recurrence.resume(one.state, now.wall)
    if one.spec.every_s is not None and one.state.paused:
        at.awake_at = now.awake
    _change(state, one, at, now, "recurring-resumed", None)


def _change(state: State, one: LiveSchedule, at: ScheduleState, now: Now, kind: str, message: str | None) -> None:
    put_state(one, at, now.wall)
    find_next(state, one, now)
    arm(state, one)
    state.effects.schedules[one.name] = one.schedule
    tell(state, one, kind, now.wall, message)


def apply_slots_skipped(state: State, event: SlotsSkipped, now: Now) -> None:
    """Leave slots out; one that was made a task ahead of its start is taken back and recorded as left out."""
    one = state.schedules.get(event.name)
    if one.spec.overlap is Overlap.QUEUE_ON_SUCCESS:
        _unchain(state, one, set(event.slots), now)
    else:
        taken = withdraw(state, one, now, LEFT_OUT.reason, set(event.slots))
        pass_over(state, one, LEFT_OUT, taken, now)  # they are decided already: nothing comes by to do it
    at = one.state
    skips = sorted({*at.skips, *event.slots})
    at = msgspec.structs.replace(at, skips=skips, skip_points=at.skip_points + event.points)
    _change(state, one, at, now, "recurring-skip", None)


def _unchain(state: State, one: LiveSchedule, slots: set[float], now: Now) -> None:
    """Of starts made ahead, each behind the success of the one before, none may be taken out: all from the first to be
    left out on are taken back, and decided once more."""
    shift_s = recurrence.jitter_of(one.name, one.spec.jitter_s)
    made = {round(start_at - shift_s, 3) for start_at in one.ahead.values()}
    first = min(made & slots, default=None)
    if first is not None:
        withdraw(state, one, now, LEFT_OUT.reason, {slot for slot in made if slot >= first})
        put_state(one, msgspec.structs.replace(one.state, decided_at=first - 0.001), now.wall)


def apply_occurrence_asked(state: State, event: OccurrenceAsked, now: Now) -> int:
    """An occurrence now, outside of every chain; its id. Raises what a submission raises, NotFoundError."""
    one = state.schedules.get(event.name)
    spec = recurrence.manual_spec(one.spec, now.wall)
    newcomer = Newcomer(spec, reason=Reason.MANUAL.value)
    return apply_submitted(state, Submitted([newcomer, *react_to(one.spec, spec)]), now).ids[0]


# -- the machine -----------------------------------------------------------------------------------------------------


def apply_zone_changed(state: State, event: ZoneChanged, now: Now) -> bool:
    """Schedules without a zone of their own go by another one; False when it is the same.

    Slots count from now on in it: nothing is made up for, nothing repeated."""
    schedules = state.schedules
    if schedules.zone == event.zone:
        return False
    following = [one for one in schedules.by_name.values() if one.spec.tz is None and one.spec.expr is not None]
    for one in following:
        if one.armed_at is not None and one.armed_at <= now.wall and state.compared:
            decide(state, one, now)
    schedules.zone = event.zone
    for one in following:
        withdraw(state, one, now, "the machine's time zone changed")
        at = msgspec.structs.replace(one.state, decided_at=now.wall, skips=[])
        _change(state, one, at, now, "recurring-zone", None)
    return True


def apply_clock_changed(state: State, event: ClockChanged, now: Now) -> None:
    """The clock was set or the machine slept: what it left out was missed; all schedules are looked at anew."""
    note_clocks(state, now)
    if event.able_since is not None:
        state.schedules.able_since = event.able_since
    look_anew(state, now)


# -- recovery --------------------------------------------------------------------------------------------------------


def restore_schedules(state: State, kept: Iterable[Schedule], now: Now) -> None:
    """Hold the schedules as the store kept them, behind their tasks. What fell due before now was missed.

    `state.schedules` has the machine's zone and boot already. Raises nothing: one that this machine cannot read stays,
    with its fault."""
    schedules = state.schedules
    schedules.able_since, schedules.able_awake = now.wall, now.awake
    schedules.seen = now
    for schedule in kept:
        one = schedules.add(schedule)
        one.state.ahead = []  # found again with the tasks
        _rebase(state, one, now)
    for task in sorted(state.tasks.made(), key=lambda task: task.id):
        name = None if task.facts is None else task.facts.get("recurring")
        found = None if name is None else schedules.by_name.get(name)
        if found is not None:
            found.live.append(task.id)
            if task.attempt == 0:
                note_start(state, found, task, now)
    for one in schedules.by_name.values():
        if one.spec.reboot:
            one.armed_at = now.wall
            state.timers.arm_wall(now.wall, Due.SCHEDULE, one.number)
        else:
            forget_wrong_clock(state, one, now)
            find_next(state, one, now)
            arm(state, one)


def _rebase(state: State, one: LiveSchedule, now: Now) -> None:
    """The awake clock of another boot says nothing: an interval goes on by the wall clock's word, this once."""
    at, boot_id = one.state, state.schedules.boot_id
    if one.spec.every_s is None or (at.awake_at is not None and at.boot_id == boot_id and boot_id is not None):
        return
    at.awake_at, at.boot_id = now.awake - max(0.0, now.wall - at.decided_at), boot_id
