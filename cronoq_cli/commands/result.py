"""The file of `--result`: the ended task as JSON, the way to tell a task's own exit code from one of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.json import format_json
from cronoq_cli.errors import CronoqError


def write_result(context: Context, path: str, tasks: Sequence[Mapping[str, Any]]) -> None:
    """Write the document of one task, or of several. Raises CronoqError when the file cannot be written."""
    doc: dict[str, Any] = {"task": tasks[0]} if len(tasks) == 1 else {"tasks": list(tasks)}
    try:
        with open(os.path.join(context.cwd, path), "w", encoding="ascii") as file:
            file.write(format_json(doc))
    except OSError as error:
        raise CronoqError(
            f"--result: cannot write {path}: {error.strerror}", hint="its directory must be there", code="result"
        ) from error
