"""`cronoq backup` and `cronoq restore`: copy the store while it is used, check it, put a copy back."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.errors import ExitStatus, UsageError

PANEL = "Pools and daemon"


def declare(app: typer.Typer) -> None:
    """Declare the verbs."""
    examples = ("cronoq backup", "cronoq backup /mnt/usb/cronoq.db", "cronoq backup --check")
    verb(app, "backup", examples=examples, panel=PANEL)(backup)
    verb(app, "restore", examples=("cronoq restore cronoq-20261130T024500Z.db",), panel=PANEL)(restore)


def backup(
    context: Context,
    file: Annotated[
        str | None, argument("[FILE]", help="The new file; a name with the time in this directory.")
    ] = None,
    check: Annotated[bool, option("--check", help="Copy nothing: check the store, or FILE, page by page.")] = False,
    json: Json = False,
) -> int | None:
    """Copy the whole store to a new file while the daemon goes on, and print its name. It never overwrites one.

    The copy has all tasks, their history and the recurring schedules; the logs of tasks and the configuration are
    files of their own. With `--check` exit status 1 when something is wrong.
    """
    context.json = json
    keeper = context.need_streams().housekeeping()
    if file == "":
        raise UsageError("FILE: the path is empty", hint="name a file")
    if check:
        checked, troubles = keeper.check_store(None if file is None else os.path.join(context.cwd, file))
        if json:
            print_json(context, {"check": {"path": checked, "troubles": troubles}})
        else:
            for line in troubles or ["nothing is wrong"]:
                print_line(context, f"{checked}: {line}")
        return ExitStatus.NO if troubles else ExitStatus.OK
    name = time.strftime("cronoq-%Y%m%dT%H%M%SZ.db", time.gmtime(context.now())) if file is None else file
    keeper.back_up(os.path.join(context.cwd, name))
    if json:
        print_json(context, {"backup": {"path": os.path.join(context.cwd, name)}})
    else:
        print_line(context, name)
    return 0


def restore(
    context: Context,
    file: Annotated[str, argument("FILE", help="What `cronoq backup` wrote.")],
    json: Json = False,
) -> int | None:
    """Put a backup in the place of the store, while no daemon runs. The store before it is set aside, never deleted.

    The backup is checked first and stays where it is. A task that ran when it was made is lost or queued again, as
    after a crash; ids that were given out since are not given again.
    """
    context.json = json
    path = os.path.join(context.cwd, file)
    aside = context.need_streams().housekeeping().restore(path)
    if json:
        print_json(context, {"restore": {"path": path, "set_aside": aside}})
    else:
        print_line(context, f"restored {file}")
        print_notes(context, [] if aside is None else [f"the store before it is kept as {aside}"])
    return 0
