"""When each task waits and runs, as a picture of plain characters, as wide as the terminal.

The numbers are in the table of `simulation`; the picture is made from the same document.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.simulation import list_notes, summary_lines
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.text import cut_to_width, display_width, escape_for_terminal, pad_left_aligned
from cronoq_cli.commands.render.words import Document

PIPE_WIDTH = 100
"""Columns where there is no terminal."""
WAITS, RUNS, FAILS, DEADLINE, BETWEEN = ".", "#", "x", "|", " "
_LEAST_CHART = 10
_MARKS_EVERY = 20
"""Columns between the times above the picture."""
EVEN = 1e-6
"""Columns within which a moment counts as on the border of two."""
LEGEND = f"{WAITS} waits   {RUNS} runs   {FAILS} ends badly   {DEADLINE} deadline"


def print_gantt(context: Context, doc: Mapping[str, Any], limit: int | None) -> None:
    """Write the picture of `{"simulation": {...}}`, of up to `limit` tasks, and the sums below it."""
    found, style = doc["simulation"], style_of(context)
    lines = gantt_lines(found, style, limit)
    lines += ["", *summary_lines(found, style)] if lines else summary_lines(found, style)
    context.out.write("\n".join(lines) + "\n")
    print_notes(context, list_notes(found))


def gantt_lines(found: Document, style: Style, limit: int | None = None) -> list[str]:
    """One line a task below a line of times; none wider than the terminal."""
    tasks = found["tasks"] if limit is None else found["tasks"][:limit]
    if not tasks:
        return []
    width = PIPE_WIDTH if style.columns is None else style.columns
    labels = [escape_for_terminal(f"{task['id']} {task['name'] or ''}".strip()) for task in tasks]
    label_width = min(max(map(display_width, labels)), max(6, width // 3))
    scale = _Scale(moment_of(found["from"]), moment_of(found["until"]), max(_LEAST_CHART, width - label_width - 1))
    lines = [" " * (label_width + 1) + style.paint(scale.draw_times(), "dim")]
    for label, task in zip(labels, tasks, strict=True):
        name = pad_left_aligned(cut_to_width(label, label_width, style.mark), label_width)
        lines.append(f"{name} {_paint_bar(scale.draw_bar(task), task, style)}".rstrip())
    if len(found["tasks"]) > len(tasks):
        lines.append(style.paint(f"+{len(found['tasks']) - len(tasks)} more", "dim"))
    return [*lines, style.paint(cut_to_width(LEGEND, width, style.mark), "dim")]


def _paint_bar(bar: str, task: Document, style: Style) -> str:
    """Coloured by how the task ends; a missed deadline in red. A colour only repeats what a sign says."""
    colour = "red" if task["deadline_missed"] else STATUS_COLOURS.get(task["status"])
    return style.paint(bar, colour) if bar.strip() else bar


class _Scale:
    """Moments to columns: from `began` to `ended`, unix seconds, `width` columns wide."""

    def __init__(self, began: float, ended: float, width: int) -> None:
        self.began = began
        self.width = width
        self.span_s = max(ended - began, 0.001)

    def column(self, at: float) -> int:
        """The column of a moment; what is before or behind the picture falls on its edge."""
        return min(max(int(self._place(at) + EVEN), 0), self.width - 1)

    def _last_column(self, end_at: float) -> int:
        """The last column of what ends then: an end on the border of two belongs to the left one."""
        return min(max(ceil(self._place(end_at) - EVEN) - 1, 0), self.width - 1)

    def _place(self, at: float) -> float:
        return (at - self.began) / self.span_s * self.width

    def draw_times(self) -> str:
        """`+0s       +20s      +40s`, each time above its column."""
        line = ""
        for start in range(0, self.width, _MARKS_EVERY):
            text = f"+{short_span(float(f'{self.span_s * start / self.width:.3g}'))}"
            if start + len(text) <= self.width:
                line = line.ljust(start) + text
        return line

    def draw_bar(self, task: Document) -> str:
        """The line of one task: waiting from its submission, then its attempts; its deadline above all."""
        cells = [BETWEEN] * self.width
        end_at = moment_of(task["finished_at"]) if task["finished_at"] else self.began + self.span_s
        self._fill(cells, moment_of(task["submitted_at"]), end_at, WAITS)
        for run in task["attempts"]:
            until = end_at if run["finished_at"] is None else moment_of(run["finished_at"])
            self._fill(cells, moment_of(run["started_at"]), until, RUNS)
        if task["finished_at"] and task["status"] != "succeeded":
            cells[self._last_column(end_at)] = FAILS
        if task["deadline"] and self.began <= moment_of(task["deadline"]) <= self.began + self.span_s:
            cells[self.column(moment_of(task["deadline"]))] = DEADLINE
        return "".join(cells)

    def _fill(self, cells: list[str], start_at: float, end_at: float, sign: str) -> None:
        """At least one column for what takes any time in the picture."""
        if end_at < self.began or (end_at <= start_at and sign == WAITS):
            return
        first = self.column(start_at)
        for column in range(first, max(self._last_column(end_at), first) + 1):
            cells[column] = sign
