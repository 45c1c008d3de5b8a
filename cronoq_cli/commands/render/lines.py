"""Answers of one line: ids of a submission, and what a verb did to which tasks."""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.text import escape_for_terminal
from cronoq_cli.model.ids import format_ids


def print_ids(context: Context, ids: Iterable[int]) -> None:
    """Write ids as the answer, runs of them as `101-110`: a reference and a selector."""
    print_line(context, format_ids(ids))


def print_confirmation(context: Context, done: str, ids: Iterable[int]) -> None:
    """Write what was done to which tasks: `cancelled 3-5,9`; nothing when there is none."""
    runs = format_ids(ids)
    if runs:
        print_line(context, f"{done} {runs}")


def print_named(context: Context, done: str, names: Iterable[str]) -> None:
    """Write what was done to which pools: `paused default, batch`; nothing when there is none."""
    together = ", ".join(names)
    if together:
        print_line(context, f"{done} {together}")


def print_line(context: Context, text: str) -> None:
    """Write one line of answer, safe for a terminal."""
    context.out.write(escape_for_terminal(text) + "\n")
