"""`cronoq metrics`: what monitoring wants to know, as OpenMetrics text, also in a file for the node exporter."""

from __future__ import annotations

import os
import tempfile
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.metrics import format_metrics
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.wire.requests import Metrics

EXAMPLES = (
    "cronoq metrics",
    "cronoq metrics --output /var/lib/node_exporter/textfile/cronoq.prom",
    "cronoq recurring add metrics --every 30s -- cronoq metrics --output ~/metrics/cronoq.prom",
)


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "metrics", examples=EXAMPLES, panel="See tasks")(metrics)


def metrics(
    context: Context,
    output: Annotated[
        str | None, option("--output", "-o", help="Write to this file, whole or not at all.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> int | None:
    """Print metrics as OpenMetrics text: tasks by status, queue ages, slots, waits and runs, the daemon itself.

    Counters and histograms count from the start of the daemon. Where none runs, cronoq_up is 0 and only what the store
    says is there. With --output the file is written beside and put in its place at once, so that a reader (the textfile
    collector of the node exporter) never sees half of it.
    """
    if output == "":
        raise UsageError("--output: the path is empty", hint="name a file")
    if output is not None:
        context.need_streams()
    reply = ask(context, Metrics(), json=json)
    text = format_metrics(reply.doc["metrics"])
    if output is not None:
        write_whole(os.path.join(context.cwd, output), text)
    elif not json:
        context.out.write(text)
    if json:
        print_json(context, reply.doc)
    return reply.exit


def write_whole(path: str, text: str) -> None:
    """Put a file with the text at `path`, at once and readable for all. Raises InvalidError."""
    directory, name = os.path.split(path)
    try:
        number, beside = tempfile.mkstemp(dir=directory, prefix=f".{name}.")
    except OSError as error:
        raise InvalidError(f"cannot write in {directory}: {error.strerror}", hint="make the directory first") from error
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(number, 0o644)
        os.replace(beside, path)
    except OSError as error:
        os.unlink(beside)
        raise InvalidError(f"cannot write {path}: {error.strerror}", hint="name a file, not a directory") from error
