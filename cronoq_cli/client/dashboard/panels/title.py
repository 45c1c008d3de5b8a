"""The first line: how it stands with the daemon, how many tasks stand where, and the time."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board, Link
from cronoq_cli.client.dashboard.lines import Line, Piece, fit
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import display_width
from cronoq_cli.model.moment import format_local

_ORDER = ("running", "ready", "retrying", "scheduled", "blocked")


def draw_title(board: Board, width: int, style: Style) -> Line:
    """The line, `width` columns wide."""
    clock = format_local(float(int(style.now)), style.zone, now=style.now)
    left: list[Piece] = [("cronoq", "bold")]
    if board.read_only:
        left.append((" read-only", "yellow"))
    left += [("  ", ""), *_state(board.link, style)]
    if board.loaded and board.link.state != "lost":
        left += _counts(board)
    room = max(width - display_width(clock) - 1, 0)
    return fit((*fit(tuple(left), room, style.mark), (" ", ""), (clock, "")), width, style.mark)


def _state(link: Link, style: Style) -> list[Piece]:
    if link.state == "up":
        return []
    if link.state == "connecting":
        return [("connecting to the daemon ", "yellow")]
    away = "" if link.since is None else f" for {short_span(float(int(max(style.now - link.since, 0))))}"
    return [(f"no daemon{away}", "alarm"), ("  what was known last is shown; looking for it", "")]


def _counts(board: Board) -> list[Piece]:
    """`2 running, 57 ready`; a number that is 0 is left out."""
    pieces: list[Piece] = []
    for word in _ORDER:
        count = board.summary.get(word, 0)
        if count:
            pieces += [(", " if pieces else "", ""), (f"{count:,}", "bold"), (" ", ""), (word, STATUS_COLOURS[word])]
    return pieces or [("nothing to do", "dim")]
