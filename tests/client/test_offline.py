"""Reads from a store that no daemon serves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.client.offline import answer_offline, count_live
from cronoq_cli.config.paths import Paths, find_paths, prepare_dirs
from cronoq_cli.errors import InvalidError, NoDaemonError, NotFoundError, UsageError
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import AttemptRecord, Condition, Dependency, Edge, Ended, TaskRecord, TaskSpec, Transition
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.sqlite import open_store
from cronoq_cli.wire.requests import (
    Cancel,
    DaemonStatus,
    Events,
    Explain,
    ListTasks,
    Pools,
    Reply,
    Resources,
    Selector,
    ShowTasks,
    Stats,
)

NOW = 2000.0


def task(task_id: int, status: Status, spec: dict[str, Any] | None = None, **state: Any) -> TaskRecord:
    wanted = TaskSpec(**({"name": f"job{task_id}", "command": ["true"]} | (spec or {})))
    fields: dict[str, Any] = {"seq": float(task_id), "submitted_at": 1000.0, "updated_at": 1000.0} | state
    return TaskRecord(id=task_id, spec=wanted, status=status, **fields)


TASKS = [
    task(1, Status.SUCCEEDED, {"key": "nightly"}, finished_at=1500.0, exit_code=0, attempt=1, started_at=1400.0),
    task(2, Status.FAILED, {"tags": {"of": "x"}, "env": "e", "env_changes": {"B": None, "C": "3"}}, finished_at=1300.0),
    task(3, Status.READY, ready_at=1000.0),
    task(4, Status.READY, {"priority": 2, "key": "nightly"}, ready_at=1100.0),
    task(5, Status.RUNNING, {"retries": 2}, started_at=1900.0, attempt=1, units={"gpu": [1]}),
    task(6, Status.BLOCKED, {"after": [Dependency(ref="3")]}),
    task(7, Status.SCHEDULED, due_at=3000.0),
    # An occurrence that is a task already, to reserve its start, which has not come: not of the queue yet.
    task(8, Status.SCHEDULED, {"recurring": "job", "key": "job@x", "slot": 3500.0, "start_at": 3500.0}, due_at=3500.0),
]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path / "home"), {})


@pytest.fixture
def ask(paths: Paths) -> Callable[[Any], Reply]:
    """Ask the store of the tasks above."""
    prepare_dirs(paths)
    store = open_store(paths.db)
    store.claim("test", 1000.0)
    store.commit(
        Changes(
            new=TASKS,
            attempts=[AttemptRecord(task=1, number=1, started_at=1400.0, ended_at=1500.0, outcome="succeeded")],
            edges_opened=[Edge(task=6, condition=Condition.SUCCESS, target=3)],
            envs={"e": b"A=1\0B=2\0ODD=\xff"},
            transitions=[Transition(at=1000.0 + n, type="submitted", id=n % 3) for n in range(10)],
        )
    )
    store.close()
    return lambda request: answer_offline(paths, request, NOW)


def ids(reply: Reply) -> list[int]:
    return [document["id"] for document in reply.doc["tasks"]]


def test_a_listing_shows_what_runs_then_what_waits_in_order_then_the_last_ends(ask: Callable[[Any], Reply]) -> None:
    reply = ask(ListTasks())
    assert ids(reply) == [5, 4, 3, 7, 6, 2, 1]
    assert reply.doc["more"] == 0
    assert reply.doc["summary"] == {"running": 1, "ready": 2, "scheduled": 1, "blocked": 1}


def test_a_limit_leaves_waiting_tasks_out_and_says_how_many(ask: Callable[[Any], Reply]) -> None:
    reply = ask(ListTasks(limit=1))
    assert ids(reply) == [5, 4, 2, 1]
    assert reply.doc["more"] == 3


def test_the_history_is_paged_by_id(ask: Callable[[Any], Reply]) -> None:
    first = ask(ListTasks(finished=True, limit=1))
    assert (ids(first), first.doc["more"]) == ([1], 1)
    assert ids(ask(ListTasks(finished=True, after_id=1))) == [2]


@pytest.mark.parametrize(
    ("select", "found"),
    [
        (Selector(refs=["2", "1"]), [2, 1]),
        (Selector(refs=["1-2"]), [1, 2]),
        (Selector(refs=["last"]), [7]),
        (Selector(refs=["nightly"]), [4]),
        (Selector(statuses=["ready", "failed"]), [4, 3, 2]),
        (Selector(tags={"of": "x"}), [2]),
        (Selector(tags={"of": None}), [2]),
        (Selector(name_glob="job[67]"), [7, 6]),
        (Selector(refs=["1-7"], statuses=["running"]), [5]),
        (Selector(all=True), [5, 4, 3, 7, 6, 1, 2]),
        (Selector(refs=["8"]), [8]),
        (Selector(statuses=["scheduled"]), [7, 8]),
        (Selector(pools=["default"], statuses=["blocked"]), [6]),
    ],
)
def test_selectors_mean_the_same_as_with_a_daemon(
    ask: Callable[[Any], Reply], select: Selector, found: list[int]
) -> None:
    assert ids(ask(ListTasks(select=select))) == found


@pytest.mark.parametrize(
    ("select", "error"),
    [
        (Selector(refs=["99"]), NotFoundError),
        (Selector(refs=["50-60"]), NotFoundError),
        (Selector(refs=["no-such-key"]), NotFoundError),
        (Selector(statuses=["dead_lettered"]), NotFoundError),
        (Selector(refs=["8-3"]), UsageError),
        (Selector(refs=["not a key"]), UsageError),
        (Selector(statuses=["runing"]), UsageError),
        (Selector(pools=["nowhere"]), InvalidError),
    ],
)
def test_what_cannot_be_found_is_refused_with_its_kind_of_error(
    ask: Callable[[Any], Reply], select: Selector, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(ShowTasks(select=select))


def test_a_task_is_shown_with_attempts_and_the_names_of_its_environment(ask: Callable[[Any], Reply]) -> None:
    document = ask(ShowTasks(select=Selector(refs=["1"]))).doc["task"]
    assert (document["id"], document["run_s"], len(document["attempts"])) == (1, 100.0, 1)
    document = ask(ShowTasks(select=Selector(refs=["2"]))).doc["task"]
    assert document["env_names"] == ["A", "C", "ODD"]
    assert "env" not in document
    document = ask(ShowTasks(select=Selector(refs=["2"]), env=True)).doc["task"]
    assert document["env"] == {"A": "1", "C": "3", "ODD": "\udcff"}
    assert [one["id"] for one in ask(ShowTasks(select=Selector(refs=["1", "2"]))).doc["tasks"]] == [1, 2]


def test_a_blocked_task_says_what_it_waits_for(ask: Callable[[Any], Reply]) -> None:
    assert ask(ShowTasks(select=Selector(refs=["6"]))).doc["task"]["after"][0]["open"] is True


def test_the_last_events_or_those_behind_one(ask: Callable[[Any], Reply]) -> None:
    seqs = [event["seq"] for event in ask(Events(limit=3)).doc["events"]]
    assert len(seqs) == 3
    assert [event["seq"] for event in ask(Events(after_seq=seqs[0])).doc["events"]] == seqs[1:]
    assert len(ask(Events(limit=None)).doc["events"]) == 10
    assert len(ask(Events(after_seq=0, limit=None)).doc["events"]) == 10
    assert ask(Events(filter=EventFilter(types=["sub*"], since=1004.0))).doc["last_seq"] == 10
    since = ask(Events(filter=EventFilter(types=["sub*"], since=1004.0), limit=3)).doc["events"]
    assert [event["seq"] for event in since] == [8, 9, 10]
    with pytest.raises(InvalidError, match="unknown pool"):
        ask(Events(filter=EventFilter(pools=["nosuch"])))
    of_two = ask(Events(select=Selector(refs=["2"]), limit=2)).doc["events"]
    assert [event["id"] for event in of_two] == [2, 2]


def test_pools_are_those_of_the_configuration_with_what_waits_in_them(
    ask: Callable[[Any], Reply], paths: Paths
) -> None:
    Path(paths.config_file).write_text("[pools.batch]\nworkers = 3\n")
    pools = {pool["name"]: pool for pool in ask(Pools()).doc["pools"]}
    assert pools.keys() == {"default", "batch"}
    assert (pools["default"]["waiting"]["high"], pools["default"]["waiting"]["normal"]) == (1, 1)
    assert pools["default"]["oldest_ready_s"] == 1000.0
    assert ask(Pools(name="batch")).doc["pool"]["workers"] == 3
    with pytest.raises(InvalidError, match="unknown pool"):
        ask(Pools(name="nowhere"))


CONFIG = "[resources.api]\nrate = '5/m'\n[resources.gpu]\npermits = 2\n[pools.batch]\nworkers = { min = 1, max = 4 }\n"


def test_resources_are_those_of_the_configuration_with_what_was_changed(
    ask: Callable[[Any], Reply], paths: Paths
) -> None:
    Path(paths.config_file).write_text(CONFIG)
    api, gpu = ask(Resources()).doc["resources"]
    assert (api["rate"], api["burst"], api["free"], api["changed"]) == ("5/m", 1, None, False)
    assert (gpu["permits"], gpu["free"], gpu["held_by"], gpu["waiting"]) == (2, 1, [5], None)
    store = open_store(paths.db)
    store.claim("test", 1000.0)
    store.commit(Changes(resources={"gpu": {"permits": 3}}))
    store.close()
    gpu = ask(Resources(name="gpu")).doc["resource"]
    assert (gpu["permits"], gpu["free"], gpu["changed"]) == (3, 2, True)
    with pytest.raises(InvalidError, match="unknown resource 'gpo'"):
        ask(Resources(name="gpo"))


def test_a_pool_with_a_range_shows_its_bounds(ask: Callable[[Any], Reply], paths: Paths) -> None:
    Path(paths.config_file).write_text(CONFIG)
    pool = ask(Pools(name="batch")).doc["pool"]
    assert (pool["workers"], pool["min"], pool["max"]) == (1, 1, 4)


def test_without_a_daemon_that_is_the_first_blocker_and_the_others_follow(ask: Callable[[Any], Reply]) -> None:
    blocked, scheduled = ask(Explain(select=Selector(refs=["6", "7"]))).doc["explain"]
    assert blocked["first"]["what"] == "no daemon runs"
    others = [[(item["what"], item["detail"]) for item in found["blockers"][1:]] for found in (blocked, scheduled)]
    assert others == [
        [("dependency", "task 3 has to succeed")],
        [("start time", "not before 1970-01-01T00:50:00Z")],
    ]
    assert (blocked["score"], blocked["place"], blocked["estimated_start"]) == (None, None, None)


def test_what_decided_an_end_is_known_without_a_daemon(ask: Callable[[Any], Reply]) -> None:
    ended = ask(Explain(select=Selector(refs=["2"]))).doc["explain"]
    assert (ended["decided_by"], ended["first"], ended["blockers"]) == ("failed", None, [])
    running = ask(Explain(select=Selector(refs=["5"]))).doc["explain"]
    assert (running["decided_by"], running["blockers"]) == (None, [])


def test_status_says_that_none_runs_and_what_waits(ask: Callable[[Any], Reply], paths: Paths) -> None:
    reply = ask(DaemonStatus())
    assert reply.exit == 5
    assert (reply.doc["daemon"]["state"], reply.doc["daemon"]["tasks"]) == ("idle", 6)
    assert count_live(paths) == 6


def test_a_change_is_not_for_the_store(ask: Callable[[Any], Reply]) -> None:
    with pytest.raises(NoDaemonError):
        ask(Cancel(select=Selector(all=True)))


def test_where_nothing_was_ever_queued_there_is_nothing_and_nothing_is_made(paths: Paths) -> None:
    assert answer_offline(paths, ListTasks(), NOW).doc == {"tasks": [], "more": 0}
    assert answer_offline(paths, Events(), NOW).doc == {"events": [], "last_seq": 0}
    assert answer_offline(paths, Pools(), NOW).doc["pools"][0]["name"] == "default"
    for request in (ShowTasks(select=Selector(refs=["1"])), ListTasks(select=Selector(refs=["1"]))):
        with pytest.raises(NotFoundError):
            answer_offline(paths, request, NOW)
    assert count_live(paths) == 0
    assert not os.path.exists(paths.state_dir)


def test_figures_of_a_window_are_read_and_begin_no_earlier_than_the_history(paths: Paths) -> None:
    assert answer_offline(paths, Stats(), NOW).doc["stats"]["pools"] == []
    prepare_dirs(paths)
    store = open_store(paths.db)
    store.claim("test", 1000.0)
    ends = [Ended("make", "succeeded", "succeeded", 1.0, 2.0), Ended("cc", "failed", "failed", 3.0, 4.0)]
    told = [Transition(at=1500.0, type="x", id=1, pool="default", ended=ended) for ended in ends]
    running = task(5, Status.RUNNING, {"kind": "cc"}, started_at=1900.0, attempt=1)
    store.commit(Changes(new=[running], transitions=[Transition(at=1200.0, type="submitted", id=1), *told]))
    store.close()
    stats = answer_offline(paths, Stats(), NOW).doc["stats"]
    assert (stats["since"], stats["window_s"]) == ("1970-01-01T00:20:00Z", 800.0)
    assert [(one["kind"], one["started"], one["worker_s"]) for one in stats["kinds"]] == [
        ("cc", 2, 104.0),
        ("make", 1, 2.0),
    ]
    recent = answer_offline(paths, Stats(window_s=200.0, kind="cc"), NOW).doc["stats"]
    assert (recent["total"]["started"], recent["total"]["failed"], recent["total"]["worker_s"]) == (1, 0, 100.0)
    with pytest.raises(InvalidError, match="unknown pool"):
        answer_offline(paths, Stats(pool="nosuch"), NOW)
