"""Waiting tasks as a text to be edited, a TOML table for each, and what a changed text asks for.

The fields are the options of `cronoq edit`, with _ for -; what they mean stands in `spec_options`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from cronoq_cli.commands.schedule_toml import TOML_FORM, format_value
from cronoq_cli.commands.spec_options import SETTERS
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.words import RESERVED_KEY, hint_for

Table = dict[str, Any]

TOP = "task"
HEADING = """Waiting tasks of cronoq: save and leave to change them.
Only what is changed here is changed. A line that is taken out takes its value back where there need not be one.
Further fields: {more}; what they mean says cronoq edit --help."""
COMMAND, SHELL = "command", "shell_line"
LISTS = frozenset({"after", "after_any", "after_fail", "tag", "use", "on", "env"})
"""Fields that are lists of words."""
_SPANS = {"timeout": "timeout_s", "estimate": "estimate_s"}
_MOMENTS = {"start_at": "start_at", "deadline": "deadline", "expires": "expires_at", "kill_at": "kill_at"}
_CONDITIONS = {"success": "after", "any": "after_any", "fail": "after_fail"}
EDGES = frozenset(_CONDITIONS.values())
"""The fields that are dependencies: where one of them is changed all are given."""


def describe_editable(task: Mapping[str, Any]) -> Table:
    """The fields of a task document as they could be given as options; those without a value are left out."""
    fixed = task["start_at"] is not None
    fields: Table = {
        COMMAND: None if task["shell"] is not None else list(task["command"]),
        SHELL: task["shell"],
        "name": task["name"],
        "pool": task["pool"],
        "priority": task["priority"],
        "cwd": task["cwd"],
        "at": None if fixed else task["not_before"],
        "retries": str(task["retries"]),
        "slots": str(task["slots"]),
        "on_lost": task["on_lost"],
        "tenant": task["tenant"],
        "tag": [f"{name}={value}" for name, value in task["tags"].items()],
        "use": [f"{name}={amount:g}" for name, amount in task["resources"].items()],
        "on": [f"{name}={value}" for name, value in task["labels"].items()],
    }
    fields |= {name: _span(task[field]) for name, field in _SPANS.items()}
    fields |= {name: task[field] for name, field in _MOMENTS.items()}
    for condition, name in _CONDITIONS.items():
        fields[name] = [str(edge["ref"]) for edge in task["after"] if _is_of(edge, condition)]
    return {name: value for name, value in fields.items() if value not in (None, [])}


def _is_of(edge: Mapping[str, Any], condition: str) -> bool:
    """Whether an edge is to be shown there. `last`, which older stores have, is not: it means another task by now, and
    the id stands beside it."""
    return bool(edge["condition"] == condition and edge["ref"] != RESERVED_KEY)


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(seconds)


def format_editable(tables: Mapping[int, Table]) -> str:
    """The text: what can be done with it as comments, then a table for each task."""
    shown = {name for table in tables.values() for name in table}
    more = ", ".join(sorted({name.rstrip("_") for name in SETTERS} & EDITABLE - shown))
    heading = "".join(f"# {line}\n" for line in HEADING.format(more=more).split("\n"))
    blocks = (
        f"[{TOP}.{task_id}]\n" + "".join(f"{name} = {format_value(value)}\n" for name, value in table.items())
        for task_id, table in tables.items()
    )
    return "\n".join((heading, *blocks))


EDITABLE = frozenset(
    {
        *(
            "name",
            "pool",
            "priority",
            "after",
            "after_any",
            "after_fail",
            "in",
            "at",
            "timeout",
            "retries",
            "tag",
            "env",
        ),
        *("cwd", "kill_at", "heartbeat", "stop_signal", "grace", "backoff", "retry_on", "no_retry_on", "success_codes"),
        *(
            "on_lost",
            "slots",
            "nice",
            "shell",
            "keep",
            "deadline",
            "use",
            "expires",
            "start_at",
            "tolerance",
            "on_miss",
        ),
        *("estimate", "tenant", "on"),
    }
)
"""The fields that an edited text may have beside the command."""


def read_edited(text: str, before: Mapping[int, Table]) -> dict[int, Table]:
    """What is changed in the text, by task: fields with their new value, None where a line was taken out.

    A task whose table was taken out is left as it is. Raises InvalidError naming the task and the field."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidError(f"it is not TOML: {error}", hint=TOML_FORM, code="bad-toml") from error
    tables = found.pop(TOP, {})
    if found or not isinstance(tables, dict):
        wrong = next(iter(found), TOP)
        raise InvalidError(f"unknown table {wrong!r}", hint=f"tasks are tables [{TOP}.ID]", code="bad-toml")
    changed = {}
    for name, table in tables.items():
        task_id = int(name) if name.isascii() and name.isdigit() else 0
        if task_id not in before or not isinstance(table, dict):
            known = ", ".join(map(str, before))
            raise InvalidError(f"{name!r} is none of the tasks being edited", hint=f"they are {known}", code="bad-toml")
        fields = _compare(name, table, before[task_id])
        if fields:
            changed[task_id] = fields
    return changed


def _compare(name: str, table: Table, before: Table) -> Table:
    given = {field: _read_value(name, field, value) for field, value in table.items()}
    changed = {field: value for field, value in given.items() if value != before.get(field)}
    gone = dict.fromkeys(field for field in before if field not in given)
    if {COMMAND, SHELL} & set(changed):
        gone = {field: None for field in gone if field not in (COMMAND, SHELL)}
    if EDGES & {*changed, *gone}:  # they are one list to the daemon
        gone = {field: None for field in gone if field not in EDGES}
        changed |= {field: given.get(field, []) for field in EDGES}
    return {**changed, **gone}


def _read_value(name: str, field: str, value: Any) -> str | list[str]:
    known: Iterable[str] = EDITABLE | {COMMAND, SHELL}
    if field not in known:
        raise InvalidError(
            f"task {name}: unknown field {field!r}", hint=hint_for(field, sorted(known)), code="bad-field"
        )
    if field == COMMAND or field in LISTS:
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return list(value)
        raise InvalidError(f"task {name}: {field} is not a list of texts", hint='write it as ["...", "..."]')
    if isinstance(value, bool | dict | list):
        raise InvalidError(f"task {name}: {field} is not a text", hint=f'write it as {field} = "..."')
    return str(value)
