"""The terminal as Textual drives it, with what it gets wrong for us put right: where it writes, how large it is, and
bytes that are no UTF-8.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Draws on standard output, not on standard error, which may go elsewhere."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._file = sys.__stdout__

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size the terminal has: COLUMNS and LINES of the environment would stay as they were when it changes."""
        with contextlib.suppress(OSError, ValueError):
            size = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
            if size.columns and size.lines:
                return size.columns, size.lines
        return 80, 24

    def _run_input_thread(self) -> None:
        """Read keys until the end; a key that is no UTF-8 means nothing and ends nothing."""
        while not self.exit_event.is_set():
            try:
                self.run_input_thread()
            except UnicodeDecodeError:
                continue
            except OSError:  # the terminal is gone; SIGHUP says the same
                return
