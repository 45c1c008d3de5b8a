"""What each verb does to tasks, tried with the real command: selectors, order, holding, editing, forgetting.

Refusals and exit statuses are in test_exit_codes, documents in test_json.
"""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

VERBS = (
    "submit run ls show logs wait events cancel hold release retry rerun start-now move priority signal edit rm prune "
    "report pool daemon"
).split()
LOOP = "while :; do sleep 0.05; done"


@pytest.fixture(scope="module")
def one(shared) -> Any:
    """A daemon with pools of its own for what must stand in a queue."""
    shared.configure("[pools.default]\nworkers = 4\n[pools.line]\nworkers = 1\n[pools.other]\nworkers = 1\n")
    return shared


@pytest.fixture
def line(one) -> Any:
    """The pool `line`, paused: what is submitted to it waits in its order; emptied afterwards."""
    one.ok("pool", "pause", "line")
    yield one
    one("cancel", "--pool", "line")
    one.ok("pool", "resume", "line")


def order(cronoq: Any) -> list[int]:
    """Ids of the ready tasks of the line, in their order."""
    tasks = cronoq("ls", "--pool", "line", "--status", "ready", "--json")
    return [] if tasks.returncode == 3 else [task["id"] for task in json.loads(tasks.stdout)["tasks"]]


def queue(cronoq: Any, count: int, *options: str) -> list[int]:
    return [cronoq.submit("-p", "line", *options, "--", "true") for _ in range(count)]


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_shows_what_it_is_for(one, verb) -> None:
    done = one(verb, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith(f"Usage: cronoq {verb} ")
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_help_is_there_without_a_daemon_and_starts_none(cronoq) -> None:
    assert "Usage: cronoq" in cronoq.ok("--help")
    assert "cronoq 0." in cronoq.ok("--version")
    assert "--retries" in cronoq.ok("submit", "--help-all")
    assert cronoq.find_daemon() is None


def test_familiar_names_are_aliases(one) -> None:
    task_id = int(one.ok("add", "--hold", "--", "true"))
    assert json.loads(one.ok("status", task_id, "--json"))["tasks"][0]["id"] == task_id
    one.ok("kill", task_id)
    assert one.show(task_id)["status"] == "cancelled"


def test_several_words_are_executed_as_they_are_and_one_word_is_a_shell_line(one) -> None:
    assert one.ok("run", "--", "echo", "a  b", "$HOME; exit 3", "--json", "-x") == "a  b $HOME; exit 3 --json -x\n"
    assert one.ok("run", "echo one; echo $((1 + 1))") == "one\n2\n"
    assert one.ok("run", "-c", "echo one | tr a-z A-Z") == "ONE\n"
    assert one("run", "--exec", "--", "true && false").returncode == 127
    assert one("run", "--shell", "/bin/bash", "[[ x == x ]] && exit 5").returncode == 5


def test_options_behind_the_command_belong_to_the_command(one) -> None:
    assert one.ok("run", "echo", "--retries", "3", "-h", "--help") == "--retries 3 -h --help\n"


def test_a_missing_command_is_asked_for_in_the_words_of_the_verb(one) -> None:
    assert one("run").stderr == one("submit").stderr
    assert "no command was given" in one("run").stderr


def test_a_wrong_option_gets_the_nearest_right_one_and_a_far_one_the_help(one) -> None:
    assert "did you mean --timeout?" in one("submit", "--timout", "3", "--", "true").stderr
    assert "see cronoq submit --help" in one("submit", "--nonsense", "--", "true").stderr


# -- selectors ---------------------------------------------------------------------------------------------------------


def test_selectors_are_ids_runs_lists_keys_last_and_options(line) -> None:
    a, b, c = queue(line, 3, "-t", "set=one")
    d = line.submit("-p", "line", "-k", "named", "-n", "special.one", "-t", "set=two", "--", "true")

    def ids(*words: object) -> list[int]:
        return sorted(task["id"] for task in line.ask("ls", *words)["tasks"])

    assert ids(a) == [a]
    assert ids(f"{a}-{c}") == [a, b, c]
    assert ids(f"{a},{c}") == [a, c]
    assert ids(f"{a},named") == [a, d]
    assert ids("named") == ids("last") == [d]
    assert ids("--tag", "set=one") == [a, b, c]
    assert ids("--tag", "set") == [a, b, c, d]
    assert ids("--name", "special.*") == [d]
    assert ids("--pool", "line", "--status", "ready") == [a, b, c, d]
    assert ids("--tag", "set", "--name", "true") == [a, b, c]
    assert line.ok("cancel", "--tag", "set=one").split()[-1] == f"{a}-{c}"
    assert ids("--pool", "line", "--status", "ready") == [d]


def test_what_is_not_there_says_what_there_is(line) -> None:
    (task_id,) = queue(line, 1, "--key", "nightly-build")
    for words, said in (
        (["show", 999_999], f"no task 999999 (the newest is {task_id})"),
        (["show", "nightly-biuld"], "no task has the key 'nightly-biuld' (did you mean nightly-build?)"),
        (["show", "elsewhere"], "no task has the key 'elsewhere' (submit --key gives one; --name selects by name)"),
        (["submit", "--after", 999_999, "--", "true"], f"no task 999999 (the newest is {task_id})"),
        (["retry", task_id], f"task {task_id} cannot be retried: it is ready (only ended tasks can be)"),
        (["ls", "--status", "faild"], "no status 'faild' (did you mean failed?)"),
        (["events", "--type", "suceeded"], "no event is called 'suceeded' (did you mean succeeded?)"),
        (["ls", "--recurring", "nightly"], "nothing matched (no schedule is there)"),
        (["submit", "-p", "defualt", "--", "true"], "unknown pool 'defualt' (did you mean default?)"),
    ):
        assert said in line(*words).stderr
    line.ok("cancel", task_id)
    line.ok("rm", task_id)
    assert f"no task {task_id} (it was removed, or forgotten" in line("show", task_id).stderr


def test_a_key_means_its_newest_task(one) -> None:
    one.ok("submit", "--wait", "-k", "again", "--", "true")
    second = int(one.ok("submit", "--wait", "-k", "again", "--", "true"))
    assert one.show("again")["id"] == second


def test_last_is_what_a_person_or_script_submitted_not_a_reaction(one) -> None:
    task_id = one.submit("--on-end", "true", "--", "true")
    assert one.show("last")["id"] == task_id


# -- order -------------------------------------------------------------------------------------------------------------


def test_move_changes_the_order_and_several_keep_theirs(line) -> None:
    a, b, c, d = queue(line, 4)
    assert order(line) == [a, b, c, d]
    line.ok("move", d, "--first")
    assert order(line) == [d, a, b, c]
    line.ok("move", d, "--last")
    assert order(line) == [a, b, c, d]
    line.ok("move", f"{c}-{d}", "--before", a)
    assert order(line) == [c, d, a, b]
    line.ok("move", a, b, "--first")
    assert order(line) == [a, b, c, d]
    line.ok("move", a, "--pool", "other")
    assert line.wait_for(a, "succeeded")["pool"] == "other"


def test_priority_goes_before_age(line) -> None:
    low, normal, high, critical = (queue(line, 1, "-P", word)[0] for word in ("low", "normal", "high", "critical"))
    assert order(line) == [critical, high, normal, low]
    line.ok("priority", low, "critical")
    line.ok("priority", critical, "low")
    assert order(line) == [low, high, normal, critical]


def test_tasks_of_one_class_start_in_the_order_of_their_submission(one, tmp_path) -> None:
    one.ok("pool", "pause", "line")
    words = ["-p", "line", "--", "sh", "-c", f"echo $CRONOQ_TASK_ID >> {tmp_path}/order"]
    ids = [one.submit(*words) for _ in range(6)]
    one.ok("pool", "resume", "line")
    one.ok("wait", f"{ids[0]}-{ids[-1]}")
    assert [int(text) for text in (tmp_path / "order").read_text().split()] == ids


# -- holding, starting, stopping ---------------------------------------------------------------------------------------


def test_a_held_task_waits_keeps_its_place_and_goes_on_when_released(line) -> None:
    a, b = queue(line, 2)
    line.ok("hold", a)
    task = line.show(a)
    assert (task["status"], task["held"], task["reason"]) == ("blocked", True, "held")
    assert order(line) == [b]
    line.ok("release", a)
    assert order(line) == [a, b]


def test_start_now_skips_the_waiting_time(one) -> None:
    task_id = one.submit("--in", "1h", "--", "true")
    assert one.show(task_id)["status"] == "scheduled"
    one.ok("start-now", task_id)
    one.wait_for(task_id, "succeeded")


def test_a_task_starts_when_its_time_has_come_and_not_before(one) -> None:
    task_id = one.submit("--in", "700ms", "--", "true")
    assert one.show(task_id)["status"] == "scheduled"
    task = one.wait_for(task_id, "succeeded")
    assert task["started_at"] >= task["not_before"]


def test_cancel_frees_the_slot_when_the_processes_are_gone(one, tmp_path) -> None:
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; {LOOP}"
    stubborn = one.submit("-p", "line", "--grace", "300ms", "--", "sh", "-c", script)
    one.wait_until((tmp_path / "pid").exists)
    behind = one.submit("-p", "line", "--", "sh", "-c", f"kill -0 $(cat {tmp_path}/pid) && exit 9 || exit 0")
    one.ok("cancel", stubborn)
    assert one.show(stubborn)["status"] == "cancelled"
    assert one.wait_for(behind)["exit_code"] == 0


def test_cancel_dead_puts_it_among_the_dead_letters(one) -> None:
    task_id = one.submit("--hold", "--", "true")
    one.ok("cancel", "--dead", task_id)
    assert one.show(task_id)["status"] == "dead_lettered"


def test_signal_reaches_the_processes_of_a_running_task(one, tmp_path) -> None:
    task_id = one.submit("--", "sh", "-c", f"trap 'exit 44' USR1; touch {tmp_path}/up; {LOOP}")
    one.wait_until((tmp_path / "up").exists)
    one.ok("signal", "USR1", task_id)
    assert one.wait_for(task_id)["exit_code"] == 44


def test_the_stop_signal_is_the_task_s_own(one, tmp_path) -> None:
    script = f"trap 'touch {tmp_path}/told; exit 0' INT; touch {tmp_path}/up; {LOOP}"
    task_id = one.submit("--stop-signal", "INT", "--", "sh", "-c", script)
    one.wait_until((tmp_path / "up").exists)
    one.ok("cancel", task_id)
    one.wait_until((tmp_path / "told").exists)
    one.wait_until(lambda: one.show(task_id)["attempts"][-1]["finished_at"])
    assert one.show(task_id)["attempts"][-1]["signal"] not in (signal.SIGTERM, signal.SIGKILL)


def test_a_paused_pool_starts_nothing_and_says_so(line) -> None:
    (task_id,) = queue(line, 1)
    assert line.show(task_id)["reason"] == "pool line is paused"
    assert line.ask("pool", "show", "line")["pool"]["paused"] is True
    line.ok("pool", "resume", "line")
    line.wait_for(task_id, "succeeded")


def test_kill_at_ends_a_waiting_task_as_failed(one) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    task_id = one.submit("--hold", "--kill-at", at, "--", "true")
    assert one.wait_for(task_id)["status"] == "failed"


# -- changing ----------------------------------------------------------------------------------------------------------


def test_edit_changes_the_named_fields_alone(line) -> None:
    (task_id,) = queue(line, 1, "-t", "a=1")
    before = line.show(task_id)
    line.ok("edit", task_id, "--timeout", "2h", "-n", "other", "-t", "b=2", "--retries", "2")
    after = line.show(task_id)
    assert (after["timeout_s"], after["name"], after["retries"]) == (7200, "other", 2)
    assert after["tags"] == {"b": "2"}
    assert after["max_attempts"] == 3
    for field in ("id", "command", "sequence", "submitted_at", "pool", "attempt"):
        assert after[field] == before[field]
    line.ok("edit", task_id, "--", "echo", "new words")
    assert line.show(task_id)["command"] == ["echo", "new words"]
    line.ok("edit", task_id, "--in", "1h")
    assert line.show(task_id)["status"] == "scheduled"
    line.ok("edit", task_id, "--in", "none")
    assert line.show(task_id)["status"] == "ready"


def test_several_tasks_changed_differently_in_an_editor_are_all_changed_or_none(line, tmp_path) -> None:
    first, second = queue(line, 2, "--timeout", "2h")
    editor = tmp_path / "editor"
    env = {"EDITOR": str(editor)}

    def write(pool: str) -> None:
        script = f's/2h/3h/;/^.task.{second}/,$ {{s/3h/4h/;s/pool = .*/pool = "{pool}"/}}'
        editor.write_text(f"#!/bin/sh\nsed -i '{script}' \"$1\"\n")

    write("nosuch")
    editor.chmod(0o755)
    refused = line("edit", f"{first},{second}", env=env)
    assert (refused.returncode, refused.stdout) == (7, "")
    assert "unknown pool 'nosuch'" in refused.stderr
    assert [line.show(task_id)["timeout_s"] for task_id in (first, second)] == [7200, 7200]
    write("default")
    assert line.ok("edit", f"{first},{second}", env=env).startswith("edited ")
    assert [line.show(task_id)["timeout_s"] for task_id in (first, second)] == [10800, 14400]


def test_retry_keeps_the_id_and_rerun_gives_a_new_one(one) -> None:
    task_id = one.submit("--", "sh", "-c", "exit 3")
    one.wait_for(task_id, "failed")
    one.ok("retry", task_id)
    again = one.wait_for(task_id, "failed")
    assert again["attempt"] == 2
    assert [attempt["number"] for attempt in again["attempts"]] == [1, 2]
    new = int(one.ok("rerun", task_id))
    assert new > task_id
    rerun = one.wait_for(new)
    assert (rerun["attempt"], rerun["command"]) == (1, again["command"])


def test_rm_forgets_a_task_with_its_logs_and_the_id_is_never_used_again(one) -> None:
    task_id = one.submit("--", "echo", "x")
    log = one.wait_for(task_id, "succeeded")["log"]
    assert os.path.exists(log)
    one.ok("rm", task_id)
    assert one("show", task_id).returncode == 3
    assert not os.path.exists(log)
    assert one.submit("--", "true") > task_id


def test_prune_prints_the_count_and_dry_run_removes_nothing(cronoq) -> None:
    for script in ("exit 0", "exit 0", "exit 1"):
        cronoq("submit", "--wait", "--", "sh", "-c", script)
    assert cronoq.ok("prune", "--older-than", "1h").split()[0] == "0"
    assert cronoq.ok("prune", "--older-than", "0s", "--status", "succeeded", "--dry-run").split()[0] == "2"
    assert len(cronoq.ask("ls")["tasks"]) == 3
    assert cronoq.ask("prune", "--older-than", "0s", "--status", "succeeded")["pruned"] == 2
    assert [task["status"] for task in cronoq.ask("ls")["tasks"]] == ["failed"]


# -- seeing ------------------------------------------------------------------------------------------------------------


def test_ls_shows_what_runs_the_next_and_the_last_ended(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 1\n[pools.shut]\n")
    cronoq.ok("submit", "--each", "-", "--", "true", "{}", input="".join(f"{n}\n" for n in range(12)))
    cronoq.ok("wait", "--all")
    running = cronoq.submit("--", "sleep", "600")
    cronoq.wait_for(running, "running")
    cronoq.ok("submit", "--each", "-", "--", "true", "{}", input="".join(f"{n}\n" for n in range(60)))
    document = cronoq.ask("ls")
    assert [task["status"] for task in document["tasks"]] == ["running"] + 50 * ["ready"] + 10 * ["succeeded"]
    assert document["more"] == 10
    assert cronoq.ok("ls").splitlines()[-11] == "+10 more"  # behind the last that waits
    assert len(cronoq.ask("ls", "--limit", "all")["tasks"]) == 73
    assert len(cronoq.ask("ls", "--limit", "5")["tasks"]) == 1 + 5 + 10
    pages, after = [], 0
    while page := cronoq.ask("ls", "--finished", "--after-id", after, "--limit", "5")["tasks"]:
        pages.append([task["id"] for task in page])
        after = page[-1]["id"]
    assert pages == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12]]
    assert [task["id"] for task in cronoq.ask("ls", "--finished", "3-5,20")["tasks"]] == [3, 4, 5]
    cronoq.ok("pool", "pause", "shut")
    shut = cronoq.submit("-p", "shut", "-P", "critical", "--", "true")
    waiting = [task for task in cronoq.ask("ls", "--limit", "all")["tasks"] if task["status"] == "ready"]
    assert [task["pool"] for task in waiting] == 60 * ["default"] + ["shut"] and waiting[-1]["id"] == shut


def test_show_says_that_there_is_no_time_limit(one) -> None:
    task_id = one.submit("--hold", "--", "true")
    assert "timeout        none" in one.ok("show", task_id)
    one.ok("cancel", task_id)


def test_events_tell_every_transition_in_order(one) -> None:
    task_id = one.submit("--retries", "1", "--backoff", "fixed:1ms", "--", "false")
    one.wait_for(task_id, "dead_lettered")
    events = one.ask("events", task_id)["events"]
    assert [event["status"] for event in events] == [
        "ready",
        "running",
        "retrying",
        "ready",
        "running",
        "dead_lettered",
    ]
    behind = one.ask("events", task_id, "--after-seq", events[2]["seq"])["events"]
    assert behind == events[3:]


def test_what_a_task_reports_is_kept_and_outputs_are_shown(one) -> None:
    words = " ".join(f"'{word}'" for word in one.command)
    script = f"{words} report progress=1/2 output.file=x.txt message='half way'; echo output.n=3 >> $CRONOQ_REPORT"
    task = one.wait_for(one.submit("--", "sh", "-c", script), "succeeded")
    assert task["outputs"] == {"file": "x.txt", "n": "3"}
    assert (task["message"], task["progress"]) == ("half way", 0.5)


# -- inside a task -----------------------------------------------------------------------------------------------------


def test_a_task_may_submit_and_wait_for_others(one) -> None:
    words = " ".join(f"'{word}'" for word in one.command)
    task_id = one.submit("--", "sh", "-c", f"{words} submit --key child -- true && {words} wait child")
    assert one.wait_for(task_id)["exit_code"] == 0
    assert one.show("child")["status"] == "succeeded"


@pytest.mark.parametrize("script", ["{0} run -p line -- true", "{0} submit -p line -- true && {0} wait last"])
def test_a_task_that_waits_for_another_behind_its_own_slot_is_warned(one, script) -> None:
    words = " ".join(f"'{word}'" for word in one.command)
    task_id = one.submit("-p", "line", "--", "sh", "-c", script.format(words))
    one.wait_until(lambda: b"use another pool" in one.logs(task_id), what="the warning")
    one.ok("cancel", task_id)
    one("cancel", "--pool", "line")
    one.wait_until(lambda: one.show(task_id)["attempts"][-1]["finished_at"], what="the end of its processes")


def test_a_task_can_cancel_itself(one) -> None:
    words = " ".join(f"'{word}'" for word in one.command)
    task_id = one.submit("--", "sh", "-c", f"{words} cancel $CRONOQ_TASK_ID; sleep 600")
    assert one.wait_for(task_id)["status"] == "cancelled"
    one.wait_until(lambda: one.show(task_id)["attempts"][-1]["finished_at"], what="the end of its processes")


def test_the_caller_s_umask_directory_and_environment_hold_for_the_task(one, tmp_path) -> None:
    old = os.umask(0o027)
    try:
        one.ok("submit", "--wait", "-E", "COLOUR=red", "--", "sh", "-c", "echo $COLOUR > made", cwd=tmp_path)
    finally:
        os.umask(old)
    assert (tmp_path / "made").read_text() == "red\n"
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o640
