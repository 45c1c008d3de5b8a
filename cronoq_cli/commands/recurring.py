"""`cronoq recurring`, also `cronoq cron`: the group of all verbs about schedules. Each family has a file of its own."""

from __future__ import annotations

import typer

from cronoq_cli.commands import (
    recurring_add,
    recurring_change,
    recurring_edit,
    recurring_export,
    recurring_import,
    recurring_look,
    recurring_next,
)
from cronoq_cli.commands.declare import group


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    recurring = group(
        app, "recurring", help="Run commands again and again, as cron does.", panel="Submit tasks", alias="cron"
    )
    families = (
        *(recurring_add, recurring_look, recurring_next, recurring_change),
        *(recurring_edit, recurring_import, recurring_export),
    )
    for family in families:
        family.declare(recurring)
