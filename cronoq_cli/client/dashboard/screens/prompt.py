"""A line to type into, at the bottom of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import Input, Label

from cronoq_cli.client.dashboard.lines import safe
from cronoq_cli.client.dashboard.screens.box import OverScreen


class PromptScreen(OverScreen[str]):
    """What was typed, or None; `on_change` hears of every letter."""

    DEFAULT_CSS = """
    PromptScreen { background: transparent; align: left bottom; }
    PromptScreen Horizontal { height: 1; width: 100%; background: ansi_default; }
    PromptScreen Label { width: auto; color: ansi_default; background: ansi_default; text-style: bold; }
    PromptScreen Input {
        width: 1fr; height: 1; border: none; padding: 0; color: ansi_default; background: ansi_default;
    }
    PromptScreen Input:focus { border: none; }
    PromptScreen Input > .input--cursor { text-style: reverse; color: ansi_default; background: ansi_default; }
    PromptScreen Input > .input--placeholder { text-style: dim; color: ansi_default; }
    """
    BINDINGS = [Binding("escape,ctrl+c", "leave", show=False, priority=True)]  # noqa: RUF012

    def __init__(self, label: str, text: str, hint: str, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self._label = label
        self._text = text
        self._hint = hint
        self._on_change = on_change

    def compose(self) -> Iterator[Horizontal]:
        """The line."""
        yield Horizontal(
            Label(safe(self._label), markup=False),
            Input(self._text, placeholder=safe(self._hint), select_on_focus=False),
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell of every letter."""
        if self._on_change is not None:
            self._on_change(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """That is it."""
        self.leave(event.value)

    def action_leave(self) -> None:
        """Nothing of it."""
        self.leave(None)
