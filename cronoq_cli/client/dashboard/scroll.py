"""Where one is in a list: the row of the cursor and the first row on screen. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Scroll:
    """A cursor among `count` rows of which `height` fit on screen from `top` on."""

    count: int = 0
    height: int = 1
    cursor: int = 0
    top: int = 0

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self.go(self.cursor + rows)

    def go(self, row: int) -> None:
        """Put the cursor on a row; the screen follows it."""
        self.cursor = max(0, min(row, self.count - 1))
        self.settle()

    def resize(self, count: int, height: int) -> None:
        """So many rows, and so many fit."""
        self.count, self.height = count, max(height, 1)
        self.go(self.cursor)

    def settle(self) -> None:
        """Make `top` so that the cursor is on screen and no room is wasted."""
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.cursor >= self.top + self.height:
            self.top = self.cursor - self.height + 1
        self.top = max(0, min(self.top, self.count - self.height))

    @property
    def span(self) -> str:
        """`1-8 of 64`, or nothing when all is on screen."""
        if self.count <= self.height:
            return ""
        return f"{self.top + 1}-{min(self.top + self.height, self.count)} of {self.count}"
