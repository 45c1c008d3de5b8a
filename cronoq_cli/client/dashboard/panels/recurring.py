"""The recurring jobs: when each runs next and ran last, in the place of the tasks."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board, Document, Panel
from cronoq_cli.client.dashboard.lines import GAP, Line, Piece, fill, rule, safe
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.style import Style, moment_of
from cronoq_cli.commands.render.text import cut_to_width, pad_left_aligned
from cronoq_cli.commands.render.words import command_line

_NEXT = 25
_MOST_NAME, _MOST_WHEN = 24, 18


def draw_recurring(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading, the names of the columns and the rows on screen."""
    schedules = board.schedules or []
    rows = board.schedule_rows
    rows.resize(len(schedules), height - 2)
    lines = [rule("Recurring", rows.span, width, style, focused=board.panel is Panel.RECURRING)]
    name = min(max((len(safe(one["name"])) for one in schedules), default=4), _MOST_NAME)
    when = min(max((len(when_of(one)) for one in schedules), default=4), _MOST_WHEN)
    titles = ["NAME".ljust(name), "WHEN".ljust(when), "NEXT".ljust(_NEXT), "TASK"]
    lines.append(((" " + GAP.join(titles), "head"),))
    if not schedules:
        said = "this daemon does not tell of recurring jobs" if board.schedules is None else "no recurring jobs"
        lines.append((("  " + said, "dim"),))
    lines += [_line(one, (name, when), style) for one in schedules[rows.top : rows.top + rows.height]]
    return fill(lines, width, height, style.mark)


def cursor_line(board: Board) -> int | None:
    """The line of the cursor in the panel, None when it is elsewhere."""
    if board.panel is not Panel.RECURRING or not board.schedules:
        return None
    return board.schedule_rows.cursor - board.schedule_rows.top + 2


def when_of(schedule: Document) -> str:
    """The expression, or `every 10m`."""
    every = schedule.get("every")
    if every is None:
        return safe(schedule.get("expr") or "")
    return f"every {short_span(float(every)) if isinstance(every, int | float) else safe(every)}"


def _line(schedule: Document, widths: tuple[int, int], style: Style) -> Line:
    name, when = (
        pad_left_aligned(cut_to_width(text, wide, style.mark), wide)
        for text, wide in zip((safe(schedule["name"]), when_of(schedule)), widths, strict=True)
    )
    text, look = _next(schedule, style)
    pieces: list[Piece] = [(" ", ""), (name, "bold"), (GAP, ""), (when, ""), (GAP, "")]
    pieces += [(pad_left_aligned(cut_to_width(text, _NEXT, style.mark), _NEXT), look), (GAP, "")]
    return (*pieces, (safe(command_line(schedule)), "dim"))


def _next(schedule: Document, style: Style) -> tuple[str, str]:
    """`02:30:00, in 3h12m`."""
    if schedule.get("paused"):
        return "paused", "yellow"
    at = schedule.get("next")
    if at is None:
        return "never again", "dim"
    return f"{style.local(at)}, {near_now(moment_of(at), style.now)}", "cyan"
