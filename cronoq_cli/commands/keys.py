"""Single keys from the terminal for a short while, as `run` asks for after Ctrl-C. What they mean is the caller's."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable
from typing import Any


class Keys:
    """Hands keys to `on_key`, from a thread of its own, while it watches; leaves the terminal as it found it."""

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] | None = None
        self._descriptor = -1

    def watch(self, for_s: float) -> None:
        """Pass on keys, pressed from now on, for so many seconds. Without a terminal nothing happens."""
        try:
            self._descriptor = sys.stdin.fileno()
            self._before = self._before or termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor, termios.TCSANOW)
        except (AttributeError, OSError, ValueError, termios.error):
            return
        until = time.monotonic() + for_s
        threading.Thread(target=self._read, args=(until,), daemon=True, name="keys").start()

    def stop(self) -> None:
        """Give the terminal back at once, for a process that is about to end."""
        before, self._before = self._before, None
        if before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)

    def _read(self, until: float) -> None:
        try:
            while self._before is not None and (left := until - time.monotonic()) > 0:
                if select.select([self._descriptor], [], [], left)[0]:
                    self._on_key(os.read(self._descriptor, 1).decode("latin-1"))
        except (OSError, termios.error):
            return  # The terminal is gone, and with it whoever could press a key.
        finally:
            self.stop()
