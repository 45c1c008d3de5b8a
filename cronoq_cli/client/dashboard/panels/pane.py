"""The lower part: the output of the selected task as it comes, all that is known of it, or why it waits."""

from __future__ import annotations

from rich.text import Text

from cronoq_cli.client.dashboard.board import Board, Document, Pane, Panel
from cronoq_cli.client.dashboard.lines import Line, fill, rule
from cronoq_cli.commands.outcome import is_final
from cronoq_cli.commands.render.explain import explanation_lines
from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.task import task_lines


def draw_pane(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading and what fits of the text, its end when a log is followed."""
    body = list_body(board, width, style)
    rows = board.pane_rows
    rows.resize(max(len(body) - height + 2, 1), 1)  # the cursor is the first line on screen
    if board.pane is Pane.LOG and board.pane_at_end:
        rows.go(rows.count - 1)
    first = rows.cursor
    shown = body[first : first + height - 1]
    at = f"{first + 1}-{first + len(shown)} of {len(body)}" if len(body) > height - 1 else ""
    if at and board.pane is Pane.LOG and not board.pane_at_end:
        at += ", End follows"
    lines = [rule(_heading(board), at, width, style, focused=board.panel is Panel.PANE), *shown]
    return fill(lines, width, height, style.mark)


def list_body(board: Board, width: int, style: Style) -> list[Line]:
    """Everything there is to show, line by line."""
    chosen = board.chosen
    if chosen.id is None:
        return []
    if chosen.trouble is not None:
        return [((f"  {chosen.trouble}", "red"),)]
    if board.pane is Pane.LOG:
        return _log_body(board, width)
    if board.pane is Pane.DETAILS:
        return [] if chosen.task is None else [_coloured(line) for line in task_lines(chosen.task, style)]
    return (
        [] if chosen.explanation is None else [_coloured(line) for line in explanation_lines(chosen.explanation, style)]
    )


def _log_body(board: Board, width: int) -> list[Line]:
    chosen = board.chosen
    if chosen.log_path is None:
        if chosen.task is None:
            return []
        return [((f"  {_why_no_log(chosen.task)}", "dim"),)]
    if chosen.log.is_empty:
        return [(("  no output yet" if chosen.task and chosen.task["status"] == "running" else "  no output", "dim"),)]
    return [((line, ""),) for line in chosen.log.wrapped(width)]


def _why_no_log(task: Document) -> str:
    if task["attempt"]:
        return "its output is not kept any more"
    return "it never started: no output" if is_final(task) else "not started yet: no output"


def _coloured(line: str) -> Line:
    """A line drawn for a terminal, its colours as looks."""
    text = Text.from_ansi(line)
    pieces = []
    at = 0
    for span in text.spans:
        pieces.append((text.plain[at : span.start], ""))
        pieces.append((text.plain[span.start : span.end], _look(str(span.style))))
        at = span.end
    pieces.append((text.plain[at:], ""))
    return tuple(piece for piece in pieces if piece[0])


def _look(style: str) -> str:
    return style.rsplit(maxsplit=1)[-1] if style else ""


def _heading(board: Board) -> str:
    chosen = board.chosen
    if chosen.id is None:
        return "Log"
    what = {Pane.LOG: "Log", Pane.DETAILS: "Details", Pane.EXPLAIN: "Explanation"}[board.pane]
    if board.pane is Pane.LOG and chosen.task is not None:
        more = ""
        attempts = chosen.task["attempts"]
        if attempts and attempts[-1]["stderr_log"] is not None:
            what, other = ("Stderr", "stdout") if board.wants_stderr else ("Stdout", "stderr")
            more = f" (l: {other})"
        if chosen.task["attempt"] > 1:
            more = f", attempt {chosen.task['attempt']}{more}"
        return f"{what} of task {chosen.id}{more}"
    return f"{what} of task {chosen.id}"
