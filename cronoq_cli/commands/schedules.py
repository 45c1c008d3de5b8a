"""Documents of recurring schedules and of their history (specification section 8), made from records.

Used from two sides: the daemon describes what its engine holds, `client/offline` what the store has. No I/O.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from cronoq_cli.commands.zone import load_machine_zone, name_zone
from cronoq_cli.engine import recurrence
from cronoq_cli.engine.schedules import no_schedule
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.moment import format_utc, load_zone
from cronoq_cli.model.recurring import PassedSlots, Schedule, ScheduleSpec, is_withdrawn
from cronoq_cli.model.schedule_words import describe_cron, describe_every, describe_reboot
from cronoq_cli.model.snapshot import describe_task
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.store.contract import iter_env
from cronoq_cli.wire.schedules import ScheduleHistory, Schedules

MOST_NEXT = 1000
EVERYTHING = 1_000_000_000

FindEnv = Callable[[str], bytes | None]


def no_env(env_id: str) -> bytes | None:
    """Where there is no store, there is no environment."""
    return None


# -- schedules -------------------------------------------------------------------------------------------------------


MOST_MANUAL = 20
"""Runs asked for since the last occurrence that are looked past, to find it."""


class OccurrenceReader(Protocol):
    """What finds the newest occurrences of a schedule; a store has this shape."""

    def list_occurrences(self, name: str, limit: int, before: float | None = None) -> list[TaskRecord]: ...


def list_last_ids(known: Iterable[Schedule], now: float, reader: OccurrenceReader) -> list[int]:
    """The tasks of each schedule's newest occurrence; what is made ahead to reserve its start has not been yet."""
    found: list[int] = []
    for schedule in known:
        if schedule.spec.reserve:
            due = _list_occurrences(reader, schedule.spec.name, MOST_MANUAL, now)
            found += [record.id for record in due if record.spec.key is not None][:1]
        elif schedule.state.chain is not None:
            found.append(schedule.state.chain)
    return found


def _list_occurrences(reader: OccurrenceReader, name: str, limit: int, before: float | None) -> list[TaskRecord]:
    """The newest occurrences, newest first, without those that were taken back before their start: as if never made."""
    most = limit
    while True:
        records = reader.list_occurrences(name, most, before)
        found = [record for record in records if not is_withdrawn(record)]
        if len(found) >= limit or len(records) < most:
            return found[:limit]
        most *= 4


def list_documents(
    known: Sequence[Schedule], request: Schedules, now: float, last: Iterable[TaskRecord], find_env: FindEnv
) -> dict[str, Any]:
    """The answer to `Schedules`. `last`: the tasks of `list_last_ids`. Raises NotFoundError for an unknown name."""
    by_name = {schedule.spec.name: schedule for schedule in known}
    for name in request.names or ():
        if name not in by_name:
            raise no_schedule(name, by_name)
    tasks = {record.spec.recurring: record for record in last if not is_withdrawn(record)}
    documents = []
    for name in request.names if request.names is not None else sorted(by_name):
        schedule = by_name[name]
        document = describe_schedule(schedule, tasks.get(name), request, now)
        if request.specs:
            document["spec"] = msgspec.to_builtins(schedule.spec)
        if request.env:
            document["env"] = _read_env(find_env(schedule.spec.template.env))
        documents.append(document)
    return {"recurring": documents}


def _read_env(blob: bytes | None) -> dict[str, str]:
    return {os.fsdecode(name): os.fsdecode(value) for name, value in iter_env(blob or b"")}


def describe_schedule(schedule: Schedule, last: TaskRecord | None, request: Schedules, now: float) -> dict[str, Any]:
    """The document of one schedule, with its next runs after `request.after` (by default now)."""
    spec, at, template = schedule.spec, schedule.state, schedule.spec.template
    fault = None
    try:
        zone = load_machine_zone() if spec.tz is None else load_zone(spec.tz)
        zone_name: str | None = name_zone(zone, now)
        words = describe_timing(spec)
        begin = now if request.after is None else request.after
        runs = recurrence.list_next_starts(spec, at, begin, zone, max(1, min(request.next_count, MOST_NEXT)))
    except CronoqError as error:
        zone_name, words, runs, fault = spec.tz, None, [], error.message
    return {
        "name": spec.name,
        "expr": "@reboot" if spec.reboot else spec.expr,
        "every": None if spec.every_s is None else spec.when.partition(" ")[2],
        "every_s": spec.every_s,
        "seconds": spec.seconds,
        "tz": spec.tz,
        "zone": zone_name,
        "words": words,
        "command": template.command
        if template.shell_line is None
        else [template.shell or "/bin/sh", "-c", template.shell_line],
        "shell": template.shell_line,
        "cwd": template.cwd,
        "pool": template.pool,
        "overlap": spec.overlap.value,
        "catch_up": spec.catch_up.value,
        "catch_up_within_s": spec.catch_up_within_s,
        "jitter_s": spec.jitter_s,
        "until": _time(spec.until),
        "max_runs": spec.max_runs,
        "pause_after_failures": spec.pause_after_failures,
        "reserve": spec.reserve,
        "tolerance_s": spec.tolerance_s,
        "on_miss": spec.on_miss,
        "deadline_after_s": spec.deadline_after_s,
        "hooks": dict(spec.hooks),
        "ping": spec.ping,
        "paused": at.paused and (at.paused_until is None or now < at.paused_until),
        "paused_until": _time(at.paused_until),
        "pause_reason": fault or at.pause_reason,
        "broken": at.broken,
        "skips": [format_utc(slot) for slot in at.skips],
        "next": _time(runs[0]) if runs else None,
        "next_runs": [format_utc(start_at) for start_at in runs],
        "last": None if last is None else _describe_last(last),
        "runs": at.runs,
        "failures": at.failures,
        "incident_since": _time(at.incident_at),
        "added_at": format_utc(schedule.added_at),
        "updated_at": format_utc(schedule.updated_at),
    }


def describe_timing(spec: ScheduleSpec) -> str:
    """When it runs, in words. Raises InvalidError for an expression that cannot be read."""
    expression = recurrence.parse_when(spec)
    if expression is not None:
        return describe_cron(expression)
    return describe_reboot() if spec.every_s is None else describe_every(spec.every_s)


def _describe_last(record: TaskRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "status": record.status.value,
        "due_at": _time(record.spec.slot),
        "finished_at": _time(record.finished_at),
    }


def _time(at: float | None) -> str | None:
    return None if at is None else format_utc(at)


# -- history ---------------------------------------------------------------------------------------------------------


class HistoryReader(OccurrenceReader, Protocol):
    """What a history is read from; a store has this shape."""

    def list_schedules(self) -> list[Schedule]: ...
    def list_passed(self, name: str, limit: int, before: float | None = None) -> list[PassedSlots]: ...


def history_document(
    reader: HistoryReader | None,
    request: ScheduleHistory,
    now: float,
    refresh: Callable[[list[TaskRecord]], list[TaskRecord]],
) -> dict[str, Any]:
    """The answer to `ScheduleHistory`: the newest occurrences by the instant they were due, oldest first.

    `refresh` makes of stored records those of this moment. Raises NotFoundError for a name that no schedule has or
    had."""
    if reader is None:
        raise no_schedule(request.name, ())
    limit = EVERYTHING if request.limit is None else request.limit
    tasks = _list_occurrences(reader, request.name, limit, request.before)
    passed = reader.list_passed(request.name, limit, request.before)
    if not tasks and not passed:
        known = [schedule.spec.name for schedule in reader.list_schedules()]
        if request.name not in known:
            raise no_schedule(request.name, known)
    found = [(record.spec.slot or 0.0, record.id, describe_occurrence(record, now)) for record in refresh(tasks)]
    found += [(row.first_at, 0, describe_passed(row)) for row in passed]
    found.sort(key=lambda one: one[:2])
    return {"runs": [document for _, _, document in found[max(0, len(found) - limit) :]]}


def describe_occurrence(record: TaskRecord, now: float) -> dict[str, Any]:
    """The document of an occurrence that became a task."""
    task: Mapping[str, Any] = describe_task(record, now=now)
    names = ("id", "status", "reason", "started_at", "finished_at", "run_s", "exit_code", "signal")
    document = {name: task[name] for name in names}
    manual = record.spec.key is None
    return {
        **document,
        "due_at": _time(record.spec.slot),
        "manual": manual,
        "reason_started": "manual" if manual else record.start_reason,
        "count": 1,
        "last_due_at": _time(record.spec.slot),
    }


def describe_passed(row: PassedSlots) -> dict[str, Any]:
    """The document of slots that became no task: of a run the oldest is `due_at`, the newest `last_due_at`."""
    nothing = dict.fromkeys(("id", "started_at", "finished_at", "run_s", "exit_code", "signal", "reason_started"))
    return {
        **nothing,
        "status": row.status,
        "reason": row.reason,
        "due_at": format_utc(row.first_at),
        "manual": False,
        "count": row.count,
        "more": row.more,
        "last_due_at": format_utc(row.last_at),
    }
