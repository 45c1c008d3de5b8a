"""`cronoq recurring`: so far the preview of a cron expression, which needs no schedule and no daemon."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.spec_options import parse_count, parse_named
from cronoq_cli.model.moment import format_utc, load_zone, parse_moment

USUAL_COUNT = 5
MOST_COUNT = 1000
YEAR_S = 366 * 86_400.0

Expression = Annotated[str, argument("EXPR", help="Five fields as in a crontab, or @daily and the like.")]


def declare(app: typer.Typer) -> None:
    """Declare the group and its verb."""
    recurring = group(app, "recurring", help="Look at what recurs.", panel="See tasks")
    examples = (
        "cronoq recurring next '30 2 * * *'",
        "cronoq recurring next '0 9 * * mon-fri' --tz Europe/Berlin -n 10",
        "cronoq recurring next '*/15 * * * *' --after 2026-10-25 --json",
    )
    verb(recurring, "next", examples=examples)(next_)


def next_(
    context: Context,
    expression: Expression,
    tz: Annotated[str | None, option("--tz", help="The zone of the expression; else yours.", metavar="ZONE")] = None,
    after: Annotated[str | None, option("--after", help="Look from this time on; else now.", metavar="TIME")] = None,
    count: Annotated[str | None, option("--count", "-n", help="So many.", metavar="N")] = None,
    seconds: Annotated[bool, option("--seconds", help="Six fields, seconds first.")] = False,
    json: Json = False,
) -> int | None:
    """Show when an expression fires next, in words and times, and what changes of the clock do to it.

    Exit status 7 for one that is wrong or never fires.
    """
    if context.in_daemon:
        raise NeedsClient  # what reads expressions need not be in the daemon
    zone = load_zone(tz) if tz is not None else context.zone()
    begin = context.now()
    if after is not None:
        begin = parse_named("--after", after, lambda text: parse_moment(text, now=context.now(), zone=zone))
    most = USUAL_COUNT
    if count is not None:
        most = parse_named("-n", count, lambda text: parse_count(text, least=1, most=MOST_COUNT))
    found = _preview(expression, seconds, zone, begin, most)
    if json:
        print_json(context, {"next": [format_utc(at) for at in found["next"]], "words": found["words"]})
    else:
        context.out.write(f"{found['words']} ({_name_of(zone, begin)})\n")
        context.out.writelines(f"{_format(at, zone)}\n" for at in found["next"])
    print_notes(context, found["notes"])
    return None


def _preview(expression: str, seconds: bool, zone: tzinfo, begin: float, most: int) -> dict[str, Any]:
    """The instants, the words and the notes. Raises InvalidError for an expression that is wrong or never fires."""
    from cronoq_cli.engine.clock_changes import list_effects
    from cronoq_cli.engine.cron import list_next, list_notes, parse_cron
    from cronoq_cli.model.schedule_words import describe_cron, describe_effect

    parsed = parse_cron(expression, seconds=seconds)
    effects = list_effects(parsed, zone, begin, begin + YEAR_S)
    return {
        "next": list_next(parsed, most, begin, zone),
        "words": describe_cron(parsed),
        "notes": [*list_notes(parsed), *map(describe_effect, effects)],
    }


def _format(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%a %Y-%m-%d %H:%M:%S %Z")


def _name_of(zone: tzinfo, at: float) -> str:
    """The zone by its name where it has one, else by its abbreviation."""
    return str(getattr(zone, "key", None) or datetime.fromtimestamp(at, zone).tzname())
