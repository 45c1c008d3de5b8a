"""`cronoq rerun`: submit copies of tasks, under new ids."""

from __future__ import annotations

import typer

from cronoq_cli.commands.answers import Json, ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.model.ids import format_ids
from cronoq_cli.wire.requests import Rerun

EXAMPLES = ("cronoq rerun 7", "cronoq rerun last")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "rerun", examples=EXAMPLES, panel="Submit tasks")(rerun)


def rerun(context: Context, select: Selection, json: Json = False) -> int | None:
    """Submit tasks once more, each with a new id; prints the new ids. See `cronoq retry` for the same id."""
    reply = ask(context, Rerun(select=get_selector(select)), json=json)
    if json:
        print_json(context, reply.doc)
    else:
        context.out.write(format_ids([task["id"] for task in tasks_of(reply.doc)]) + "\n")
    return reply.exit
