"""Stores to run a test on: the contract's tests get each of them in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cronoq_cli.store.contract import Store
from cronoq_cli.store.memory import MemoryBase, MemoryStore
from cronoq_cli.store.sqlite import open_store

Opener = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same store again and again, as several daemons would; none has claimed it."""
    stores: list[Store] = []
    base = MemoryBase()

    def open_one() -> Store:
        if request.param == "memory":
            stores.append(MemoryStore(base))
        else:
            stores.append(open_store(str(tmp_path / "cronoq.db"), synchronous="normal"))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Opener) -> Store:
    """A store whose leader is the test."""
    found = opened()
    found.claim("test", 1000.0)
    return found


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a SQLite store may be made."""
    return str(tmp_path / "cronoq.db")
