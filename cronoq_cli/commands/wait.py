"""`cronoq wait`: return when tasks have ended, with the exit status of section 11 of the specification."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask, tasks_of
from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.outcome import is_final
from cronoq_cli.commands.own_slot import is_in_task, warn_of_own_slot
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import Selection, get_selector, is_one_task
from cronoq_cli.commands.spec_options import find_named
from cronoq_cli.commands.submit import finish
from cronoq_cli.errors import CronoqError, ExitStatus
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.ids import find_run, format_ids
from cronoq_cli.wire.requests import ListTasks, Reply, Selector, ShowTasks, WaitTasks

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
    """Wait for tasks to end; `--all` alone waits for all that are live now.

    For one task the exit status is the task's own: 0 when it succeeded, 128+n for signal n, 124 for its time limit,
    125 when it ended without a code. For several: 1 when some did not succeed.
    """
    context.json = json
    if result is not None:
        context.need_streams()
    if select.tasks:
        select.all = False  # `--all` beside named tasks says what is usual: until all of them have ended
    selector = get_selector(select)
    context.one_task = is_one_task(selector)
    if not quiet and is_in_task(context):
        context.need_streams()
        warn_of_own_slot(context, selector)
    try:
        request = WaitTasks(select=selector, any=any_, brief=not json and result is None)
        reply = _wait(context, request, find_named("--timeout", timeout, parse_duration))
    except CronoqError as error:
        if error.exit != ExitStatus.NOT_FOUND or selector.refs:
            raise
        reply = _all_over(context, selector)
    tasks = tasks_of(reply.doc)
    if json:
        print_json(context, reply.doc)
    return finish(context, tasks, result=result, quiet=quiet or json)


def _wait(context: Context, request: WaitTasks, timeout_s: float | None) -> Reply:
    """The tasks that were meant when it was asked, when they have ended.

    In the daemon a line that waits is run again from its words when a task ends: that is right for ids alone, which
    mean the same tasks then. What else would have to wait there is the client's.
    """
    select = request.select
    if context.in_daemon and (timeout_s is not None or not select.refs):
        raise NeedsClient
    ids_alone = select == Selector(refs=select.refs) and all(map(find_run, select.refs))
    if ids_alone or not select.refs:
        return ask(context, request) if context.in_daemon else context.need_streams().wait(request, timeout_s)
    found = tasks_of(ask(context, ShowTasks(select=select)).doc)
    over = [task for task in found if is_final(task)]
    if len(over) == len(found) or (request.any and over):
        return Reply(doc={"tasks": over})
    pinned = Selector(refs=format_ids(task["id"] for task in found).split(","))
    request = WaitTasks(select=pinned, any=request.any, brief=request.brief)
    return context.need_streams().wait(request, timeout_s)


def _all_over(context: Context, selector: Selector) -> Reply:
    """The answer when none of the selected tasks is live: all have ended. Raises NotFoundError where none ever was."""
    ask(context, ListTasks(select=selector, limit=1))
    return Reply(doc={"tasks": []})
