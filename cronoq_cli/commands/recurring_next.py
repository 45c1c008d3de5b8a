"""`cronoq recurring next`: when a schedule, or an expression nobody has added, runs next."""

from __future__ import annotations

from datetime import tzinfo
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.spec_options import parse_count, parse_named
from cronoq_cli.errors import NotFoundError, UsageError
from cronoq_cli.model.moment import format_utc, load_zone, parse_moment
from cronoq_cli.model.recurring import is_schedule_name
from cronoq_cli.wire.schedules import Schedules

USUAL_COUNT = 5
MOST_COUNT = 1000

EXAMPLES = (
    "cronoq recurring next backup",
    "cronoq recurring next '0 9 * * mon-fri' --tz Europe/Berlin -n 10",
    "cronoq recurring next '*/15 * * * *' --after 2026-10-25 --json",
)


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "next", examples=EXAMPLES)(next_)


def next_(
    context: Context,
    words: Annotated[
        list[str] | None, argument("NAME|EXPR", help="A schedule, or five fields as in a crontab.")
    ] = None,
    tz: Annotated[str | None, option("--tz", help="The zone of the expression; else yours.", metavar="ZONE")] = None,
    after: Annotated[str | None, option("--after", help="Runs after this time; else now.", metavar="TIME")] = None,
    count: Annotated[str | None, option("--count", "-n", help="So many; 5.", metavar="N")] = None,
    seconds: Annotated[bool, option("--seconds", help="Six fields, seconds first.")] = False,
    json: Json = False,
) -> int | None:
    """Show when a schedule or an expression fires next, in words and times, and what changes of the clock do to it.

    Exit status 7 for an expression that is wrong or never fires, 3 for a name that does not exist.
    """
    context.json = json
    expression = _read_expression(words or [])
    zone = context.zone() if tz is None else parse_named("--tz", tz, load_zone)
    begin = None
    if after is not None:
        begin = parse_named("--after", after, lambda text: parse_moment(text, now=context.now(), zone=zone))
    most = USUAL_COUNT
    if count is not None:
        most = parse_named("-n", count, lambda text: parse_count(text, least=1, most=MOST_COUNT))
    if is_schedule_name(expression):
        if tz is not None or seconds:
            raise UsageError(
                f"{'--tz' if tz is not None else '--seconds'} with a name", hint="a schedule has its own time and zone"
            )
        return _show_schedule(context, expression, begin, most, json)
    if context.in_daemon:
        raise NeedsClient  # an expression can take long to judge, and the daemon has no time for that
    return _show_expression(context, expression, seconds, zone, begin, most, json)


def _read_expression(words: list[str]) -> str:
    """The one word. Raises UsageError, also for an expression that the shell has taken apart."""
    if not words:
        raise UsageError("recurring next: NAME|EXPR is missing", hint="see cronoq recurring next --help")
    if len(words) > 1:
        hint = "quote the expression, or the shell takes it apart: '30 2 * * *'"
        raise UsageError(f"{len(words)} words where one is wanted", hint=hint)
    return words[0]


def _show_schedule(context: Context, name: str, begin: float | None, most: int, json: bool) -> int:
    from cronoq_cli.commands.render.schedule_plan import list_plan_notes, print_plan

    try:
        reply = ask(context, Schedules(names=[name], next_count=most, after=begin))
    except NotFoundError as error:
        hint = "cronoq recurring ls lists them; an expression has five fields, in quotes"
        raise NotFoundError(error.message, hint=hint, code=error.code) from error
    (document,) = reply.doc["recurring"]
    if json:
        about = {field: document[field] for field in ("words", "name", "tz", "zone")}
        print_json(context, {"next": document["next_runs"], **about})
    else:
        print_plan(context, document)
    print_notes(context, list_plan_notes(context, document, begin))
    return reply.exit


def _show_expression(
    context: Context, expression: str, seconds: bool, zone: tzinfo, begin: float | None, most: int, json: bool
) -> int:
    from cronoq_cli.commands.render.schedule_plan import list_clock_notes, print_runs
    from cronoq_cli.engine.cron import list_next, parse_cron
    from cronoq_cli.model.schedule_words import describe_cron

    parsed = parse_cron(expression, seconds=seconds)
    first = context.now() if begin is None else begin
    found: list[Any] = list_next(parsed, most, first, zone)
    if json:
        print_json(context, {"next": [format_utc(at) for at in found], "words": describe_cron(parsed)})
    else:
        print_runs(context, describe_cron(parsed), found, zone, context.now() if begin is None else None)
    print_notes(context, list_clock_notes(parsed, zone, first))
    return 0
