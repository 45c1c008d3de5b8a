"""`cronoq recurring import`: a crontab, or the TOML of an export, as schedules, with every line accounted for.

How a line becomes a schedule stands in `crontab_schedules`, what is done with the caller's own crontab in `takeover`.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.import_options import ImportOptions
from cronoq_cli.commands.reading import read_text
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.errors import ExitStatus

EXAMPLES = (
    "cronoq recurring import --crontab --dry-run",
    "cronoq recurring import --crontab --takeover",
    "cronoq recurring import --system /etc/cron.d/backup",
    "cronoq recurring import schedules.toml",
)


def declare(recurring: typer.Typer) -> None:
    """Declare the verb."""
    verb(recurring, "import", examples=EXAMPLES)(import_)


def import_(
    context: Context,
    options: ImportOptions,
    file: Annotated[str | None, argument("[FILE|-]", help="A crontab, or an export as TOML.")] = None,
    json: Json = False,
) -> int | None:
    """Make schedules of a crontab or of an export, and account for every line.

    Jobs run as cron would run them: its few variables and those of the file, HOME as directory, % as input. What was
    missed is not caught up. Importing again replaces, it makes no copies. Exit status 1 when a line was refused.
    """
    context.json = json
    streams = context.need_streams()
    options.check(file)
    from cronoq_cli.commands import crontab_import, takeover  # and with them the rules of expressions

    if options.give_back:
        report = takeover.give_back(context, dry_run=options.dry_run)
    elif options.crontab:
        report = takeover.import_crontab(context, streams.read_crontab(), options)
    else:
        report = crontab_import.import_text(context, read_text(context, file or "-"), options)
    if json:
        print_json(context, report)
    else:
        from cronoq_cli.commands.render.crontab import print_report

        print_report(context, report)
    return _exit_of(report)


def _exit_of(report: dict[str, Any]) -> int:
    return ExitStatus.NO if any(line["result"] == "refused" for line in report.get("lines", ())) else ExitStatus.OK
