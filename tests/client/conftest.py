"""A home whose daemon is the small one of `fake_daemon`; whatever is started there ends with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronoq_cli.client import launch
from cronoq_cli.config.paths import Paths
from tests.client.harness import FAKE_DAEMON, Client


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    def build_command(paths: Paths, *options: str) -> list[str]:
        return [sys.executable, str(FAKE_DAEMON), "--home", str(paths.home), *options]

    monkeypatch.setattr(launch, "build_command", build_command)
    yield tmp_path / "home"
    while Client.made:
        Client.made.pop().gateway.close()
    for pid, _ in Client(tmp_path / "home").starts:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def client(home: Path) -> Client:
    return Client(home)
