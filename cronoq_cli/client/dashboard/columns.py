"""The columns of the list of tasks: fixed widths, so that nothing jumps about while tasks come and go. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cronoq_cli.client.dashboard.lines import GAP, Line, Piece, safe
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.tables import LONGEST_TITLE, note_of, status_word, time_of
from cronoq_cli.commands.render.text import cut_to_width, pad_left_aligned, pad_right_aligned
from cronoq_cli.commands.render.words import title_of

_STATUS, _PRIORITY, _TIME = 11, 4, 9
_LEAST_ID, _LEAST_TITLE = 4, 14
_SHORT_REASON = 16
"""Columns of `waits for a slot`, and of a short bar with its estimate."""
_SHORT_BAR, _LONG_BAR = 4, 8
_PRIORITIES = {"critical": ("crit", "red"), "high": ("high", "yellow"), "normal": ("-", "dim"), "low": ("low", "dim")}


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths; 0 is a column that is not shown."""

    id: int
    priority: int
    pool: int
    title: int
    reason: int


def plan_columns(width: int, newest_id: int, longest_pool: int) -> Columns:
    """The widths for a list that is `width` columns wide. `longest_pool`: 0 where pools need not be told apart."""
    id_width = max(_LEAST_ID, len(str(newest_id)))
    pool = min(longest_pool, 8 if width < 100 else 10 if width < 120 else 20)
    priority = _PRIORITY
    left = width - 1 - id_width - _STATUS - _TIME - 3 * len(GAP)
    left -= (priority + len(GAP)) + (pool + len(GAP) if pool else 0)
    if pool and left < 2 * _LEAST_TITLE:
        left, pool = left + pool + len(GAP), 0
    if left < _LEAST_TITLE:
        left, priority = left + priority + len(GAP), 0
    reason = 0
    if left >= 2 * _LEAST_TITLE:
        reason = max(left * 2 // 5, min(_SHORT_REASON, left - _LEAST_TITLE - len(GAP)))
    title = max(left - (reason + len(GAP) if reason else 0), 1)
    return Columns(id_width, priority, pool, title, reason)


def head_line(columns: Columns) -> Line:
    """The names of the columns."""
    cells = [("", 0), ("ID".rjust(columns.id), 0), ("STATUS".ljust(_STATUS), 0)]
    if columns.priority:
        cells.append(("PRIO", 0))
    if columns.pool:
        cells.append(("POOL".ljust(columns.pool)[: columns.pool], 0))
    cells += [("TIME".rjust(_TIME), 0), ("TASK".ljust(columns.title)[: columns.title], 0)]
    if columns.reason:
        cells.append(("REASON".ljust(columns.reason)[: columns.reason], 0))
    return ((" " + GAP.join(text for text, _ in cells[1:]), "head"),)


def task_line(task: Mapping[str, Any], columns: Columns, style: Style, mark: str) -> Line:
    """The row of a task; `mark` is the one character before it."""
    status = status_word(task, style)
    pieces: list[Piece] = [(mark, "bold"), (str(task["id"]).rjust(columns.id), "bold" if mark == "*" else "")]
    pieces += [(GAP, ""), (pad_left_aligned(style.word(status), _STATUS), STATUS_COLOURS.get(status, ""))]
    if columns.priority:
        word, look = _PRIORITIES.get(task["priority"], (str(task["priority"]), ""))
        pieces += [(GAP, ""), (word.ljust(columns.priority), look)]
    if columns.pool:
        pieces += [(GAP, ""), (_cell(task["pool"], columns.pool, style), "")]
    pieces += [(GAP, ""), (pad_right_aligned(time_of(task, style), _TIME), "")]
    pieces += [(GAP, ""), (_cell(title_of(task)[:LONGEST_TITLE], columns.title, style), "")]
    if columns.reason:
        bar = _SHORT_BAR if columns.reason < _SHORT_REASON + _LONG_BAR - _SHORT_BAR else _LONG_BAR
        pieces += [(GAP, ""), (_cell(note_of(task, style, bar), columns.reason, style), "dim")]
    return tuple(pieces)


def _cell(text: str, width: int, style: Style) -> str:
    return pad_left_aligned(cut_to_width(safe(text), width, style.mark), width)
