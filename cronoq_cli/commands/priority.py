"""`cronoq priority`: change the priority of waiting tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.selectors import Narrowing, Selection, get_selector
from cronoq_cli.commands.spec_options import parse_priority
from cronoq_cli.errors import UsageError
from cronoq_cli.wire.requests import Edit, TaskChanges

EXAMPLES = ("cronoq priority 7 high", "cronoq priority --pool batch low")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "priority", examples=EXAMPLES, panel="Change tasks")(priority)


def priority(
    context: Context,
    narrowing: Narrowing,
    words: Annotated[
        list[str] | None, argument("[TASK]... LEVEL", help="The tasks, then critical, high, normal or low.")
    ] = None,
    json: Json = False,
) -> int | None:
    """Change the priority of waiting tasks: critical, high, normal or low."""
    if not words:
        raise UsageError("no priority was given", hint="cronoq priority TASK... LEVEL")
    level = parse_priority(words[-1])
    select = Selection(narrowing.pool, narrowing.status, narrowing.tag, narrowing.name, tasks=words[:-1])
    request = Edit(select=get_selector(select), changes=TaskChanges(priority=level))
    return answer_done(context, request, f"now {words[-1].lower()}:", json=json)
