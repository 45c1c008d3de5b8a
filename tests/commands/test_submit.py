"""What the words of `submit` become, and which words are refused before anything is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.model.task import Backoff, Condition, Dependency, Priority
from cronoq_cli.wire.requests import Reply, Submit

from .conftest import NOW, Caller, task_document


def test_several_words_are_argv_exactly_as_given(caller: Caller) -> None:
    words = ["printf", "<%s>", "a b", "", "x'y", "$HOME", "*", "l1\nl2", "-n", "ü", "\udcff"]
    assert caller("submit", "--", *words).status == 0
    assert caller.spec.command == words
    assert caller.spec.shell_line is None


def test_words_after_the_first_belong_to_the_command(caller: Caller) -> None:
    caller("submit", "-n", "mine", "make", "--name", "x", "-n", "--", "--json", "--help", "--home", "d")
    assert caller.spec.command == ["make", "--name", "x", "-n", "--", "--json", "--help", "--home", "d"]
    assert caller.spec.name == "mine"


def test_a_double_dash_lets_a_command_begin_with_a_dash(caller: Caller) -> None:
    caller("submit", "--", "--odd", "-x")
    assert caller.spec.command == ["--odd", "-x"]


def test_a_single_word_is_a_shell_line_named_by_its_first_word(caller: Caller) -> None:
    caller("submit", "/bin/sort big | uniq")
    assert (caller.spec.command, caller.spec.shell_line) == (None, "/bin/sort big | uniq")
    assert (caller.spec.name, caller.spec.kind, caller.spec.shell) == ("/bin/sort", "sort", None)


def test_exec_never_uses_a_shell(caller: Caller) -> None:
    caller("submit", "--exec", "my program")
    assert caller.spec.command == ["my program"]


def test_c_is_always_a_shell_line(caller: Caller) -> None:
    caller("submit", "-c", "make && make test")
    assert caller.spec.shell_line == "make && make test"


def test_the_callers_directory_umask_and_environment_are_recorded(caller: Caller) -> None:
    caller("submit", "true", "x")
    assert (caller.spec.cwd, caller.spec.umask) == (caller.cwd, 0o027)
    assert (
        caller.request.envs[caller.spec.env] == b"HOME=/home/ann\0LANG=C.UTF-8\0PATH=/usr/bin:/bin\0TZ=Europe/Berlin\0"
    )


EFFECTS: list[tuple[list[str], str, Any]] = [
    (["--name", "a\nb"], "name", "a\nb"),
    (["-p", "big"], "pool", "big"),
    (["-P", "critical"], "priority", Priority.CRITICAL),
    (["--priority=low"], "priority", Priority.LOW),
    (["-k", "db:x/1"], "key", "db:x/1"),
    (["--kind", "tests"], "kind", "tests"),
    (["--unique", "1h"], "unique_s", 3600.0),
    (["--after", "3,5-7", "--after", "last"], "after", [Dependency("3"), Dependency("5-7"), Dependency("last")]),
    (["--after-any", "k1"], "after", [Dependency("k1", Condition.ANY)]),
    (["--after-fail", "9"], "after", [Dependency("9", Condition.FAIL)]),
    (["--after", "k2", "--await-deps", "5m"], "await_deps_s", 300.0),
    (["--in", "10m"], "not_before", NOW + 600),
    (["--at", "+2h"], "not_before", NOW + 7200),
    (["--at", "2026-03-29 02:30"], "not_before", 1774746000.0),
    (["--at", "2026-10-25 02:30"], "not_before", 1792888200.0),
    (["--at", "2026-10-25T02:30:00+01:00"], "not_before", 1792891800.0),
    (["--at", "2020-01-01 00:00"], "not_before", 1577833200.0),
    (["--timeout", "0.5"], "timeout_s", 0.5),
    (["--timeout", "1h30m"], "timeout_s", 5400.0),
    (["--kill-at", "2026-12-01T00:00:00Z"], "kill_at", 1796083200.0),
    (["--heartbeat", "30"], "heartbeat_s", 30.0),
    (["--stop-signal", "INT"], "stop_signal", 2),
    (["--grace", "0"], "grace_s", 0.0),
    (["--retries", "3"], "retries", 3),
    (["--retries", "0"], "retries", 0),
    (["--backoff", "fixed:30s"], "backoff", Backoff("fixed", 30.0, 600.0)),
    (["--backoff", "exponential:1s..1m"], "backoff", Backoff("exponential", 1.0, 60.0)),
    (["--backoff", "linear:5s..1h"], "backoff", Backoff("linear", 5.0, 3600.0)),
    (["--backoff", "polynomial"], "backoff", Backoff("polynomial")),
    (["--backoff", "fixed:1h"], "backoff", Backoff("fixed", 3600.0, 3600.0)),
    (["--retry-on", "1,5-7"], "retry_on", [1, 5, 6, 7]),
    (["--no-retry-on", "2"], "no_retry_on", [2]),
    (["--success-codes", "0,3", "--success-codes", "9"], "success_codes", [0, 3, 9]),
    (["--on-lost", "hold"], "on_lost", "hold"),
    (["--slots", "4"], "slots", 4),
    (["-t", "a=b", "--tag", "c=d=e"], "tags", {"a": "b", "c": "d=e"}),
    (["-E", "A=1", "--env", "HOME"], "env_changes", {"A": "1", "HOME": "/home/ann"}),
    (["-C", "/var/tmp"], "cwd", "/var/tmp"),
    (["--umask", "077"], "umask", 0o077),
    (["--nice", "19"], "nice", 19),
    (["--split"], "split", True),
    (["-e", "/tmp/e"], "split", True),
    (["-o", "/tmp/{id}.{attempt}"], "stdout", "/tmp/{id}.{attempt}"),
    (["--keep", "0s"], "keep_s", 0.0),
    (["--hold"], "hold", True),
    (["-k", "x", "--once"], "once", True),
    (["-k", "x", "--if-exists", "replace"], "if_exists", "replace"),
    (["--shell", "/bin/sh", "-c", "true"], "shell", "/bin/sh"),
    (["--start-at", "+1h"], "start_at", NOW + 3600),
    (["--start-at", "+1h"], "tolerance_s", 1.0),
    (["--start-at", "+1h"], "on_miss", "run-late"),
    (["--start-at", "+1h", "--tolerance", "30s"], "tolerance_s", 30.0),
    (["--start-at", "+1h", "--on-miss", "skip"], "on_miss", "skip"),
    (["--deadline", "+2h"], "deadline", NOW + 7200),
    (["--deadline", "2026-12-01T00:00:00Z"], "deadline", 1796083200.0),
    (["--expires", "+90s"], "expires_at", NOW + 90),
    (["--estimate", "1h30m"], "estimate_s", 5400.0),
    (["--use", "gpu=2", "--use", "api=0.5"], "uses", {"gpu": 2.0, "api": 0.5}),
    (["--tenant", "alice"], "tenant", "alice"),
    (["--on", "gpu=yes", "--on", "zone=b"], "labels", {"gpu": "yes", "zone": "b"}),
    (["--group", "mail"], "group", "mail"),
]


@pytest.mark.parametrize(("words", "field", "value"), EFFECTS, ids=lambda value: str(value)[:40])
def test_an_option_sets_its_field(caller: Caller, words: list[str], field: str, value: Any) -> None:
    command = [] if "-c" in words else ["--", "make", "test"]
    line = caller("submit", *words, *command)
    assert (line.status, line.err) == (0, "")
    assert getattr(caller.spec, field) == value


def test_relative_paths_are_seen_from_the_callers_directory(caller: Caller) -> None:
    caller("submit", "-C", "sub", "--stdin", "in", "-o", "out", "-e", "err", "--", "make", "x")
    spec = caller.spec
    names = [f"{caller.cwd}/{name}" for name in ("sub", "in", "out", "err")]
    assert [spec.cwd, spec.stdin, spec.stdout, spec.stderr] == names


def test_a_shell_is_found_in_the_callers_path(caller: Caller, tmp_path: Path) -> None:
    shell = tmp_path / "bin" / "mysh"
    shell.parent.mkdir()
    shell.write_text("#!/bin/sh\n")
    shell.chmod(0o755)
    caller.env["PATH"] = f"/nowhere:{shell.parent}"
    caller("submit", "--shell", "mysh", "echo hi")
    assert caller.spec.shell == str(shell)


REFUSED = [
    (["--prioritty", "high", "make", "x"], "there is no option --prioritty (did you mean --priority?)"),
    (["-Z", "make", "x"], "there is no option -Z"),
    ([], "no command was given"),
    ([""], "the command is empty"),
    (["  "], "the command is empty"),
    (["", "x"], "the first word of the command is empty"),
    (["-c", "true", "make"], "-c with a COMMAND"),
    (["-c", "true", "--exec"], "-c and --exec together"),
    (["--timeout"], "requires an argument"),
    (["--timeout", "0", "make", "x"], "--timeout: '0' is no length of time"),
    (["--timeout", "-5", "make", "x"], "--timeout: '-5' is not a duration"),
    (["--timeout", "nan", "make", "x"], "--timeout: 'nan' is not a duration"),
    (["--timeout", "1e400", "make", "x"], "--timeout: '1e400' is not a duration"),
    (["--timeout", "5 parsecs", "make", "x"], "unknown unit 'parsecs'"),
    (["--in", "5m", "--at", "18:00", "make", "x"], "--in and --at together"),
    (["--at", "25:00", "make", "x"], "--at: '25:00' is not a time"),
    (["-k", "last", "make", "x"], "cannot have the key 'last'"),
    (["-k", "9x", "make", "x"], "--key: '9x' is not a key"),
    (["--once", "make", "x"], "--once without --key"),
    (["--if-exists", "refuse", "make", "x"], "--if-exists without --key or --unique"),
    (["-k", "x", "--if-exists", "replase", "make", "x"], "did you mean replace?"),
    (["--after", "8-3", "make", "x"], "runs backwards"),
    (["--after", "a b", "make", "x"], "--after: 'a b' names no task"),
    (["-P", "hihg", "make", "x"], "--priority: 'hihg' is not a priority (did you mean high?)"),
    (["--retries", "-1", "make", "x"], "--retries: '-1' is not a number"),
    (["--retries", "two", "make", "x"], "--retries: 'two' is not a number"),
    (["--backoff", "square", "make", "x"], "--backoff: 'square' is not a backoff"),
    (["--backoff", "exponential:10m..10s", "make", "x"], "ends below its beginning"),
    (["--retry-on", "256", "make", "x"], "--retry-on: '256' is not a list of exit codes"),
    (["--slots", "0", "make", "x"], "--slots: '0' is not a number from 1"),
    (["-t", "novalue", "make", "x"], "--tag: 'novalue' is not a tag"),
    (["-E", "=x", "make", "x"], "--env: '=x' does not set"),
    (["-E", "NOT_SET_ANYWHERE", "make", "x"], "NOT_SET_ANYWHERE is not set here"),
    (["--umask", "9", "make", "x"], "--umask: '9' is not a mask"),
    (["--nice", "20", "make", "x"], "--nice: '20' is not a number from 0 to 19"),
    (["--nice", "-5", "make", "x"], "--nice: '-5'"),
    (["--stop-signal", "TERMM", "make", "x"], "did you mean TERM?"),
    (["--on-lost", "forget", "make", "x"], "--on-lost: 'forget' is not known here"),
    (["--shell", "no-such-shell", "echo"], "there is no shell 'no-such-shell' in PATH"),
    (["--shell", "/bin/sh", "make", "x"], "--shell with a command of several words"),
    (["-o", "{di}.log", "make", "x"], "unknown placeholder {di} (known are: id, attempt, name)"),
    (["-C", "", "make", "x"], "--cwd: the path is empty"),
    (["--max-fails", "3", "make", "x"], "--max-fails for a single task"),
    (["--on-success", " ", "make", "x"], "--on-success: the command is empty"),
    (["--dry-run", "--wait", "make", "x"], "--dry-run with --wait"),
    (["--result", "f", "make", "x"], "--result without --wait or --follow"),
    (["--array", "0-9", "-f", "make", "x"], "--follow with many tasks"),
    (["--start-at", "18:00", "--in", "5m", "make", "x"], "--start-at and --in together"),
    (["--start-at", "+1h", "--at", "18:00", "make", "x"], "--start-at and --at together"),
    (["--start-at", "soon", "make", "x"], "--start-at: 'soon' is not a time"),
    (["--tolerance", "5s", "make", "x"], "--tolerance without --start-at"),
    (["--on-miss", "skip", "make", "x"], "--on-miss without --start-at"),
    (["--start-at", "+1h", "--on-miss", "skipp", "make", "x"], "did you mean skip?"),
    (["--start-at", "+1h", "--tolerance", "-1s", "make", "x"], "--tolerance: '-1s' is not a duration"),
    (["--start-at", "+2h", "--expires", "+1h", "make", "x"], "--expires is before its start"),
    (["--in", "2h", "--expires", "+1h", "make", "x"], "--expires is before its start"),
    (["--deadline", "1h", "make", "x"], "--deadline: '1h' is not a time"),
    (["--expires", "never", "make", "x"], "--expires: 'never' is not a time"),
    (["--estimate", "0", "make", "x"], "--estimate: '0' is no length of time"),
    (["--use", "gpu", "make", "x"], "--use: 'gpu' is not an amount of a resource (write it as NAME=AMOUNT"),
    (["--use", "gpu=0", "make", "x"], "--use: '0' is not an amount"),
    (["--use", "gpu=-1", "make", "x"], "--use: '-1' is not an amount"),
    (["--use", "gpu=two", "make", "x"], "--use: 'two' is not an amount"),
    (["--use", "=1", "make", "x"], "--use: '' is not a name for a resource"),
    (["--use", "gpu=1", "--use", "gpu=1", "make", "x"], "--use: gpu stands twice"),
    (["--on", "gpu", "make", "x"], "--on: 'gpu' is not a label (write it as NAME=VALUE)"),
    (["--tenant", "", "make", "x"], "--tenant: it is empty"),
    (["--group", "a b", "make", "x"], "--group: 'a b' is not a name for a group"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=lambda value: str(value)[:50])
def test_bad_words_are_one_line_and_nothing_is_asked(caller: Caller, words: list[str], message: str) -> None:
    line = caller("submit", *words)
    assert (line.status, line.out) == (2, "")
    assert line.err.startswith("cronoq: ")
    assert line.err.count("\n") == 1
    assert message in line.err
    assert caller.gateway.requests == []


def test_the_id_is_the_only_output(caller: Caller) -> None:
    line = caller("submit", "true", "x")
    assert (line.out, line.err) == ("7\n", "")


def test_quiet_prints_nothing(caller: Caller) -> None:
    assert caller("submit", "-q", "true", "x").out == ""


def test_a_duplicate_prints_the_existing_id_and_says_so_on_stderr(caller: Caller) -> None:
    task = task_document(3, "running", duplicate=True)
    caller.gateway.answer(Submit, Reply(doc={"ids": [3], "tasks": [task]}, notes=["task 3 is there already"]))
    line = caller("submit", "-k", "x", "true", "x")
    assert (line.out, line.err) == ("3\n", "cronoq: task 3 is there already\n")
    assert json.loads(caller("submit", "--json", "-k", "x", "true", "x").out)["task"]["duplicate"] is True


def test_json_is_one_document_with_one_task(caller: Caller) -> None:
    doc = json.loads(caller("submit", "--json", "true", "x").out)
    assert (doc["schema"], doc["task"]["id"]) == (1, 7)


def test_documents_are_asked_for_only_where_they_are_printed(caller: Caller) -> None:
    caller("submit", "true", "x")
    assert caller.request.brief is True
    caller("submit", "--json", "true", "x")
    assert caller.request.brief is False


def test_a_dry_run_asks_for_one_and_prints_what_would_be(caller: Caller) -> None:
    line = caller("submit", "--dry-run", "true", "x")
    assert caller.request.dry_run is True
    assert line.out == "1 task would be queued\n"


def test_a_submitter_who_does_not_wait_says_so(caller: Caller) -> None:
    caller("submit", "make", "x")
    assert caller.request.no_wait is False
    caller("submit", "--no-wait", "make", "x")
    assert caller.request.no_wait is True


def test_a_reaction_is_work_of_the_same_tenant(caller: Caller) -> None:
    caller("submit", "--tenant", "alice", "--use", "gpu=1", "--on-end", "echo", "make", "x")
    assert [(spec.tenant, spec.uses) for spec in caller.request.specs] == [("alice", {"gpu": 1.0}), ("alice", {})]


def test_reactions_are_dependents_in_the_same_request(caller: Caller) -> None:
    words = ["-p", "big", "--on-success", "echo ok", "--on-failure", "mail me", "--on-end", "rm -f lock"]
    caller("submit", *words, "--", "make", "x")
    request = caller.request
    assert (len(request.specs), request.members) == (4, 1)
    edges = [(spec.shell_line, spec.after) for spec in request.specs[1:]]
    assert edges == [
        ("echo ok", [Dependency("#0", Condition.SUCCESS)]),
        ("mail me", [Dependency("#0", Condition.FAIL)]),
        ("rm -f lock", [Dependency("#0", Condition.ANY)]),
    ]
    assert {(spec.pool, spec.cwd, spec.env) for spec in request.specs} == {("big", caller.cwd, request.specs[0].env)}


def test_input_from_the_caller_is_kept_byte_for_byte(caller: Caller) -> None:
    caller.stdin = b"a\nb\xff\0"
    caller("submit", "--stdin", "-", "cat", "-")
    assert caller.spec.stdin_kept is True
    assert caller.spec.stdin is None
    assert caller.request.stdins == {0: b"a\nb\xff\0"}


def test_more_input_than_the_limit_is_refused(caller: Caller) -> None:
    caller.stdin = bytes(16 * 1024 * 1024 + 1)
    line = caller("submit", "--stdin", "-", "cat", "-")
    assert line.status == 2
    assert "more than 16 MiB" in line.err


@pytest.mark.parametrize(
    "words",
    [
        ["--stdin", "-", "cat", "x"],
        ["--stdin", "/dev/fd/3", "cat", "x"],
        ["--batch", "-"],
        ["--each", "/dev/stdin", "echo", "x"],
        ["--batch", "missing-here"],
        ["--wait", "true", "x"],
        ["--follow", "true", "x"],
        ["--array", "0-10000", "true", "x"],
    ],
)
def test_the_daemon_sends_back_what_only_the_client_can_do(caller: Caller, words: list[str]) -> None:
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("submit", *words)
    assert caller.gateway.requests == []


def test_a_fifo_is_never_opened_by_the_daemon(caller: Caller, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("submit", "--each", "fifo", "echo", "x")


def test_a_small_plain_file_is_read_on_the_daemons_side(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("one\n")
    assert caller.on_daemon_side()("submit", "--each", "list", "echo", "x").status == 0


WAITED = [
    (task_document(7, "succeeded"), 0),
    (task_document(7, "failed", exit_code=7), 7),
    (task_document(7, "failed", signal=9), 137),
    (task_document(7, "cancelled"), 125),
]


@pytest.mark.parametrize(("task", "status"), WAITED)
def test_a_waited_submission_exits_as_the_task_did(caller: Caller, task: dict[str, Any], status: int) -> None:
    from cronoq_cli.wire.requests import WaitTasks

    caller.gateway.answer(WaitTasks, Reply(doc={"tasks": [task]}))
    line = caller("submit", "-w", "true", "x")
    assert (line.status, line.out) == (status, "7\n")


def test_a_result_file_tells_the_tasks_code_from_ours(caller: Caller, tmp_path: Path) -> None:
    from cronoq_cli.wire.requests import WaitTasks

    caller.gateway.answer(WaitTasks, Reply(doc={"tasks": [task_document(7, "failed", exit_code=125)]}))
    assert caller("submit", "-w", "--result", "r.json", "true", "x").status == 125
    assert json.loads((tmp_path / "r.json").read_text())["task"]["exit_code"] == 125
