"""`cronoq retry`: run ended tasks again under the same id."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.wire.requests import Retry

EXAMPLES = ("cronoq retry 7", "cronoq retry --status failed,dead_lettered --with-dependents")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "retry", examples=EXAMPLES, panel="Change tasks")(retry)


def retry(
    context: Context,
    select: Selection,
    with_dependents: Annotated[
        bool, option("--with-dependents", help="Also those that were skipped because of them.")
    ] = False,
    json: Json = False,
) -> int | None:
    """Run ended tasks again under the same id: their attempts go on counting, as many more as before."""
    request = Retry(select=get_selector(select), with_dependents=with_dependents)
    return answer_done(context, request, "retried", json=json)
