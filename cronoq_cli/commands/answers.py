"""What verbs have in common when they answer: the `--json` option, notes, ids, and what was done to which tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.model.ids import format_ids
from cronoq_cli.wire.requests import Reply, Request

Json = Annotated[bool, option("--json", help="Answer with one JSON document.")]


def tasks_of(doc: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The task documents of an answer, whether it has one or several."""
    if doc.get("task") is not None:
        return [doc["task"]]
    return list(doc.get("tasks") or ())


def ask(context: Context, request: Request, *, json: bool = False) -> Reply:
    """The reply, its notes already written to the caller."""
    context.json = context.json or json
    reply = context.gateway.ask(request)
    print_notes(context, reply.notes)
    return reply


def answer_done(context: Context, request: Request, done: str, *, json: bool) -> int:
    """Carry out a verb that changes tasks and say what became of which: `cancelled 3-5`; its exit status."""
    reply = ask(context, request, json=json)
    if json:
        print_json(context, reply.doc)
        return reply.exit
    ids = [task["id"] for task in tasks_of(reply.doc)]
    if ids:
        context.out.write(f"{done} {format_ids(ids)}\n")
    return reply.exit
