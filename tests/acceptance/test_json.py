"""The documents of `--json`: their names and types, one document and a newline, errors as objects (section 8)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

NULL = type(None)
TEXT, NUMBER, WHOLE, FLAG, LIST, TABLE = (str,), (int, float), (int,), (bool,), (list,), (dict,)
MAYBE = (int, float, NULL)
TASK = {
    "id": WHOLE, "name": TEXT, "key": (str, NULL), "kind": TEXT, "pool": TEXT, "priority": TEXT, "status": TEXT,
    "reason": (str, NULL), "held": FLAG, "command": LIST, "shell": (str, NULL), "cwd": TEXT, "tenant": (str, NULL),
    "tags": TABLE, "labels": TABLE, "resources": TABLE, "slots": WHOLE, "after": LIST, "attempt": WHOLE,
    "max_attempts": WHOLE, "exit_code": (int, NULL), "signal": (int, NULL), "message": (str, NULL),
    "progress": MAYBE, "outputs": TABLE, "recurring": (str, NULL), "reason_started": TEXT,
    "sequence": NUMBER, "batch": (str, NULL), "array_index": (int, NULL), "group": (str, NULL), "duplicate": FLAG,
    "estimate_s": MAYBE, "timeout_s": MAYBE, "retries": WHOLE, "on_lost": TEXT,
    "expires_at": (str, NULL), "kill_at": (str, NULL), "left_behind": WHOLE, "updated_at": TEXT, "submitted_at": TEXT,
    "not_before": (str, NULL), "start_at": (str, NULL), "deadline": (str, NULL), "started_at": (str, NULL),
    "finished_at": (str, NULL), "wait_s": MAYBE, "run_s": MAYBE, "pid": (int, NULL), "log": (str, NULL),
    "usage": (dict, NULL),
}  # fmt: skip
EVENT = {
    "seq": WHOLE, "at": TEXT, "type": TEXT, "id": (int, NULL), "key": (str, NULL), "pool": (str, NULL),
    "status": (str, NULL), "attempt": (int, NULL), "message": (str, NULL),
}  # fmt: skip
POOL = {
    "name": TEXT, "workers": WHOLE, "min": (int, NULL), "max": (int, NULL), "busy": WHOLE, "held": WHOLE,
    "target": (int, NULL), "reason": (str, NULL), "paused": FLAG, "waiting": TABLE, "blocked": WHOLE,
    "scheduled": WHOLE, "retrying": WHOLE, "running": WHOLE, "reservations": (int, list), "oldest_ready_s": MAYBE,
    "started": WHOLE, "succeeded": WHOLE, "failed": WHOLE, "retried": WHOLE, "wait_s": (dict, NULL),
    "run_s": (dict, NULL), "utilisation": MAYBE, "fixed_start_hit_rate": MAYBE, "deadline_hit_rate": MAYBE,
    "worker_s": MAYBE, "cost": MAYBE, "groups": LIST,
}  # fmt: skip
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SURROUNDINGS = [
    {},
    {"COLUMNS": "40"},
    {"FORCE_COLOR": "1"},
    {"NO_COLOR": "1"},
    {"TERM": "dumb", "FORCE_COLOR": "0"},
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
]


@pytest.fixture(scope="module")
def busy(shared) -> Any:
    """Tasks in several states, with names that hurt."""
    shared.ok("submit", "--key", "done", "--wait", "-t", "who=ann", "--", "echo", "out")
    shared("submit", "--wait", "-n", "line\nfeed \x1b[31m\t", "--", "sh", "-c", "exit 3")
    shared.ok("submit", "--hold", "-n", b"bad \xff name", "--", "true")
    shared.ok("submit", "--in", "1h", "--kill-at", "+3h", "--timeout", "5", "--", "true")
    shared.ok("submit", "--after", "last", "-P", "high", "--", "true")
    shared.ok("submit", "--key", "running", "--", "sleep", "600")
    shared.wait_for("running", "running")
    return shared


def read(done: Any) -> dict[str, Any]:
    """The one document on stdout."""
    assert done.stdout.endswith("\n"), done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.isascii()
    document = dict(json.loads(done.stdout))
    assert document["schema"] == 1
    return document


def check_fields(found: dict[str, Any], wanted: dict[str, tuple[type, ...]]) -> None:
    """Every name is there with a value of its type; moments are RFC 3339 in UTC."""
    assert not set(wanted) - set(found), "missing"
    for name, types in wanted.items():
        value = found[name]
        assert isinstance(value, types), (name, value)
        assert isinstance(value, bool) == (types == FLAG), (name, value)
        if name.endswith("_at") and value is not None:
            assert MOMENT.fullmatch(value), (name, value)


def test_a_task_has_every_field_in_every_state_and_in_every_verb(busy) -> None:
    tasks = read(busy("ls", "--limit", "all", "--json"))["tasks"]
    assert {task["status"] for task in tasks} == {"succeeded", "failed", "blocked", "scheduled", "running"}
    for task in tasks:
        check_fields(task, TASK)
    for verb, *words in (
        ["show", "done"],
        ["wait", "done"],
        ["run", "--", "true"],
        ["submit", "--in", "2h", "--", "true"],
        ["hold", "last"],
        ["release", "last"],
        ["cancel", "last"],
        ["rm", "last"],
    ):
        document = read(busy(verb, "--json", *words))
        check_fields(document["task"] if "task" in document else document["tasks"][0], TASK)


def test_show_adds_attempts_and_the_names_in_the_environment_never_their_values(busy) -> None:
    task_id = int(busy.ok("submit", "--wait", "-E", "SECRET=hunter2", "--", "true"))
    task = busy.show(task_id)
    assert "SECRET" in task["env_names"]
    assert task["attempts"][0]["exit_code"] == 0
    assert set(task["usage"]) == {"cpu_user_s", "cpu_system_s", "max_rss_bytes"}
    for words in (["show", task_id], ["show", task_id, "--json"], ["ls", "--json"], ["events", "--json"]):
        done = busy(*words)
        assert "hunter2" not in done.stdout + done.stderr
    assert busy.show(task_id, "--env")["env"]["SECRET"] == "hunter2"


def test_several_tasks_stand_under_their_noun_and_one_under_task(busy) -> None:
    assert [task["key"] for task in read(busy("show", "done", "running", "--json"))["tasks"]] == ["done", "running"]
    assert read(busy("show", "done", "--json"))["task"]["key"] == "done"
    assert [task["key"] for task in read(busy("ls", "done", "--json"))["tasks"]] == ["done"]


def test_names_with_bytes_that_are_not_text_come_back_as_they_were(busy) -> None:
    names = {task["name"] for task in busy.ask("ls", "--limit", "all")["tasks"]}
    assert "line\nfeed \x1b[31m\t" in names
    assert b"bad \xff name" in {name.encode("utf-8", "surrogateescape") for name in names}


def test_a_table_shows_no_control_character_and_one_line_a_task(busy) -> None:
    done = busy("ls", "--limit", "all")
    assert "\x1b" not in done.stdout
    assert "line\\nfeed" in done.stdout
    assert len(done.stdout.splitlines()) == 1 + len(busy.ask("ls", "--limit", "all")["tasks"])


def test_the_surroundings_change_nothing_in_a_document(busy) -> None:
    documents = [busy("show", "done", "--json", env=env).stdout for env in SURROUNDINGS]
    assert len(set(documents)) == 1
    for env in SURROUNDINGS:
        read(busy("ls", "--json", env=env))


def test_a_piped_table_is_neither_cut_nor_coloured_whatever_the_surroundings(busy) -> None:
    name = "long" * 40
    busy.ok("submit", "--hold", "-n", name, "--", "true")
    for env in SURROUNDINGS:
        done = busy("ls", "last", env={**env, "COLUMNS": "40"})
        assert name in done.stdout
        if env.get("FORCE_COLOR", "0") == "0":
            assert "\x1b" not in done.stdout


def test_events_and_pools_have_their_fields(busy) -> None:
    events = read(busy("events", "-n", "20", "--json"))["events"]
    assert events == sorted(events, key=lambda event: event["seq"])
    for event in events:
        check_fields(event, EVENT)
    (pool,) = read(busy("pool", "ls", "--json"))["pools"]
    check_fields(pool, POOL)
    check_fields(read(busy("pool", "show", "default", "--json"))["pool"], POOL)
    for name in ("wait_s", "run_s"):
        assert pool[name] is None or set(pool[name]) == {"mean", "p50", "p90", "p99"}


def test_a_followed_stream_is_one_document_a_line(busy) -> None:
    following = busy.start("events", "-f", "-n", "2", "--json")
    lines = [json.loads(following.stdout.readline()) for _ in range(2)]
    busy.submit("--", "true")
    lines += [json.loads(following.stdout.readline()) for _ in range(2)]
    following.terminate()
    following.communicate(timeout=20)
    assert all(line["schema"] == 1 for line in lines)
    assert [line["seq"] for line in lines] == sorted({line["seq"] for line in lines})
    for line in lines:
        check_fields(line, EVENT)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["submit", "--json", "--timout", "3", "--", "true"], 2),
        (["submit", "--json", "--timeout", "x", "--", "true"], 2),
        (["submit", "--json", "--pool", "nosuch", "--", "true"], 7),
        (["show", "--json", "999999"], 3),
        (["cancel", "--json", "done"], 4),
        (["wait", "--json", "running", "--timeout", "10ms"], 124),
        (["run", "--json", "--pool", "nosuch", "--", "true"], 125),
        (["wait", "--json", "999999"], 125),
    ],
    ids=str,
)
def test_an_error_is_an_object_with_code_message_hint_and_exit(busy, words, status) -> None:
    done = busy(*words)
    assert done.returncode == status
    error = read(done)["error"]
    assert set(error) == {"code", "message", "hint", "exit"}
    assert error["exit"] == status
    assert isinstance(error["code"], str)
    assert isinstance(error["message"], str)


def test_notes_go_to_stderr_and_the_duplicate_is_told_in_the_document(busy) -> None:
    first = busy.submit("--key", "only", "--hold", "--", "true")
    done = busy("submit", "--key", "only", "--hold", "--json", "--", "true")
    task = read(done)["task"]
    assert (task["id"], task["duplicate"]) == (first, True)
    assert "there already" in done.stderr


def test_no_tasks_and_no_daemon_are_documents_too(cronoq) -> None:
    done = cronoq("ls", "--json")
    assert (done.returncode, read(done)["tasks"]) == (0, [])
    assert "no daemon runs" in done.stderr
    assert read(cronoq("daemon", "status", "--json"))["daemon"]["state"] == "idle"
    cronoq.ok("daemon", "start")
    status = read(cronoq("daemon", "status", "--json"))["daemon"]
    assert {"state", "role", "leader_pid", "epoch", "version", "protocol", "recovered"} <= set(status)
    assert set(status["recovered"]) == {"adopted", "ends_delivered", "lost", "requeued", "set_aside"}
    assert read(cronoq("ls", "--json"))["tasks"] == []
