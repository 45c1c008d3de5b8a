"""`cronoq release`: let held tasks take their turn again."""

from __future__ import annotations

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import Release

EXAMPLES = (
    "cronoq release 8",
    "cronoq release --all",
)


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "release", examples=EXAMPLES, panel="Change tasks")(release)


def release(context: Context, select: Selection, json: Json = False) -> int | None:
    """Release held tasks: they take their turn again, by their place of submission."""
    return answer_done(context, Release(select=get_selector(select)), "released", json=json)
