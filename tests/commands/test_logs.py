"""`cronoq logs`: raw bytes of the right attempt and stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.commands.logs import SHORT_BYTES
from cronoq_cli.wire.requests import Reply, Selector, ShowTasks

from .conftest import Caller, task_document


def attempt(number: int, log: Path, stderr_log: Path | None = None, finished_at: str | None = None) -> dict[str, Any]:
    """The document of an attempt, as far as its logs go."""
    path = None if stderr_log is None else str(stderr_log)
    return {"number": number, "log": str(log), "stderr_log": path, "finished_at": finished_at, "cause": None}


@pytest.fixture
def task(caller: Caller, tmp_path: Path) -> dict[str, Any]:
    """Task 7 with two ended attempts, whose logs exist."""
    (tmp_path / "1").write_bytes(b"first\n")
    (tmp_path / "2").write_bytes(b"one\ntwo\n\xff\xfe raw\nlast")
    attempts = [
        attempt(1, tmp_path / "1", finished_at="2026-09-21T13:00:00Z"),
        attempt(2, tmp_path / "2", finished_at="2026-09-21T14:13:00Z"),
    ]
    document = task_document(7, "failed", attempts=attempts) | {"log_cap": 1 << 26}
    caller.gateway.answer(ShowTasks, Reply(doc={"task": document}))
    return document


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["7"], "one\ntwo\n\udcff\udcfe raw\nlast"),
        (["-n", "2", "7"], "\udcff\udcfe raw\nlast"),
        (["-n", "0", "7"], ""),
        (["-n", "99", "7"], "one\ntwo\n\udcff\udcfe raw\nlast"),
        (["--attempt", "1", "7"], "first\n"),
        (["--since", "10m", "7"], "one\ntwo\n\udcff\udcfe raw\nlast"),
        (["--since", "2026-09-21T12:00:00Z", "7"], "first\none\ntwo\n\udcff\udcfe raw\nlast"),
    ],
)
def test_the_right_bytes_come_as_they_are(caller: Caller, words: list[str], out: str) -> None:
    line = caller("logs", *words)
    assert (line.status, line.out, line.err) == (0, out, "")
    assert caller.request == ShowTasks(select=Selector(refs=["7"]))


@pytest.mark.usefixtures("task")
def test_a_terminal_gets_the_newline_that_is_missing(caller: Caller) -> None:
    caller.terminal = True
    assert caller("logs", "7").out.endswith("last\n")
    assert caller("logs", "--attempt", "1", "7").out == "first\n"


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--attempt", "3", "7"], 3, "task 7 has no attempt 3 (it has 2)"),
        (["--stderr", "7"], 4, "task 7 has one log for both streams"),
        (["--stdout", "--stderr", "7"], 2, "--stdout and --stderr together"),
        (["-f", "--attempt", "1", "7"], 2, "--attempt with --follow"),
        (["-f", "--json", "7"], 2, "--json with --follow"),
        (["--since", "whenever", "7"], 2, "--since: 'whenever' is not a time"),
        ([], 2, "no task was named"),
    ],
)
def test_what_cannot_be_shown_is_refused(caller: Caller, words: list[str], status: int, message: str) -> None:
    line = caller("logs", *words)
    assert (line.status, message in line.err) == (status, True)


def test_a_split_log_goes_to_its_own_streams(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "o").write_text("out\n")
    (tmp_path / "e").write_text("err\n")
    document = task_document(7, attempts=[attempt(1, tmp_path / "o", tmp_path / "e")])
    caller.gateway.answer(ShowTasks, Reply(doc={"task": document}))
    assert (caller("logs", "7").out, caller("logs", "7").err) == ("out\n", "err\n")
    assert (caller("logs", "--stdout", "7").out, caller("logs", "--stdout", "7").err) == ("out\n", "")
    assert (caller("logs", "--stderr", "7").out, caller("logs", "--stderr", "7").err) == ("", "err\n")


def test_a_task_that_has_not_started_says_so(caller: Caller) -> None:
    caller.gateway.answer(ShowTasks, Reply(doc={"task": task_document(7, "ready")}))
    line = caller("logs", "7")
    assert (line.status, line.out, line.err) == (0, "", "cronoq: task 7 has not started yet\n")


def test_a_log_that_is_gone_is_told_from_an_empty_one(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for name, err in (("empty", ""), ("gone", "cronoq: the log of task 7, attempt 1, is gone\n")):
        caller.gateway.answer(ShowTasks, Reply(doc={"task": task_document(7, attempts=[attempt(1, tmp_path / name)])}))
        assert caller("logs", "7").err == err


def test_a_log_that_never_was_is_not_called_gone(caller: Caller, tmp_path: Path) -> None:
    failed = attempt(1, tmp_path / "never") | {"cause": "spawn", "message": "working directory missing: /x"}
    caller.gateway.answer(ShowTasks, Reply(doc={"task": task_document(7, attempts=[failed])}))
    said = "cronoq: task 7 wrote nothing, attempt 1 could not be started: working directory missing: /x\n"
    assert caller("logs", "7").err == said


@pytest.mark.usefixtures("task")
def test_json_has_the_text_of_each_log(caller: Caller) -> None:
    (log,) = json.loads(caller("logs", "--json", "-n", "1", "7").out)["logs"]
    assert (log["id"], log["attempt"], log["stream"], log["text"]) == (7, 2, "stdout", "last")


def test_a_few_short_logs_that_are_settled_come_from_the_daemon_itself(
    caller: Caller, task: dict[str, Any], tmp_path: Path
) -> None:
    caller.on_daemon_side()
    whole = "one\ntwo\n\udcff\udcfe raw\nlast"
    assert caller("logs", "7").out == whole
    assert json.loads(caller("logs", "--json", "7").out)["logs"][0]["text"] == whole
    (tmp_path / "2").write_bytes(b"x" * SHORT_BYTES)
    assert caller("logs", "7").out == "x" * SHORT_BYTES
    with (tmp_path / "2").open("ab") as log:
        log.write(b"x")
    with pytest.raises(NeedsClient):
        caller("logs", "7")


@pytest.mark.parametrize("change", [{"log_cap": None}, {"attempts": "running"}])
def test_the_daemon_leaves_other_logs_to_the_client(
    caller: Caller, task: dict[str, Any], change: dict[str, Any]
) -> None:
    if change.get("attempts"):
        change = {"attempts": [task["attempts"][0], task["attempts"][1] | {"finished_at": None}]}
    caller.gateway.answer(ShowTasks, Reply(doc={"task": task | change}))
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("logs", "7")


@pytest.mark.usefixtures("task")
def test_following_and_logs_within_a_task_are_the_clients(caller: Caller) -> None:
    caller.on_daemon_side()
    with pytest.raises(NeedsClient):
        caller("logs", "-f", "7")
    caller.env["CRONOQ_TASK_ID"] = "9"
    with pytest.raises(NeedsClient):
        caller("logs", "7")


def test_following_goes_on_over_retries_until_the_end(caller: Caller, tmp_path: Path) -> None:
    assert caller.streams is not None
    (tmp_path / "1").write_text("old\n")
    (tmp_path / "2").write_text("try 2 begins\n")
    (tmp_path / "3").write_text("try 3\n")
    two = [attempt(1, tmp_path / "1", finished_at="2026-09-21T13:00:00Z"), attempt(2, tmp_path / "2")]
    three = [*two, attempt(3, tmp_path / "3")]
    running = Reply(doc={"task": task_document(7, "running", attempts=two)})
    ended = Reply(doc={"task": task_document(7, "succeeded", attempts=three)})
    caller.gateway.answer(ShowTasks, running, running, ended)
    caller.streams.messages = [{"watching": 1, "tasks": [7]}, {"event": {"id": 7}}]
    for alias in (["logs", "-f"], ["follow"]):
        caller.gateway.answer(ShowTasks, running, running, ended)
        line = caller(*alias, "7")
        assert (line.status, line.out) == (0, "try 2 begins\ntry 3\n")
