"""`cronoq move`: change the place of waiting tasks in their class, or their pool."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.selectors import TaskWords, parse_ref
from cronoq_cli.errors import UsageError
from cronoq_cli.wire.requests import Move

EXAMPLES = ("cronoq move 12 --first", "cronoq move 12-14 --before 7", "cronoq move last --pool batch")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "move", examples=EXAMPLES, panel="Change tasks")(move)


def move(
    context: Context,
    tasks: TaskWords,
    first: Annotated[bool, option("--first", help="Before all others of the same priority.")] = False,
    last: Annotated[bool, option("--last", help="Behind all others of the same priority.")] = False,
    before: Annotated[str | None, option("--before", help="Right before this task.", metavar="TASK")] = None,
    pool: Annotated[str | None, option("--pool", "-p", help="Into this pool.", metavar="POOL")] = None,
    json: Json = False,
) -> int | None:
    """Move waiting tasks; several keep their order among each other. Exactly one place must be named."""
    if sum((first, last, before is not None, pool is not None)) != 1:
        raise UsageError("move needs exactly one place", hint="--first, --last, --before TASK or --pool POOL")
    request = Move(
        select=tasks.selector(),
        first=first,
        last=last,
        before=None if before is None else parse_ref(before),
        pool=pool,
    )
    return answer_done(context, request, "moved", json=json)
