"""`cronoq rm`: forget ended tasks, their logs included."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import Remove

EXAMPLES = ("cronoq rm 7", "cronoq rm --status cancelled")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "rm", examples=EXAMPLES, panel="Change tasks")(rm)


def rm(
    context: Context,
    select: Selection,
    cascade: Annotated[bool, option("--cascade", help="Also cancel the tasks that wait for them.")] = False,
    json: Json = False,
) -> int | None:
    """Forget ended tasks with their logs. Refused with exit status 4 while others wait for them."""
    request = Remove(select=get_selector(select), cascade=cascade)
    return answer_done(context, request, "removed", json=json)
