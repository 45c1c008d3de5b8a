"""Settings that hold for all tests: property tests have no deadline, since a loaded machine is no fault."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("cronoq", deadline=None)
settings.load_profile("cronoq")

# The tests start hundreds of Python processes: without compiled modules each would take several times as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

TESTS = Path(__file__).parent
LONG = ("simulation", "faults", "acceptance", "fuzz", "client")
"""Where the files are whose tests take long: with them first, two workers end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of long tests first, else in the order they were found."""
    places = {TESTS / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: min((places[one] for one in item.path.parents if one in places), default=len(LONG)))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How the daemons of the acceptance tests are configured: where they make their commits, what they give ahead."""
    parser.addoption("--commit", choices=["auto", "loop", "thread"], default="auto")
    parser.addoption("--leases", choices=["auto", "never", "always"], default="auto")
