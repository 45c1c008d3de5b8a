"""The documents of tasks, attempts, transitions and pools, and the reading of a progress."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import UsageError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.snapshot import (
    Defaults,
    describe_attempt,
    describe_pool,
    describe_task,
    describe_transition,
    parse_progress,
)
from cronoq_cli.model.task import AttemptRecord, Condition, Dependency, Edge, TaskRecord, TaskSpec, Transition

FIELDS = """
id name key kind pool priority status reason held command shell cwd tenant tags labels resources slots after
attempt max_attempts exit_code signal message progress outputs recurring reason_started sequence batch
array_index group duplicate estimate_s timeout_s retries on_lost expires_at kill_at left_behind updated_at
submitted_at not_before start_at deadline started_at finished_at wait_s run_s pid log usage
"""

POOL_FIELDS = """
name workers min max busy held target reason paused waiting blocked scheduled retrying running reservations
oldest_ready_s started succeeded failed retried wait_s run_s utilisation fixed_start_hit_rate
deadline_hit_rate worker_s cost groups scalings
"""

BASE = 1_790_000_000.0


def record(status: Status = Status.READY, *, spec: dict[str, Any] | None = None, **state: Any) -> TaskRecord:
    wanted = {"name": "make", "command": ["make", "-j8"], **(spec or {})}
    state = {"seq": 7.0, "submitted_at": BASE, "updated_at": BASE, **state}
    return TaskRecord(id=7, spec=TaskSpec(**wanted), status=status, **state)


def test_a_task_has_every_field_of_the_specification_in_its_order() -> None:
    assert list(describe_task(record())) == FIELDS.split()


def test_what_a_task_does_not_have_is_null_and_not_left_out() -> None:
    document = describe_task(record())
    assert [document[name] for name in ("key", "exit_code", "started_at", "usage", "recurring", "pid")] == [None] * 6


def test_what_a_task_wants_of_the_scheduler_is_shown_as_it_was_asked_for() -> None:
    spec = {
        "tenant": "alice", "labels": {"gpu": "yes"}, "uses": {"gpu": 2.0, "api": 0.5}, "group": "mail",
        "estimate_s": 90.0, "start_at": BASE + 60, "deadline": BASE + 600, "expires_at": BASE + 900,
    }  # fmt: skip
    document = describe_task(record(spec=spec))
    assert (document["tenant"], document["labels"], document["group"]) == ("alice", {"gpu": "yes"}, "mail")
    assert repr(document["resources"]) == "{'gpu': 2, 'api': 0.5}"
    assert document["estimate_s"] == 90.0
    moments = [document[name] for name in ("start_at", "deadline", "expires_at")]
    assert moments == [format_utc(BASE + after) for after in (60, 600, 900)]


def test_a_task_of_nobody_has_no_tenant() -> None:
    document = describe_task(record())
    assert (document["tenant"], document["labels"], document["resources"]) == (None, {}, {})
    assert [document[name] for name in ("group", "estimate_s", "start_at", "deadline", "expires_at")] == [None] * 5


def test_a_command_is_its_argument_vector_and_no_shell() -> None:
    document = describe_task(record())
    assert (document["command"], document["shell"]) == (["make", "-j8"], None)


def test_a_shell_line_shows_itself_and_the_argument_vector_that_runs_it() -> None:
    line = record(spec={"command": None, "shell_line": "echo $HOME | wc"})
    document = describe_task(line, defaults=Defaults(shell="/bin/bash"))
    assert document["shell"] == "echo $HOME | wc"
    assert document["command"] == ["/bin/bash", "-c", "echo $HOME | wc"]


def test_moments_are_utc_and_the_same_text_as_everywhere_else() -> None:
    document = describe_task(record(submitted_at=BASE + 0.25))
    assert document["submitted_at"] == format_utc(BASE + 0.25) == "2026-09-21T14:13:20.250Z"


@given(st.floats(min_value=0, max_value=4e9))
def test_any_moment_is_written_as_the_calendar_writes_it(at: float) -> None:
    assert describe_task(record(updated_at=at))["updated_at"] == format_utc(at)


def test_a_scheduled_task_shows_the_moment_it_waits_for() -> None:
    document = describe_task(record(Status.SCHEDULED, due_at=BASE + 60, spec={"not_before": BASE + 30}))
    assert document["not_before"] == format_utc(BASE + 60)


def test_waiting_counts_from_ready_to_now_while_it_waits() -> None:
    assert describe_task(record(ready_at=BASE + 5), now=BASE + 12.5)["wait_s"] == 7.5


def test_waiting_ends_with_the_start_and_running_goes_on() -> None:
    running = record(Status.RUNNING, ready_at=BASE, started_at=BASE + 3)
    document = describe_task(running, now=BASE + 10)
    assert (document["wait_s"], document["run_s"]) == (3.0, 7.0)


def test_a_task_cancelled_before_its_start_waited_until_its_end_and_never_ran() -> None:
    document = describe_task(record(Status.CANCELLED, ready_at=BASE, finished_at=BASE + 4), now=BASE + 100)
    assert (document["wait_s"], document["run_s"]) == (4.0, None)


def test_a_wall_clock_that_stepped_back_gives_no_negative_time() -> None:
    document = describe_task(record(Status.RUNNING, ready_at=BASE, started_at=BASE - 50), now=BASE - 60)
    assert (document["wait_s"], document["run_s"]) == (0.0, 0.0)


def test_the_measured_run_time_wins_over_the_wall_clock() -> None:
    ended = record(Status.SUCCEEDED, started_at=BASE, finished_at=BASE + 3600)
    attempt = AttemptRecord(task=7, number=1, started_at=BASE, ended_at=BASE + 3600, run_s=2.5)
    assert describe_task(ended, attempts=[attempt])["run_s"] == 2.5


def test_the_pid_is_shown_only_while_the_task_runs() -> None:
    attempt = AttemptRecord(task=7, number=1, started_at=BASE, pid=4711)
    assert describe_task(record(Status.RUNNING, started_at=BASE), attempts=[attempt])["pid"] == 4711
    assert describe_task(record(Status.FAILED, started_at=BASE), attempts=[attempt])["pid"] is None


def test_dependencies_say_which_of_them_are_still_open() -> None:
    after = [Dependency(ref="3"), Dependency(ref="10-12", condition=Condition.ANY), Dependency(ref="build")]
    edges = [
        Edge(task=7, condition=Condition.ANY, target=11),
        Edge(task=7, condition=Condition.SUCCESS, awaited="build"),
        Edge(task=7, condition=Condition.GONE, target=2),
    ]
    blocked = record(Status.BLOCKED, spec={"after": after})
    shown = [(item["ref"], item["condition"], item["open"]) for item in describe_task(blocked, edges=edges)["after"]]
    assert shown == [
        ("3", "success", False),
        ("10-12", "any", True),
        ("build", "success", True),
        ("2", "gone", True),
    ]


def test_dependencies_say_which_task_a_key_means() -> None:
    after = [Dependency(ref="3"), Dependency(ref="build", task=5), Dependency(ref="gone", task=6), Dependency(ref="x")]
    edges = [Edge(task=7, condition=Condition.SUCCESS, target=target) for target in (9, 5)]
    shown = describe_task(record(Status.BLOCKED, spec={"after": after}), edges=edges)["after"]
    assert [(item["ref"], item["task"], item["open"]) for item in shown] == [
        ("3", 3, False),
        ("build", 5, True),
        ("gone", 6, False),
        ("x", 9, True),
    ]


def test_where_two_keys_got_their_tasks_later_it_is_not_guessed_which_is_whose() -> None:
    after = [Dependency(ref="x"), Dependency(ref="y")]
    edges = [Edge(task=7, condition=Condition.SUCCESS, target=9)]
    shown = describe_task(record(Status.BLOCKED, spec={"after": after}), edges=edges)["after"]
    assert [(item["ref"], item["task"], item["open"]) for item in shown] == [
        ("x", None, None),
        ("y", None, None),
        ("9", 9, True),
    ]


def test_dependencies_of_a_blocked_task_are_unknown_without_its_edges() -> None:
    blocked = record(Status.BLOCKED, spec={"after": [Dependency(ref="3")]})
    ready = record(Status.READY, spec={"after": [Dependency(ref="3")]})
    assert describe_task(blocked)["after"][0]["open"] is None
    assert describe_task(ready)["after"][0]["open"] is False


def test_what_the_pool_decides_is_shown_as_it_applies() -> None:
    defaults = Defaults(retries=3, timeout_s=7200.0, on_lost="hold")
    document = describe_task(record(), defaults=defaults)
    assert (document["retries"], document["timeout_s"], document["on_lost"]) == (3, 7200.0, "hold")
    own = describe_task(record(spec={"retries": 0, "timeout_s": 5.0, "on_lost": "count"}), defaults=defaults)
    assert (own["retries"], own["timeout_s"], own["on_lost"]) == (0, 5.0, "count")


def test_values_of_the_environment_are_shown_only_when_given() -> None:
    names = describe_task(record(), env_names=["PATH", "HOME"])
    assert names["env_names"] == ["HOME", "PATH"]
    assert "env" not in names
    assert describe_task(record(), env={"B": "2", "A": "1"})["env"] == {"A": "1", "B": "2"}


def test_a_moved_task_keeps_its_fractional_place() -> None:
    assert describe_task(record(seq=7.5))["sequence"] == 7.5
    assert repr(describe_task(record(seq=7.0))["sequence"]) == "7"


def test_memory_is_named_with_its_unit() -> None:
    document = describe_task(record(usage={"cpu_user_s": 0.5, "cpu_system_s": 0.25, "max_rss": 4096}))
    assert document["usage"] == {"cpu_user_s": 0.5, "cpu_system_s": 0.25, "max_rss_bytes": 4096}


def test_an_attempt_that_runs_counts_up_to_now() -> None:
    document = describe_attempt(AttemptRecord(task=7, number=2, started_at=BASE, pid=5), now=BASE + 4)
    assert (document["number"], document["run_s"], document["finished_at"]) == (2, 4.0, None)
    assert document["usage"] is None


def test_a_transition_has_the_fields_of_an_event() -> None:
    document = describe_transition(Transition(at=BASE, type="started", id=7, status="running", seq=12))
    assert list(document) == ["seq", "at", "type", "id", "key", "pool", "status", "attempt", "message"]
    assert (document["seq"], document["at"], document["key"]) == (12, format_utc(BASE), None)


def test_a_pool_has_every_field_and_all_classes() -> None:
    document = describe_pool(
        "default", workers=4, waiting={"low": 2}, oldest_ready_at=BASE - 9, now=BASE, running=1, busy=1
    )
    assert list(document) == POOL_FIELDS.split()
    assert document["waiting"] == {"critical": 0, "high": 0, "normal": 0, "low": 2}
    assert (document["min"], document["max"], document["target"], document["oldest_ready_s"]) == (
        4,
        4,
        4,
        9.0,
    )


def test_a_pool_shows_what_is_kept_and_how_well_it_did() -> None:
    groups = [{"labels": {"gpu": "yes"}, "workers": 2, "busy": 1, "shared": False}]
    times = {"mean": 1.0, "p50": 1.0, "p90": 2.0, "p99": 3.0}
    document = describe_pool(
        "batch", workers=2, held=1, reservations=3, wait_s=times, run_s=times, utilisation=0.5,
        fixed_start_hit_rate=1.0, deadline_hit_rate=0.75, worker_s=12.5, cost=0.25, groups=groups,
    )  # fmt: skip
    assert (document["held"], document["reservations"], document["groups"]) == (1, 3, groups)
    assert (document["wait_s"]["p99"], document["run_s"]["mean"], document["utilisation"]) == (3.0, 1.0, 0.5)
    assert (document["fixed_start_hit_rate"], document["deadline_hit_rate"]) == (1.0, 0.75)
    assert (document["worker_s"], document["cost"]) == (12.5, 0.25)


def test_a_pool_scaled_to_nothing_says_so() -> None:
    assert describe_pool("batch", workers=2, min=0, target=0)["target"] == 0


@pytest.mark.parametrize(
    ("text", "share"),
    [("0.4", 0.4), ("12/50", 0.24), ("40%", 0.4), (" 1 ", 1.0), ("60/50", 1.0), ("0/5", 0.0)],
)
def test_a_progress_is_a_share_of_the_whole(text: str, share: float) -> None:
    assert parse_progress(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "half", "1/0", "-0.1", "nan", "inf", "1/2/3", "5/-1"])
def test_what_is_no_progress_is_refused_and_shown_as_none(text: str) -> None:
    with pytest.raises(UsageError, match="progress"):
        parse_progress(text)
    assert describe_task(record(progress=text))["progress"] is None


def test_a_listing_of_sixty_tasks_is_described_fast() -> None:
    records = [record(submitted_at=BASE + i * 1.37, ready_at=BASE + i) for i in range(60)]
    best = min(_timed(lambda: [describe_task(item, now=BASE + 100) for item in records]) for _ in range(5))
    assert best < 0.004, "1 ms on an idle machine"


def _timed(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began
