"""The recurring schedules: documents, history, and everything that is changed about them by request."""

from __future__ import annotations

from typing import Any

import msgspec

from cronoq_cli.commands.schedules import describe_schedule, history_document, list_documents, list_last_ids
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.submit import check_accepting
from cronoq_cli.engine import recurrence
from cronoq_cli.engine.messages import (
    OccurrenceAsked,
    SchedulesApplied,
    SchedulesKept,
    SchedulesPaused,
    SchedulesResumed,
    SlotsSkipped,
)
from cronoq_cli.engine.schedule_changes import check_schedule
from cronoq_cli.engine.schedules import LiveSchedule
from cronoq_cli.errors import ConflictError, InvalidError, UsageError
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.recurring import Schedule, ScheduleSpec, ScheduleState, parse_schedule_name
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.wire.requests import Reply
from cronoq_cli.wire.schedules import (
    ApplySchedules,
    PauseSchedules,
    RefreshSchedules,
    RemoveSchedules,
    ResumeSchedules,
    RunSchedule,
    ScheduleHistory,
    Schedules,
    SkipSchedule,
)

NEXT_SHOWN = 5
"""Next runs told with a schedule that was just added or changed."""
SHOWN = Schedules(next_count=NEXT_SHOWN)
MOST_SHOWN = 20
"""Of more schedules than this only the very next run is told: looking for many of many takes the loop's time."""

# -- looking ---------------------------------------------------------------------------------------------------------


def show_schedules(desk: Desk, request: Schedules) -> Reply:
    """The documents of all schedules, or of those named."""
    known = [one.schedule for one in _live(desk).values()]
    now, store = desk.now().wall, desk.scheduler.store
    last = desk.scheduler.list_records(list_last_ids(known, now, store))
    return Reply(doc=list_documents(known, request, now, last, store.find_env))


def _live(desk: Desk) -> dict[str, LiveSchedule]:
    return desk.scheduler.engine.state.schedules.by_name


def show_history(desk: Desk, request: ScheduleHistory) -> Reply:
    """The occurrences of a schedule, also of one that was removed."""

    def refresh(records: list[TaskRecord]) -> list[TaskRecord]:
        for record in records:
            live = desk.scheduler.find_live(record.id)
            if live is not None and live.is_waiting:
                record.reason = desk.explain_waiting(live)
        return records

    return Reply(doc=history_document(desk.scheduler.store, request, desk.now().wall, refresh))


def describe_schedules(desk: Desk, names: list[str]) -> list[dict[str, Any]]:
    """The documents of these schedules, which are there."""
    known = [_live(desk)[name].schedule for name in names]
    now, shown = desk.now().wall, SHOWN if len(names) <= MOST_SHOWN else Schedules()
    records = desk.scheduler.list_records(list_last_ids(known, now, desk.scheduler.store))
    last = {record.spec.recurring: record for record in records}
    return [describe_schedule(one, last.get(one.spec.name), shown, now) for one in known]


# -- add, replace, remove --------------------------------------------------------------------------------------------


def apply_schedules(desk: Desk, request: ApplySchedules) -> Reply:
    """Add, replace and remove schedules, all or none; the documents and the names."""
    check_accepting(desk)
    _check_specs(desk, request.specs)
    new = {spec.name for spec in request.specs}
    for name in (*request.removed, *(one for one in (*request.pausing, *request.resuming) if one not in new)):
        desk.scheduler.engine.state.schedules.get(name)
    if request.dry_run:
        return _foresee(desk, request)
    event = SchedulesApplied(
        request.specs,
        request.removed,
        request.paused,
        request.pause_reason,
        pausing=request.pausing,
        resuming=request.resuming,
    )
    kept: SchedulesKept = desk.scheduler.apply(event)
    if request.envs:
        desk.scheduler.add_rows(envs=request.envs)
    desk.scheduler.must_commit()
    doc: dict[str, Any] = {"recurring": describe_schedules(desk, [spec.name for spec in request.specs])}
    names = {"added": kept.added, "replaced": kept.replaced, "unchanged": kept.unchanged, "removed": kept.removed}
    return Reply(doc={**doc, **names})


def _check_specs(desk: Desk, specs: list[ScheduleSpec]) -> None:
    """Raises UsageError or InvalidError, naming the schedule when there are several."""
    names: set[str] = set()
    for spec in specs:
        try:
            _check_spec(desk, spec)
            if spec.name in names:
                raise InvalidError(
                    "the name stands twice", hint="each schedule has a name of its own", code="key-twice"
                )
        except (UsageError, InvalidError) as error:
            if len(specs) == 1:
                raise
            message = f"schedule {spec.name}: {error.message}"
            raise InvalidError(message, hint=error.hint, code=error.code) from error
        names.add(spec.name)


def _check_spec(desk: Desk, spec: ScheduleSpec) -> None:
    parse_schedule_name(spec.name)
    template = spec.template
    if (template.command is None) == (template.shell_line is None):
        raise InvalidError(f"schedule {spec.name!r}: it has no command", hint="give a command or a shell line")
    fixed = (template.start_at, template.not_before, template.expires_at, template.deadline, template.kill_at)
    if template.after or template.key or template.group or any(moment is not None for moment in fixed):
        raise InvalidError(
            f"schedule {spec.name!r}: an occurrence has no key, group, dependencies or moments of its own",
            hint="--tolerance, --deadline-after and --until say when it is too late",
        )
    check_schedule(desk.scheduler.engine.state, spec, desk.now())


def _foresee(desk: Desk, request: ApplySchedules) -> Reply:
    """What the request would do."""
    now, known = desk.now().wall, _live(desk)
    documents = []
    for spec in request.specs:
        rests = request.paused or spec.name in request.pausing
        at = ScheduleState(decided_at=now, awake_at=desk.now().awake, paused=rests)
        if spec.every_s is not None:
            at.next_at = now + spec.every_s
        schedule = Schedule(spec=spec, state=at, added_at=now, updated_at=now)
        documents.append(describe_schedule(schedule, None, SHOWN, now))
    names = {spec.name: known.get(spec.name) for spec in request.specs}
    doc: dict[str, Any] = {"recurring": documents, "dry_run": True, "removed": request.removed}
    doc["added"] = [spec.name for spec in request.specs if names[spec.name] is None]
    same = {spec.name for spec in request.specs if (one := names[spec.name]) is not None and one.spec == spec}
    doc["unchanged"] = [spec.name for spec in request.specs if spec.name in same]
    doc["replaced"] = [n for n, one in names.items() if one is not None and n not in same]
    return Reply(doc=doc)


def remove_schedules(desk: Desk, request: RemoveSchedules) -> Reply:
    """Forget schedules; the history stays, what runs ends by itself."""
    desk.scheduler.check_writable()
    if not request.names and not request.every:
        raise UsageError("no schedule named", hint="name some, or --all")
    names = list(dict.fromkeys(request.names)) or list(_live(desk))
    for name in names:
        desk.scheduler.engine.state.schedules.get(name)
    documents = describe_schedules(desk, names)
    desk.scheduler.apply(SchedulesApplied(removed=names))
    desk.scheduler.must_commit()
    return Reply(doc={"recurring": documents, "removed": names})


def refresh_schedules(desk: Desk, request: RefreshSchedules) -> Reply:
    """Take environment, directory and umask anew; counts, chains and times go on."""
    check_accepting(desk)
    changes: dict[str, Any] = {"env": request.env_id, "cwd": request.cwd, "umask": request.umask}
    specs = []
    for name in request.names:
        spec = desk.scheduler.engine.state.schedules.get(name).spec
        specs.append(msgspec.structs.replace(spec, template=msgspec.structs.replace(spec.template, **changes)))
    desk.scheduler.apply(SchedulesApplied(specs, refreshed=True))
    desk.scheduler.add_rows(envs={request.env_id: request.env})
    desk.scheduler.must_commit()
    return Reply(doc={"recurring": describe_schedules(desk, request.names)})


# -- pause, resume, skip, run ----------------------------------------------------------------------------------------


def pause_schedules(desk: Desk, request: PauseSchedules) -> Reply:
    """No new occurrences of these (all when none is named)."""
    if request.until is not None and request.until <= desk.now().wall:
        raise UsageError("the end of the pause has passed", hint="--until names a time ahead")
    return _switch(desk, SchedulesPaused(request.names, request.until, request.reason))


def resume_schedules(desk: Desk, request: ResumeSchedules) -> Reply:
    """Occurrences again, of these (all when none is named)."""
    return _switch(desk, SchedulesResumed(request.names))


def _switch(desk: Desk, event: SchedulesPaused | SchedulesResumed) -> Reply:
    desk.scheduler.check_writable()
    names = desk.scheduler.apply(event)
    desk.scheduler.must_commit()
    return Reply(doc={"recurring": describe_schedules(desk, names)})


def skip_schedule(desk: Desk, request: SkipSchedule) -> Reply:
    """Leave out the next occurrences, or one that is named by its instant."""
    desk.scheduler.check_writable()
    state = desk.scheduler.engine.state
    one = state.schedules.get(request.name)
    if one.spec.reboot:
        raise ConflictError(
            f"schedule {request.name!r} has no next run to skip: it runs at a boot",
            hint=f"cronoq recurring pause {request.name}",
        )
    if one.spec.every_s is not None:
        if request.at is not None:
            raise UsageError("an interval has no fixed instants", hint="skip its next occurrence by number")
        starts = _list_starts(desk, one, request.count)
        event = SlotsSkipped(request.name, points=len(starts))
    else:
        slots = _choose_slots(desk, one, request)
        shift_s = recurrence.jitter_of(one.name, one.spec.jitter_s)
        starts = [slot + shift_s for slot in slots]
        event = SlotsSkipped(request.name, slots)
    if not starts:
        hint = f"cronoq recurring show {one.name}"
        raise ConflictError(f"schedule {request.name!r} has no next run to skip", hint=hint)
    desk.scheduler.apply(event)
    desk.scheduler.must_commit()
    skipped = [format_utc(start_at) for start_at in starts]
    return Reply(doc={"recurring": describe_schedules(desk, [request.name]), "skipped": skipped})


def _list_starts(desk: Desk, one: LiveSchedule, count: int) -> list[float]:
    zone = desk.scheduler.engine.state.schedules.zone_of(one.spec)
    return recurrence.list_next_starts(one.spec, one.state, desk.now().wall, zone, count)


def _choose_slots(desk: Desk, one: LiveSchedule, request: SkipSchedule) -> list[float]:
    schedules, now = desk.scheduler.engine.state.schedules, desk.now().wall
    zone = schedules.zone_of(one.spec)
    shift_s = recurrence.jitter_of(one.name, one.spec.jitter_s)
    if request.at is None:
        return recurrence.list_next_slots(one.spec, one.state, now - shift_s, zone, request.count)
    for slot in (request.at, request.at - shift_s):
        if slot > now - shift_s and recurrence.is_slot(one.spec, slot, zone):
            return [slot]
    raise ConflictError(f"{request.name!r} has no occurrence then", hint=f"cronoq recurring next {request.name}")


def run_schedule(desk: Desk, request: RunSchedule) -> Reply:
    """Start an occurrence now, outside of every chain; its document."""
    check_accepting(desk)
    task_id: int = desk.scheduler.apply(OccurrenceAsked(request.name))
    desk.scheduler.must_commit()
    return Reply(doc={"task": desk.describe(desk.get_record(task_id))})
