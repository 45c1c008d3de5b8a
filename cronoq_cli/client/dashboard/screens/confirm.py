"""A question before something is changed: what will happen, and y or n."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual import events
from textual.widgets import Static

from cronoq_cli.client.dashboard.actions import Proposal
from cronoq_cli.client.dashboard.screens.box import BoxScreen


class ConfirmScreen(BoxScreen[bool]):
    """True for y alone: Enter may have been meant for what was there before."""

    def __init__(self, proposal: Proposal, *, unicode: bool) -> None:
        super().__init__(unicode=unicode)
        self._proposal = proposal

    def compose(self) -> Iterator[Static]:
        """The box."""
        yield self._box

    def on_mount(self) -> None:
        """Ask."""
        self._ask()

    def on_resize(self, event: events.Resize) -> None:
        """Ask in the new width."""
        self._ask()

    def _ask(self) -> None:
        lines = self.wrap(self._proposal.question, "bold")
        for line in self._proposal.lines:
            lines += self.wrap(line, "", indent="  ")
        answers = Text.assemble((" y ", "bold reverse"), " yes   ", (" n ", "bold reverse"), " no")
        self.show([*lines, Text(), answers])

    def take_key(self, event: events.Key) -> None:
        """Yes, no, or nothing."""
        if event.key in ("y", "Y"):
            self.leave(True)
        elif event.key in ("n", "N", "q", "escape", "ctrl+c"):
            self.leave(False)
