"""Recurring schedules on a real daemon: killed around occurrences, stopped over slots, tasks longer than the period."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.acceptance.conftest import Cronoq

OVERLAPS = ("skip", "allow", "queue", "queue-on-success", "replace")


def history(cronoq: Cronoq, name: str) -> list[dict[str, Any]]:
    return list(cronoq.ask("recurring", "history", name, "--limit", "all")["runs"])


def ran(cronoq: Cronoq, name: str, least: int) -> Callable[[], bool]:
    return lambda: sum(run["id"] is not None for run in history(cronoq, name)) >= least


def unix(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def test_each_slot_runs_exactly_once_however_often_the_daemon_is_killed(cronoq: Cronoq):
    log = cronoq.home.parent / "ran"
    line = f'echo "$CRONOQ_KEY $CRONOQ_RECURRING $CRONOQ_SCHEDULED_AT" >> {log}'
    add = ("recurring", "add", "tick", "* * * * * *", "--seconds", "--overlap", "allow", "--catch-up", "all")
    cronoq.ok(*add, "--catch-up-within", "1h", "--", line)
    for kills in range(1, 4):
        cronoq.wait_until(ran(cronoq, "tick", kills), what="another occurrence")
        daemon = cronoq.find_daemon()
        assert daemon is not None
        os.kill(daemon, signal.SIGKILL)
        cronoq.wait_until(lambda daemon=daemon: cronoq.find_daemon() != daemon, what="the daemon's end")
        cronoq.ok("daemon", "start")
    cronoq.ok("recurring", "pause", "tick")
    cronoq("wait", "--all")
    runs = history(cronoq, "tick")
    assert {run["status"] for run in runs} == {"succeeded"}
    due = [unix(run["due_at"]) for run in runs]
    assert due == [due[0] + second for second in range(len(due))]
    lines = [text.split() for text in log.read_text().splitlines()]
    assert sorted(key for key, _, _ in lines) == [f"tick@{run['due_at']}" for run in runs]
    assert {name for _, name, _ in lines} == {"tick"}
    assert sorted(at for _, _, at in lines) == [run["due_at"] for run in runs]


def test_slots_of_a_stopped_daemon_are_decided_by_catch_up_once(cronoq: Cronoq):
    add = ("recurring", "add", "--seconds")
    cronoq.ok(*add, "newest", "* * * * * *", "--catch-up-within", "1h", "--", "true")
    cronoq.ok(*add, "none", "* * * * * *", "--catch-up", "none", "--", "true")
    cronoq.ok("daemon", "stop")
    known = {name: len(history(cronoq, name)) for name in ("newest", "none")}
    began = time.time()
    cronoq.wait_until(lambda: time.time() > began + 3, what="three seconds")
    document = cronoq.ask("recurring", "show", "newest")["recurring"]
    assert document["next"] is not None
    cronoq.ok("daemon", "start")
    cronoq.wait_until(ran(cronoq, "newest", known["newest"] + 2), what="what is caught up and the next")
    cronoq.ok("recurring", "pause", "--all")
    for name in known:
        fresh = history(cronoq, name)[known[name] :]
        missed = [run for run in fresh if run["status"] == "missed"]
        caught = [run for run in fresh if run["reason_started"] == "catch-up"]
        assert sum(run["count"] for run in missed) >= 2
        assert len(caught) == (name == "newest")
        assert {run["reason_started"] for run in fresh} <= {"catch-up", "scheduled", None}
    before = {name: history(cronoq, name) for name in known}
    cronoq.ok("daemon", "restart")
    assert {name: len(history(cronoq, name)) for name in known} == {name: len(runs) for name, runs in before.items()}


def test_each_overlap_policy_with_tasks_longer_than_the_period(cronoq: Cronoq):
    cronoq.configure("[pools.default]\nworkers = 20\n")
    for overlap in OVERLAPS:
        words = ("--grace", "1s", "--overlap", overlap, "--", "sleep 1.3")
        cronoq.ok("recurring", "add", overlap, "* * * * * *", "--seconds", *words)
    cronoq.ok("recurring", "add", "chain", "* * * * * *", "--seconds", "--overlap", "queue-on-success", "--", "exit 3")
    for overlap in OVERLAPS:
        cronoq.wait_until(ran(cronoq, overlap, 4 if overlap != "skip" else 2), what=f"runs of {overlap}")
    cronoq.ok("recurring", "pause", "--all")
    cronoq("wait", "--all")
    runs = {name: [run for run in history(cronoq, name) if run["started_at"]] for name in (*OVERLAPS, "chain")}
    beside = {
        name: any(unix(a["finished_at"]) > unix(b["started_at"]) for a, b in pairwise(found))
        for name, found in runs.items()
    }
    assert beside == {**dict.fromkeys(runs, False), "allow": True, "replace": beside["replace"]}
    assert any("not over" in (run["reason"] or "") for run in history(cronoq, "skip"))
    assert {run["status"] for run in runs["queue"]} == {"succeeded"}
    assert [run["status"] for run in runs["replace"][:2]] == ["cancelled", "cancelled"]
    assert "the next occurrence" in runs["replace"][0]["reason"]
    assert len(runs["chain"]) == 1
    assert "resume" in history(cronoq, "chain")[-1]["reason"]
    cronoq.ok("recurring", "resume", "chain")
    cronoq.wait_until(ran(cronoq, "chain", 2), what="the chain going on")
