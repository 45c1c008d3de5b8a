"""`cronoq run`: the task's output and code, and what signals mean to it while it runs."""

from __future__ import annotations

import json
import os
import pty
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.errors import ConflictError, NoDaemonError
from cronoq_cli.wire.requests import Cancel, Reply, Request, ShowTasks, Submit

from .conftest import Caller, FakeStreams, task_document

Step = dict[str, Any] | Callable[[], None]


class ScriptedStreams(FakeStreams):
    """A watch stream that goes on until the test is over; a step that can be called is called in its place."""

    def __init__(self, caller: Caller, *steps: Step) -> None:
        super().__init__(caller.gateway)
        self.steps = steps
        self.over = threading.Event()

    def watch(self, request: Request) -> Iterable[dict[str, Any]]:
        """The steps, then nothing more."""
        yield {"watching": 1, "tasks": [7]}
        for step in self.steps:
            if callable(step):
                step()
            else:
                yield step
        self.over.wait(30)


def ended(at: str | None = "2026-09-21T14:13:00Z", **changes: Any) -> dict[str, Any]:
    """The document of an attempt without logs."""
    return {"number": 1, "log": None, "stderr_log": None, "finished_at": at, "cause": None, **changes}


@pytest.fixture
def play(caller: Caller) -> Iterator[Callable[..., Any]]:
    """Run a line against documents that `show` gives in turn, and steps of the stream."""
    streams: list[ScriptedStreams] = []

    def run(documents: list[dict[str, Any]], *steps: Step, words: tuple[str, ...] = ("make", "x")) -> Any:
        caller.gateway.answer(ShowTasks, *[Reply(doc={"task": document}) for document in documents])
        streams.append(ScriptedStreams(caller, *steps))
        caller.streams = streams[-1]
        return caller("run", *words)

    yield run
    for stream in streams:
        stream.over.set()


def kill(number: int) -> Callable[[], None]:
    """A step that sends a signal to this process."""
    return lambda: os.kill(os.getpid(), number)


RUNNING = task_document(7, "running", attempt=1, attempts=[ended(None)])


@pytest.mark.parametrize(
    ("task", "status"),
    [
        (task_document(7, "succeeded", exit_code=0), 0),
        (task_document(7, "succeeded", exit_code=3), 0),
        (task_document(7, "failed", exit_code=7, message="exit 7"), 7),
        (task_document(7, "failed", exit_code=127, message="command not found"), 127),
        (task_document(7, "failed", signal=9), 137),
        (task_document(7, "failed", attempt=1, signal=15, attempts=[ended(cause="time limit")]), 124),
        (task_document(7, "dead_lettered", attempt=1, attempts=[ended(cause="lost")]), 125),
        (task_document(7, "failed", exit_code=0, message="permanent"), 1),
        (task_document(7, "skipped"), 125),
    ],
)
def test_the_exit_status_is_the_tasks(play: Callable[..., Any], task: dict[str, Any], status: int) -> None:
    assert play([RUNNING, task], {"event": {}}).status == status


def test_an_ordinary_exit_code_adds_no_line_of_ours(play: Callable[..., Any]) -> None:
    assert play([task_document(7, "failed", exit_code=7, message="exit 7")]).err == ""
    assert play([task_document(7, "failed", signal=9, message="signal 9")]).err == "cronoq: task 7 failed: SIGKILL\n"


def test_each_stream_comes_out_on_its_own(caller: Caller, play: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "o").write_bytes(b"out\xff\n")
    (tmp_path / "e").write_text("err\n")
    attempt = ended(log=str(tmp_path / "o"), stderr_log=str(tmp_path / "e"))
    line = play([task_document(7, attempts=[attempt])])
    assert (line.status, line.out, line.err) == (0, "out\udcff\n", "err\n")
    submitted = next(request for request in caller.gateway.requests if isinstance(request, Submit))
    assert submitted.specs[0].split is True


def test_output_of_every_attempt_is_shown(play: Callable[..., Any], tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).write_text(f"attempt {number}\n")
    attempts = [ended(log=str(tmp_path / "1")), ended(log=str(tmp_path / "2"), number=2)]
    retrying = task_document(7, "retrying", attempts=attempts[:1])
    assert play([retrying, task_document(7, attempts=attempts)], {"event": {}}).out == "attempt 1\nattempt 2\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_without_a_terminal_a_signal_cancels_and_waits_until_it_is_gone(
    caller: Caller, play: Callable[..., Any], number: int, status: int
) -> None:
    leaving = task_document(7, "cancelled", attempts=[ended(None)])
    gone = task_document(7, "cancelled", attempts=[ended()])
    line = play([RUNNING, leaving, leaving, gone], kill(number))
    assert line.status == status
    cancels = [request for request in caller.gateway.requests if isinstance(request, Cancel)]
    assert [(cancel.select.refs, cancel.grace_s) for cancel in cancels] == [(["7"], None)]
    shows = [request for request in caller.gateway.requests if isinstance(request, ShowTasks)]
    assert len(shows) == 4


def test_a_second_signal_hurries_the_end(caller: Caller, play: Callable[..., Any]) -> None:
    gone = task_document(7, "cancelled", attempts=[ended()])
    first = until(lambda: any(isinstance(request, Cancel) for request in caller.gateway.requests))
    leaving = task_document(7, "cancelled", attempts=[ended(None)])
    line = play([RUNNING, *[leaving] * 5, gone], kill(signal.SIGINT), first, kill(signal.SIGINT))
    assert line.status == 130
    graces = [request.grace_s for request in caller.gateway.requests if isinstance(request, Cancel)]
    assert graces == [None, 0.0]


def test_a_task_that_ended_before_the_cancel_keeps_the_signals_status(caller: Caller, play: Callable[..., Any]) -> None:
    caller.gateway.answer(Cancel, ConflictError("it has ended"))
    assert play([RUNNING, task_document(7, attempts=[ended()])], kill(signal.SIGINT)).status == 130


def test_a_hangup_detaches_and_leaves_the_task_alone(caller: Caller, play: Callable[..., Any]) -> None:
    line = play([RUNNING], kill(signal.SIGHUP))
    assert (line.status, line.err) == (129, "cronoq: task 7 goes on; see cronoq logs -f 7\n")
    assert not [request for request in caller.gateway.requests if isinstance(request, Cancel)]


def until(condition: Callable[[], bool]) -> Callable[[], None]:
    """A step that waits for a condition."""

    def wait() -> None:
        deadline = time.monotonic() + 10
        while not condition() and time.monotonic() < deadline:
            threading.Event().wait(0.002)

    return wait


def test_on_a_terminal_ctrl_c_asks_before_it_cancels(caller: Caller, play: Callable[..., Any]) -> None:
    caller.interactive = True
    asked = until(lambda: "again within 2 s to cancel, d to detach" in caller.err.getvalue())
    line = play([RUNNING, task_document(7)], kill(signal.SIGINT), asked, {"event": {}})
    assert (line.status, line.err) == (0, "cronoq: again within 2 s to cancel, d to detach\n")
    assert not [request for request in caller.gateway.requests if isinstance(request, Cancel)]


def test_on_a_terminal_a_second_ctrl_c_cancels(caller: Caller, play: Callable[..., Any]) -> None:
    caller.interactive = True
    asked = until(lambda: "again within" in caller.err.getvalue())
    gone = task_document(7, "cancelled", attempts=[ended()])
    line = play([RUNNING, gone], kill(signal.SIGINT), asked, kill(signal.SIGINT))
    assert line.status == 130
    assert [request for request in caller.gateway.requests if isinstance(request, Cancel)]


def test_on_a_terminal_d_detaches_and_the_terminal_is_left_as_it_was(
    caller: Caller, play: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.interactive = True
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with os.fdopen(slave, "r") as terminal:
        monkeypatch.setattr("sys.stdin", terminal)

        def press() -> None:
            kill(signal.SIGINT)()
            until(lambda: not termios.tcgetattr(slave)[3] & termios.ICANON)()
            os.write(master, b"xd")

        line = play([RUNNING], press)
        assert (line.status, "task 7 goes on" in line.err) == (0, True)
        assert termios.tcgetattr(slave) == before
    os.close(master)


def test_handlers_of_signals_are_given_back(play: Callable[..., Any]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    play([task_document(7)])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_json_is_the_ended_task_and_nothing_else(play: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "o").write_text("noise\n")
    attempts = [ended(log=str(tmp_path / "o"))]
    task = task_document(7, "failed", exit_code=9, attempts=attempts)
    line = play([task], words=("--json", "make", "x"))
    assert (line.status, json.loads(line.out)["task"]["exit_code"], line.err) == (9, 9, "")


def test_the_result_file_has_the_whole_task(play: Callable[..., Any], tmp_path: Path) -> None:
    play([task_document(7, "failed", exit_code=124)], words=("--result", "r", "make", "x"))
    assert json.loads((tmp_path / "r").read_text())["task"]["exit_code"] == 124


def test_a_daemon_that_stays_away_is_our_own_trouble(caller: Caller, play: Callable[..., Any]) -> None:
    def gone() -> None:
        raise NoDaemonError("the daemon has gone")

    line = play([RUNNING], gone)
    assert (line.status, line.err) == (125, "cronoq: the daemon has gone\n")


def test_run_is_the_clients(caller: Caller) -> None:
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("run", "make", "x")
    assert caller.gateway.requests == []


@pytest.mark.parametrize("words", [[], ["--batch", "-"], ["-f", "make", "x"], ["--array", "0-3", "make"]])
def test_run_takes_one_task(caller: Caller, words: list[str]) -> None:
    assert caller("run", *words).status == 2
