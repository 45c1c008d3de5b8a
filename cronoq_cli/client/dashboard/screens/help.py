"""All keys on one page, scrolled where it is longer than the screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual import events
from textual.widgets import Static

from cronoq_cli.client.dashboard.keys import list_keys
from cronoq_cli.client.dashboard.screens.box import BoxScreen
from cronoq_cli.client.dashboard.scroll import Scroll

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}


class HelpScreen(BoxScreen[None]):
    """Any other key than the arrows leaves it."""

    def __init__(self, *, read_only: bool, unicode: bool) -> None:
        super().__init__(unicode=unicode)
        self._lines = list(help_lines(read_only=read_only))
        self._rows = Scroll()

    def compose(self) -> Iterator[Static]:
        """The box."""
        yield self._box

    def on_mount(self) -> None:
        """Show the first page."""
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Show what fits."""
        self._show()

    def _show(self) -> None:
        _, height = self.room()
        page = min(height - 1, len(self._lines))
        self._rows.resize(max(len(self._lines) - page + 1, 1), 1)
        first = self._rows.cursor
        text = Text("\n").join(self._lines[first : first + page])
        rest = len(self._lines) - first - page
        text.append(f"\n{rest} more lines: Down, PgDn" if rest > 0 else "\nany other key goes back", style="dim")
        self.show(text)

    def on_key(self, event: events.Key) -> None:
        """Scroll or leave."""
        event.stop()
        page = max(self.room()[1] - 2, 1)
        steps = {**_STEPS, "pageup": -page, "pagedown": page, "space": page, "home": -(10**9), "end": 10**9}
        if event.key in steps:
            self._rows.move(steps[event.key])
            self._show()
        else:
            self.dismiss(None)


def help_lines(*, read_only: bool) -> Iterator[Text]:
    """The keys by groups, a line each."""
    groups = list_keys(read_only=read_only)
    width = max(len(key.shown) for _, keys in groups for key in keys)
    for name, keys in groups:
        yield Text(name, style="bold underline")
        for key in keys:
            line = Text(f" {key.shown.ljust(width)}  ", style="bold")
            line.append(key.does, style="not bold")
            yield line
    if read_only:
        yield Text("read-only: the keys that change something are switched off", style="italic")
