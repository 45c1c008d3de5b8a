"""Statistics of a window: what is counted, where in the window, and the percentiles."""

from __future__ import annotations

import pytest

from cronoq_cli.model.history import (
    BUCKETS,
    EndSums,
    Running,
    Window,
    add_figures,
    add_workers,
    describe_stats,
    describe_times,
)
from cronoq_cli.model.task import Ended

WINDOW = Window(1000.0, 1000.0 + BUCKETS * 10)


def sums(*ends: tuple[float, Ended], pool: str = "default", kind: str = "make") -> EndSums:
    found = EndSums(pool, kind)
    for at, ended in ends:
        found.add(at, ended, WINDOW)
    return found


def success(run_s: float = 1.0, wait_s: float | None = 0.5, **facts: object) -> Ended:
    return Ended("make", "succeeded", "succeeded", wait_s, run_s, **facts)  # type: ignore[arg-type]


def test_a_percentile_is_the_time_that_so_many_do_not_exceed() -> None:
    assert describe_times(range(1, 101)) == {"mean": 50.5, "p50": 50, "p90": 90, "p99": 99}
    assert describe_times([3.0]) == {"mean": 3.0, "p50": 3.0, "p90": 3.0, "p99": 3.0}
    assert describe_times([5.0, 1.0]) == {"mean": 3.0, "p50": 1.0, "p90": 5.0, "p99": 5.0}
    assert describe_times([]) is None


def test_ends_are_counted_by_what_they_were() -> None:
    found = sums(
        (1100.0, success()),
        (1101.0, Ended("make", None, "failed", 0.1, 2.0)),
        (1102.0, Ended("make", "dead_lettered", "failed", None, 2.0)),
        (1103.0, Ended("make", "failed", "failed", 0.2, 1.0)),
        (1104.0, Ended("make", None, "interrupted", 0.3, 1.0)),
        (1105.0, Ended("make", "skipped")),
        (1106.0, Ended("make", "cancelled", "cancelled", 0.1, 30.0)),
    ).describe()
    counts = ("started", "succeeded", "failed", "retried", "cancelled", "skipped", "missed", "shed")
    assert [found[name] for name in counts] == [6, 1, 2, 1, 1, 1, 0, 0]
    assert found["success_rate"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["run_s"]["p99"] == 2.0, "what was cut short tells nothing of run times"
    assert found["wait_s"]["mean"] == pytest.approx((0.5 + 0.1 + 0.2 + 0.3 + 0.1) / 5)
    assert found["worker_s"] == 37.0


def test_what_began_before_the_window_did_not_start_in_it_and_counts_only_from_there() -> None:
    found = sums((1005.0, success(run_s=100.0, slots=3)), (1200.0, success(run_s=2.0))).describe()
    assert found["started"] == 1
    assert found["succeeded"] == 2
    assert found["worker_s"] == 5.0 * 3 + 2.0
    assert found["run_s"]["p99"] == 100.0


def test_deadlines_and_fixed_starts_are_kept_or_not_where_there_were_any() -> None:
    found = sums(
        (1100.0, success(in_time=True)),
        (1100.0, success(in_time=False)),
        (1100.0, success()),
        (1100.0, success(on_time=True)),
    ).describe()
    assert (found["deadline_hit_rate"], found["fixed_start_hit_rate"]) == (0.5, 1.0)
    nothing = sums((1100.0, success())).describe()
    assert (nothing["deadline_hit_rate"], nothing["fixed_start_hit_rate"]) == (None, None)


def test_the_history_has_each_end_in_its_stretch() -> None:
    found = sums(
        (1000.0, success(wait_s=1.0)),
        (1009.9, success(wait_s=3.0)),
        (1010.0, success(wait_s=None)),
        (1480.0, success()),
    )
    history = found.describe()["history"]
    assert history["ended"] == [2, 1, *[0] * (BUCKETS - 3), 1]
    assert history["wait_s"][:3] == [2.0, None, None]
    assert history["wait_s"][-1] == 0.5


def test_the_document_sums_kinds_up_to_pools_and_these_to_a_total() -> None:
    parts = [
        sums((1100.0, success(run_s=1.0))),
        sums((1100.0, success(run_s=3.0)), kind="cc"),
        sums((1100.0, Ended("cc", "failed", "failed", 0.0, 9.0)), pool="batch", kind="cc"),
    ]
    doc = describe_stats(parts, [Running("gpu", "train", 1380.0, 2)], WINDOW)
    assert [(one["pool"], one["kind"]) for one in doc["kinds"]] == [
        ("batch", "cc"),
        ("default", "cc"),
        ("default", "make"),
        ("gpu", "train"),
    ]
    assert {one["pool"]: (one["started"], one["worker_s"]) for one in doc["pools"]} == {
        "batch": (1, 9.0),
        "default": (2, 4.0),
        "gpu": (1, 200.0),
    }
    assert doc["total"]["run_s"] == {"mean": pytest.approx(13 / 3), "p50": 3.0, "p90": 9.0, "p99": 9.0}
    assert doc["total"]["history"]["ended"][10] == 3
    assert doc["total"]["cost"] is None
    priced = describe_stats(parts, [], WINDOW, {"batch": 0.5, "default": 0.0})
    assert (priced["total"]["cost"], priced["pools"][0]["cost"], priced["pools"][1]["cost"]) == (4.5, 4.5, None)
    assert (doc["since"], doc["window_s"], doc["bucket_s"]) == ("1970-01-01T00:16:40Z", 480.0, 10.0)


def test_utilisation_goes_by_the_workers_there_are_and_never_exceeds_one() -> None:
    doc = describe_stats([sums((1470.0, success(run_s=240.0)))], [], WINDOW)
    add_workers(doc, {"default": 2})
    assert doc["pools"][0]["utilisation"] == doc["total"]["utilisation"] == 0.25
    add_workers(doc, {"default": 0})
    assert doc["pools"][0]["utilisation"] is None
    crowded = describe_stats([sums((1470.0, success(run_s=400.0, slots=4)))], [], WINDOW)
    add_workers(crowded, {"default": 2})
    assert crowded["pools"][0]["utilisation"] == 1.0


def test_the_document_of_a_pool_gets_its_figures_also_where_nothing_happened() -> None:
    doc = describe_stats([sums((1100.0, success()))], [], WINDOW)
    metered = {"utilisation": None, "worker_s": None, "cost": 5.0}
    busy, idle = ({"name": name, "workers": 1, **metered} for name in ("default", "idle"))
    add_figures([busy, idle], doc)
    assert (busy["started"], busy["run_s"]["p50"], busy["utilisation"]) == (1, 1.0, pytest.approx(1 / 480, abs=1e-4))
    assert (idle["started"], idle["run_s"], idle["worker_s"], idle["cost"]) == (0, None, 0.0, 5.0)
