"""The import itself: from text to schedules, applied all or none, and the report of what became of each line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cronoq_cli.commands.answers import ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.crontab_schedules import find_sendmail, read_job, with_name
from cronoq_cli.commands.import_options import ImportOptions
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.schedule_store import Kept, find_user, load_kept
from cronoq_cli.commands.schedule_table import is_paused, read_schedule
from cronoq_cli.commands.schedule_toml import looks_like_tables, parse_tables
from cronoq_cli.engine.cron import parse_cron
from cronoq_cli.errors import CronoqError, InvalidError
from cronoq_cli.model.crontab import Crontab, CrontabJob, CrontabLine, LineKind, parse_crontab
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.wire.schedules import ApplySchedules

Report = dict[str, Any]


@dataclass(slots=True)
class Applied:
    """What became of the specs: their documents by name, and a word for each name."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)


def import_text(context: Context, text: str, options: ImportOptions) -> Report:
    """The report of an import of this text. Raises InvalidError; then nothing was changed."""
    kept = load_kept(context, to_change=not options.dry_run)
    if not options.system and looks_like_tables(text):
        return _import_tables(context, text, kept, options)
    crontab = read_crontab(text, system=options.system)
    specs, refused = read_jobs(crontab.jobs, kept, context)
    paused = [job.name for job in crontab.jobs if job.options.get("paused") is True]
    applied = apply(context, specs, kept, options, paused=paused)
    return report_lines(crontab, specs, refused, applied) | {"dry_run": options.dry_run}


def read_crontab(text: str | bytes, *, system: bool = False) -> Crontab:
    """The lines and jobs of a crontab's text."""
    return parse_crontab(text, judge=parse_cron, system=system, user=find_user()[0])


def read_jobs(
    jobs: Sequence[CrontabJob], kept: Kept, context: Context
) -> tuple[dict[int, ScheduleSpec], dict[int, str]]:
    """The schedules of jobs by their line, and why lines are refused that have none.

    A name that belongs to another command already, and was not chosen by somebody, gets some of its hash behind it.
    """
    specs: dict[int, ScheduleSpec] = {}
    refused: dict[int, str] = {}
    kept.environments.lenient = True
    for job in jobs:
        try:
            specs[job.line] = read_job(_named_apart(job, kept), kept.environments, context)
        except CronoqError as error:
            refused[job.line] = error.line()
    _note_missing(context, kept)
    if any(job.mailto and job.line in specs for job in jobs) and find_sendmail(context) is None:
        print_notes(context, ["there is no sendmail here: nobody is told by mail; see --hook and the logs"])
    return specs, refused


def _named_apart(job: CrontabJob, kept: Kept) -> CrontabJob:
    there = kept.specs.get(job.name)
    if there is None or job.named or _is_of(there, job):
        return job
    text = f"{job.command}\0{job.stdin or ''}".encode("utf-8", "surrogateescape")
    return with_name(job, f"{job.name}-{hashlib.sha256(text).hexdigest()[:4]}")


def _is_of(spec: ScheduleSpec, job: CrontabJob) -> bool:
    return spec.template.shell_line == job.command and spec.template.stdin_text == job.stdin


def _note_missing(context: Context, kept: Kept) -> None:
    missing = ", ".join(dict.fromkeys(kept.environments.missing))
    if missing:
        print_notes(context, [f"yours is taken for environments not known here: {missing} (export them with --env)"])


def apply(
    context: Context,
    specs: dict[int, ScheduleSpec],
    kept: Kept,
    options: ImportOptions,
    *,
    paused: Iterable[str] = (),
    pause_reason: str | None = None,
) -> Applied:
    """Add and replace the schedules, all or none; new ones named in `paused`, or all with `--paused`, are paused."""
    applied = Applied()
    if not specs:
        return applied
    new = [spec.name for spec in specs.values() if spec.name not in kept.specs]
    resting = set(new if options.paused else paused)
    request = ApplySchedules(
        specs=list(specs.values()),
        envs={spec.template.env: kept.environments.known[spec.template.env] for spec in specs.values()},
        pausing=[name for name in new if name in resting],  # what was here before rests or runs as it did
        pause_reason=pause_reason,
        dry_run=options.dry_run,
    )
    doc = ask(context, request).doc
    applied.documents = {document["name"]: document for document in doc["recurring"]}
    for word in RESULTS:
        applied.results |= dict.fromkeys(doc.get(word) or (), word)
    return applied


# -- an export as TOML -----------------------------------------------------------------------------------------------


def _import_tables(context: Context, text: str, kept: Kept, options: ImportOptions) -> Report:
    found = parse_tables(text)
    for env in found.environments.values():
        kept.environments.add(env)
    kept.environments.lenient = True
    specs: dict[int, ScheduleSpec] = {}
    paused = []
    for number, (name, table) in enumerate(found.tables.items()):
        specs[number] = read_schedule(name, table, kept.environments, context)
        specs[number].comment = found.comments.get(name, "")
        if is_paused(table):
            paused.append(name)
    if not specs:
        raise InvalidError("there is no schedule in it", hint="a schedule is a table [recurring.NAME]")
    _note_missing(context, kept)
    applied = apply(context, specs, kept, options, paused=paused)
    return _sum_up(applied, options)


def _sum_up(applied: Applied, options: ImportOptions) -> Report:
    words = {word: [n for n, result in applied.results.items() if result == word] for word in RESULTS}
    return {**words, "dry_run": options.dry_run, "recurring": list(applied.documents.values())}


# -- the report ------------------------------------------------------------------------------------------------------

RESULTS = ("added", "replaced", "unchanged")


def report_lines(crontab: Crontab, specs: dict[int, ScheduleSpec], refused: dict[int, str], applied: Applied) -> Report:
    """What became of each line: a schedule, a variable, a comment, nothing, or why it was refused."""
    lines = [_report_line(line, specs.get(line.number), refused.get(line.number), applied) for line in crontab.lines]
    words = {word: [n for n, result in applied.results.items() if result == word] for word in RESULTS}
    return {"lines": lines, **words, "recurring": list(applied.documents.values())}


def _report_line(line: CrontabLine, spec: ScheduleSpec | None, refused: str | None, applied: Applied) -> dict[str, Any]:
    found: dict[str, Any] = {
        "line": line.number,
        "result": line.kind.value,
        "name": None,
        "next": None,
        "reason": line.reason or refused,
        "warnings": line.warnings,
        "text": line.text,
    }
    if line.kind is LineKind.ERROR or refused is not None:
        found["result"] = "refused"
    elif spec is not None:
        document = applied.documents.get(spec.name, {})
        found |= {"result": applied.results.get(spec.name, "added"), "name": spec.name, "next": document.get("next")}
    return found
