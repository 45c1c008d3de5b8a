"""Every verb beside `submit`, `run` and `logs`: what is asked, what is printed, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.errors import ConflictError, NoDaemonError, NotFoundError, WaitTimeoutError
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.history import Window, describe_stats
from cronoq_cli.model.snapshot import describe_resource
from cronoq_cli.wire import requests
from cronoq_cli.wire.requests import Reply, Selector

from .conftest import NOW, Caller, task_document

SELECTED = [
    (["7"], Selector(refs=["7"])),
    (["3-8", "11,last", "db:x"], Selector(refs=["3-8", "11", "last", "db:x"])),
    (["--pool", "a", "-p", "b,c"], Selector(pools=["a", "b", "c"])),
    (["--status", "failed,dead-lettered"], Selector(statuses=["failed", "dead_lettered"])),
    (["--tag", "a=b", "-t", "c"], Selector(tags={"a": "b", "c": None})),
    (["--name", "mak*"], Selector(name_glob="mak*")),
    (["--all"], Selector(all=True)),
    (["--all", "--pool", "a"], Selector(all=True, pools=["a"])),
]


@pytest.mark.parametrize(("words", "selector"), SELECTED, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("ls", requests.ListTasks),
        ("show", requests.ShowTasks),
        ("cancel", requests.Cancel),
        ("hold", requests.Hold),
        ("release", requests.Release),
        ("retry", requests.Retry),
        ("rerun", requests.Rerun),
        ("start-now", requests.StartNow),
        ("rm", requests.Remove),
        ("explain", requests.Explain),
        ("wait", requests.WaitTasks | requests.ShowTasks),
    ],
)
def test_verbs_take_the_same_selectors(
    caller: Caller, verb: str, kind: type, words: list[str], selector: Selector
) -> None:
    assert caller(verb, *words).err == ""
    assert isinstance(caller.request, kind)
    assert caller.request.select == selector


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no task was named"),
        (["0"], "is not a task id"),
        (["8-3"], "runs backwards (write 3-8)"),
        (["9x"], "'9x' names no task"),
        (["--status", "redy", "7"], "there is no status 'redy' (did you mean ready?)"),
        (["--tag", "=x"], "--tag: '=x' is not a tag"),
        (["--all", "7"], "--all and named tasks together"),
        (["7", "--colour"], "there is no option --colour"),
    ],
)
def test_bad_selectors_are_refused(caller: Caller, words: list[str], message: str) -> None:
    line = caller("cancel", *words)
    assert (line.status, line.out, message in line.err) == (2, "", True)
    assert caller.gateway.requests == []


def test_nothing_matched_is_exit_status_3(caller: Caller) -> None:
    caller.gateway.answer(requests.Hold, NotFoundError("nothing matched"))
    line = caller("hold", "99")
    assert (line.status, line.err) == (3, "cronoq: nothing matched\n")


def test_a_refusal_has_its_status_and_its_document(caller: Caller) -> None:
    caller.gateway.answer(requests.Remove, ConflictError("task 8 waits for task 7", hint="use --cascade"))
    line = caller("rm", "--json", "7")
    assert line.status == 4
    doc = {"code": "conflict", "message": "task 8 waits for task 7", "hint": "use --cascade", "exit": 4}
    assert json.loads(line.out) == {"schema": 1, "error": doc}
    assert line.err == "cronoq: task 8 waits for task 7 (use --cascade)\n"


CHANGED: list[tuple[list[str], Any, str]] = [
    (["cancel", "7", "--dead"], {"dead": True}, "archived 7-8\n"),
    (["kill", "7", "--grace", "2s"], {"grace_s": 2.0, "dead": False}, "cancelled 7-8\n"),
    (["hold", "7"], {}, "held 7-8\n"),
    (["release", "7"], {}, "released 7-8\n"),
    (["retry", "7", "--with-dependents"], {"with_dependents": True}, "retried 7-8\n"),
    (["rerun", "7"], {}, "7-8\n"),
    (["start-now", "7"], {}, "started now 7-8\n"),
    (["move", "7", "--first"], {"first": True}, "moved 7-8\n"),
    (["move", "7", "--last"], {"last": True}, "moved 7-8\n"),
    (["move", "7", "--before", "3"], {"before": "3"}, "moved 7-8\n"),
    (["move", "7", "--pool", "big"], {"pool": "big"}, "moved 7-8\n"),
    (["signal", "USR1", "7"], {"signal": 10}, "signalled 7-8\n"),
    (["rm", "7", "--cascade"], {"cascade": True}, "removed 7-8\n"),
    (["priority", "7", "high"], {"changes": requests.TaskChanges(priority=2)}, "now high: 7-8\n"),
]


@pytest.mark.parametrize(("words", "fields", "out"), CHANGED, ids=lambda value: str(value)[:40])
def test_a_verb_asks_and_says_what_it_did(caller: Caller, words: list[str], fields: dict[str, Any], out: str) -> None:
    kinds = (requests.Cancel, requests.Hold, requests.Release, requests.Retry, requests.Rerun, requests.StartNow)
    for kind in (*kinds, requests.Move, requests.Signal, requests.Remove, requests.Edit):
        caller.gateway.answer(kind, Reply(doc={"tasks": [task_document(7), task_document(8)]}))
    line = caller(*words)
    assert (line.status, line.out, line.err) == (0, out, "")
    assert caller.request.select == Selector(refs=["7"])
    for name, value in fields.items():
        assert getattr(caller.request, name) == value
    assert len(json.loads(caller(*words, "--json").out)["tasks"]) == 2


EDITED: list[tuple[list[str], dict[str, Any]]] = [
    (["--timeout", "2h", "-P", "low"], {"timeout_s": 7200.0, "priority": 0}),
    (["--timeout", "none"], {"timeout_s": None}),
    (["--at", "none"], {"not_before": None}),
    (["--after", "none"], {"after": []}),
    (["--tag", "none"], {"tags": {}}),
    (["--retry-on", "none"], {"retry_on": None}),
    (["-n", "new", "-p", "big", "--slots", "3"], {"name": "new", "pool": "big", "slots": 3}),
    (["--start-at", "+1h", "--tolerance", "5s"], {"start_at": NOW + 3600, "tolerance_s": 5.0}),
    (["--tolerance", "5s", "--on-miss", "fail"], {"tolerance_s": 5.0, "on_miss": "fail"}),
    (["--start-at", "none"], {"start_at": None}),
    (["--deadline", "+1h", "--estimate", "2m"], {"deadline": NOW + 3600, "estimate_s": 120.0}),
    (["--deadline", "none", "--expires", "none"], {"deadline": None, "expires_at": None}),
    (["--use", "gpu=2", "--on", "gpu=yes"], {"uses": {"gpu": 2.0}, "labels": {"gpu": "yes"}}),
    (["--use", "none", "--on", "none", "--tenant", "none"], {"uses": {}, "labels": {}, "tenant": ""}),
    (["-E", "A=1"], {"env_changes": {"A": "1"}}),
    (["-c", "make all"], {"shell_line": "make all"}),
    (["--", "make", "-j8", "all"], {"command": ["make", "-j8", "all"]}),
    (["--", "make all"], {"shell_line": "make all"}),
    (["--exec", "--", "make"], {"command": ["make"]}),
]


@pytest.mark.parametrize(("words", "fields"), EDITED, ids=lambda value: str(value)[:40])
def test_edit_changes_only_what_was_named(caller: Caller, words: list[str], fields: dict[str, Any]) -> None:
    line = caller("edit", "7", *words)
    assert (line.status, line.err) == (0, "")
    assert caller.request.select == Selector(refs=["7"])
    assert caller.request.changes == requests.TaskChanges(**fields)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["edit"], "no task was named"),
        (["edit", "7", "--timeout", "0"], "--timeout: '0' is no length of time"),
        (["edit", "7", "--key", "x"], "there is no option --key"),
        (["move", "7"], "move needs exactly one place"),
        (["move", "7", "--first", "--last"], "move needs exactly one place"),
        (["move", "--first"], "no task was named"),
        (["priority", "7", "urgent"], "'urgent' is not a priority"),
        (["priority", "high"], "no task was named"),
        (["signal", "7"], "no task was named"),
        (["signal", "WINCHH", "7"], "did you mean WINCH?"),
        (["prune"], "no age was given"),
        (["prune", "--older-than", "1 year"], "--older-than: '1 year' is not a duration"),
        (["prune", "--older-than", "1d", "--status", "ready"], "ready tasks have not ended"),
        (["ls", "--after-id", "3"], "--after-id without --finished"),
        (["ls", "--limit", "few"], "--limit: 'few' is not a number"),
        (["cancel", "7", "--grace", "x"], "--grace: 'x' is not a duration"),
        (["wait", "7", "--timeout", "x"], "--timeout: 'x' is not a duration"),
        (["events", "-n", "x"], "-n: 'x' is not a number"),
        (["pool", "pause"], "name pools or use --all"),
        (["pool", "show"], "pool show: POOL is missing"),
        (["pool", "reset"], "name pools or use --all"),
        (["pool", "scale", "batch"], "pool scale needs a number or bounds"),
        (["pool", "scale", "batch", "3", "--max", "4"], "pool scale needs a number or bounds"),
        (["pool", "scale", "batch", "some"], "WORKERS: 'some' is not a number"),
        (["pool", "scale", "batch", "--min", "5", "--max", "4"], "--min is more than --max"),
        (["pool", "set", "batch"], "nothing to change"),
        (["pool", "set", "batch", "max_pendin=3"], "did you mean max_pending?"),
        (["pool", "set", "batch", "weight=0"], "weight: 0 does not fit here"),
        (["resource", "show"], "resource show: RESOURCE is missing"),
        (["resource", "set", "gpu"], "nothing to change"),
        (["resource", "set", "gpu", "--permits", "1", "--burst", "2"], "--permits with --rate or --burst"),
        (["resource", "set", "gpu", "--permits", "1.5"], "--permits: '1.5' is not a number"),
        (["resource", "set", "api", "--rate", "10"], "--rate: '10' is not a rate"),
        (["resource", "set", "api", "--burst", "0"], "--burst: '0' is not an amount"),
        (["edit", "7", "--group", "mail"], "there is no option --group"),
        (["daemon", "stop", "--keep-tasks", "--timeout", "3s"], "--keep-tasks with --timeout"),
        (["daemon", "strat"], "daemon: there is no command 'strat' (did you mean start?)"),
        (["daemon", "logs", "-n", "x"], "--lines: 'x' is not a number"),
    ],
)
def test_bad_words_of_verbs_are_refused(caller: Caller, words: list[str], message: str) -> None:
    line = caller(*words)
    assert (line.status, line.out) == (2, "")
    assert message in line.err
    assert caller.gateway.requests == []


def test_ls_asks_for_the_usual_number_and_more_on_request(caller: Caller) -> None:
    caller("ls")
    assert caller.request == requests.ListTasks()
    caller("ls", "--limit", "all")
    assert caller.request.limit is None
    caller("status", "--finished", "--after-id", "12", "-l", "3")
    assert caller.request == requests.ListTasks(finished=True, after_id=12, limit=3)


def test_show_gives_values_of_the_environment_only_when_asked(caller: Caller) -> None:
    caller("show", "7")
    assert caller.request.env is False
    caller("show", "--env", "7")
    assert caller.request.env is True


WAITS = [
    (["7"], [task_document(7, "failed", exit_code=7)], 7),
    (["last"], [task_document(7, "failed", signal=15)], 143),
    (["key"], [task_document(7, "skipped")], 125),
    (["7"], [task_document(7, "dead_lettered", attempt=1, exit_code=143, message="time limit of 1s")], 124),
    (["7-8"], [task_document(7), task_document(8, "failed", exit_code=7)], 1),
    (["7", "8"], [task_document(7), task_document(8)], 0),
    (["--all"], [task_document(7, "failed", exit_code=7)], 1),
]


@pytest.mark.parametrize(("words", "tasks", "status"), WAITS)
def test_wait_exits_as_the_one_task_or_tells_whether_all_succeeded(
    caller: Caller, words: list[str], tasks: list[dict[str, Any]], status: int
) -> None:
    caller.gateway.answer(requests.WaitTasks, Reply(doc={"tasks": tasks}))
    caller.gateway.answer(requests.ShowTasks, Reply(doc={"task": tasks[0]}))
    assert caller("wait", *words).status == status
    if words != ["--all"]:
        assert caller.on_daemon_side()("wait", *words).status == status


@pytest.mark.parametrize("name", ["last", "key"])
def test_wait_pins_what_a_name_means_when_it_is_asked(caller: Caller, name: str) -> None:
    caller.gateway.answer(requests.ShowTasks, Reply(doc={"task": task_document(12, "running")}))
    caller("wait", name)
    assert caller.request == requests.WaitTasks(select=Selector(refs=["12"]), brief=True)
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("wait", name)


def test_all_beside_named_tasks_is_what_wait_does_anyway(caller: Caller) -> None:
    caller("wait", "--all", "3-8")
    assert caller.request == requests.WaitTasks(select=Selector(refs=["3-8"]), brief=True)


def test_a_result_file_is_written_by_the_client(caller: Caller, tmp_path: Path) -> None:
    assert caller("wait", "--result", "r", "7").status == 0
    assert json.loads((tmp_path / "r").read_text())["task"]["id"] == 7
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("wait", "--result", "r", "7")


def test_wait_for_filtered_tasks_that_are_all_over_is_answered_at_once(caller: Caller) -> None:
    nothing = NotFoundError("nothing matched")
    caller.gateway.answer(requests.WaitTasks, nothing)
    assert caller("wait", "--all").status == 0
    caller.gateway.answer(requests.ListTasks, nothing)
    assert caller("wait", "--tag", "no=where").status == 3
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("wait", "--all")


def test_wait_says_how_a_task_ended_unless_it_is_to_be_quiet(caller: Caller) -> None:
    caller.gateway.answer(requests.WaitTasks, Reply(doc={"tasks": [task_document(7, "failed", exit_code=3)]}))
    assert caller("wait", "7").err == "cronoq: task 7 failed: exit 3\n"
    assert caller("wait", "-q", "7").err == ""


def test_wait_with_a_limit_is_the_clients(caller: Caller) -> None:
    assert caller.streams is not None
    caller("wait", "--any", "--timeout", "10m", "3-8")
    assert caller.streams.calls == [("wait", 600.0)]
    assert caller.request.any is True
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("wait", "--timeout", "1s", "7")


def test_errors_of_ours_are_125_where_the_status_is_a_tasks(caller: Caller) -> None:
    caller.gateway.answer(requests.WaitTasks, NotFoundError("no task 99"))
    assert caller("wait", "99").status == 125
    assert caller("wait", "98-99").status == 3
    caller.gateway.answer(requests.WaitTasks, WaitTimeoutError("not ended after 1s"))
    assert caller("wait", "--timeout", "1s", "99").status == 124


def test_prune_prints_the_count(caller: Caller) -> None:
    caller.gateway.answer(requests.Prune, Reply(doc={"pruned": 12}))
    assert caller("prune", "--older-than", "30d", "-s", "failed", "--dry-run").out == "12\n"
    assert caller.request == requests.Prune(older_than_s=2592000.0, statuses=["failed"], dry_run=True)


EVENT = {
    "seq": 5,
    "at": "2026-03-08T07:00:00Z",
    "type": "started",
    "id": 7,
    "key": None,
    "pool": "default",
    "status": "running",
    "attempt": 1,
    "message": None,
}


def test_events_are_listed_and_followed(caller: Caller) -> None:
    assert caller.streams is not None
    caller.gateway.answer(requests.Events, Reply(doc={"events": [EVENT], "last_seq": 5}))
    assert "started" in caller("events", "-n", "5", "--pool", "a", "--type", "x-*,y", "--status", "failed", "7").out
    wanted = EventFilter(pools=["a"], types=["x-*", "y"], statuses=["failed"])
    assert caller.request == requests.Events(limit=5, select=Selector(refs=["7"]), filter=wanted)
    caller("events", "--since", "1h")
    assert caller.request == requests.Events(limit=None, filter=EventFilter(since=NOW - 3600))
    assert caller("events", "--since", "nonsense").status == 2
    caller.streams.messages = [{"watching": 5, "tasks": None}, {"event": {**EVENT, "seq": 6}}]
    line = caller("events", "--json", "-f", "-n", "5")
    assert [json.loads(text)["seq"] for text in line.out.splitlines()] == [5, 6]
    assert caller.streams.calls[-1] == ("watch", requests.Watch(after_seq=5, filter=EventFilter()))


def test_pools_are_seen_paused_and_resumed(caller: Caller) -> None:
    caller.gateway.answer(requests.Pools, Reply(doc={"pools": []}))
    caller.gateway.answer(requests.Stats, Reply(doc={"stats": describe_stats([], [], Window(0.0, 1.0))}))
    assert caller("pool", "ls", "--json").status == 0
    assert caller.request == requests.Stats()
    assert caller("pool", "pause", "a,b").out == "paused a, b\n"
    assert caller.request == requests.PausePool(names=["a", "b"])
    assert caller("pool", "resume", "--all").out == "resumed all pools\n"
    assert caller.request == requests.ResumePool()


def test_pools_are_scaled_set_and_reset(caller: Caller) -> None:
    assert caller("pool", "scale", "batch", "4").out == "scaled batch\n"
    assert caller.request == requests.ScalePool(name="batch", workers=4)
    caller("pool", "scale", "batch", "--min", "1", "--max", "8")
    assert caller.request == requests.ScalePool(name="batch", min=1, max=8)
    assert caller("pool", "set", "batch", "max_pending=5", "overflow=reject", "max_hold=2m").out == "changed batch\n"
    changes = {"max_pending": 5, "overflow": "reject", "max_hold": "2m"}
    assert caller.request == requests.SetPool(name="batch", changes=changes)
    assert caller("pool", "reset", "batch,default").out == "reset batch, default\n"
    assert caller.request == requests.ResetPool(names=["batch", "default"])
    assert caller("pool", "reset", "--all").out == "reset all pools\n"


def test_resources_are_seen_and_changed(caller: Caller) -> None:
    gpu = describe_resource("gpu", permits=2, free=1, held_by=[7], waiting=3)
    api = describe_resource("api", rate_s=5 / 60, burst=20.0, free=2.5, waiting=0, changed=True)
    caller.gateway.answer(requests.Resources, Reply(doc={"resources": [api, gpu]}))
    assert caller("resource", "ls").out.splitlines() == [
        "RESOURCE  SIZE           FREE  WAITING  HELD BY  NOTE",
        "api       5/m, burst 20   2.5        0  -        changed",
        "gpu       2 permits         1        3  7        -",
    ]
    assert json.loads(caller("resource", "list", "--json").out)["resources"][0]["rate"] == "5/m"
    caller.gateway.answer(requests.Resources, Reply(doc={"resource": gpu}))
    assert "2 permits" in caller("resource", "show", "gpu").out
    assert caller.request == requests.Resources(name="gpu")
    caller.gateway.answer(requests.SetResource, Reply(doc={"resource": gpu}))
    assert caller("resource", "set", "gpu", "--permits", "2").out == "gpu: 2 permits\n"
    assert caller.request == requests.SetResource(name="gpu", permits=2)
    caller("resource", "set", "api", "--rate", "30/m", "--burst", "2.5")
    assert caller.request == requests.SetResource(name="api", rate_s=0.5, burst=2.5)


def test_the_daemon_is_started_stopped_and_restarted(caller: Caller) -> None:
    assert caller.streams is not None
    assert caller("daemon", "start").out == "daemon started, pid 42\n"
    assert caller("daemon", "stop", "--timeout", "5s", "--hand-over").out == "daemon stopped\n"
    assert caller("daemon", "stop", "--keep-tasks").status == 0
    assert caller("daemon", "drain", "--timeout", "1h").out == "daemon drained and stopped\n"
    assert caller("daemon", "restart").status == 0
    assert caller("daemon", "run", "--standby").status == 0
    assert caller.streams.calls == [
        ("start", False),
        ("stop", requests.DaemonStop(timeout_s=5.0, hand_over=True)),
        ("stop", requests.DaemonStop(mode="keep")),
        ("stop", requests.DaemonStop(mode="drain", timeout_s=3600.0)),
        ("stop", requests.DaemonStop(mode="keep", restart=True)),
        ("start", False),
        ("run", True),
    ]


def test_status_without_a_daemon_says_idle(caller: Caller) -> None:
    caller.gateway.answer(requests.DaemonStatus, NoDaemonError("no daemon runs"))
    line = caller("daemon", "status", "--json")
    assert (line.status, json.loads(line.out)) == (5, {"schema": 1, "daemon": {"state": "idle"}})


def test_the_daemons_log_is_shown_from_its_last_lines(caller: Caller, tmp_path: Path) -> None:
    caller.env["CRONOQ_HOME"] = str(tmp_path)
    assert caller("daemon", "logs").status == 3
    (tmp_path / "daemon.log").write_text("one\ntwo\nthree\n")
    assert caller("daemon", "logs", "-n", "2").out == "two\nthree\n"
    assert json.loads(caller("daemon", "logs", "--json").out)["lines"] == ["one", "two", "three"]


def test_a_report_is_appended_to_the_tasks_file(caller: Caller, tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text("a=b\n")
    caller.env["CRONOQ_REPORT"] = str(file)
    assert caller.on_daemon_side()("report", "progress=12/50", "output.x=1=2", "outcome=retry").status == 0
    assert file.read_text() == "a=b\nprogress=12/50\noutput.x=1=2\noutcome=retry\n"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("outcome=good", "'good' is not an outcome"),
        ("progress=12", "'12' is not a progress"),
        ("progress=5/4", "'5/4' is not a progress"),
        ("retry_after=soon", "'soon' is not a duration"),
        ("message=a\nb", "more than one line"),
        ("outcom=retry", "did you mean outcome?"),
        ("progress", "'progress' is not KEY=VALUE"),
    ],
)
def test_a_bad_report_is_refused_and_nothing_is_written(
    caller: Caller, tmp_path: Path, word: str, message: str
) -> None:
    file = tmp_path / "report"
    file.write_text("")
    caller.env["CRONOQ_REPORT"] = str(file)
    line = caller("report", "progress=0.5", word)
    assert (line.status, message in line.err, file.read_text()) == (2, True, "")


def test_a_report_outside_a_task_is_refused(caller: Caller) -> None:
    assert caller("report", "progress=0.5").status == 4
