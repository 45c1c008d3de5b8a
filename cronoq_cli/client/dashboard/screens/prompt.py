"""A line to type into, at the bottom of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text
from textual import events
from textual.widgets import Static

from cronoq_cli.client.dashboard.lines import safe
from cronoq_cli.client.dashboard.screens.box import OverScreen
from cronoq_cli.client.dashboard.typed import Typed
from cronoq_cli.commands.render.text import display_width


class PromptScreen(OverScreen[str]):
    """What was typed, or None; `on_change` hears of every letter. `hint` is shown while there is none."""

    DEFAULT_CSS = """
    PromptScreen { background: transparent; align: left bottom; }
    PromptScreen > Static { width: 100%; height: 1; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, label: str, text: str, hint: str, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self._label = safe(label)
        self._typed = Typed(text, len(text))
        self._hint = safe(hint)
        self._on_change = on_change
        self._line = Static("", markup=False)

    def compose(self) -> Iterator[Static]:
        """The line."""
        yield self._line

    def on_mount(self) -> None:
        """Show what there is to begin with."""
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Show it in the new width."""
        self._show()

    def take_key(self, event: events.Key) -> None:
        """Type, edit, or leave."""
        if event.key == "enter":
            self.leave(self._typed.text)
        elif event.key in ("escape", "ctrl+c"):
            self.leave(None)
        elif self._typed.edit(event.key):
            self._tell()
        elif event.is_printable and event.character:
            self._typed.insert(event.character)
            self._tell()

    def take_paste(self, text: str) -> None:
        """Put the first pasted line in."""
        self._typed.insert(next(iter(text.splitlines()), ""))
        self._tell()

    def _tell(self) -> None:
        self._show()
        if self._on_change is not None:
            self._on_change(self._typed.text)

    def _show(self) -> None:
        """The part of the line around the cursor that fits."""
        before, behind = safe(self._typed.text[: self._typed.at]), self._typed.text[self._typed.at :]
        room = max(self.app.size.width - display_width(self._label) - 1, 1)
        while display_width(before) > room:
            before = before[1:]
        under, rest = safe(behind[:1]) or " ", safe(behind[1:])
        text = Text.assemble((self._label, "bold"), before, (under, "reverse"), rest)
        if not self._typed.text:
            text.append(" " + self._hint, style="dim")
        text.no_wrap = True
        self._line.update(text)
