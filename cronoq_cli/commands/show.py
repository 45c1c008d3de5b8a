"""`cronoq show`: everything about tasks. How it is drawn lives in render/task."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.task import print_task
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import ShowTasks

EXAMPLES = ("cronoq show 7", "cronoq show --json last")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "show", examples=EXAMPLES, panel="See tasks")(show)


def show(
    context: Context,
    select: Selection,
    env: Annotated[bool, option("--env", help="The values of its environment too, not only the names.")] = False,
    json: Json = False,
) -> int | None:
    """Show everything about tasks: state and reason, command, limits, times, attempts, where the log is."""
    context.json = json
    reply = ask(context, ShowTasks(select=get_selector(select), env=env))
    if json:
        print_json(context, reply.doc)
    else:
        print_task(context, reply.doc)
    return reply.exit
