"""`cronoq explain`: why tasks wait, or what decided their end. How it is drawn lives in render/explain."""

from __future__ import annotations

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import verb
from cronoq_cli.commands.render.explain import print_explanation
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import Explain

EXAMPLES = ("cronoq explain 7", "cronoq explain --json last")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "explain", examples=EXAMPLES, panel="See tasks")(explain)


def explain(context: Context, select: Selection, json: Json = False) -> int | None:
    """Explain why tasks wait: what blocks them first and what else, their score term by term, place, estimated start.

    For a task that has ended: what decided its end.
    """
    reply = ask(context, Explain(select=get_selector(select)), json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_explanation(context, reply.doc)
    return reply.exit
