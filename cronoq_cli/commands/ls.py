"""`cronoq ls`: the tasks that run, wait and have ended. How they are drawn lives in render/tables."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.tables import print_tasks
from cronoq_cli.commands.selectors import Selection, find_selector
from cronoq_cli.commands.spec_options import find_named, parse_named, parse_number
from cronoq_cli.errors import UsageError
from cronoq_cli.wire.requests import ListTasks

EXAMPLES = (
    "cronoq ls",
    "cronoq ls -f --pool batch",
    "cronoq ls --status failed,dead_lettered --limit all",
    "cronoq ls --finished --after-id 1000",
)
USUAL_LIMIT = 50


class ListOptions(msgspec.Struct):
    """How much is listed."""

    limit: Annotated[
        str | None, option("--limit", "-l", help="How many of those that wait: a number, or all.", metavar="N|all")
    ] = None
    finished: Annotated[bool, option("--finished", help="Only ended tasks, by id.")] = False
    after_id: Annotated[
        str | None, option("--after-id", help="With --finished: those after this id.", metavar="ID")
    ] = None
    follow: Annotated[
        bool, option("--follow", "-f", help="Stay on the screen and redraw it when something changes.")
    ] = False


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "ls", aliases=("status", "list"), examples=EXAMPLES, panel="See tasks")(ls)


def ls(context: Context, select: Selection, listing: ListOptions, json: Json = False) -> int | None:
    """List tasks: those that run, the next in order with what they wait for, and the last that ended.

    With tasks or selecting options: all of those. Exit status 3 when nothing matched.
    With -f it stays on the screen until Ctrl-C, and is drawn anew when anything changes.
    """
    context.json = json
    selector = find_selector(select)
    if listing.after_id is not None and not listing.finished:
        raise UsageError("--after-id without --finished", hint="only ended tasks are paged through")
    after = find_named("--after-id", listing.after_id, parse_number)
    request = ListTasks(select=selector, limit=_limit(listing.limit), finished=listing.finished, after_id=after)
    if listing.follow:
        _check_screen(context, json)
        from cronoq_cli.commands.live_list import watch_list  # only who stays needs threads and signals

        return watch_list(context, request)
    reply = ask(context, request)
    if json:
        print_json(context, reply.doc)
    else:
        print_tasks(context, reply.doc)
    return reply.exit


def _check_screen(context: Context, json: bool) -> None:
    """Raises UsageError where nothing can stay on a screen."""
    if json:
        raise UsageError("--json with --follow", hint="cronoq events -f --json tells every change")
    context.need_streams()
    if not context.stdout_tty or context.env.get("TERM", "dumb") in ("", "dumb"):
        raise UsageError("ls --follow needs a terminal", hint="cronoq events -f goes into pipes")


def _limit(text: str | None) -> int | None:
    if text is None:
        return USUAL_LIMIT
    return None if text == "all" else parse_named("--limit", text, parse_number)
