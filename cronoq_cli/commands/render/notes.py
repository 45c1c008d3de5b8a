"""What goes to standard error: notes and errors, one line each, marked as ours.

The answer itself never does, and neither does JSON.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.json import describe_error, print_json
from cronoq_cli.commands.render.text import escape_for_terminal
from cronoq_cli.errors import CronoqError


def print_notes(context: Context, notes: Iterable[str]) -> None:
    """Write notes to standard error, each on a line of its own."""
    text = "".join(f"cronoq: {escape_for_terminal(note)}\n" for note in notes)
    if text:
        context.err.write(text)


def print_error(context: Context, error: CronoqError, *, as_json: bool = False) -> None:
    """Write an error: one line on standard error, or with `--json` its document on standard output."""
    if as_json:
        print_json(context, describe_error(error))
    else:
        print_notes(context, [error.line()])
