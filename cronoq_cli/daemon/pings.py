"""Pings: URLs asked for when occurrences start and end, in a process of their own, many at once, told at most once.

A ping that a crash swallows is not sent again: the service that waits for it tells of its absence, which is its duty.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Iterable, Mapping

from cronoq_cli.daemon.hook_process import Done, HookCall, HookEnd, HookProcesses
from cronoq_cli.daemon.notices import KEPT_VARIABLES
from cronoq_cli.model.ping import Ping, ping_url

MOST_AT_ONCE = 4
MOST_IN_ONE = 64
"""URLs that one process asks for: its start costs more than they do."""
MOST_QUEUED = 10_000
LIMIT_S = 25.0
"""For a process: two tries of ten seconds each, and its own start."""
CLOSE_WITHIN_S = 2.0
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class Pings:
    """Sends the pings of one daemon."""

    def __init__(self, log: logging.Logger, environ: Mapping[str, str]) -> None:
        self._log = log
        kept = (*KEPT_VARIABLES, *PROXIES, *CERTIFICATES, "PYTHONPATH")
        self._env = {name: environ[name] for name in kept if name in environ}
        self._processes = HookProcesses(MOST_AT_ONCE)
        self._waiting: dict[str, deque[Ping]] = {}
        self._under_way: set[str] = set()
        self._count = 0
        self._closed = False

    def send(self, pings: Iterable[tuple[str, Ping]]) -> None:
        """Tell each base URL what happened, soon; never waits. One after the other for each: the order counts."""
        for base, ping in pings:
            if self._count >= MOST_QUEUED:
                self._log.warning("ping %s: dropped, %d wait already", ping_url(base, ping), MOST_QUEUED)
                continue
            self._waiting.setdefault(base, deque()).append(ping)
            self._count += 1
        self._go_on()

    def _go_on(self) -> None:
        while self._processes.has_room and not self._closed and (urls := self._take()):
            self._processes.start(self._build(list(urls.values())), self._finisher(urls))

    def _take(self) -> dict[str, str]:
        """The next URL of each base that none is under way for, some of them, by base."""
        bases = [base for base in self._waiting if base not in self._under_way][:MOST_IN_ONE]
        urls = {}
        for base in bases:
            urls[base] = ping_url(base, self._waiting[base].popleft())
            if not self._waiting[base]:
                del self._waiting[base]
        self._count -= len(urls)
        self._under_way.update(urls)
        return urls

    def _build(self, urls: list[str]) -> HookCall:
        return HookCall(
            argv=[sys.executable, "-P", "-m", "cronoq_cli.daemon.pinger"],
            env=self._env,
            cwd="/",
            payload="".join(f"{url}\n" for url in urls).encode(),
            timeout_s=LIMIT_S,
        )

    def _finisher(self, urls: dict[str, str]) -> Done:
        def finish(end: HookEnd) -> None:
            self._under_way.difference_update(urls)
            self._note(list(urls.values()), end)
            self._go_on()

        return finish

    def _note(self, urls: list[str], end: HookEnd) -> None:
        for line in end.output.decode("utf-8", "backslashreplace").splitlines():
            self._log.warning("ping %s", line)
        what = urls[0] if len(urls) == 1 else f"{urls[0]} and {len(urls) - 1} more"
        if end.error is not None:
            self._log.warning("ping %s: not sent: %s", what, end.error)
        elif end.timed_out or end.cut_short:
            self._log.warning("ping %s: given up after %.1f s", what, end.run_s)
        elif end.is_good:
            self._log.info("ping %s: sent in %.1f s", what, end.run_s)

    async def close(self) -> None:
        """Send no more, wait a moment for those under way."""
        self._closed = True
        await self._processes.close(CLOSE_WITHIN_S)
