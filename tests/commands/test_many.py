"""Several tasks in one submission: `--batch`, `--each`, `--array`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cronoq_cli.commands.array import parse_array
from cronoq_cli.errors import UsageError
from cronoq_cli.model.task import Condition, Dependency, Priority

from .conftest import NOW, Caller


def batch(*lines: object) -> bytes:
    """Lines of a batch, objects written as JSON."""
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines).encode()


def test_a_batch_is_one_request_and_one_run_of_ids(caller: Caller) -> None:
    caller.stdin = batch({"command": ["make"], "key": "build"}, {"shell": "make test | tee log", "after": "build"})
    line = caller("submit", "--batch", "-")
    assert line.out == "101-102\n"
    request = caller.request
    assert (request.batch, request.members, request.lines) == (True, 2, [1, 2])
    first, second = request.specs
    assert (first.command, first.key, first.name) == (["make"], "build", "make")
    assert (second.shell_line, second.name) == ("make test | tee log", "make")
    assert second.after == [Dependency("build")]


def test_a_batch_line_takes_the_fields_that_options_have(caller: Caller) -> None:
    fields = {
        "name": "n",
        "pool": "big",
        "priority": "high",
        "kind": "k",
        "timeout": 90,
        "grace": 0.5,
        "retries": 3,
        "backoff": "fixed:5s",
        "retry_on": [1, 2],
        "success_codes": "0,3",
        "tag": {"a": "b"},
        "env": {"A": "1", "B": 2, "TZ": None},
        "cwd": "sub",
        "slots": 2,
        "hold": True,
        "split": True,
        "after_fail": [4, "x"],
        "in": "10s",
        "umask": "077",
        "use": {"gpu": 1, "api": 0.5},
        "on": {"gpu": "yes"},
        "tenant": "alice",
        "deadline": "+1h",
        "expires": "+2h",
        "estimate": 90,
        "group": "mail",
        "once": False,
        "keep": None,
    }
    caller.stdin = batch({"command": ["make"], **fields})
    assert caller("submit", "--batch", "-").err == ""
    spec = caller.request.specs[0]
    assert (spec.name, spec.pool, spec.priority, spec.kind) == ("n", "big", Priority.HIGH, "k")
    assert (spec.timeout_s, spec.grace_s, spec.retries, spec.backoff.first_s) == (90.0, 0.5, 3, 5.0)
    assert (spec.retry_on, spec.success_codes, spec.tags) == ([1, 2], [0, 3], {"a": "b"})
    assert spec.env_changes == {"A": "1", "B": "2", "TZ": None}
    assert (spec.cwd, spec.slots, spec.hold, spec.split, spec.umask) == (f"{caller.cwd}/sub", 2, True, True, 0o077)
    assert spec.after == [Dependency("4", Condition.FAIL), Dependency("x", Condition.FAIL)]
    assert (spec.uses, spec.labels, spec.tenant) == ({"gpu": 1.0, "api": 0.5}, {"gpu": "yes"}, "alice")
    assert (spec.deadline, spec.expires_at, spec.estimate_s) == (NOW + 3600, NOW + 7200, 90.0)
    assert spec.group == "mail"


def test_a_batch_may_have_a_tolerance_for_its_fixed_starts(caller: Caller) -> None:
    caller.stdin = batch({"command": ["a"], "start_at": "+1h"}, {"command": ["b"], "use": ["gpu=2"]})
    assert caller("submit", "--tolerance", "5s", "--use", "api=1", "--batch", "-").status == 0
    first, second = caller.request.specs
    assert (first.start_at, first.tolerance_s, first.uses) == (NOW + 3600, 5.0, {"api": 1.0})
    assert (second.start_at, second.uses) == (None, {"api": 1.0, "gpu": 2.0})


def test_options_are_the_defaults_of_a_batch(caller: Caller) -> None:
    caller.stdin = batch({"command": ["a"]}, {"command": ["b"], "pool": "own", "tag": {"x": "2"}})
    caller("submit", "-p", "big", "-t", "x=1", "-t", "y=1", "--retries", "2", "--batch", "-")
    first, second = caller.request.specs
    assert (first.pool, first.tags, first.retries) == ("big", {"x": "1", "y": "1"}, 2)
    assert (second.pool, second.tags, second.retries) == ("own", {"x": "2", "y": "1"}, 2)


def test_tasks_of_a_batch_do_not_share_their_changes(caller: Caller) -> None:
    caller.stdin = batch({"command": ["a"], "after": "1", "env": {"A": "1"}}, {"command": ["b"]})
    caller("submit", "--after", "9", "-E", "B=2", "--batch", "-")
    first, second = caller.request.specs
    assert (first.after, first.env_changes) == ([Dependency("9"), Dependency("1")], {"B": "2", "A": "1"})
    assert (second.after, second.env_changes) == ([Dependency("9")], {"B": "2"})


MALFORMED = [
    ("not json", "batch line 2 is not JSON"),
    ("[1]", "batch line 2: it is not an object"),
    ({"comand": ["x"]}, "batch line 2: unknown field 'comand' (did you mean command?)"),
    ({"pool": "x"}, "batch line 2: it needs exactly one of command and shell"),
    ({"command": ["x"], "shell": "x"}, "batch line 2: it needs exactly one of command and shell"),
    ({"command": "make test"}, "batch line 2: command: it is not a list of strings (use shell for a shell line)"),
    ({"command": []}, "batch line 2: command: its first word is empty"),
    ({"command": ["a\0b"]}, "batch line 2: the command contains a NUL character"),
    ({"shell": " "}, "batch line 2: the command is empty"),
    ({"shell": ["x"]}, "batch line 2: shell: ['x'] is not a string"),
    ({"command": ["x"], "timeout": "soon"}, "batch line 2: timeout: 'soon' is not a duration"),
    ({"command": ["x"], "timeout": True}, "batch line 2: timeout: True is not text or a number"),
    ({"command": ["x"], "hold": "yes"}, "batch line 2: hold: 'yes' is not true or false"),
    ({"command": ["x"], "stdin": "-"}, "batch line 2: stdin: a line cannot take the caller's input"),
    ({"command": ["x"], "key": "last"}, "batch line 2: key: a task cannot have the key 'last'"),
    ({"command": ["x"], "if_exists": "refuse"}, "batch line 2: --if-exists without --key"),
    ({"command": ["x"], "tolerance": "5s"}, "batch line 2: --tolerance without --start-at"),
    ({"command": ["x"], "use": {"gpu": 0}}, "batch line 2: use: '0' is not an amount"),
    ({"command": ["x"], "use": "gpu"}, "batch line 2: use: 'gpu' is not an amount of a resource"),
    ({"command": ["x"], "on": {"gpu": True}}, "batch line 2: on: True is not text or a number"),
    ({"command": ["x"], "in": "2h", "expires": "+1h"}, "batch line 2: --expires is before its start"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED, ids=lambda value: str(value)[:40])
def test_a_malformed_line_is_named_and_nothing_is_queued(caller: Caller, line: object, message: str) -> None:
    caller.stdin = batch({"command": ["good"]}, line)
    answer = caller("submit", "--batch", "-")
    assert answer.status == 7
    assert message in answer.err
    assert caller.gateway.requests == []


def test_a_batch_without_a_task_is_refused(caller: Caller) -> None:
    caller.stdin = b"\n\n"
    line = caller("submit", "--batch", "-")
    assert (line.status, "there is no task in it" in line.err) == (7, True)


def test_a_file_that_cannot_be_read_is_named(caller: Caller) -> None:
    line = caller("submit", "--batch", "nowhere")
    assert (line.status, line.err.startswith("cronoq: cannot read nowhere: No such file")) == (7, True)


def test_each_line_is_one_argument(caller: Caller) -> None:
    caller.stdin = b"a b\n\n-x\n\xff$HOME"
    caller("submit", "--each", "-", "--", "flac", "{}", "out={}.flac")
    commands = [spec.command for spec in caller.request.specs]
    assert commands == [
        ["flac", "a b", "out=a b.flac"],
        ["flac", "-x", "out=-x.flac"],
        ["flac", "\udcff$HOME", "out=\udcff$HOME.flac"],
    ]
    assert caller.request.lines == [1, 3, 4]


def test_a_line_comes_last_where_there_is_no_hole(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("one\ntwo\n")
    caller("submit", "--each", "list", "--", "gzip", "-9")
    assert [spec.command for spec in caller.request.specs] == [["gzip", "-9", "one"], ["gzip", "-9", "two"]]


def test_a_line_is_quoted_in_a_shell_line(caller: Caller) -> None:
    caller.stdin = b"a b; rm x\n"
    caller("submit", "--each", "-", "wc -l < {} | tee {}.n")
    assert caller.spec.shell_line == "wc -l < 'a b; rm x' | tee 'a b; rm x'.n"
    caller("submit", "--each", "-", "-c", "gzip")
    assert caller.spec.shell_line == "gzip 'a b; rm x'"


def test_an_array_has_an_index_and_a_limit(caller: Caller) -> None:
    caller("submit", "--array", "0-9%4", "--max-fails", "2", "--", "./simulate", "x")
    request = caller.request
    assert [spec.array_index for spec in request.specs] == list(range(10))
    assert (request.batch, request.limit, request.max_fails, request.members) == (True, 4, 2, 10)


@pytest.mark.parametrize(
    ("text", "indices", "limit"),
    [("3", [3], None), ("1,5,9", [1, 5, 9], None), ("0-10/5", [0, 5, 10], None), ("2-3,7%1", [2, 3, 7], 1)],
)
def test_arrays_are_ranges_lists_and_steps(text: str, indices: list[int], limit: int | None) -> None:
    array = parse_array(text)
    assert (array.indices, array.limit) == (indices, limit)


@pytest.mark.parametrize("text", ["", "a", "5-1", "0-9%", "0-9%0", "0-9/0", "1,1", "0-99999999", "-1", "1-2-3"])
def test_bad_arrays_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--array"):
        parse_array(text)


def test_reactions_of_a_batch_belong_to_their_members(caller: Caller) -> None:
    caller.stdin = batch({"command": ["a"], "on_end": "echo a"}, {"command": ["b"]}, {"command": ["c"], "on_end": "d"})
    assert caller("submit", "--batch", "-").out == "101-103\n"
    request = caller.request
    assert request.members == 3
    assert [(spec.shell_line, spec.after[0].ref) for spec in request.specs[3:]] == [("echo a", "#0"), ("d", "#2")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--batch", "-", "--each", "-", "x"], "--batch and --each together"),
        (["--batch", "-", "make", "x"], "--batch with a COMMAND"),
        (["--each", "-"], "no command was given"),
        (["--array", "0-3", "-k", "x", "make", "x"], "--key with --array"),
        (["--each", "-", "--stdin", "-", "cat", "x"], "--each and --stdin both from the caller's input"),
        (["--array", "0-3", "--max-fails", "0", "make", "x"], "--max-fails: '0' is not a number"),
    ],
)
def test_contradictions_are_refused(caller: Caller, words: list[str], message: str) -> None:
    line = caller("submit", *words)
    assert (line.status, message in line.err) == (2, True)


def test_input_is_kept_with_each_member_of_an_array(caller: Caller) -> None:
    caller.stdin = b"abc"
    caller("submit", "--array", "0-2", "--stdin", "-", "cat", "-")
    assert caller.request.stdins == {0: b"abc", 1: b"abc", 2: b"abc"}
