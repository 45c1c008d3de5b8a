"""The queue of hooks: what is kept for later, dropped beyond the bound, and forgotten once it is told."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from cronoq_cli.config.hooks import HookSettings
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon import notices
from cronoq_cli.daemon.notices import HookTeller
from cronoq_cli.model.notice import Notice, Told


class Shelf:
    """Stands where the scheduler is: has the notices of an earlier daemon, and keeps which are dropped."""

    def __init__(self, left: list[Notice]) -> None:
        self.store = SimpleNamespace(list_notices=lambda: left)
        self.refusing: Exception | None = None
        self.on_notices: Any = None
        self.dropped: list[str] = []
        self.engine = SimpleNamespace(state=SimpleNamespace(schedules=SimpleNamespace(by_name={})))

    def looking(self) -> AbstractContextManager[None]:
        """Nothing waits for a commit."""
        return nullcontext()

    def add_rows(self, notices: dict[str, None]) -> None:
        """Keep which notices are to go."""
        self.dropped += notices


def notice(name: str) -> Notice:
    return Notice(id=name, told=Told.FAILURE, at=0.0, pool="default")


def make(left: list[Notice], **settings: Any) -> tuple[Shelf, HookTeller]:
    """A teller with what an earlier daemon left, on a shelf."""
    shelf = Shelf(left)
    desk: Any = SimpleNamespace(scheduler=shelf, settings=Settings(**settings), paths=SimpleNamespace(home=None))
    return shelf, HookTeller(desk, logging.getLogger("test.notices"), {})


def test_beyond_the_bound_notices_are_dropped_with_a_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notices, "MOST_QUEUED", 2)
    shelf, _ = make([notice("left")], hooks=HookSettings(on_failure="tell"))
    shelf.on_notices([notice("a"), notice("b"), notice("c")])
    assert shelf.dropped == ["b", "c"]
    assert [line.message for line in caplog.records] == [f"{name}: dropped, 2 notices wait already" for name in "bc"]


def test_what_nobody_wants_to_be_told_any_more_is_forgotten_when_the_disk_takes_it() -> None:
    shelf, teller = make([notice("left")])
    shelf.refusing = OSError("no space")
    teller.start()
    assert shelf.dropped == []
    shelf.refusing = None
    shelf.on_notices([notice("new")])
    assert shelf.dropped == ["left", "new"]


def test_hooks_of_a_pool_come_before_those_for_all_each_by_itself() -> None:
    pools = {"net": PoolSettings(hooks=HookSettings(on_failure=["page"], timeout_s=5))}
    settings = Settings(pools=pools, hooks=HookSettings(on_failure="mail", on_late="note"))
    net, usual = settings.find_hooks("net"), settings.find_hooks("default")
    assert (net.on_failure, net.on_late, net.timeout_s) == (["page"], "note", 5)
    assert (usual.on_failure, usual.told) == ("mail", {Told.FAILURE, Told.LATE})
