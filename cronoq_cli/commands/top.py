"""`cronoq top`: the dashboard. What it shows and how lives in client/dashboard; here is who may have it."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.errors import UsageError

EXAMPLES = ("cronoq top", "cronoq top --read-only")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "top", examples=EXAMPLES, panel="See tasks")(top)


def top(
    context: Context,
    read_only: Annotated[bool, option("--read-only", "-r", help="Only look: no key changes anything.")] = False,
) -> int | None:
    """Show a dashboard: pools, tasks, the output of the selected one, with keys to cancel, retry, hold and more.

    ? shows all keys, q leaves; tasks go on.
    """
    _check_terminal(context)
    return context.need_streams().show_dashboard(context, read_only=read_only)


def _check_terminal(context: Context) -> None:
    """Raises UsageError where nothing can be drawn."""
    for name, terminal in (("output", context.stdout_tty), ("input", context.stdin_tty)):
        if not terminal:
            raise UsageError(f"top needs a terminal, and standard {name} is none", hint="cronoq ls goes into pipes")
    if context.env.get("TERM", "dumb") in ("", "dumb"):
        raise UsageError("top needs a terminal that can be drawn on, and TERM is dumb", hint="cronoq ls needs none")
