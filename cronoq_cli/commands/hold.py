"""`cronoq hold`: keep waiting tasks from starting."""

from __future__ import annotations

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import Hold

EXAMPLES = (
    "cronoq hold 8",
    "cronoq hold --pool batch",
)


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "hold", examples=EXAMPLES, panel="Change tasks")(hold)


def hold(context: Context, select: Selection, json: Json = False) -> int | None:
    """Hold waiting tasks: they keep their place and start only after `cronoq release`."""
    return answer_done(context, Hold(select=get_selector(select)), "held", json=json)
