"""A batch of JSON lines: each an object whose keys are the long option names with `_`, to what options say.

`command` is a list, `shell` a shell line. Values may be what JSON offers (numbers, lists, objects) and are brought
into the form the options have. Which fields there are stands in `spec_options`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cronoq_cli.commands.spec_options import SETTERS
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.words import hint_for

_FLAGS = frozenset({"once", "clean_env", "split", "hold"})
_LISTS = frozenset(
    {"after", "after_any", "after_fail", "env_file", "retry_on", "no_retry_on", "success_codes"}
    | {"on_success", "on_failure", "on_end"}
)
_ASSIGNMENTS = frozenset({"tag", "on", "use"})
_KEYS = frozenset(name.rstrip("_") for name in SETTERS if name != "shell") | {"command", "shell"}


@dataclass(slots=True)
class Line:
    """One line of a batch: its number, its command (argv or shell line), and its fields as options have them.

    `removed`: variables that are to be absent from the task's environment.
    """

    number: int
    command: list[str] | None = None
    shell_line: str | None = None
    given: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)


def parse_batch(text: str) -> Iterator[Line]:
    """The lines of a batch; empty ones are passed over. Raises InvalidError naming the line and the field."""
    for number, raw in enumerate(text.split("\n"), 1):
        if raw.strip():
            yield _parse_line(raw, number)


def _parse_line(raw: str, number: int) -> Line:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", str(error))
        raise InvalidError(
            f"batch line {number} is not JSON: {what}", hint='write one object a line: {"command": ["make"]}'
        ) from error
    try:
        return read_object(found, number)
    except UsageError as error:
        raise InvalidError(f"batch line {number}: {error.message}", hint=error.hint) from error


def read_object(found: Any, number: int) -> Line:
    """The line of an object that JSON gave. Raises UsageError naming the field."""
    if not isinstance(found, dict):
        raise UsageError("it is not an object", hint='write {"command": ["make"]}')
    line = Line(number)
    for key, value in found.items():
        if key not in _KEYS:
            raise UsageError(f"unknown field {key!r}", hint=hint_for(key, sorted(_KEYS)))
        if value is None:
            continue
        if key == "command":
            line.command = _strings(key, value)
        elif key == "shell":
            line.shell_line = _string(key, value)
        else:
            _read_field(line, key, value)
    if (line.command is None) == (line.shell_line is None):
        raise UsageError("it needs exactly one of command and shell", hint="command is a list, shell a string")
    return line


def _read_field(line: Line, key: str, value: Any) -> None:
    name = "in_" if key == "in" else key
    if key in _ASSIGNMENTS:
        line.given[name] = _assignments(key, value)
    elif key == "env":
        if isinstance(value, dict):
            line.removed = [variable for variable, text in value.items() if text is None]
            value = {variable: text for variable, text in value.items() if text is not None}
        line.given[name] = _assignments(key, value)
    elif key in _FLAGS:
        if not isinstance(value, bool):
            raise UsageError(f"{key}: {value!r} is not true or false", hint="write it without quotes")
        if value:
            line.given[name] = value
    elif key in _LISTS:
        line.given[name] = [_scalar(key, item) for item in (value if isinstance(value, list) else [value])]
    else:
        line.given[name] = _scalar(key, value)


def _scalar(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{key}: {value!r} is not text or a number", hint='write it as "..."')
    if isinstance(value, int):
        return str(value)
    # Whole numbers such as 5.0 are written as people would; exponents never reach the parsers of durations.
    return str(int(value)) if value == value and abs(value) < 1e15 and value == int(value) else f"{value:f}"


def _string(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{key}: {value!r} is not a string", hint='write it as "..."')
    return value


def _strings(key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        hint = "use shell for a shell line" if isinstance(value, str) else 'write it like ["make", "test"]'
        raise UsageError(f"{key}: it is not a list of strings", hint=hint)
    return value


def _assignments(key: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}={_scalar(key, text)}" for name, text in value.items()]
    return _strings(key, [value] if isinstance(value, str) else value)
