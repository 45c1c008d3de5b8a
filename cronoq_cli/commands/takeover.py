"""The caller's own crontab: imported paused, taken over so that its jobs run here alone, and given back.

The order of the steps keeps a job from running at both places: it rests here until its line there is a comment, and it
rests here again before its line there comes back. After a crash in between, the same command goes on.
"""

from __future__ import annotations

from typing import Any

from cronoq_cli.commands.answers import ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.crontab_import import Applied, Report, apply, read_crontab, read_jobs, report_lines
from cronoq_cli.commands.import_options import ImportOptions
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.schedule_store import Kept, load_kept
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.crontab_format import give_back_lines, list_taken_lines, take_over_lines
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.wire.schedules import PauseSchedules, RemoveSchedules, ResumeSchedules

IN_CRONTAB = "its line in the crontab still runs"
GIVEN_BACK = "its line in the crontab runs again"
COPY_NAME = "crontab"


def import_crontab(context: Context, data: bytes, options: ImportOptions) -> Report:
    """The report of an import of the crontab; with `--takeover` its lines are comments there at the end."""
    kept = load_kept(context, to_change=not options.dry_run)
    taken = set(list_taken_lines(data))
    crontab = read_crontab(give_back_lines(data))
    specs, refused = read_jobs(crontab.jobs, kept, context)
    fresh = {number: spec for number, spec in specs.items() if number not in taken}
    names = [spec.name for spec in fresh.values()]
    # A dry run tells when they would run, not that they would rest at first.
    resting = () if options.dry_run else names
    applied = apply(context, fresh, kept, options, paused=resting, pause_reason=IN_CRONTAB)
    for number in taken:
        _account(applied, specs.get(number), kept)
    moved: Report = {}
    if options.takeover and not options.dry_run:
        copy = _comment_out(context, data, set(fresh))
        started = _start(context, [spec.name for spec in specs.values()], kept, names)
        applied.documents |= {document["name"]: document for document in started}
        moved = {"copy": copy, "started": [document["name"] for document in started]}
    elif not options.takeover and names:
        print_notes(context, ["they rest here while the crontab runs them; --takeover moves them over"])
    return report_lines(crontab, specs, refused, applied) | moved | {"dry_run": options.dry_run}


def _account(applied: Applied, spec: ScheduleSpec | None, kept: Kept) -> None:
    """A line that was taken over before is as it is, whatever was made of its schedule since."""
    if spec is not None:
        applied.results[spec.name] = "taken" if spec.name in kept.specs else "removed"
        applied.documents |= {spec.name: kept.documents[spec.name]} if spec.name in kept.documents else {}


def _comment_out(context: Context, data: bytes, numbers: set[int]) -> str | None:
    """Make the lines comments in the crontab; the path of the copy of how it was, None when nothing was to be done."""
    if not numbers:
        return None
    streams = context.need_streams()
    copy = streams.keep_copy(data, COPY_NAME)
    print_notes(context, [f"the crontab as it was is kept in {copy}"])
    streams.write_crontab(take_over_lines(data, numbers))
    return copy


def _start(context: Context, names: list[str], kept: Kept, fresh: list[str]) -> list[dict[str, Any]]:
    """Let those run whose lines are comments now, also those that a crash has left resting; their documents."""
    left = [name for name in names if name in kept.documents and _rests(kept.documents[name], IN_CRONTAB)]
    new = [name for name in fresh if name not in kept.documents]
    started = list(dict.fromkeys([*new, *left]))
    resting = [name for name in fresh if name not in started and kept.documents[name]["paused"]]
    print_notes(context, [f"{name} was paused here before and stays so" for name in resting])
    return list(ask(context, ResumeSchedules(names=started)).doc["recurring"]) if started else []


def _rests(document: dict[str, Any], reason: str) -> bool:
    return bool(document["paused"]) and document.get("pause_reason") == reason


def give_back(context: Context, *, dry_run: bool) -> Report:
    """Undo a take-over: the lines are jobs again there, their schedules are gone here. Raises NotFoundError."""
    streams = context.need_streams()
    kept = load_kept(context, to_change=not dry_run)
    data = streams.read_crontab()
    taken = list_taken_lines(data)
    crontab = read_crontab(give_back_lines(data))
    named = {job.line: job.name for job in crontab.jobs if job.line in taken}
    specs, _ = read_jobs([job for job in crontab.jobs if job.line in named], kept, context)
    names = [spec.name for spec in specs.values() if spec.name in kept.specs]
    left = [name for name, document in kept.documents.items() if _rests(document, GIVEN_BACK)]
    if not taken and not left:
        raise NotFoundError("nothing of the crontab was taken over", hint="--takeover does that")
    if not dry_run:
        if names:
            ask(context, PauseSchedules(names=names, reason=GIVEN_BACK))
        if taken:
            streams.write_crontab(give_back_lines(data))
        if gone := list(dict.fromkeys([*names, *left])):
            ask(context, RemoveSchedules(names=gone))
    return {"given_back": taken, "removed": list(dict.fromkeys([*names, *left])), "dry_run": dry_run}
