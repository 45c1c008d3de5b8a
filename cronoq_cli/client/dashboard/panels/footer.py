"""The last line: what was done or refused last, else the keys that matter most here."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board
from cronoq_cli.client.dashboard.keys import footer_keys
from cronoq_cli.client.dashboard.lines import Line, Piece, fit, safe
from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import display_width


def draw_footer(board: Board, width: int, style: Style) -> Line:
    """The line, `width` columns wide; keys that do not fit are left out whole."""
    if board.message is not None:
        text, look = board.message
        return fit(((safe(text), look),), width, style.mark)
    if board.link.state == "lost" and board.link.trouble is not None:
        return fit(((safe(board.link.trouble), "yellow"),), width, style.mark)
    pieces: list[Piece] = []
    used = 0
    for key, label in footer_keys(board.panel, read_only=board.read_only):
        more = display_width(key) + 1 + display_width(label) + (2 if pieces else 0)
        if used + more > width:
            break
        pieces += [("  " if pieces else "", ""), (key, "key"), (" " + label, "")]
        used += more
    return fit(tuple(pieces), width, style.mark)
