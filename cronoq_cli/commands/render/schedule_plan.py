"""When a schedule runs, for people: its words, its next runs in its zone, and what to know of them.

The only drawing that needs the rules of expressions: what shows no notes about the clock does not load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.style import moment_of
from cronoq_cli.commands.render.words import Document
from cronoq_cli.engine.clock_changes import list_effects
from cronoq_cli.engine.cron import list_next, list_notes, parse_cron
from cronoq_cli.engine.recurrence import jitter_of
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.cron_expression import CronExpression
from cronoq_cli.model.moment import load_zone
from cronoq_cli.model.schedule_words import describe_effect

YEAR_S = 366 * 86_400.0


def find_expression(document: Document) -> CronExpression | None:
    """The expression of a schedule's document; None for an interval, `@reboot`, and for what cannot be read."""
    text = document["expr"]
    if text in (None, "@reboot"):
        return None
    try:
        return parse_cron(text, seconds=document["seconds"])
    except CronoqError:
        return None


def words_of(document: Document) -> str:
    """When it runs, in words; what was written where it has none."""
    return str(document["words"] or document["expr"])


def zone_of(context: Context, document: Document) -> tzinfo:
    """The zone a schedule's times are shown in: its own, else the caller's."""
    try:
        return load_zone(document["zone"]) if document["zone"] else context.zone()
    except CronoqError:
        return context.zone()


def print_plan(context: Context, document: Document, done: str | None = None) -> None:
    """Write words and next runs of a schedule; `done` says what became of it: `added`."""
    words = words_of(document)
    head = words if done is None else f"{done} {document['name']}: {words}"
    runs = [moment_of(at) for at in document["next_runs"] or ()]
    timed = document["expr"] not in (None, "@reboot")
    print_runs(context, head, runs, zone_of(context, document), context.now(), timed=timed)
    if document["paused"]:
        context.out.write(f"paused; cronoq recurring resume {document['name']} starts it\n")


def print_runs(
    context: Context, head: str, runs: Sequence[float], zone: tzinfo, now: float | None, *, timed: bool = True
) -> None:
    """Write a line of words with the zone, then each run with how far it is from `now` (None: that is left out)."""
    named = f" ({name_of(zone, runs[0] if runs else context.now())})" if timed else ""
    context.out.write(f"{head}{named}\n")
    for at in runs:
        far = "" if now is None else f"  {near_now(at, now)}"
        context.out.write(f"{format_run(at, zone)}{far}\n")


def format_run(at: float, zone: tzinfo) -> str:
    """`Sun 2026-03-08 03:00:00 EDT`."""
    return datetime.fromtimestamp(at, zone).strftime("%a %Y-%m-%d %H:%M:%S %Z")


def name_of(zone: tzinfo, at: float) -> str:
    """The zone by its name where it has one, else by its abbreviation."""
    return str(getattr(zone, "key", None) or datetime.fromtimestamp(at, zone).tzname())


def list_plan_notes(context: Context, document: Document, begin: float | None = None) -> list[str]:
    """What to know of a schedule's times within a year: changes of the clock, and what is often misread."""
    timed = document["expr"] != "@reboot" and document["words"] is not None
    ended = (
        ["no run is ahead: it has come to its end"] if timed and not document["next"] and not document["paused"] else []
    )
    expression = find_expression(document)
    if expression is None:
        return ended
    ended += _list_jitter_notes(context, document, expression)
    start = context.now() if begin is None else begin
    return [*ended, *list_clock_notes(expression, zone_of(context, document), start)]


def _list_jitter_notes(context: Context, document: Document, expression: CronExpression) -> list[str]:
    """By how much its runs come later than its words say."""
    shift_s = jitter_of(document["name"], document.get("jitter_s") or 0.0)
    if not shift_s:
        return []
    zone = zone_of(context, document)
    first, second = (*list_next(expression, 2, context.now(), zone), None, None)[:2]
    note = f"with --jitter {short_span(document['jitter_s'])} each run starts {short_span(shift_s)} after its time"
    if first is not None and second is not None and shift_s >= second - first:
        return [f"{note}: later than the next one falls due"]
    return [note]


def list_clock_notes(expression: CronExpression, zone: tzinfo, begin: float) -> list[str]:
    """As `list_plan_notes`, of an expression."""
    effects = list_effects(expression, zone, begin, begin + YEAR_S)
    return [*list_notes(expression), *map(describe_effect, effects)]
