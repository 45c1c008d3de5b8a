"""The dashboard driven by keys, on a screen in memory, with a daemon made of documents."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cronoq_cli.client.dashboard import controller, feed
from cronoq_cli.client.dashboard.app import Dashboard
from cronoq_cli.client.dashboard.lines import plain
from cronoq_cli.client.dashboard.panels.view import PanelView
from cronoq_cli.client.dashboard.screens.main import MainScreen
from cronoq_cli.errors import ConflictError, NoDaemonError
from cronoq_cli.wire.requests import Cancel, Explain, Hold, PausePool, Retry, ScalePool, ShowWindow
from tests.client.dashboard.documents import NOW, STYLE, FakeDaemon, make_event, make_task

Test = Callable[["Seat"], Awaitable[None]]
PATIENCE_S = 10.0


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "LEAST_PAUSE_S", 0.01)
    monkeypatch.setattr(controller, "SETTLE_S", 0.01)
    monkeypatch.setattr(feed, "AGAIN_S", 0.01)
    monkeypatch.setattr(controller, "AGAIN_S", 0.01)


class Seat:
    """Before a running dashboard: its keys and its screen."""

    def __init__(self, pilot: Pilot[int], daemon: FakeDaemon) -> None:
        self.pilot = pilot
        self.daemon = daemon
        assert isinstance(pilot.app, Dashboard)
        self.app: Dashboard = pilot.app

    async def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        await self.pilot.press(*keys)

    def screen(self) -> str:
        """All text of the panels."""
        main = next(screen for screen in self.app.screen_stack if isinstance(screen, MainScreen))
        return "\n".join(plain(line) for view in main.query(PanelView) for line, _ in view._lines)

    def box(self) -> str:
        """The text of the box over the main screen, "" without one."""
        box = getattr(self.app.screen, "_box", None)
        return "" if box is None else str(box.render())

    async def see(self, text: str) -> None:
        """Wait until the screen, or the box over it, has this text."""
        await self.until(lambda: text in self.screen() + self.box(), f"{text!r} in\n{self.screen()}\n{self.box()}")

    async def until(self, condition: Callable[[], Any], what: str = "the condition") -> None:
        """Wait until it is so."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, what
            await self.pilot.pause(0.01)


@contextlib.asynccontextmanager
async def seated(daemon: FakeDaemon, read_only: bool, size: tuple[int, int]) -> AsyncIterator[Seat]:
    app = Dashboard(daemon, daemon.watch, STYLE, read_only=read_only, clock=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        try:
            yield Seat(pilot, daemon)
        finally:
            daemon.stream.put(None)
            assert app.crash is None


def play(test: Test, *tasks: dict[str, Any], read_only: bool = False, size: tuple[int, int] = (80, 24)) -> None:
    async def run() -> None:
        async with seated(FakeDaemon(*tasks), read_only, size) as seat:
            await test(seat)

    asyncio.run(run())


def test_it_shows_tasks_and_the_output_place_of_the_first() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("compile 7")
        await seat.see("Log of task 7")

    play(test, make_task(7, "running", name="compile"), make_task(8))


def test_a_task_is_cancelled_only_after_yes() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 7")
        await seat.press("c")
        await seat.see("Cancel task 7?")
        await seat.press("enter", "n", "c")
        await seat.see("Cancel task 7?")
        assert seat.daemon.requests(Cancel) == []
        await seat.press("y")
        await seat.see("cancelled 7")
        assert [request.select.refs for request in seat.daemon.requests(Cancel)] == [["7"]]

    play(test, make_task(7, "running"))


def test_marked_tasks_are_held_together() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("space", "space", "h")
        await seat.see("Hold 2 tasks (1-2)?")
        await seat.press("y")
        await seat.see("held 1-2")
        assert seat.app.board.marked == {}
        assert seat.daemon.requests(Hold)[0].select.refs == ["1", "2"]

    play(test, make_task(1), make_task(2), make_task(3))


def test_what_the_daemon_refuses_is_said() -> None:
    async def test(seat: Seat) -> None:
        seat.daemon.refuse[Hold] = ConflictError("task 1 is running", hint="too late")
        await seat.see("Log of task 1")
        await seat.press("h")
        await seat.see("Hold task 1?")
        await seat.press("y")
        await seat.see("task 1 is running (too late)")

    play(test, make_task(1))


def test_read_only_refuses_every_change() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        for key in ("c", "r", "h", "plus", "minus", "s", "p", "w"):
            await seat.press(key)
            await seat.see("read-only: nothing is changed")
            assert len(seat.app.screen_stack) == 2, key
        assert not [
            request for request in seat.daemon.asked if isinstance(request, Cancel | Hold | PausePool | ScalePool)
        ]

    play(test, make_task(1), read_only=True)


def test_a_pool_is_scaled_by_a_number_and_a_yes() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("w", "8", "enter")
        await seat.see("Scale pool default to 8?")
        await seat.press("y")
        await seat.until(lambda: seat.daemon.requests(ScalePool))
        assert seat.daemon.requests(ScalePool) == [ScalePool(name="default", workers=8)]
        await seat.see("scaled pool")

    play(test, make_task(1))


def test_search_asks_the_daemon_and_escape_shows_all_again() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("slash", *"link", "enter")
        await seat.until(lambda: "link 2" in seat.screen() and "make 1" not in seat.screen())
        assert seat.daemon.requests(ShowWindow)[-1].text == "link"
        await seat.press("escape")
        await seat.see("make 1")

    play(test, make_task(1), make_task(2, name="link"))


def test_letters_typed_ahead_of_the_screen_are_never_taken_for_keys() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        for key in ("slash", *"ready", "enter"):
            seat.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await seat.until(lambda: seat.app.board.view.text == "ready")
        assert seat.daemon.requests(Retry) == []

    play(test, make_task(1, "failed"))


def test_filter_by_status() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("f")
        await seat.see("Show which tasks?")
        await seat.press("9")
        await seat.see("Tasks: failed")
        await seat.see("make 2")
        assert "make 1" not in seat.screen()

    play(test, make_task(1), make_task(2, "failed"))


def test_an_event_has_the_list_asked_for_again_and_a_burst_of_them_not_often() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        before = len(seat.daemon.requests(ShowWindow))
        seat.daemon.tasks[0] = make_task(1, "failed", exit_code=3)
        for seq in range(10, 1010):
            seat.daemon.stream.put(make_event(seq, 1, "failed"))
        await seat.see("exit 3")
        assert len(seat.daemon.requests(ShowWindow)) - before < 100

    play(test, make_task(1, "running"))


def test_a_daemon_that_goes_away_and_comes_back_is_told_of() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        seat.daemon.stream.put("lost")
        await seat.see("no daemon")
        seat.daemon.stream.put("back")
        await seat.see("the daemon is back")
        await seat.until(lambda: "no daemon" not in seat.screen())

    play(test, make_task(1))


def test_a_daemon_that_cannot_be_asked_is_asked_again() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        seat.daemon.refuse[ShowWindow] = NoDaemonError("no daemon runs")
        seat.daemon.stream.put(make_event(9, 1, "failed"))
        seat.daemon.tasks[0] = make_task(1, "failed", exit_code=3)
        await seat.until(lambda: len(seat.daemon.requests(ShowWindow)) > 1)
        del seat.daemon.refuse[ShowWindow]
        await seat.see("exit 3")

    play(test, make_task(1))


def test_a_daemon_that_does_not_answer_is_told_of_and_holds_up_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "PULSE_S", 0.02)
    monkeypatch.setattr(controller, "PATIENCE_S", 0.05)

    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        seat.daemon.is_awake.clear()
        await seat.see("the daemon has not answered for")
        await seat.press("d")
        await seat.see("Details of task 1")
        seat.daemon.is_awake.set()

    play(test, make_task(1))


def test_details_and_explanation_of_the_selected_task() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("down", "d")
        await seat.see("Details of task 2")
        await seat.see("Task 2: make")
        await seat.press("e")
        await seat.until(lambda: seat.daemon.requests(Explain))
        await seat.see("Explanation of task 2")

    play(test, make_task(1), make_task(2))


def test_recurring_jobs_are_shown_with_their_next_runs() -> None:
    async def told(seat: Seat) -> None:
        job = {"name": "nightly", "expr": "30 2 * * *", "every": None, "paused": False, "command": ["backup"]}
        seat.daemon.schedules = [
            {**job, "next": "2026-09-22T02:30:00Z", "shell": None, "last": None, "words": "x", "broken": False}
        ]
        await seat.press("3")
        await seat.see("nightly")
        await seat.see("in 12h16m")

    play(told, make_task(1))


def test_help_lists_every_key_and_any_key_leaves_it() -> None:
    async def test(seat: Seat) -> None:
        await seat.press("question_mark")
        await seat.see("quit; tasks go on")
        await seat.press("x")
        await seat.until(lambda: isinstance(seat.app.screen, MainScreen))
        await seat.press("q")

    play(test, size=(100, 50))


def test_it_gets_by_on_a_tiny_screen_and_when_resized() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("STATUS")
        shown = {view.name for view in seat.app.screen.query(PanelView) if view.display}
        assert shown == {"title", "tasks", "footer"}  # one without a place would cover them
        await seat.pilot.resize_terminal(120, 40)
        await seat.see("failed")
        await seat.pilot.resize_terminal(1, 1)
        await seat.pilot.resize_terminal(80, 24)
        await seat.see("Log of task 1")

    play(test, make_task(1), size=(20, 4))


def test_zoom_gives_the_lower_part_everything() -> None:
    async def test(seat: Seat) -> None:
        await seat.see("Log of task 1")
        await seat.press("enter")
        await seat.until(lambda: seat.app.board.is_zoomed)
        views = {view.name: view for view in seat.app.screen.query(PanelView)}
        assert views["pane"].size.height == 22
        assert not views["tasks"].display
        await seat.press("escape")
        await seat.until(lambda: not seat.app.board.is_zoomed)

    play(test, make_task(1))


def test_a_defect_of_ours_ends_it_and_is_kept_to_be_told_in_one_line() -> None:
    async def run() -> Dashboard:
        daemon = FakeDaemon()
        daemon.refuse[ShowWindow] = ZeroDivisionError("ours")
        app = Dashboard(daemon, daemon.watch, STYLE)
        async with app.run_test() as pilot:
            while app.crash is None:
                await pilot.pause(0.01)
        daemon.stream.put(None)
        return app

    app = asyncio.run(run())
    assert isinstance(app.crash, ZeroDivisionError)
    assert app.return_value == 125
