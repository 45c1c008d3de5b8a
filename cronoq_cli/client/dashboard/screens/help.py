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
        self._read_only = read_only
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
        lines = self._lines()
        page = min(height - 1, len(lines))
        self._rows.resize(max(len(lines) - page + 1, 1), 1)
        first = self._rows.cursor
        rest = len(lines) - first - page
        hint = f"{rest} more lines: Down, PgDn" if rest > 0 else "any other key goes back"
        self.show([*lines[first : first + page], Text(hint, style="dim")])

    def _lines(self) -> list[Text]:
        """The keys by groups, what each does wrapped beside it."""
        groups = list_keys(read_only=self._read_only)
        indent = max(len(key.shown) for _, keys in groups for key in keys) + 3
        lines: list[Text] = []
        for name, keys in groups:
            lines.append(Text(name, style="bold underline"))
            for key in keys:
                first, *others = self.wrap(f"{' ' * indent}{key.does}", "", indent=" " * indent)
                first.plain = f" {key.shown}".ljust(indent) + first.plain[indent:]
                first.stylize("bold", 0, indent)
                lines += [first, *others]
        if self._read_only:
            lines += self.wrap("read-only: the keys that change something are switched off", "italic")
        return lines

    def take_key(self, event: events.Key) -> None:
        """Scroll or leave."""
        page = max(self.room()[1] - 2, 1)
        steps = {**_STEPS, "pageup": -page, "pagedown": page, "space": page, "home": -(10**9), "end": 10**9}
        if event.key in steps:
            self._rows.move(steps[event.key])
            self._show()
        else:
            self.leave(None)
