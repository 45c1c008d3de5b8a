"""The end of a log as lines for a terminal: bytes in, escaped text out. Pure.

A carriage return begins its line anew, as on a terminal, so that a progress bar is seen in its last state; everything
else a terminal would obey is shown.
"""

from __future__ import annotations

from collections import deque

from cronoq_cli.commands.render.text import escape_for_terminal, wrap_to_width

MOST_LINES = 2000
MOST_LINE = 4000
"""Characters of one line that are kept, its end."""
_TAB = 8


class LogText:
    """The last lines of what was fed."""

    def __init__(self, most: int = MOST_LINES) -> None:
        self._lines: deque[str] = deque(maxlen=most)
        self._open = b""
        self._wrapped: tuple[int, list[str]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing came yet."""
        return not self._lines and not self._open

    def clear(self) -> None:
        """Forget everything."""
        self._lines.clear()
        self._open = b""
        self._wrapped = None

    def feed(self, piece: bytes) -> None:
        """Add what came next."""
        if not piece:
            return
        *ended, self._open = (self._open + piece).split(b"\n")
        self._lines.extend(map(_shown, ended[-(self._lines.maxlen or 0) :]))
        # A progress bar without newlines must not grow for ever: what was drawn over is dropped.
        last = self._open.rstrip(b"\r").rfind(b"\r")
        if last > 0:
            self._open = self._open[last:]
        self._open = self._open[-4 * MOST_LINE :]
        self._wrapped = None

    def lines(self) -> list[str]:
        """The lines, the last one perhaps not at its end yet."""
        return [*self._lines, _shown(self._open)] if self._open else list(self._lines)

    def wrapped(self, width: int) -> list[str]:
        """The lines broken at `width` columns, nothing lost."""
        if self._wrapped is None or self._wrapped[0] != width:
            lines = [part for line in self.lines() for part in wrap_to_width(line, width)]
            self._wrapped = width, lines
        return self._wrapped[1]


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "surrogateescape")[-MOST_LINE:]
    return escape_for_terminal(text.expandtabs(_TAB))
