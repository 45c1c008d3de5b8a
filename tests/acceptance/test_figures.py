"""Figures of what really ran: `stats`, `pool show` and `metrics`, with a daemon and without."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import Cronoq
from tests.openmetrics import Metrics, read_metrics


@pytest.fixture
def worked(cronoq: Cronoq) -> Cronoq:
    """A daemon with six ended tasks and one that runs."""
    cronoq.configure("[pools.default]\nworkers = 4\n[pools.other]\nworkers = 1\n")
    for words in (
        ("--deadline", "+1h", "--", "true"),
        ("--kind", "nap", "--", "sleep", "0.2"),
        ("--", "false"),
        ("--retries", "1", "--backoff", "fixed:0s", "--", "false"),
        ("-p", "other", "--", "true"),
    ):
        cronoq.submit(*words)
    cronoq.submit("--after", "last", "--", "true")
    for task in range(1, 7):
        cronoq.wait_for(task)
    cronoq.submit("--kind", "nap", "--", "sleep", "60")
    cronoq.wait_for("last", "running")
    return cronoq


def value(family: Metrics, suffix: str = "", **labels: str) -> float:
    return family.samples[suffix, tuple(labels.items())]


def test_stats_and_metrics_tell_what_ran_also_without_a_daemon(worked: Cronoq) -> None:
    stats = worked.ask("stats")["stats"]
    pools = {one["pool"]: one for one in stats["pools"]}
    kinds = {one["kind"]: one for one in stats["kinds"] if one["pool"] == "default"}
    names = ("started", "succeeded", "failed", "retried", "skipped", "deadline_hit_rate")
    assert [pools["default"][name] for name in names] == [7, 3, 2, 1, 0, 1.0]
    assert [pools["other"][name] for name in names] == [1, 1, 0, 0, 0, None]
    assert 0.2 <= kinds["nap"]["run_s"]["p50"] < 5 and kinds["nap"]["started"] == 2
    assert 0 < pools["default"]["utilisation"] <= 1
    assert sum(stats["total"]["history"]["ended"]) == 6
    shown = worked.ask("pool", "show", "default")["pool"]
    assert [shown[name] for name in names[:4]] == [7, 3, 2, 1]
    assert shown["run_s"] == pools["default"]["run_s"]

    found = read_metrics(worked.ok("metrics"))
    assert value(found["cronoq_up"]) == 1
    assert value(found["cronoq_tasks"], pool="default", status="running") == 1
    assert value(found["cronoq_tasks_ended"], "_total", pool="default", status="succeeded") == 3
    assert value(found["cronoq_tasks_ended"], "_total", pool="other", status="succeeded") == 1
    assert value(found["cronoq_task_run_seconds"], "_count", pool="default") == 6
    assert value(found["cronoq_slots_busy"], pool="default") == 1
    assert value(found["cronoq_daemon_memory_bytes"]) > 1e6
    assert value(found["cronoq_daemon_commits"], "_total") > 6

    worked.ok("cancel", "last")
    worked.ok("daemon", "stop")
    alone = worked("stats", "--json")
    assert alone.stderr.count("no daemon runs") == 1 and '"succeeded": 4' in alone.stdout
    offline = read_metrics(worked.ok("metrics"))
    assert value(offline["cronoq_up"]) == 0
    assert value(offline["cronoq_tasks"], pool="default", status="running") == 0
