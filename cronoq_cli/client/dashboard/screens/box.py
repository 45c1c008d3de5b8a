"""What all boxes over the main screen have in common: where they stand, their frame, and text that is only text."""

from __future__ import annotations

from typing import TypeVar

from rich.text import Text
from textual.screen import ModalScreen
from textual.widgets import Static

T = TypeVar("T")


class BoxScreen(ModalScreen[T]):
    """A framed box in the middle of the screen."""

    DEFAULT_CSS = """
    BoxScreen { align: center middle; background: transparent; }
    BoxScreen > Static {
        width: auto; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
        background: ansi_default; color: ansi_default; border: round ansi_default;
    }
    BoxScreen > Static.ascii { border: ascii ansi_default; }
    """

    def __init__(self, *, unicode: bool) -> None:
        super().__init__()
        self._box = Static("", classes="" if unicode else "ascii", markup=False)

    def room(self) -> tuple[int, int]:
        """Columns and lines of text that fit."""
        size = self.app.size
        return max(size.width - 4, 10), max(size.height - 2, 3)

    def show(self, text: Text) -> None:
        """Show this text; lines that are too long are cut."""
        columns, _ = self.room()
        text.no_wrap = True
        text.overflow = "ellipsis"
        lines = text.split("\n", allow_blank=True)
        for line in lines:
            line.truncate(columns, overflow="ellipsis")
        self._box.update(Text("\n").join(lines))
