"""`cronoq prune`: forget ended tasks by age."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import parse_statuses
from cronoq_cli.commands.spec_options import parse_named
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.wire.requests import Prune

EXAMPLES = ("cronoq prune --older-than 30d", "cronoq prune --older-than 0s --status succeeded --dry-run")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "prune", examples=EXAMPLES, panel="Change tasks")(prune)


def prune(
    context: Context,
    older_than: Annotated[
        str | None, option("--older-than", help="Those that ended longer ago than this.", metavar="DUR")
    ] = None,
    status: Annotated[
        list[str] | None, option("--status", "-s", help="Only those that ended so.", metavar="STATUS")
    ] = None,
    dry_run: Annotated[bool, option("--dry-run", help="Only print how many that are.")] = False,
    json: Json = False,
) -> int | None:
    """Forget ended tasks with their logs, and print how many; never one that a live task depends on."""
    if older_than is None:
        raise UsageError("no age was given", hint="cronoq prune --older-than 30d")
    age_s = parse_named("--older-than", older_than, parse_duration)
    statuses = parse_statuses(status)
    for word in statuses:
        if word not in FINAL:
            raise UsageError(f"--status: {word} tasks have not ended", hint="only ended tasks can be forgotten")
    reply = ask(context, Prune(older_than_s=age_s, statuses=statuses, dry_run=dry_run), json=json)
    if json:
        print_json(context, reply.doc)
    else:
        context.out.write(f"{reply.doc.get('pruned', 0)}\n")
    return reply.exit
