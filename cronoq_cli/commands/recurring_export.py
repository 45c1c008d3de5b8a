"""`cronoq recurring export`: schedules as a text that imports to the same ones, TOML or a crontab."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.schedule_names import expand_names
from cronoq_cli.errors import UsageError

EXAMPLES = ("cronoq recurring export > schedules.toml", "cronoq recurring export --crontab 'backup-*'")


class Form(msgspec.Struct):
    """The form of the text."""

    toml: Annotated[bool, option("--toml", help="TOML, which can say everything; the usual form.")] = False
    crontab: Annotated[bool, option("--crontab", help="A crontab; what it cannot say stands in comments.")] = False
    env: Annotated[bool, option("--env", help="Also the recorded environments, with their values.")] = False


def declare(recurring: typer.Typer) -> None:
    """Declare the verb."""
    verb(recurring, "export", examples=EXAMPLES)(export)


def export(
    context: Context,
    form: Form,
    names: Annotated[list[str] | None, argument("[NAME]...", help="Names or patterns; else all.")] = None,
    json: Json = False,
) -> int | None:
    """Print schedules as a text that cronoq recurring import reads again.

    Recorded environments are named by their id; --env writes their values too, for another machine.
    """
    context.json = json
    context.need_streams()  # a large table takes its time to be written, which the daemon's loop has not
    if form.toml + form.crontab + json > 1 or (form.crontab and form.env):
        raise UsageError("more than one form", hint="use one of --toml (with or without --env), --crontab and --json")
    from cronoq_cli.commands.schedule_store import load_kept
    from cronoq_cli.commands.schedule_toml import format_tables

    kept = load_kept(context, expand_names(context, names) if names else None)
    if not kept.specs:
        print_notes(context, ["no schedules"])
    if form.crontab:
        from cronoq_cli.commands.crontab_schedules import write_job
        from cronoq_cli.model.crontab_format import format_crontab

        rests = kept.is_paused
        jobs = [write_job(spec, kept.environments, context, paused=rests(spec.name)) for spec in kept.specs.values()]
        context.out.write(format_crontab(jobs))
        return 0
    tables = kept.to_tables()
    if form.env:
        tables.environments = kept.list_environments()
    if json:
        print_json(context, {"recurring": tables.tables, "environments": tables.environments})
    else:
        context.out.write(format_tables(tables))
    return 0
