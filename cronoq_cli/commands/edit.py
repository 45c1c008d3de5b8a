"""`cronoq edit`: change waiting tasks, field by field. What a field means stands in `spec_options`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, answer_done, ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.edit_text import COMMAND, EDGES, SHELL, describe_editable, format_editable, read_edited
from cronoq_cli.commands.options import EditableOptions
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_error
from cronoq_cli.commands.selectors import parse_refs
from cronoq_cli.commands.spec_options import apply_options, given_options
from cronoq_cli.commands.submission import CommandOptions, read_command
from cronoq_cli.errors import ConflictError, CronoqError, InvalidError, UsageError
from cronoq_cli.model.ids import format_ids
from cronoq_cli.model.lifecycle import WAITING
from cronoq_cli.wire.requests import Edit, EditEach, Selector, ShowTasks, TaskChanges

EXAMPLES = (
    "cronoq edit 7 --timeout 2h -P high",
    "cronoq edit 7 --at none --after 5",
    "cronoq edit 7 -- make -j8 all",
    "cronoq edit 7,9            in an editor",
)

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

    Without options they are opened in $VISUAL or $EDITOR as a text; all of it is changed or nothing. One that is wrong
    is offered again, and nothing of it is lost.

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
        return edit_in_editor(context, parse_refs(words), json)
    return answer_done(context, Edit(select=Selector(refs=parse_refs(words[:1])), changes=changes), "edited", json=json)


def edit_in_editor(context: Context, refs: list[str], json: bool) -> int:
    """Offer the tasks as a text and make the changes that are asked for. Raises InvalidError for a text given up."""
    streams = context.need_streams()
    tasks = tasks_of(ask(context, ShowTasks(select=Selector(refs=refs)), json=json).doc)
    _check_waiting(tasks)
    tables = {task["id"]: describe_editable(task) for task in tasks}
    before = format_editable(tables)
    text = streams.edit_text(before, ".toml")
    while text != before:
        try:
            return _make_changes(context, read_edited(text, tables), json)
        except CronoqError as error:
            print_error(context, error)
            context.err.flush()
            if not streams.ask_yes("edit it again?"):
                kept = streams.keep_copy(text.encode("utf-8", "surrogateescape"), "tasks")
                raise InvalidError("nothing was changed", hint=f"the text is kept in {kept}") from error
            text = streams.edit_text(text, ".toml")
    return _make_changes(context, {}, json)


def _check_waiting(tasks: list[Mapping[str, Any]]) -> None:
    for task in tasks:
        if task["status"] not in WAITING:
            raise ConflictError(f"task {task['id']} is {task['status']}", hint="only waiting tasks can be edited")


def _make_changes(context: Context, changed: Mapping[int, Mapping[str, Any]], json: bool) -> int:
    """Ask for all the changes at once: they are made together or not at all."""
    edits = [
        Edit(select=Selector(refs=[str(task_id)]), changes=_read_changes(task_id, fields, context))
        for task_id, fields in changed.items()
    ]
    documents = tasks_of(ask(context, EditEach(edits)).doc) if edits else []
    if json:
        print_json(context, {"tasks": documents})
    else:
        print_line(context, f"edited {format_ids(changed)}" if changed else "nothing changed")
    return 0


def _read_changes(task_id: int, fields: Mapping[str, Any], context: Context) -> TaskChanges:
    """What is changed of one task. Raises UsageError naming the task and the field."""
    changes, given = TaskChanges(), dict(fields)
    try:
        if COMMAND in given or SHELL in given:
            _put_text_command(changes, given.pop(COMMAND, None), given.pop(SHELL, None))
        for name in [name for name, value in given.items() if value is None]:
            if name not in CLEARED:
                raise UsageError(f"{name} cannot be taken out", hint="give it another value")
            field, empty = CLEARED[name]
            setattr(changes, field, empty)
            del given[name]
        if EDGES & set(given):
            changes.after = []
        named = {"in_" if name == "in" else name: value for name, value in given.items() if value != []}
        apply_options(changes, named, context, str)
    except UsageError as error:
        raise UsageError(f"task {task_id}: {error.message}", hint=error.hint) from error
    return changes


def _put_text_command(changes: TaskChanges, command: list[str] | None, line: str | None) -> None:
    if (command is None) == (line is None) or command == [] or line == "":
        raise UsageError(f"one of {COMMAND} and {SHELL} must be there", hint="a list of words, or a shell line")
    if command is not None:
        changes.command = command
    else:
        changes.shell_line = line or ""


def _put_command(changes: TaskChanges, words: list[str], options: CommandOptions) -> None:
    new = read_command(words, options)
    if new.argv is not None:
        changes.command = new.argv
    else:
        changes.shell_line = new.line or ""
