"""What all boxes over the main screen have in common: where they stand, their frame, and text that is only text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rich.text import Text
from textual import events
from textual.screen import ModalScreen
from textual.widgets import Static

from cronoq_cli.client.dashboard.lines import safe
from cronoq_cli.commands.render.text import wrap_to_width

T = TypeVar("T")


class OverScreen(ModalScreen[T]):
    """Something over the main screen that is left with an answer, once."""

    _is_left = False

    def take_key(self, event: events.Key) -> None:
        """Do what a key means here: without anything better, leave."""
        self.leave(None)

    def take_paste(self, text: str) -> None:
        """Take text that was pasted; it is no key."""

    def leave(self, answer: T | None) -> None:
        """Go, with this answer. Keys that were pressed before it is gone must not take away what is below, too."""
        if not self._is_left:
            self._is_left = True
            self.dismiss(answer)


class BoxScreen(OverScreen[T]):
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

    def wrap(self, text: str, style: str, *, indent: str = "") -> list[Text]:
        """The text made harmless, in lines that fit; all but the first begin with the indent."""
        columns, _ = self.room()
        first, *others = wrap_to_width(safe(text), max(columns - len(indent), 10))
        return [Text(first, style=style), *(Text(indent + part, style=style) for part in others)]

    def show(self, lines: Sequence[Text]) -> None:
        """Show these lines, as many as fit: the last ones, the answers, in any case."""
        _, height = self.room()
        if len(lines) > height:
            lines = [*lines[: height - 2], *lines[-2:]] if height > 2 else lines[-height:]
        text = Text("\n").join(lines)
        text.no_wrap = True
        self._box.update(text)
