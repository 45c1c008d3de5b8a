"""Documents as JSON for programs: one document and a newline, the same on a terminal and in a pipe.

What is in the documents is decided in model/snapshot and by the handlers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.errors import CronoqError

SCHEMA = 1


def print_json(context: Context, doc: Mapping[str, Any], *, stream: bool = False) -> None:
    """Write one document to standard output, `"schema"` first. `stream`: flushed, for one line of many."""
    context.out.write(format_json(doc))
    if stream:
        context.out.flush()


def format_json(doc: Mapping[str, Any]) -> str:
    """The document on one line, ASCII; bytes that are not UTF-8 stay surrogate escapes (`\\udcNN`)."""
    return json.dumps({"schema": SCHEMA, **doc}, ensure_ascii=True, allow_nan=False) + "\n"


def describe_error(error: CronoqError) -> dict[str, Any]:
    """The document of an error, as `--json` prints it on standard output."""
    return {
        "error": {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "exit": int(error.exit),
        }
    }
