"""`cronoq report`: what a running task says about itself, written to the file that CRONOQ_REPORT names.

How the lines count is decided where the attempt is judged; here they are only checked and appended.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.errors import ConflictError, CronoqError, UsageError
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.words import hint_for

EXAMPLES = ("cronoq report progress=12/50", "cronoq report outcome=retry retry_after=30s message='busy'")
OUTCOMES = ("success", "permanent", "dead", "retry", "revoke", "not-counted")
KEYS = ("outcome", "retry_after", "message", "progress", "output.NAME")

_PROGRESS = re.compile(r"(?:0(?:\.[0-9]*)?|1(?:\.0*)?|\.[0-9]+)|([0-9]{1,15})/([0-9]{1,15})")
_OUTPUT = re.compile(r"output\.[A-Za-z_][A-Za-z0-9_.-]*")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "report", examples=EXAMPLES, panel="Inside a task")(report)


def report(
    context: Context,
    words: Annotated[
        list[str] | None, argument("KEY=VALUE...", help="outcome, retry_after, message, progress, output.NAME")
    ] = None,
    json: Json = False,
) -> int | None:
    """Say something about the task this is called in: its progress, its outcome, outputs.

    Keys: outcome (success, permanent, dead, retry, revoke, not-counted; wins over the exit code), retry_after=30s,
    message, progress (0.4 or 12/50), output.NAME. Exit status 4 outside a task.
    """
    context.json = json
    pairs = [_parse(word) for word in words or ()]
    if not pairs:
        raise UsageError("nothing to report", hint="cronoq report KEY=VALUE...")
    path = context.env.get("CRONOQ_REPORT")
    if not path:
        raise ConflictError("this is not inside a task: CRONOQ_REPORT is not set", hint="call it in a task's command")
    _append(path, "".join(f"{key}={value}\n" for key, value in pairs))
    if json:
        print_json(context, {"report": dict(pairs)})
    return 0


def _parse(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise UsageError(f"{word!r} is not KEY=VALUE", hint="write it like progress=0.4")
    if "\n" in value or "\0" in value:
        raise UsageError(f"the value of {key} has more than one line", hint="a value is one line")
    if key == "outcome" and value not in OUTCOMES:
        raise UsageError(f"{value!r} is not an outcome", hint=hint_for(value, OUTCOMES))
    if key == "retry_after":
        parse_duration(value)
    if key == "progress":
        _check_progress(value)
    if key not in KEYS and not _OUTPUT.fullmatch(key):
        raise UsageError(f"unknown key {key!r}", hint=hint_for(key, KEYS))
    return key, value


def _check_progress(value: str) -> None:
    match = _PROGRESS.fullmatch(value)
    if match is None or (match[2] is not None and not 0 <= int(match[1]) <= int(match[2]) != 0):
        raise UsageError(f"{value!r} is not a progress", hint="write 0.4 or 12/50")


def _append(path: str, text: str) -> None:
    """One write, so that reports of several processes do not mix. Only a plain file can be the task's report."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConflictError(f"CRONOQ_REPORT names no file: {path}", hint="call it in a task's command")
            os.write(descriptor, text.encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise ConflictError(f"the task's report file is gone: {path}", hint="the task may have ended") from error
    except OSError as error:
        raise CronoqError(
            f"cannot write to {path}: {error.strerror}", hint="CRONOQ_REPORT names the file", code="report"
        ) from error
