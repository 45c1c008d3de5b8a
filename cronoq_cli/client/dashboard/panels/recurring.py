"""The recurring jobs: when each runs next and ran last, in the place of the tasks."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board, Document, Panel
from cronoq_cli.client.dashboard.lines import GAP, Line, Piece, fill, rule, safe
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.schedules import state_of, when_of
from cronoq_cli.commands.render.spans import near_now
from cronoq_cli.commands.render.style import Style, moment_of
from cronoq_cli.commands.render.text import cut_to_width, pad_left_aligned
from cronoq_cli.commands.render.words import command_line

_NEXT, _LAST = 24, 11
_MOST_NAME, _MOST_WHEN = 24, 18
_LEAST_NAME, _LEAST_TASK = 8, 8


def draw_recurring(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading, the names of the columns and the rows on screen."""
    schedules = board.schedules or []
    rows = board.schedule_rows
    rows.resize(len(schedules), height - 2)
    lines = [rule("Recurring", rows.span, width, style, focused=board.panel is Panel.RECURRING)]
    name = min(max((len(safe(one["name"])) for one in schedules), default=4), _MOST_NAME)
    when = min(max((len(safe(when_of(one))) for one in schedules), default=4), _MOST_WHEN)
    room = width - 1 - sum((name, when, _NEXT, _LAST)) - 4 * len(GAP)
    if room < _LEAST_TASK:
        name = max(name + min(room + len(GAP), 0), _LEAST_NAME)
    titles = ["NAME".ljust(name), "WHEN".ljust(when), "NEXT".ljust(_NEXT), "LAST".ljust(_LAST)]
    titles += ["TASK"] if room >= _LEAST_TASK else []
    lines.append(((" " + GAP.join(titles), "head"),))
    if not schedules:
        said = "..." if board.schedules is None else "no recurring jobs yet: cronoq recurring add"
        lines.append((("  " + said, "dim"),))
    shown = schedules[rows.top : rows.top + rows.height]
    lines += [_line(one, (name, when), style, with_task=room >= _LEAST_TASK) for one in shown]
    return fill(lines, width, height, style.mark)


def cursor_line(board: Board) -> int | None:
    """The line of the cursor in the panel, None when it is elsewhere."""
    if board.panel is not Panel.RECURRING or not board.schedules:
        return None
    return board.schedule_rows.cursor - board.schedule_rows.top + 2


def _line(schedule: Document, widths: tuple[int, int], style: Style, *, with_task: bool) -> Line:
    name, when = (
        pad_left_aligned(cut_to_width(text, wide, style.mark), wide)
        for text, wide in zip((safe(schedule["name"]), safe(when_of(schedule))), widths, strict=True)
    )
    text, look = _next(schedule, style)
    pieces: list[Piece] = [(" ", ""), (name, "bold"), (GAP, ""), (when, ""), (GAP, "")]
    pieces += [(pad_left_aligned(cut_to_width(text, _NEXT, style.mark), _NEXT), look), (GAP, "")]
    last = (schedule["last"] or {}).get("status")
    pieces += [
        (pad_left_aligned(style.word(last) if last else "-", _LAST), STATUS_COLOURS.get(last or "", "")),
    ]
    return (*pieces, (GAP, ""), (safe(command_line(schedule)), "dim")) if with_task else tuple(pieces)


def _next(schedule: Document, style: Style) -> tuple[str, str]:
    """`02:30:00, in 3h12m`, or why there is no next run."""
    state, at = state_of(schedule, style), schedule["next"]
    if state != "-" or at is None:
        return safe(state), "yellow"
    return f"{style.local(at)}, {near_now(moment_of(at), style.now)}", "cyan"
