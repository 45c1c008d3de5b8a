"""`cronoq recurring ls`, `show` and `history`: what there is, all about one, and what became of its slots."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.schedules import print_history, print_schedule, print_schedules
from cronoq_cli.commands.schedule_names import expand_names
from cronoq_cli.commands.spec_options import find_named, parse_named, parse_number
from cronoq_cli.model.moment import parse_moment
from cronoq_cli.model.recurring import parse_schedule_name
from cronoq_cli.wire.schedules import ScheduleHistory, Schedules

NEXT_SHOWN = 5
USUAL_LIMIT = 20

Name = Annotated[str, argument("NAME", help="The schedule.")]


def declare(recurring: typer.Typer) -> None:
    """Declare the verbs."""
    verb(recurring, "ls", aliases=("list",), examples=("cronoq recurring ls", "cronoq recurring ls 'backup-*'"))(ls)
    verb(recurring, "show", examples=("cronoq recurring show backup",))(show)
    verb(recurring, "history", examples=("cronoq recurring history backup --limit all",))(history)


def ls(
    context: Context,
    names: Annotated[list[str] | None, argument("[NAME]...", help="Names or patterns; else all.")] = None,
    json: Json = False,
) -> int | None:
    """List schedules: when each runs next, how its last run ended, what it does when runs overlap."""
    context.json = json
    chosen = expand_names(context, names) if names else None
    reply = ask(context, Schedules(names=chosen))
    if json:
        print_json(context, reply.doc)
    else:
        print_schedules(context, reply.doc)
    return reply.exit


def show(
    context: Context,
    name: Name,
    env: Annotated[bool, option("--env", help="Also the recorded environment, with its values.")] = False,
    json: Json = False,
) -> int | None:
    """Show everything about a schedule: its words, its next runs, its policies, and the task of each run."""
    context.json = json
    reply = ask(context, Schedules(names=[parse_schedule_name(name)], next_count=NEXT_SHOWN, specs=True, env=env))
    (document,) = reply.doc["recurring"]
    if json:
        print_json(context, {"recurring": document})
    else:
        print_schedule(context, document)
    return reply.exit


def history(
    context: Context,
    name: Name,
    limit: Annotated[str | None, option("--limit", "-l", help="So many, the newest; 20.", metavar="N|all")] = None,
    before: Annotated[str | None, option("--before", help="Only slots due before this.", metavar="TIME")] = None,
    json: Json = False,
) -> int | None:
    """Show what became of a schedule's slots, newest last: runs, and those that were missed or skipped, and why.

    The history of a schedule that was removed stays as long as its tasks are remembered.
    """
    context.json = json
    most = USUAL_LIMIT if limit is None else None if limit == "all" else parse_named("--limit", limit, parse_number)
    until = find_named("--before", before, lambda text: parse_moment(text, now=context.now(), zone=context.zone()))
    reply = ask(context, ScheduleHistory(name=parse_schedule_name(name), limit=most, before=until))
    if json:
        print_json(context, reply.doc)
    else:
        print_history(context, reply.doc)
    return reply.exit
