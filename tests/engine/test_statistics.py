"""Learned run times against exact quantiles of the same samples."""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine.statistics import EXACT, RunTime, RunTimes, find_quantile
from cronoq_cli.errors import InvalidError

RUNS = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=EXACT)

DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "uniform": lambda draw: draw.uniform(0, 10),
    "exponential": lambda draw: draw.expovariate(0.1),
    "lognormal": lambda draw: draw.lognormvariate(0, 1),
    "normal": lambda draw: draw.gauss(100, 10),
    "pareto": lambda draw: draw.paretovariate(1.5),
}


def learn(runs: list[float]) -> RunTime:
    known = RunTime()
    for run_s in runs:
        known.learn(run_s)
    return known


def rank_error(ordered: list[float], value: float, share: float) -> float:
    """How far, as a share of all samples, a value is from where the quantile stands."""
    low, high = bisect_left(ordered, value) / len(ordered), bisect_right(ordered, value) / len(ordered)
    return max(0.0, low - share, share - high)


@given(RUNS)
def test_few_runs_are_known_exactly(runs: list[float]) -> None:
    known = learn(runs)
    assert known.median_s == pytest.approx(statistics.median(runs))
    assert known.p90_s == pytest.approx(find_quantile(sorted(runs), 0.9))
    assert known.mean_s == pytest.approx(statistics.fmean(runs))
    assert known.count == len(runs)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize(("count", "tolerance"), [(50, 0.15), (200, 0.08), (1000, 0.04), (10_000, 0.03)])
def test_quantiles_stay_near_the_exact_ones(name: str, count: int, tolerance: float) -> None:
    for seed in range(5 if count < 5000 else 2):
        draw = random.Random(f"{name} {seed}")
        runs = [abs(DISTRIBUTIONS[name](draw)) for _ in range(count)]
        known = learn(runs)
        runs.sort()
        assert rank_error(runs, known.median_s, 0.5) <= tolerance
        assert rank_error(runs, known.p90_s, 0.9) <= tolerance
        assert known.mean_s == pytest.approx(statistics.fmean(runs))


@pytest.mark.parametrize("count", [1000, 10_000])
def test_two_hills_far_apart_are_told_from_each_other(count: int) -> None:
    """Between the hills are no samples: by rank the parabola is off by a tenth there, by value by little."""
    for seed in range(3):
        draw = random.Random(seed)
        known = learn([draw.gauss(1, 0.1) if draw.random() < 0.7 else draw.gauss(10, 1) for _ in range(count)])
        assert known.median_s == pytest.approx(1.06, rel=0.15)
        assert known.p90_s == pytest.approx(10.4, rel=0.05)


@pytest.mark.parametrize("period", [2, 3, 5, 8, 16])
def test_work_that_alternates_does_not_hide_from_the_markers(period: int) -> None:
    known = learn([float(number % period) for number in range(20_000)])
    assert known.median_s == pytest.approx((period - 1) / 2, abs=0.6)
    assert known.p90_s == pytest.approx(find_quantile([float(n) for n in range(period)], 0.9), abs=1.0)


def test_sorted_runs_do_not_lead_the_markers_astray() -> None:
    for runs in ([float(n) for n in range(1000)], [float(n) for n in range(1000, 0, -1)]):
        known = learn(runs)
        assert known.median_s == pytest.approx(500, abs=30)
        assert known.p90_s == pytest.approx(900, abs=30)


def test_runs_that_are_all_alike_are_expected_to_stay_so() -> None:
    known = learn([3.0] * 5000)
    assert (known.median_s, known.p90_s, known.mean_s, known.recent_s) == (3.0, 3.0, 3.0, 3.0)


@given(st.lists(st.floats(0, 1e6, allow_nan=False), min_size=EXACT + 1, max_size=200))
def test_the_quantiles_lie_in_order_between_the_extremes(runs: list[float]) -> None:
    known = learn(runs)
    assert min(runs) <= known.median_s <= max(runs)
    assert min(runs) <= known.p90_s <= max(runs)


@given(st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=100), st.integers(1, 99))
def test_a_stored_run_time_goes_on_as_if_nothing_had_happened(runs: list[float], cut: int) -> None:
    cut = min(cut, len(runs))
    stored = learn(runs[:cut]).to_floats()
    assert len(stored) <= 23
    restored = RunTime.from_floats(stored)
    for run_s in runs[cut:]:
        restored.learn(run_s)
    assert restored.to_floats() == learn(runs).to_floats()
    assert (restored.median_s, restored.p90_s) == (learn(runs).median_s, learn(runs).p90_s)


@pytest.mark.parametrize("floats", [[], [0, 0, 0], [1, 2, 2], [25, 1, 1, 4], [3.0] * 7])
def test_numbers_that_are_no_run_time_are_refused(floats: list[float]) -> None:
    with pytest.raises(InvalidError):
        RunTimes().load("default", "make", floats)


def test_the_expected_run_time_is_the_estimate_then_what_was_learned_then_the_default() -> None:
    times = RunTimes()
    assert times.expected_s("default", "make", None, 60) == 60
    times.learn("default", "make", 1)
    times.learn("default", "make", 9)
    assert times.expected_s("default", "make", None, 60) == 5  # the mean of two
    times.learn("default", "make", 2)
    assert times.expected_s("default", "make", None, 60) == 2  # the median of three
    assert times.expected_s("default", "make", 7, 60) == 7
    assert times.expected_s("batch", "make", None, 60) == 60
    assert times.expected_s("default", "cc", None, 60) == 60


def test_how_far_to_give_ahead_follows_the_newest_runs() -> None:
    times = RunTimes()
    for _ in range(2):
        times.learn("default", "true", 0.01)
    assert times.find("default", "true") is None
    for _ in range(1000):
        times.learn("default", "true", 0.01)
    assert times.find("default", "true") == pytest.approx(0.01)
    times.learn("default", "true", 10)
    assert (times.find("default", "true") or 0) > 1


def test_of_a_kind_with_many_runs_not_each_is_a_reason_to_store_it_again() -> None:
    times = RunTimes()
    written = []
    for run in range(1, 30_001):
        times.learn("default", "make", 1.0)
        if times.take_news():
            written.append(run)
    assert written[:20] == [*range(1, 21)]
    assert max(after - before for before, after in pairwise(written)) == 1000
    assert len(written) < 200


def test_what_was_learned_is_named_for_the_store_and_loaded_again() -> None:
    times = RunTimes()
    times.learn("default", "make", 4)
    assert times.take_news() == {("default", "make"): [1.0, 4.0, 4.0, 4.0]}
    assert times.take_news() == {}
    loaded = RunTimes()
    for (pool, kind), known in times:
        loaded.load(pool, kind, known.to_floats())
    assert loaded.take_news() == {}
    found = loaded.find_run_time("default", "make")
    assert found is not None
    assert (found.count, found.mean_s, found.median_s) == (1, 4, 4)
    assert loaded.find_run_time("default", "cc") is None
