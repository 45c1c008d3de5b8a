"""What happened to a task, in the words of people: its command line, how it ended, what it waits for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from cronoq_cli.model.words import format_signal

Document = Mapping[str, Any]


def command_line(task: Document) -> str:
    """The command as it could be typed: the shell line itself, or the words quoted where they must be."""
    if task["shell"] is not None:
        return str(task["shell"])
    return shlex.join(task["command"] or ())


def title_of(task: Document) -> str:
    """The command line, with the name before it where somebody gave one: `nightly: make -j8 all`."""
    line, name = command_line(task), task["name"]
    first = line.split(None, 1)[0] if line.strip() else ""
    if name in (first, first.rpartition("/")[2]):
        return line
    return f"{name}: {line}"


def how_it_ended(task: Document) -> str | None:
    """The code or signal something ended with, `exit 3` or `SIGKILL`; None for neither and for a plain 0."""
    if task["signal"] is not None:
        return format_signal(task["signal"])
    code = task["exit_code"]
    return f"exit {code}" if code else None


def why_of(task: Document) -> str | None:
    """The recorded reason, where it says more than the status and the way it ended do; open dependencies by name."""
    reason = task["reason"]
    if task["status"] == "blocked" and reason in (None, "dependencies"):
        refs = [str(item["ref"]) for item in task["after"] if item["open"] is not False]
        return f"after {', '.join(refs)}" if refs else reason
    if reason in (task["status"], f"signal {task['signal']}"):
        return None
    return None if reason is None else str(reason)


def join_facts(*facts: str | None) -> str:
    """The facts that are there, each once, with commas between."""
    return ", ".join(dict.fromkeys(fact for fact in facts if fact))
