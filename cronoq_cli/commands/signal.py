"""`cronoq signal`: send one signal to the process trees of running tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.selectors import Narrowing, Selection, get_selector
from cronoq_cli.errors import UsageError
from cronoq_cli.model.words import parse_signal
from cronoq_cli.wire.requests import Signal

EXAMPLES = ("cronoq signal USR1 7", "cronoq signal STOP --pool batch")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "signal", examples=EXAMPLES, panel="Change tasks")(signal)


def signal(
    context: Context,
    narrowing: Narrowing,
    words: Annotated[
        list[str] | None, argument("SIGNAL [TASK]...", help="A signal as TERM, USR1 or 15, then the tasks.")
    ] = None,
    json: Json = False,
) -> int | None:
    """Send a signal to all processes of running tasks. To end a task for good, use `cronoq cancel`."""
    if not words:
        raise UsageError("no signal was given", hint="cronoq signal SIGNAL TASK...")
    number = parse_signal(words[0])
    select = Selection(narrowing.pool, narrowing.status, narrowing.tag, narrowing.name, tasks=words[1:])
    request = Signal(select=get_selector(select), signal=number)
    return answer_done(context, request, "signalled", json=json)
