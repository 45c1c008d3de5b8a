"""Fixtures: a runner for each test, gone afterwards with all its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.driver import Runner, running


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A connected runner whose lane `default` has four slots; it must not have complained at the end."""
    with running(tmp_path) as started:
        assert started.ready == b"ready\n"
        started.connect(default=4)
        yield started
        assert started.read_trouble() == ""
