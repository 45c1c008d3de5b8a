"""What a shell is offered where it completes a word."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cronoq_cli.commands.candidates import MOST, Source, find_candidates, format_candidates, parse_line
from cronoq_cli.commands.verb_files import COMPLETE
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import Filter
from cronoq_cli.wire.requests import Complete, Reply

from .conftest import Caller

SETTINGS = parse_settings(
    b"[pools.batch]\nworkers = 3\n[pools.big]\nworkers = 1\n[resources.gpu]\npermits = 2\n"
    b"[groups.mail]\ncommand = 'x'\n",
    "x",
)


def record(number: int, status: Status, name: str, key: str | None = None) -> TaskRecord:
    return TaskRecord(
        id=number,
        spec=TaskSpec(name=name, command=["x"], key=key),
        status=status,
        seq=float(number),
        submitted_at=1.0,
        updated_at=1.0,
    )


TASKS = [
    record(3, Status.SUCCEEDED, "old"),
    record(31, Status.RUNNING, "make", "build"),
    record(312, Status.READY, "make", "site:deploy"),
    record(4, Status.FAILED, "odd name\x1b", "failed-one"),
]


def list_where(wanted: Filter) -> list[TaskRecord]:
    """As a store would, as far as it is asked here."""
    found = [
        task
        for task in sorted(TASKS, key=lambda task: -task.id)
        if (wanted.statuses is None or task.status.value in wanted.statuses)
        and (wanted.ids is None or any(first <= task.id <= last for first, last in wanted.ids))
    ]
    return found[: wanted.limit]


SOURCE = Source(SETTINGS, list_where, lambda: [("nightly", "next 03:00")])


def words(kinds: Iterable[str], prefix: str = "") -> list[str]:
    return [word for word, _ in find_candidates(kinds, prefix, SOURCE)]


def test_ids_come_newest_first_with_what_they_are() -> None:
    assert find_candidates(["task"], "3", SOURCE) == [
        ("312", "ready make"),
        ("31", "running make"),
        ("3", "succeeded old"),
    ]
    assert words(["task"], "31") == ["312", "31"]
    assert words(["task"], "0") == []


def test_without_digits_keys_are_offered_too() -> None:
    assert words(["task"]) == ["312", "31", "4", "3", "site:deploy", "build", "failed-one", "last"]
    assert words(["task"], "b") == ["build"]
    assert words(["task"], "la") == ["last"]
    assert words(["key"], "site:") == ["site:deploy"]


def test_only_tasks_that_a_verb_can_act_on_are_offered() -> None:
    assert words(["live"]) == ["312", "31", "site:deploy", "build"]
    assert words(["running"]) == ["31", "build"]
    assert words(["waiting"]) == ["312", "site:deploy"]
    assert set(words(["ended"])) == {"4", "3", "failed-one"}
    assert {task.id for task in TASKS if task.status in FINAL} == {3, 4}


@pytest.mark.parametrize(
    ("kind", "prefix", "expected"),
    [
        ("pool", "b", [("batch", "3 workers"), ("big", "1 worker")]),
        ("resource", "", [("gpu", "2 in all")]),
        ("group", "m", [("mail", "gathers tasks")]),
        ("schedule", "ni", [("nightly", "next 03:00")]),
        ("zone", "Europe/Berl", [("Europe/Berlin", "")]),
        ("setting", "daemon.log", [("daemon.log_level", "")]),
        ("name", "m", [("make", "")]),
        ("nonsense", "", []),
    ],
)
def test_each_kind_has_its_own_words(kind: str, prefix: str, expected: list[tuple[str, str]]) -> None:
    assert find_candidates([kind], prefix, SOURCE) == expected


def test_there_are_never_more_than_anybody_reads() -> None:
    assert len(words(["zone"])) == MOST


def test_lines_are_safe_for_a_shell() -> None:
    found = [("a", "b"), ("odd name", ""), ("x\x1b[31m", ""), ("ok", "colour \x1b[31m")]
    assert format_candidates(found) == "a\tb\nok\tcolour \\x1b[31m\n"


@pytest.mark.parametrize(
    "name", ["$(reboot)", "`reboot`", "a;b", "a|b", "a&b", "a>b", "a*", "'", "\\", "~root", "{a,b}", "!1"]
)
def test_a_name_that_a_shell_would_act_on_is_not_put_on_its_line(name: str) -> None:
    assert format_candidates([(name, ""), ("größe-1.2:3/x@y", "")]) == "größe-1.2:3/x@y\t\n"


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ([], Complete(kinds=[""])),
        (["task"], Complete(kinds=["task"])),
        (["task,pool", "x"], Complete(kinds=["task", "pool"], prefix="x")),
        (["task", "x", "y"], Complete(kinds=["task"], prefix="x")),
    ],
)
def test_any_line_is_understood(line: list[str], request_: Complete) -> None:
    assert parse_line(line) == request_


def test_the_hidden_verb_prints_what_is_answered(caller: Caller) -> None:
    caller.gateway.answer(Complete, Reply(doc={"words": [["12", "ready make"]]}))
    assert caller(COMPLETE, "task", "1").out == "12\tready make\n"
    assert caller.request == Complete(kinds=["task"], prefix="1")
    assert COMPLETE not in caller("--help").out
