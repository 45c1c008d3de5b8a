"""`cronoq start-now`: skip the waiting time of tasks, not the limits."""

from __future__ import annotations

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import StartNow

EXAMPLES = ("cronoq start-now 7",)


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "start-now", examples=EXAMPLES, panel="Change tasks")(start_now)


def start_now(context: Context, select: Selection, json: Json = False) -> int | None:
    """Let scheduled and retrying tasks start without waiting for their time; the limits still hold."""
    return answer_done(context, StartNow(select=get_selector(select)), "started now", json=json)
