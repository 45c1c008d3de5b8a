"""`cronoq edit`: change waiting tasks, field by field. What a field means stands in `spec_options`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, answer_done
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.options import EditableOptions
from cronoq_cli.commands.selectors import parse_refs
from cronoq_cli.commands.spec_options import apply_options, given_options
from cronoq_cli.commands.submission import CommandOptions, read_command
from cronoq_cli.errors import UsageError
from cronoq_cli.wire.requests import Edit, Selector, TaskChanges

EXAMPLES = ("cronoq edit 7 --timeout 2h -P high", "cronoq edit 7 --at none --after 5", "cronoq edit 7 -- make -j8 all")

NONE = "none"
CLEARED: dict[str, tuple[str, Any]] = {
    "in_": ("not_before", None),
    "at": ("not_before", None),
    "kill_at": ("kill_at", None),
    "timeout": ("timeout_s", None),
    "heartbeat": ("heartbeat_s", None),
    "keep": ("keep_s", None),
    "nice": ("nice", None),
    "retry_on": ("retry_on", None),
    "no_retry_on": ("no_retry_on", None),
    "success_codes": ("success_codes", None),
    "after": ("after", []),
    "tag": ("tags", {}),
    "start_at": ("start_at", None),
    "deadline": ("deadline", None),
    "expires": ("expires_at", None),
    "estimate": ("estimate_s", None),
    "tenant": ("tenant", ""),
    "use": ("uses", {}),
    "on": ("labels", {}),
}
"""The options that the word `none` takes back, with the field and its value without them."""


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "edit", examples=EXAMPLES, panel="Change tasks")(edit)


def edit(
    context: Context,
    fields: EditableOptions,
    command: CommandOptions,
    words: Annotated[
        list[str] | None, argument("TASK[,TASK] [-- COMMAND [ARG]...]", help="The tasks, and a new command.")
    ] = None,
    json: Json = False,
) -> int | None:
    """Change waiting tasks: the fields that options name, and the command when one follows the task.

    The word `none` takes back --in, --at, --start-at, --after, --deadline, --expires, --estimate, --kill-at, --timeout,
    --heartbeat, --keep, --nice, --tag, --tenant, --use, --on and lists of exit codes. Places and attempts are kept.
    """
    if not words:
        raise UsageError("no task was named", hint="cronoq edit TASK [OPTIONS] [-- COMMAND]")
    changes = TaskChanges()
    given = given_options(fields)
    for name in [name for name, value in given.items() if name in CLEARED and value in (NONE, [NONE])]:
        field, empty = CLEARED[name]
        setattr(changes, field, empty)
        del given[name]
    apply_options(changes, given, context)
    if len(words) > 1 or command.shell_line is not None:
        _put_command(changes, words[1:], command)
    if changes == TaskChanges():
        raise UsageError("nothing to change", hint="see cronoq edit --help for the fields")
    return answer_done(context, Edit(select=Selector(refs=parse_refs(words[:1])), changes=changes), "edited", json=json)


def _put_command(changes: TaskChanges, words: list[str], options: CommandOptions) -> None:
    new = read_command(words, options)
    if new.argv is not None:
        changes.command = new.argv
    else:
        changes.shell_line = new.line or ""
