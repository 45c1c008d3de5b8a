"""The dashboard as a program: one board, one controller, one main screen; how it begins and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.worker import WorkerFailed

from cronoq_cli.client.dashboard.board import Board
from cronoq_cli.client.dashboard.controller import Controller
from cronoq_cli.client.dashboard.driver import TerminalDriver
from cronoq_cli.client.dashboard.feed import Feed, Watching
from cronoq_cli.client.dashboard.screens.box import OverScreen
from cronoq_cli.client.dashboard.screens.main import MainScreen
from cronoq_cli.commands.context import Gateway
from cronoq_cli.commands.render.style import Style
from cronoq_cli.errors import ExitStatus

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Dashboard(App[int]):
    """The dashboard. `style`: how the terminal wants it, but for width and time."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "MainScreen { background: ansi_default; color: ansi_default; overflow: hidden; }"

    def __init__(
        self,
        gateway: Gateway,
        watch: Watching,
        style: Style,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver)
        self.theme = "ansi-dark"
        self.board = Board(read_only=read_only)
        self._gateway = gateway
        self._watch = watch
        self._style = style
        self._clock = clock
        self._main: MainScreen | None = None
        self.crash: BaseException | None = None
        """A defect of ours, to be raised when the terminal is as it was."""
        self.controller = Controller(self.board, clock, self._redraw_soon)

    def on_mount(self) -> None:
        """Show the main screen and begin to listen."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end_by, number)
        self._main = MainScreen(self.board, self.controller, self.style)
        self.push_screen(self._main)
        feed = Feed(
            self._gateway, self._watch, on_events=self.controller.note_events, on_link=self.controller.note_link
        )
        self.run_worker(self.controller.run(feed), exit_on_error=True)

    async def on_event(self, event: events.Event) -> None:
        """Give keys to the screen that is in front right then, one after the other.

        Textual's own way hands them over before it is known what the one before has brought to the front: of `/ready`
        typed over a slow line `r` would be the key to retry.
        """
        screen = self.screen if isinstance(event, events.Key | events.Paste) and self.screen_stack else None
        if not isinstance(screen, MainScreen | OverScreen):
            await super().on_event(event)
        elif isinstance(event, events.Key):
            screen.take_key(event)
        elif isinstance(event, events.Paste):
            screen.take_paste(event.text)

    def style(self, width: int) -> Style:
        """How lines of this width are to look now."""
        return replace(self._style, columns=width, now=self._clock())

    def _handle_exception(self, error: Exception) -> None:
        """End in order: a page of traceback helps nobody; `client/main` tells it in one line."""
        while isinstance(error, ExceptionGroup | WorkerFailed):
            error = error.error if isinstance(error, WorkerFailed) else error.exceptions[0]  # type: ignore[assignment]
        self.crash = self.crash or error
        self.exit(ExitStatus.INTERNAL)

    def _redraw_soon(self) -> None:
        if self._main is not None and self._main.is_mounted:
            self._main.request_redraw()

    def _end_by(self, number: signal.Signals) -> None:
        """End as a program ends by this signal, but with the terminal as it was."""
        self.exit(128 + number)


def run_dashboard(gateway: Gateway, watch: Watching, style: Style, *, read_only: bool) -> int:
    """Show the dashboard until it is left; the exit status."""
    # Textual goes by this variable alone; what the caller wants may have been said otherwise.
    if style.colour:
        os.environ.pop("NO_COLOR", None)
    else:
        os.environ["NO_COLOR"] = "1"
    dashboard = Dashboard(gateway, watch, style, read_only=read_only, driver=TerminalDriver)
    status = dashboard.run(mouse=False)
    if dashboard.crash is not None:
        raise dashboard.crash
    return int(status or 0)
