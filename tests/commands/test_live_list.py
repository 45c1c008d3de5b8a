"""`ls -f`: who may have it, what fits on the screen, and that it is drawn anew when something changes."""

from __future__ import annotations

import io
import os
import signal
from typing import Any

import pytest

from cronoq_cli.commands import live_list
from cronoq_cli.commands.live_list import frame_lines
from cronoq_cli.commands.render.screen import Screen, fit_tasks
from cronoq_cli.commands.render.style import style_of
from cronoq_cli.commands.render.tables import progress_of
from cronoq_cli.errors import NoDaemonError
from cronoq_cli.wire.requests import ListTasks, Reply, Selector
from tests.commands.conftest import Caller, task_document
from tests.commands.render.samples import make_context


def tasks(running: int, ready: int, ended: int) -> list[dict[str, Any]]:
    statuses = ["running"] * running + ["ready"] * ready + ["succeeded"] * ended
    return [task_document(number, status) for number, status in enumerate(statuses, 1)]


def document(*counts: int, more: int = 0) -> dict[str, Any]:
    return {"tasks": tasks(*counts), "more": more, "summary": {"running": counts[0], "ready": counts[1] + more}}


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 24, 60])
@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (2, 50, 10), (0, 3, 2), (40, 5, 10), (0, 0, 10)])
@pytest.mark.parametrize("more", [0, 7])
def test_a_picture_is_never_higher_than_the_screen_and_counts_what_is_left_out(
    rows: int, counts: tuple[int, int, int], more: int
) -> None:
    lines = frame_lines(document(*counts, more=more), style_of(make_context(columns=80, color="never")), rows)
    assert 1 <= len(lines) <= rows
    assert max(map(len, lines)) <= 80
    if rows >= 8 and sum(counts):
        shown = fit_tasks(document(*counts, more=more), rows - 3)
        live = sum(task["status"] != "succeeded" for task in shown["tasks"])
        assert live + shown["more"] == counts[0] + counts[1] + more


def test_what_runs_comes_first_and_some_ends_are_always_seen() -> None:
    shown = fit_tasks(document(2, 50, 10), 20)["tasks"]
    assert [task["status"] for task in shown] == ["running"] * 2 + ["ready"] * 12 + ["succeeded"] * 5
    assert [task["id"] for task in shown[-5:]] == [58, 59, 60, 61, 62]


def test_a_screen_writes_only_what_changed_and_comes_back() -> None:
    out = io.StringIO()
    with Screen(out) as screen:
        screen.draw(["a", "b"])
        drawn = out.tell()
        screen.draw(["a", "b"])
        assert out.tell() == drawn
        screen.forget()
        screen.draw(["a", "b"])
        assert out.tell() > drawn
    assert out.getvalue().startswith("\x1b[?1049h") and out.getvalue().endswith("\x1b[?1049l")


@pytest.mark.parametrize("words", [["-f"], ["-f", "--json"]])
def test_it_is_refused_where_there_is_no_screen(caller: Caller, words: list[str]) -> None:
    done = caller("ls", *words)
    assert done.status == 2 and "events -f" in done.err and "\x1b" not in done.out


def test_each_change_is_seen_and_an_error_of_the_stream_ends_it(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context(columns=80, color="never")
    streams = caller.streams
    assert streams is not None
    streams.messages = [{"watching": 1, "tasks": None}, {"event": {"seq": 2}}]
    context.streams, context.gateway = streams, caller.gateway
    monkeypatch.setattr(live_list, "GATHER_S", 0.0)
    monkeypatch.setattr(live_list, "_find_size", lambda: os.terminal_size((80, 24)))
    caller.gateway.answer(ListTasks, Reply(doc=document(0, 0, 0)), Reply(doc=document(0, 1, 2)))
    with pytest.raises(NoDaemonError):
        live_list.watch_list(context, ListTasks(select=Selector(pools=["a"])))
    shown = context.out.getvalue()  # type: ignore[attr-defined]
    assert "no tasks" in shown and "ready" in shown
    assert caller.gateway.requests == [ListTasks(select=Selector(pools=["a"]))] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_leaves_the_terminal_as_it_was(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    context = make_context(columns=80, color="never")
    streams = caller.streams
    assert streams is not None
    streams.messages = [{"watching": 1, "tasks": None}]
    context.streams, context.gateway = streams, caller.gateway
    caller.gateway.answer(ListTasks, Reply(doc=document(0, 1, 2)))
    before = signal.getsignal(number)

    def find_size() -> os.terminal_size:
        signal.raise_signal(number)  # it comes while a picture is drawn
        return os.terminal_size((80, 24))

    monkeypatch.setattr(live_list, "_find_size", find_size)
    monkeypatch.setattr(
        live_list, "_next", lambda inbox, moving: next(m for m in iter(inbox.get, None) if m[0] == "end")
    )
    assert live_list.watch_list(context, ListTasks()) == 128 + number
    assert context.out.getvalue().endswith("\x1b[?1049l")  # type: ignore[attr-defined]
    assert signal.getsignal(number) == before


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"progress": 0.5, "expected_s": 100.0}, "████░░░░ 50%"),
        ({"expected_s": 120.0}, "▒▒░░░░░░ ~25% of 2m"),
        ({"expected_s": 20.0}, "usually 20s"),
        ({"expected_s": 1.0}, None),
        ({}, None),
    ],
)
def test_progress_is_a_bar_and_what_is_only_expected_looks_different(facts: dict[str, Any], shown: str | None) -> None:
    task = task_document(7, "running", run_s=30.0, **facts)
    assert progress_of(task, style_of(make_context(columns=80))) == shown
    piped = progress_of(task, style_of(make_context()))
    assert piped == ("50%" if "progress" in facts else None)
