"""`cronoq retry`: run ended tasks again under the same id."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.errors import UsageError
from cronoq_cli.model.lifecycle import BAD_ENDS
from cronoq_cli.wire.requests import Retry

EXAMPLES = ("cronoq retry 7", "cronoq retry --failed --pool batch", "cronoq retry --failed --with-dependents")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "retry", examples=EXAMPLES, panel="Change tasks")(retry)


def retry(
    context: Context,
    select: Selection,
    failed: Annotated[
        bool, option("--failed", help="Those that failed or are dead letters, all if none is named.")
    ] = False,
    with_dependents: Annotated[
        bool, option("--with-dependents", help="Also those that were skipped because of them.")
    ] = False,
    json: Json = False,
) -> int | None:
    """Run ended tasks again under the same id: their attempts go on counting, as many more as before."""
    if failed and select.status:
        raise UsageError("--failed and --status together", hint="--failed is short for --status failed,dead_lettered")
    if failed:
        select.status = [status.value for status in sorted(BAD_ENDS)]
    request = Retry(select=get_selector(select), with_dependents=with_dependents)
    return answer_done(context, request, "retried", json=json)
