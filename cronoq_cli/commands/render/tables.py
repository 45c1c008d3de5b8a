"""The table of `ls`: what runs, what waits in its order, what ended last.

One row a task, times relative to now; everything about a single task is in `task`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.spark import draw_bar
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.words import Document, how_it_ended, join_facts, title_of, why_of
from cronoq_cli.model.lifecycle import LIVE, WAITING

BAR = 8
"""Columns of a bar of progress."""
_LEAST_EXPECTED_S = 2.0
"""Shorter tasks are over before anybody has read how far they may be."""
LONGEST_TITLE = 1000
"""Characters of a command line that a listing shows at most, also in a pipe."""

_WAITING = frozenset(map(str, WAITING))
_LIVE = frozenset(map(str, LIVE))
_PRIORITY_COLOURS = {"critical": "red", "high": "yellow", "low": "dim"}
_SHORT_PRIORITIES = {"critical": "crit", "normal": "-"}
"""On a terminal, where width is dear; a pipe has the full words."""
_SUMMARY_ORDER = ("running", "ready", "retrying", "scheduled", "blocked")


def print_tasks(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table for a document `{"tasks": [...], "more": N, "summary": {status: count}}`.

    The tasks are shown in the order they come in. `+N more` stands behind the last waiting one. Without a
    task nothing is written but a note. The summary is for terminals only.
    """
    if not doc["tasks"]:
        print_notes(context, [say_none(doc)])
        return
    style = style_of(context)
    lines = task_lines(doc, style)
    if style.columns is not None and doc.get("summary"):
        lines += ["", *summary_lines(doc["summary"], style)]
    context.out.write("\n".join(lines).rstrip("\n") + "\n")


def say_none(doc: Mapping[str, Any]) -> str:
    """What stands in the place of a table without a task."""
    more = doc.get("more") or 0
    return f"no tasks shown, {more} more" if more else "no tasks"


def task_lines(doc: Mapping[str, Any], style: Style) -> list[str]:
    """The lines of the table, header first, with what is left out behind the last waiting task."""
    tasks, more = doc["tasks"], doc.get("more") or 0
    lines = layout_table(task_columns(tasks, style), style)
    if more:
        lines.insert(_place_of_more(tasks, whole="summary" in doc), style.paint(f"+{more} more", "dim"))
    return lines


def _place_of_more(tasks: Sequence[Document], *, whole: bool) -> int:
    """The line behind the last waiting task, counted with the header; where none is shown, the end.

    `whole`: it is the listing of the whole queue, so that what is left out waits and stands before what has ended."""
    waiting = [place for place, task in enumerate(tasks) if task["status"] in (_LIVE if whole else _WAITING)]
    return waiting[-1] + 2 if waiting else 1 if whole else len(tasks) + 1


def task_columns(tasks: Sequence[Document], style: Style) -> list[Column]:
    """The columns of a listing of tasks."""
    statuses = [status_word(task, style) for task in tasks]
    priorities = [task["priority"] for task in tasks]
    usual, short = ("normal", {}) if style.columns is None else ("-", _SHORT_PRIORITIES)
    notes = [note_of(task, style) for task in tasks]
    return [
        Column("ID", [str(task["id"]) for task in tasks], right=True),
        Column(
            "STATUS",
            [style.word(status) for status in statuses],
            colours=[STATUS_COLOURS.get(status) for status in statuses],
        ),
        Column(
            "PRIO",
            [short.get(word, word) for word in priorities],
            usual=usual,
            spare=1,
            colours=[_PRIORITY_COLOURS.get(word) for word in priorities],
        ),
        Column("POOL", [task["pool"] for task in tasks], usual="default", spare=2, least=6, modest=8),
        Column("TIME", [time_of(task, style) for task in tasks], right=True),
        Column("TASK", [_cut(title_of(task), style) for task in tasks], least=10, modest=28),
        Column("REASON", notes, usual="-", least=10, modest=22),
    ]


def _cut(title: str, style: Style) -> str:
    """One command line of a megabyte would make every row of the table as long; `show` has the whole."""
    return title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + style.mark


def status_word(task: Document, style: Style) -> str:
    """The status; on a terminal a held task says so in its place (a program gets the word it can select by)."""
    held = task["held"] and task["status"] == "blocked" and style.columns is not None
    return "held" if held else str(task["status"])


def time_of(task: Document, style: Style) -> str:
    """The one time that matters: how long it ran, how long until it is due, how long it has waited."""
    status = task["status"]
    if status in ("scheduled", "retrying") and task["not_before"] is not None:
        return near_now(moment_of(task["not_before"]), style.now)
    if status in _WAITING:
        return short_span(task["wait_s"])
    return short_span(task["run_s"])


def note_of(task: Document, style: Style, bar: int = BAR) -> str:
    """What the last column says: why it waits, how far it is (a bar of so many columns), how and when it ended; `-`
    for nothing."""
    status = task["status"]
    if status == "running":
        share = progress_of(task, style, bar)
        again = f"attempt {task['attempt']} of {task['max_attempts']}" if task["attempt"] > 1 else None
        return join_facts(share, task["message"], again, why_of(task), due_of(task, style)) or "-"
    if status in _LIVE:
        ended = how_it_ended(task) if status == "retrying" else None
        held = "held" if task["held"] else None
        return join_facts(held, why_of(task), ended, due_of(task, style)) or "-"
    message = None if task["message"] == task["reason"] else task["message"]
    ended_at = task["finished_at"]
    when = None if ended_at is None else near_now(moment_of(ended_at), style.now)
    why = why_of(task)
    how = how_it_ended(task) if why is None or task["signal"] is None else None  # which signal that took, `show` tells
    return join_facts(how, why, message, when) or "-"


def progress_of(task: Document, style: Style, bar: int = BAR) -> str | None:
    """How far a running task says it is, `████░░░░ 50%`; else, on a terminal, how far it may be by what its kind
    usually takes, `▒▒▒▒░░░░ ~50% of 2m`."""
    progress, expected_s, run_s = task["progress"], task.get("expected_s"), task["run_s"]
    if style.columns is None:
        return None if progress is None else f"{progress:.0%}"
    if progress is not None:
        return f"{draw_bar(progress, bar, unicode=style.unicode)} {progress:.0%}"
    if not expected_s or run_s is None or expected_s < _LEAST_EXPECTED_S:
        return None
    if run_s > expected_s:
        return f"usually {short_span(expected_s)}"
    share = run_s / expected_s
    return f"{draw_bar(share, bar, unicode=style.unicode, estimated=True)} ~{share:.0%} of {short_span(expected_s)}"


def due_of(task: Document, style: Style) -> str | None:
    """`due in 5m`, `overdue 12s`: how far the soft deadline of a live task is."""
    if task["deadline"] is None:
        return None
    left_s = moment_of(task["deadline"]) - style.now
    return f"due in {short_span(left_s)}" if left_s >= 0 else f"overdue {short_span(-left_s)}"


def summary_lines(summary: Mapping[str, Any], style: Style) -> list[str]:
    """`2 running, 57 ready, 1 held`, what is going on first; numbers that are 0 are left out."""
    order = {word: place for place, word in enumerate(_SUMMARY_ORDER)}
    counts = {word: count for word, count in summary.items() if isinstance(count, int) and count}
    words = sorted(counts, key=lambda word: order.get(word, len(order)))
    if not words:
        return []
    lines, line = [], ""
    for part in (f"{counts[word]} {word.replace('_', ' ')}" for word in words):
        longer = f"{line}, {part}" if line else part
        if line and len(longer) > (style.columns or len(longer)):
            lines.append(line + ",")
            longer = part
        line = longer
    return [style.paint(text, "dim") for text in (*lines, line)]
