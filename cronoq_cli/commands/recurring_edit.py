"""`cronoq recurring edit`: the whole table in an editor, as `crontab -e` has it. The work is `schedule_editing`'s."""

from __future__ import annotations

from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb


def declare(recurring: typer.Typer) -> None:
    """Declare the verb."""
    verb(recurring, "edit", examples=("cronoq recurring edit", "EDITOR=nano cronoq recurring edit backup"))(edit)


def edit(
    context: Context,
    names: Annotated[list[str] | None, argument("[NAME]...", help="Names or patterns; else all.")] = None,
    json: Json = False,
) -> int | None:
    """Change schedules in $VISUAL or $EDITOR: the whole table, or those named.

    All changes are made together, or none. A text that is wrong is offered again on a terminal, else it is kept.
    """
    context.json = json
    context.need_streams()
    from cronoq_cli.commands.schedule_editing import edit_schedules  # the forms of tables, which no other verb needs

    return edit_schedules(context, names or [], json=json)
