"""One of a few words to choose: arrows and Enter, or the number before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text
from textual import events
from textual.widgets import Static

from cronoq_cli.client.dashboard.lines import safe
from cronoq_cli.client.dashboard.screens.box import BoxScreen
from cronoq_cli.client.dashboard.scroll import Scroll
from cronoq_cli.commands.render.text import cut_to_width

_NUMBERS = "1234567890"
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10, "home": -(10**9), "end": 10**9}


class ChooseScreen(BoxScreen[str]):
    """The chosen word, or None."""

    def __init__(self, question: str, options: Sequence[str], present: str, *, unicode: bool) -> None:
        super().__init__(unicode=unicode)
        self._question = question
        self._options = list(options)
        place = self._options.index(present) if present in self._options else 0
        self._rows = Scroll(count=len(self._options), cursor=place)

    def compose(self) -> Iterator[Static]:
        """The box."""
        yield self._box

    def on_mount(self) -> None:
        """Show the words."""
        self._list()

    def on_resize(self, event: events.Resize) -> None:
        """Show as many as fit."""
        self._list()

    def _list(self) -> None:
        columns, height = self.room()
        self._rows.resize(len(self._options), height - 2)
        lines = [Text(self._question, style="bold")]
        shown = range(self._rows.top, min(self._rows.top + self._rows.height, len(self._options)))
        for place in shown:
            number = _NUMBERS[place] if place < len(_NUMBERS) else " "
            option = cut_to_width(safe(self._options[place]), columns - 4)
            lines.append(Text(f" {number} {option} ", style="reverse" if place == self._rows.cursor else ""))
        self.show([*lines, Text("Enter chooses, Esc leaves it", style="dim")])

    def take_key(self, event: events.Key) -> None:
        """Move, choose or leave."""
        if event.key in _STEPS:
            self._rows.move(_STEPS[event.key])
            self._list()
        elif event.key == "enter":
            self.leave(self._options[self._rows.cursor])
        elif event.key in ("escape", "q", "ctrl+c"):
            self.leave(None)
        elif event.character and event.character in _NUMBERS[: len(self._options)]:
            self.leave(self._options[_NUMBERS.index(event.character)])
