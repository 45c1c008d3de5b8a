"""A question before something is changed: what will happen, and y or n."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.widgets import Static

from cronoq_cli.client.dashboard.actions import Proposal
from cronoq_cli.client.dashboard.lines import safe
from cronoq_cli.client.dashboard.screens.box import BoxScreen


class ConfirmScreen(BoxScreen[bool]):
    """True for y alone: Enter may have been meant for what was there before."""

    BINDINGS = [  # noqa: RUF012
        Binding("y,Y", "answer(True)", show=False),
        Binding("n,N,q,escape,ctrl+c", "answer(False)", show=False),
    ]

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
        text = Text(safe(self._proposal.question), style="bold")
        for line in self._proposal.lines:
            text.append("\n" + safe(line), style="not bold")
        text.append("\n\n")
        text.append("y", style="bold reverse")
        text.append(" yes   ", style="not bold")
        text.append("n", style="bold reverse")
        text.append(" no", style="not bold")
        self.show(text)

    def action_answer(self, agreed: bool) -> None:
        """That is the answer."""
        self.dismiss(agreed)
