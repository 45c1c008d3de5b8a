"""What the daemon tells a service manager, received by a datagram listener of our own."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronoq_cli.daemon.systemd import Notifier

PATIENCE_S = 20.0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(PATIENCE_S)
        yield listener


def notifier(manager: socket.socket, **more: str) -> Notifier:
    return Notifier({"NOTIFY_SOCKET": manager.getsockname(), **more})


def test_readiness_reloading_and_stopping_are_told(manager: socket.socket) -> None:
    one = notifier(manager)
    one.tell_ready("running")
    assert manager.recv(4096).decode() == f"READY=1\nMAINPID={os.getpid()}\nSTATUS=running"
    one.tell_reloading()
    first, second = manager.recv(4096).decode().split("\n")
    assert first == "RELOADING=1"
    assert int(second.removeprefix("MONOTONIC_USEC=")) > 0
    one.tell_stopping(50)
    assert manager.recv(4096).decode() == "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=50000000"


def test_an_abstract_address_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0cronoq-test-{os.getpid()}")
        listener.settimeout(PATIENCE_S)
        Notifier({"NOTIFY_SOCKET": f"@cronoq-test-{os.getpid()}"}).tell("READY=1")
        assert listener.recv(100) == b"READY=1"


def test_the_variables_are_taken_away_so_that_no_child_speaks_in_our_name(manager: socket.socket) -> None:
    env = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1", "PATH": "/bin"}
    Notifier(env)
    assert env == {"PATH": "/bin"}


def test_the_watchdog_is_fed_as_long_as_the_loop_turns(manager: socket.socket) -> None:
    manager.setblocking(False)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        one = notifier(manager, WATCHDOG_USEC="10000", WATCHDOG_PID=str(os.getpid()))
        one.watch(loop)
        for _ in range(3):
            assert await asyncio.wait_for(loop.sock_recv(manager, 100), PATIENCE_S) == b"WATCHDOG=1"
        one.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "env", [{}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}]
)
def test_without_a_watchdog_meant_for_us_nothing_is_said(manager: socket.socket, env: dict[str, str]) -> None:
    async def run() -> None:
        notifier(manager, **env).watch(asyncio.get_running_loop())

    asyncio.run(run())
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(100)


def test_without_a_manager_or_with_one_that_is_gone_nothing_happens(tmp_path: Path) -> None:
    Notifier().tell_ready("running")
    Notifier({"NOTIFY_SOCKET": "nonsense"}).tell_ready("running")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).tell_stopping(None)


def test_a_manager_that_does_not_read_does_not_hold_us_up(manager: socket.socket) -> None:
    one = notifier(manager)
    for _ in range(10_000):
        one.tell("STATUS=" + "x" * 1000)
