"""The exit status of every kind of refusal and end (specification sections 2 and 11), one clear line for each.

How tasks end as processes is in test_processes; documents are in test_json.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

CONFIG = """
[pools.default]
workers = 4
[pools.shut]
workers = 0
[pools.narrow]
workers = 1
"""

SHOWN_BY_THE_WORDS = [
    ["nosuchverb"],
    ["submit"],
    ["submit", "--"],
    ["submit", ""],
    ["submit", "--timout", "3", "--", "true"],
    ["submit", "--timeout", "0", "--", "true"],
    ["submit", "--timeout", "-5", "--", "true"],
    ["submit", "--timeout", "nan", "--", "true"],
    ["submit", "--timeout", "1e400", "--", "true"],
    ["submit", "--timeout", "5x", "--", "true"],
    ["submit", "--timeout", "", "--", "true"],
    ["submit", "--in", "soon", "--", "true"],
    ["submit", "--at", "25:00", "--", "true"],
    ["submit", "--at", "2026-02-30", "--", "true"],
    ["submit", "--in", "1s", "--at", "10:00", "--", "true"],
    ["submit", "--priority", "urgent", "--", "true"],
    ["submit", "--key", "two words", "--", "true"],
    ["submit", "--key", "last", "--", "true"],
    ["submit", "--key", "12", "--", "true"],
    ["submit", "--after", "?!", "--", "true"],
    ["submit", "--after", "5-3", "--", "true"],
    ["submit", "--retries", "-1", "--", "true"],
    ["submit", "--retries", "many", "--", "true"],
    ["submit", "--backoff", "sometimes", "--", "true"],
    ["submit", "--backoff", "fixed:-1s", "--", "true"],
    ["submit", "--retry-on", "256", "--", "true"],
    ["submit", "--slots", "0", "--", "true"],
    ["submit", "--nice", "20", "--", "true"],
    ["submit", "--umask", "9", "--", "true"],
    ["submit", "--stop-signal", "NOPE", "--", "true"],
    ["submit", "--if-exists", "refuse", "--", "true"],
    ["submit", "--once", "--", "true"],
    ["submit", "--tag", "novalue", "--", "true"],
    ["submit", "-c", "true", "--", "true"],
    ["submit", "--array", "5-1", "--", "true"],
    ["submit", "--array", "0-3%0", "--", "true"],
    ["submit", "--max-fails", "1", "--", "true"],
    ["run"],
    ["run", "--timeout", "x", "--", "true"],
    ["wait"],
    ["wait", "--timeout", "x", "1"],
    ["cancel"],
    ["cancel", "3-1"],
    ["ls", "--limit", "-1"],
    ["ls", "--status", "happy"],
    ["move", "1"],
    ["move", "1", "--first", "--last"],
    ["priority", "1", "urgent"],
    ["signal", "NOPE", "1"],
    ["prune"],
    ["pool", "pause"],
    ["report", "weather=fine"],
    ["daemon", "stop", "--timeout", "x"],
    ["daemon", "stop", "--keep-tasks", "--timeout", "3s"],
]

NEEDS_MORE_THAN_THE_WORDS = [
    ["submit", "--pool", "nosuch", "--", "true"],
    ["submit", "--slots", "2", "--pool", "narrow", "--", "true"],
    ["submit", "--after", "999999", "--", "true"],
    ["submit", "--after", "nosuchkey", "--", "true"],
    ["submit", "--batch", "/nonexistent/file"],
    ["submit", "--each", "/nonexistent/file", "--", "echo", "{}"],
    ["ls", "--pool", "nosuch"],
    ["pool", "show", "nosuch"],
    ["pool", "pause", "nosuch"],
    ["move", "--pool", "nosuch", "held"],
]

NOT_FOUND = [
    ["show", "999999"],
    ["show", "nosuchkey"],
    ["ls", "999999"],
    ["ls", "--tag", "nobody=has"],
    ["logs", "999999"],
    ["cancel", "999999"],
    ["cancel", "held,999999"],
    ["hold", "--name", "nobody-has-*"],
    ["release", "nosuchkey"],
    ["retry", "999990-999999"],
    ["rerun", "999999"],
    ["rm", "999999"],
    ["logs", "done", "--attempt", "9"],
    ["move", "held", "--before", "999999"],
]

REFUSED_IN_THIS_STATE = [
    ["cancel", "done"],
    ["hold", "done"],
    ["release", "done"],
    ["start-now", "done"],
    ["move", "done", "--first"],
    ["priority", "done", "high"],
    ["edit", "done", "--name", "other"],
    ["signal", "TERM", "done"],
    ["signal", "TERM", "held"],
    ["retry", "held"],
    ["rm", "held"],
    ["submit", "--key", "held", "--if-exists", "refuse", "--", "true"],
    ["submit", "--key", "done", "--once", "--if-exists", "refuse", "--", "true"],
    ["logs", "done", "--stderr"],
    ["report", "progress=1/2"],
]


@pytest.fixture(scope="module")
def known(shared) -> Any:
    """A daemon with a held task `held` and an ended one `done`."""
    shared.configure(CONFIG)
    shared.ok("submit", "--key", "held", "--hold", "--", "true")
    shared.ok("submit", "--wait", "--key", "done", "--", "true")
    return shared


def assert_refused(done: subprocess.CompletedProcess[str], status: int) -> None:
    """One line on stderr, nothing on stdout, no traceback, and the status."""
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("cronoq: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("words", SHOWN_BY_THE_WORDS, ids=" ".join)
def test_what_the_words_alone_show_to_be_wrong_is_2(known, words) -> None:
    assert_refused(known(*words), 2)


@pytest.mark.parametrize("words", NEEDS_MORE_THAN_THE_WORDS, ids=" ".join)
def test_what_needs_configuration_store_or_file_to_be_judged_is_7(known, words) -> None:
    assert_refused(known(*words), 7)


@pytest.mark.parametrize("words", NOT_FOUND, ids=" ".join)
def test_what_matches_nothing_is_3(known, words) -> None:
    assert_refused(known(*words), 3)


@pytest.mark.parametrize("words", REFUSED_IN_THIS_STATE, ids=" ".join)
def test_what_cannot_be_done_in_this_state_is_4(known, words) -> None:
    assert_refused(known(*words), 4)


def test_nothing_that_was_refused_has_queued_or_changed_anything(known) -> None:
    assert [(task["key"], task["status"], task["name"]) for task in known.ask("ls", "--limit", "all")["tasks"]] == [
        ("held", "blocked", "true"),
        ("done", "succeeded", "true"),
    ]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["run", "--pool", "nosuch", "--", "true"], 125),
        (["run", "--after", "999999", "--", "true"], 125),
        (["submit", "--wait", "--key", "held", "--if-exists", "refuse", "--", "true"], 125),
        (["submit", "--follow", "--pool", "nosuch", "--", "true"], 125),
        (["wait", "999999"], 125),
        (["wait", "nosuchkey"], 125),
        (["run", "--nonsense", "--", "true"], 2),
        (["submit", "--wait", "--retries", "x", "--", "true"], 2),
        (["wait", "held", "--timeout", "50ms"], 124),
        (["wait", "held,done", "--timeout", "50ms"], 124),
        (["wait", "999990-999999"], 3),
        (["wait", "--tag", "nobody=has"], 3),
    ],
    ids=str,
)
def test_trouble_of_our_own_is_125_where_the_status_is_that_of_a_task(known, words, status) -> None:
    assert_refused(known(*words), status)


def test_a_batch_is_queued_whole_or_not_at_all_and_the_line_is_named(known) -> None:
    before = known.ask("ls", "--limit", "all")["tasks"]
    for lines, named in [
        (['{"command": ["true"]}', '{"command": ["true"], "timeout": "x"}'], "line 2"),
        (['{"command": ["true"]}', "", "nonsense"], "line 3"),
        (['{"command": ["true"], "key": "twice"}', '{"command": ["true"], "key": "twice"}'], "twice"),
        (['{"command": ["true"], "key": "a", "after": "b"}', '{"command": ["true"], "key": "b", "after": "a"}'], "a"),
        (['{"command": ["true"]}', '{"command": ["true"], "pool": "nosuch"}'], "nosuch"),
        (['{"command": ["true"], "colour": "red"}'], "colour"),
        (['{"timeout": 3}'], "line 1"),
        ([""], "no task"),
    ]:
        done = known("submit", "--batch", "-", input="\n".join(lines))
        assert_refused(done, 7)
        assert named in done.stderr
    assert known.ask("ls", "--limit", "all")["tasks"] == before


def test_several_tasks_give_1_when_one_did_not_succeed(known) -> None:
    good, bad = known.submit("--", "true"), known.submit("--", "false")
    assert known("wait", good, bad).returncode == 1
    assert known("wait", good).returncode == 0
    assert known("wait", bad).returncode == 1
    assert known("wait", f"{good}-{good}").returncode == 0
    assert known("wait", good, "done").returncode == 0


@pytest.mark.parametrize(
    ("options", "script", "status"),
    [
        ([], "exit 0", 0),
        ([], "exit 75", 75),
        (["--success-codes", "3,4"], "exit 4", 0),
        (["--timeout", "200ms"], "sleep 60", 124),
        ([], "kill -KILL $$", 137),
        ([], "kill -TERM $$", 143),
        ([], "/nonexistent/program x", 127),
        (["--retries", "1", "--backoff", "fixed:10ms"], "exit 9", 9),
        (["-C", "/nonexistent"], "true", 125),
    ],
)
def test_one_task_gives_its_own_status_to_run_and_to_wait(known, options, script, status) -> None:
    assert known("run", *options, "--", "sh", "-c", script).returncode == status
    task_id = known.ask("ls", "last")["tasks"][0]["id"]
    assert known("wait", task_id).returncode == status


def test_a_submission_that_waits_gives_the_status_of_its_task(known) -> None:
    for option in ("--wait", "--follow"):
        assert known("submit", option, "--", "sh", "-c", "exit 9").returncode == 9


def test_a_task_that_ends_without_a_code_gives_125(known) -> None:
    cancelled = known.submit("--hold", "--key", "gone", "--", "true")
    known.ok("cancel", cancelled)
    assert known("wait", cancelled).returncode == 125
    assert known("wait", "gone").returncode == 125
    assert known("submit", "--wait", "--after", "gone", "--", "true").returncode == 125


def test_a_result_file_tells_a_task_s_own_75_from_ours(known, tmp_path) -> None:
    result = tmp_path / "result.json"
    done = known("run", "--result", str(result), "--", "sh", "-c", "exit 75")
    assert done.returncode == 75
    task = json.loads(result.read_text())
    assert task.get("task", task)["exit_code"] == 75


def test_bounds_of_the_daemon_are_75(cronoq) -> None:
    cronoq.configure('[logs]\nmin_free = "9000TiB"\n')
    for words in (["submit", "--", "true"], ["run", "--", "true"], ["submit", "--wait", "--", "true"]):
        done = cronoq(*words)
        assert_refused(done, 75)
        assert "no space" in done.stderr
    assert cronoq.ask("ls")["tasks"] == []


def test_an_interrupted_wait_is_130_and_says_nothing_of_python(known) -> None:
    waiting = known.start("wait", "held")
    known.wait_until(lambda: has_socket(waiting.pid), what="the client's connection")
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("verb", ["ls", "show", "events"])
def test_a_closed_pipe_makes_no_traceback(known, verb) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*known.command, verb, "done", "--json"],
            env=known.env,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    finally:
        os.close(writing)
    assert b"Traceback" not in done.stderr
    assert done.returncode != 0


def has_socket(pid: int) -> bool:
    """Whether the process has a socket: a client does not before it talks to the daemon."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(link.startswith("socket:") for link in links)
