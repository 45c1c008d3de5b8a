"""The schedules that a simulated day is run with: those that are kept, or those of a file, as at its begin."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.crontab_import import read_crontab, read_jobs
from cronoq_cli.commands.planning import QueueSnapshot
from cronoq_cli.commands.reading import read_text
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.schedule_store import Kept, know_environments
from cronoq_cli.commands.schedule_table import read_schedule
from cronoq_cli.commands.schedule_toml import looks_like_tables, parse_tables
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.recurring import Schedule, ScheduleSpec, ScheduleState

BEFORE_S = 0.001
"""Slots count from a moment before the begin on, so that one at its very instant runs."""


def list_schedules(
    context: Context, snapshot: QueueSnapshot, begin: float, file: str | None, *, system: bool
) -> list[Schedule]:
    """The schedules, nothing of them decided before `begin`. Raises InvalidError when there is none."""
    if file is None:
        found = [_stand_at(schedule, begin) for schedule in snapshot.kept.schedules]
        hint = "cronoq recurring add makes one; or name a crontab"
    else:
        specs = _read_file(context, read_text(context, file), system=system)
        plain = ScheduleState(decided_at=begin)
        found = [_stand_at(Schedule(spec=one, state=plain, added_at=begin, updated_at=begin), begin) for one in specs]
        hint = "name a crontab, or an export"
    if not found:
        raise InvalidError("there are no schedules to run", hint=hint)
    return found


def _stand_at(schedule: Schedule, begin: float) -> Schedule:
    """As if everything before `begin` were decided; pauses stay, what was to be skipped too."""
    at = schedule.state
    fresh = ScheduleState(
        decided_at=begin - BEFORE_S,
        paused=at.paused,
        paused_until=at.paused_until,
        runs=at.runs,
        skips=[slot for slot in at.skips if slot >= begin],
        awake_at=0.0,
    )
    return msgspec.structs.replace(schedule, state=fresh)


def _read_file(context: Context, text: str, *, system: bool) -> Iterable[ScheduleSpec]:
    kept = Kept(know_environments(context))
    kept.environments.lenient = True
    if not system and looks_like_tables(text):
        found = parse_tables(text).tables
        return [read_schedule(name, table, kept.environments, context) for name, table in found.items()]
    crontab = read_crontab(text, system=system)
    specs, refused = read_jobs(crontab.jobs, kept, context)
    bad = {line.number: line.reason or "" for line in crontab.list_errors()} | refused
    print_notes(context, [f"line {number} is left out: {reason}" for number, reason in sorted(bad.items())])
    return specs.values()
