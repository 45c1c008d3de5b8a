"""`cronoq wait`: return when tasks have ended, with the exit status of section 11 of the specification."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import Selection, get_selector, is_one_task
from cronoq_cli.commands.spec_options import find_named
from cronoq_cli.commands.submit import finish
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.wire.requests import Reply, WaitTasks

EXAMPLES = ("cronoq wait 7 && echo done", "cronoq wait --any 3-8", "cronoq wait --timeout 10m last")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "wait", examples=EXAMPLES, panel="See tasks")(wait)


def wait(
    context: Context,
    select: Selection,
    any_: Annotated[bool, option("--any", help="Until one of them has ended; usually until all have.")] = False,
    timeout: Annotated[
        str | None, option("--timeout", help="Give up after this long, with exit status 124.", metavar="DUR")
    ] = None,
    quiet: Annotated[bool, option("--quiet", "-q", help="Do not say how they ended.")] = False,
    result: Annotated[
        str | None, option("--result", help="Write the ended task to a file, as JSON.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> int | None:
    """Wait for tasks to end.

    For one task the exit status is the task's own: 0 when it succeeded, 128+n for signal n, 124 for its time limit,
    125 when it ended without a code. For several: 1 when some did not succeed.
    """
    context.json = json
    selector = get_selector(select)
    context.one_task = is_one_task(selector)
    reply = _wait(context, WaitTasks(select=selector, any=any_), find_named("--timeout", timeout, parse_duration))
    tasks = tasks_of(reply.doc)
    if json:
        print_json(context, reply.doc)
    return finish(context, tasks, result=result, quiet=quiet or json)


def _wait(context: Context, request: WaitTasks, timeout_s: float | None) -> Reply:
    """The daemon answers at once when all is over, and else runs the line again; only the client has a limit."""
    if context.in_daemon and timeout_s is None:
        return ask(context, request)
    return context.need_streams().wait(request, timeout_s)
