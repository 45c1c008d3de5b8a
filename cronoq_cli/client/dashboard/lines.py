"""Lines as panels make them: pieces of text with the name of a look, cut and filled to an exact width. Pure.

What a look means on a terminal stands in `look`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import cut_to_width, display_width, escape_for_terminal

Piece = tuple[str, str]
"""A text without control characters, and the name of its look ("" for none)."""
Line = tuple[Piece, ...]

GAP = "  "


def safe(text: object) -> str:
    """Any text made harmless for a terminal, on one line."""
    return escape_for_terminal(str(text))


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(text for text, _ in line)


def fit(line: Line, width: int, mark: str = "…") -> Line:
    """The line cut or filled with blanks to exactly `width` columns."""
    fitted: list[Piece] = []
    left = width
    for text, look in line:
        wide = display_width(text)
        if wide > left:
            cut = cut_to_width(text, left, mark)
            fitted.append((cut, look))
            left -= display_width(cut)
            break
        fitted.append((text, look))
        left -= wide
    if left > 0:
        fitted.append((" " * left, ""))
    return tuple(fitted)


def fill(lines: Iterable[Line], width: int, height: int, mark: str = "…") -> list[Line]:
    """Exactly `height` lines of exactly `width` columns."""
    fitted = [fit(line, width, mark) for line in lines][:height]
    return fitted + [((" " * width, ""),)] * (height - len(fitted))


def rule(title: str, right: str, width: int, style: Style, *, focused: bool) -> Line:
    """The heading of a panel: a rule with a title in it, and what is to be said at its right end."""
    stroke = "─" if style.unicode else "-"
    look = "focus" if focused else "title"
    right = f" {right} " if right else ""
    title = cut_to_width(f" {title} ", max(width - display_width(right) - 3, 4), style.mark)
    between = max(width - 2 - display_width(title) - display_width(right), 0)
    line: Line = ((stroke * 2, "rule"), (title, look), (stroke * between, "rule"), (right, "dim"))
    return fit(line, width, style.mark)
