"""What the daemon tells a service manager (sd_notify(3)): readiness, reloading, stopping, and that it is alive.

Without a manager that listens, nothing happens. The unit itself is written by client/unit.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import MutableMapping

log = logging.getLogger(__name__)

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notifier:
    """Tells the service manager that started this process. Its variables are taken out of `env`: what the daemon
    starts must not speak in its name."""

    def __init__(self, env: MutableMapping[str, str] | None = None) -> None:
        found = {name: env.pop(name, "") for name in _VARIABLES} if env is not None else {}
        address = found.get("NOTIFY_SOCKET", "")
        self._address = address if address[:1] in ("/", "@") else ""
        self._watchdog_s = _read_watchdog(found)
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, *assignments: str) -> None:
        """Send assignments such as `READY=1` in one message."""
        if not self._address:
            return
        raw = os.fsencode(self._address)
        if raw.startswith(b"@"):
            raw = b"\0" + raw[1:]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)  # a manager that does not read must not hold up the loop
                sender.connect(raw)
                sender.send("\n".join(assignments).encode("utf-8", "replace"))
        except OSError as error:
            log.warning("systemd could not be told %s: %s", assignments[0], error.strerror)

    def tell_ready(self, status: str) -> None:
        """The start is over, or a reload."""
        self.tell("READY=1", f"MAINPID={os.getpid()}", f"STATUS={status}")

    def tell_reloading(self) -> None:
        """The configuration is being read anew; `tell_ready` ends that."""
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def tell_stopping(self, within_s: float | None) -> None:
        """The end has begun, and may take `within_s` seconds."""
        more = [] if within_s is None else [f"EXTEND_TIMEOUT_USEC={int(within_s * 1e6)}"]
        self.tell("STOPPING=1", "STATUS=stopping", *more)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say from now on that the loop turns, twice as often as the manager wants to hear it; else never."""
        if self._watchdog_s is None or not self._address:
            return
        self.tell("WATCHDOG=1")
        self._timer = loop.call_later(self._watchdog_s / 2, self.watch, loop)

    def close(self) -> None:
        """Say nothing more by itself."""
        if self._timer is not None:
            self._timer.cancel()


def _read_watchdog(found: MutableMapping[str, str]) -> float | None:
    """Seconds within which the manager wants to hear of this process (sd_watchdog_enabled(3)); None: never."""
    interval, pid = found.get("WATCHDOG_USEC", ""), found.get("WATCHDOG_PID", "")
    if not interval.isdecimal() or int(interval) == 0 or (pid and pid != str(os.getpid())):
        return None
    return int(interval) / 1e6
