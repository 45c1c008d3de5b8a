"""Settings that hold for all tests: property tests have no deadline, since a loaded machine is no fault."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("cronoq", deadline=None)
settings.load_profile("cronoq")

# The tests start hundreds of Python processes: without compiled modules each would take several times as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--commit`: where the daemons of the acceptance tests make their commits, by their configuration."""
    parser.addoption("--commit", choices=["auto", "loop", "thread"], default="auto")
