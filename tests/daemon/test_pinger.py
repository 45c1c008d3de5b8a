"""Pings against a server of the test's own: what is asked for, in which order, tried how often."""

from __future__ import annotations

import asyncio
import http.server
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from cronoq_cli.daemon.pings import Pings
from cronoq_cli.model.ping import Ping


class Service(http.server.ThreadingHTTPServer):
    """Keeps the paths that were asked for; refuses those that `refuse` counts down."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []
        self.refuse = 0
        self.came = threading.Semaphore(0)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Answer(http.server.BaseHTTPRequestHandler):
    """One request."""

    server: Service

    def do_GET(self) -> None:
        """Keep the path and answer."""
        self.server.asked.append(self.path)
        refused = self.server.refuse > 0
        self.server.refuse -= refused
        self.send_response(503 if refused else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.came.release()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  -- the parent's name
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A monitoring service."""
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(*urls: str) -> subprocess.CompletedProcess[str]:
    """The pinger with these URLs."""
    words = [sys.executable, "-P", "-m", "cronoq_cli.daemon.pinger"]
    return subprocess.run(
        words, input="".join(f"{url}\n" for url in urls), text=True, capture_output=True, timeout=60, check=False
    )


def test_all_urls_are_asked_for_once(service: Service) -> None:
    done = ask(f"{service.url}/a/start", f"{service.url}/b?x=1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(service.asked) == ["/a/start", "/b?x=1"]


def test_a_refused_ping_is_tried_again_once_and_then_told(service: Service) -> None:
    service.refuse = 1
    assert ask(f"{service.url}/a").returncode == 0
    assert service.asked == ["/a", "/a"]
    service.refuse = 5
    done = ask(f"{service.url}/b")
    assert (done.returncode, done.stdout) == (1, f"{service.url}/b: HTTP 503 Service Unavailable\n")
    assert service.asked == ["/a", "/a", "/b", "/b"]


def test_only_http_is_spoken_and_a_dead_service_is_told(service: Service) -> None:
    done = ask("file:///etc/passwd", "http://127.0.0.1:1/x")
    assert done.returncode == 1
    assert "file:///etc/passwd: unknown url type: file" in done.stdout
    assert "http://127.0.0.1:1/x: [Errno 111] Connection refused" in done.stdout


def test_pings_of_one_schedule_come_in_their_order_and_hold_up_nothing(service: Service) -> None:
    log = logging.getLogger("test.pings")

    async def main() -> None:
        pings = Pings(log, os.environ)
        before = asyncio.get_running_loop().time()
        pings.send((f"{service.url}/job", ping) for ping in (Ping.START, Ping.FAILURE, Ping.START, Ping.SUCCESS))
        assert asyncio.get_running_loop().time() - before < 0.5
        for _ in range(4):
            assert await asyncio.to_thread(service.came.acquire, timeout=20)
        await pings.close()

    asyncio.run(main())
    assert service.asked == ["/job/start", "/job/fail", "/job/start", "/job"]
