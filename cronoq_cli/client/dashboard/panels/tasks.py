"""The list of tasks: what runs, what waits in its order, what ended, or the part of it that was asked for."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board, Panel, age_task
from cronoq_cli.client.dashboard.columns import head_line, plan_columns, task_line
from cronoq_cli.client.dashboard.lines import Line, fill, rule, safe
from cronoq_cli.commands.render.style import Style

MARK = "*"


def draw_tasks(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading, the names of the columns and the rows on screen."""
    board.rows.resize(board.rows.count, height - 2)
    lines = [rule(_heading(board), board.rows.span, width, style, focused=board.panel is Panel.TASKS)]
    newest = max((task["id"] for task in board.tasks), default=0)
    pools = [len(safe(pool["name"])) for pool in board.pools]
    longest = max(4, *pools) if len(pools) > 1 and board.view.pool is None else 0
    columns = plan_columns(width, newest, longest)
    lines.append(head_line(columns))
    rows = board.rows
    for row in range(rows.top, min(rows.top + rows.height, rows.count)):
        task = board.task_at(row)
        if task is None:
            lines.append(((f"  {style.mark}", "dim"),))
            continue
        here = ">" if row == rows.cursor and board.panel is not Panel.TASKS else " "
        mark = MARK if task["id"] in board.marked else here
        lines.append(task_line(age_task(task, board.fetched_at, style.now), columns, style, mark))
    if not rows.count:
        lines.append(((_nothing(board), "dim"),))
    return fill(lines, width, height, style.mark)


def cursor_line(board: Board) -> int | None:
    """The line of the cursor in the panel, None when it is elsewhere."""
    if board.panel is not Panel.TASKS or not board.rows.count:
        return None
    return board.rows.cursor - board.rows.top + 2


def _heading(board: Board) -> str:
    view = board.view
    parts = [f"Tasks: {view.part}"]
    if view.part == "all" and not view.text:
        parts = ["Tasks: running, next, ended"]
    if view.pool is not None:
        parts.append(f"pool {safe(view.pool)}")
    if view.text:
        parts.append(f"with {safe(view.text)!r}")
    if board.more:
        parts.append(f"{board.more:,} more wait")
    if board.marked:
        parts.append(f"{len(board.marked)} marked")
    return ", ".join(parts)


def _nothing(board: Board) -> str:
    if not board.loaded:
        return "  ..."
    if board.view.text:
        return "  no task has this text in its id, name, key or command; Esc shows all"
    if board.view.part != "all" or board.view.pool is not None:
        return "  no such task; Esc shows all"
    return "  no tasks yet: cronoq submit -- COMMAND"
