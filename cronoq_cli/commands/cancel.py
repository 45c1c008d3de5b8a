"""`cronoq cancel`: end tasks that wait or run."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.commands.spec_options import find_named
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.wire.requests import Cancel

EXAMPLES = ("cronoq cancel 7", "cronoq cancel 3-8 --grace 2s", "cronoq cancel --pool batch --status ready")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "cancel", aliases=("kill",), examples=EXAMPLES, panel="Change tasks")(cancel)


def cancel(
    context: Context,
    select: Selection,
    dead: Annotated[bool, option("--dead", help="Put them among the dead letters instead.")] = False,
    grace: Annotated[
        str | None, option("--grace", help="Time between the stop signal and KILL; the task's.", metavar="DUR")
    ] = None,
    json: Json = False,
) -> int | None:
    """Cancel tasks, waiting or running: the whole process tree gets the stop signal, after the grace KILL."""
    grace_s = find_named("--grace", grace, parse_duration)
    request = Cancel(select=get_selector(select), dead=dead, grace_s=grace_s)
    return answer_done(context, request, "archived" if dead else "cancelled", json=json)
