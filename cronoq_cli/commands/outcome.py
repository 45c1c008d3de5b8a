"""The exit status one task gives a waiting command (specification section 11), and the status of several.

Numbers of errors stand in the tree of errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cronoq_cli.errors import CronoqError, ExitStatus
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.model.words import format_signal

TIME_LIMITS = ("time limit", "kill-at")
"""The causes of an attempt that was stopped because its time was over: for its length, or at an absolute time."""

BROKEN_PIPE = 141
"""As the shell shows a program that SIGPIPE ended: nobody reads the output any more."""

_FINAL = frozenset(map(str, FINAL))
_KEPT = frozenset({ExitStatus.USAGE, ExitStatus.TRY_LATER, ExitStatus.TIMED_OUT})
_ENDED_BY_ITSELF = ("failed", "dead_lettered")


def is_final(task: Mapping[str, Any]) -> bool:
    """Whether a task document shows a task that has ended."""
    return task["status"] in _FINAL


def decide_exit(task: Mapping[str, Any]) -> int:
    """The exit status that a final task means.

    Its own code is passed through, 128+n for signal n, 124 for its time limit, 125 for an end without a code. A
    task that did not succeed never gives 0, whatever code it left with.
    """
    if task["status"] == "succeeded":
        return ExitStatus.OK
    if task["status"] not in _ENDED_BY_ITSELF or _cause(task) == "lost":
        return ExitStatus.INTERNAL
    if _cause(task) in TIME_LIMITS:
        return ExitStatus.TIMED_OUT
    if task["exit_code"] is not None:
        return task["exit_code"] or ExitStatus.NO
    if task["signal"] is not None:
        return 128 + int(task["signal"])
    return ExitStatus.INTERNAL


def _cause(task: Mapping[str, Any]) -> str | None:
    """Why the last attempt was stopped: told by the attempt where the document has them, else by its words."""
    if task.get("attempts"):
        return str(task["attempts"][-1]["cause"])
    if not task["attempt"]:
        return None
    words = f"{task.get('reason') or ''} {task.get('message') or ''}"
    return next((cause for cause in (*TIME_LIMITS, "lost") if cause in words), None)


def decide_exit_of_all(tasks: Sequence[Mapping[str, Any]]) -> int:
    """0 when every ended task succeeded, else 1."""
    return ExitStatus.NO if any(is_final(task) and task["status"] != "succeeded" for task in tasks) else ExitStatus.OK


def exit_of_error(error: CronoqError, *, one_task: bool) -> int:
    """The status of an error of ours. Where the status is a task's, all but three of them are 125."""
    if one_task and error.exit not in _KEPT:
        return ExitStatus.INTERNAL
    return error.exit


def describe_end(task: Mapping[str, Any]) -> str:
    """How a task that did not succeed ended, for a note: `task 7 failed: exit 3`."""
    why = [str(task[name]) for name in ("reason", "message") if task.get(name)]
    if task["signal"] is not None:
        why = [text for text in why if text != f"signal {task['signal']}"]
        why.insert(0, format_signal(task["signal"]))
    elif task["exit_code"]:
        why.insert(0, f"exit {task['exit_code']}")
    text = f"task {task['id']} {str(task['status']).replace('_', ' ')}"
    return f"{text}: {', '.join(dict.fromkeys(why))}" if why else text
