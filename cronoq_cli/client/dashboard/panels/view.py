"""The widget all panels are shown by: it keeps the lines it drew and draws only those anew that differ."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from cronoq_cli.client.dashboard.layout import NOWHERE, Area
from cronoq_cli.client.dashboard.lines import Line
from cronoq_cli.client.dashboard.look import to_strip

Drawn = tuple[list[Line], int | None]
"""Lines, and which of them the cursor is on."""


class PanelView(Widget):
    """A rectangle of lines. `draw` makes them for a width and a height."""

    DEFAULT_CSS = "PanelView { position: absolute; }"

    def __init__(self, draw: Callable[[int, int], Drawn], *, colour: bool, name: str) -> None:
        super().__init__(name=name)
        self._draw = draw
        self._colour = colour
        self._area = NOWHERE
        self.display = False  # until it has a place, or it would cover all others
        self._lines: list[tuple[Line, bool]] = []

    def place(self, area: Area) -> None:
        """Stand in that area from now on."""
        if area == self._area:
            return
        self._area = area
        self.display = area.height > 0 and area.width > 0
        self.styles.offset = (area.x, area.y)
        self.styles.width, self.styles.height = area.width, area.height
        self._lines = []

    def redraw(self) -> None:
        """Draw what differs from what is on screen."""
        area = self._area
        if not self.display or area.height <= 0:
            return
        drawn, cursor = self._draw(area.width, area.height)
        lines = [(line, number == cursor) for number, line in enumerate(drawn)]
        shown, self._lines = self._lines, lines
        if len(shown) != len(lines):
            self.refresh()
            return
        changed = [number for number, line in enumerate(lines) if line != shown[number]]
        if changed:
            self.refresh(*(Region(0, number, area.width, 1) for number in changed))

    def render_line(self, y: int) -> Strip:
        """A line as Textual wants it."""
        if y >= len(self._lines):
            return Strip.blank(self.size.width)
        line, is_cursor = self._lines[y]
        return to_strip(line, self._colour, is_cursor).adjust_cell_length(self.size.width)
