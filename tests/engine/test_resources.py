"""Semaphores, token buckets, and taking all or nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cronoq_cli.engine.resources import CATCH_UP, Bucket, Resources, Semaphore, Units
from cronoq_cli.errors import CronoqError, InvalidError, TryLaterError


def shelf(now: float = 0.0) -> Resources:
    resources = Resources()
    resources.configure("gpu", Semaphore(2))
    resources.configure("api", Bucket(10, 20, now))
    return resources


def refusal(resources: Resources, *uses: tuple[str, float]) -> CronoqError:
    with pytest.raises(InvalidError) as caught:
        resources.check_possible(uses)
    return caught.value


def test_units_are_given_lowest_first_and_again_when_they_are_back() -> None:
    gpu = Semaphore(4)
    assert gpu.take(2) == [0, 1]
    assert gpu.take(1) == [2]
    gpu.give_back([0, 2])
    assert gpu.free == 3
    assert gpu.take(3) == [0, 2, 3]
    assert gpu.free == 0


def test_a_lowered_semaphore_gives_nothing_until_enough_is_back() -> None:
    gpu = Semaphore(4)
    gpu.take(4)
    gpu.give_back([0, 1])
    gpu.permits = 2
    assert gpu.free == 0
    gpu.give_back([3])
    assert gpu.free == 1
    assert gpu.take(1) == [0]
    gpu.give_back([2, 0])
    assert gpu.take(2) == [0, 1]


def test_a_raised_semaphore_never_gives_a_unit_that_is_still_out() -> None:
    gpu = Semaphore(4)
    gpu.take(4)
    gpu.permits = 1
    gpu.give_back([0, 1, 2])
    gpu.permits = 5
    assert gpu.take(4) == [0, 1, 2, 4]
    assert gpu.units_out == [0, 1, 2, 3, 4]


def test_units_held_since_before_a_restart_are_not_given_again() -> None:
    resources = shelf()
    resources.restore({"gpu": [1], "gone": [0]})
    assert resources.lacks([("gpu", 2)], 0) == ["gpu"]
    assert resources.take([("gpu", 1)], 0) == {"gpu": [0]}
    resources.give_back({"gpu": [1], "gone": [0]})
    assert resources.take([("gpu", 1)], 0) == {"gpu": [1]}


def test_units_given_back_twice_count_once() -> None:
    gpu = Semaphore(2)
    gpu.take(1)
    gpu.give_back([0])
    gpu.give_back([0])
    assert gpu.free == 2
    assert gpu.take(2) == [0, 1]


def test_a_bucket_starts_full_and_fills_at_its_rate() -> None:
    api = Bucket(0.5, 3, now_awake=100)
    api.take(3, 100)
    assert not api.holds(0.25, 100)
    assert api.ready_in_s(1, 100) == 2
    assert api.holds(1, 102)
    assert api.level(102) == 1
    assert api.level(1000) == 3
    assert api.ready_in_s(2, 1000) == 0


def test_what_a_bucket_never_holds_is_not_waited_for() -> None:
    assert Bucket(1, 5, 0).ready_in_s(6, 0) is None
    dry = Bucket(0, 5, 0)
    dry.take(5, 0)
    assert dry.ready_in_s(1, 0) is None


def test_another_rate_counts_from_its_own_moment() -> None:
    api = Bucket(1, 10, 0)
    api.take(10, 0)
    api.set_rate(2, 4, 3)
    assert api.level(3) == 3
    assert api.level(3.25) == 3.5
    assert api.level(9) == 4


@pytest.mark.parametrize("boot", [0.0, 1234.56, 1e7, 1.7e9])
def test_ten_a_second_with_a_burst_of_twenty_lets_620_through_in_a_minute(boot: float) -> None:
    api, now, starts = Bucket(10, 20, boot), boot, list[float]()
    while True:
        wait_s = api.ready_in_s(1, now)
        assert wait_s is not None
        now += wait_s
        if now > boot + 60 + 1e-4:
            break
        assert api.holds(1, now)
        api.take(1, now)
        starts.append(now)
    assert len(starts) == 620
    for first in range(0, len(starts), 7):
        for last in range(first, len(starts), 11):
            assert last - first + 1 <= 20 + 10 * (starts[last] - starts[first]) + 1e-4


@given(st.floats(0.01, 1000), st.floats(0.5, 100), st.integers(0, 2**32), st.floats(0, 1e6))
def test_no_window_lets_more_through_than_burst_and_rate_allow(
    rate: float, burst: float, seed: int, boot: float
) -> None:
    draw, bucket, now = random.Random(seed), Bucket(rate, burst, boot), boot
    taken: list[tuple[float, float]] = []
    for _ in range(60):
        now += draw.expovariate(rate) * draw.choice([0, 0.1, 1, 5])
        amount = draw.uniform(0, burst)
        if bucket.holds(amount, now):
            bucket.take(amount, now)
            taken.append((now, amount))
        assert -1e-6 <= bucket.level(now) <= burst
    for first in range(len(taken)):
        through = 0.0
        for at, amount in taken[first:]:
            through += amount
            assert through <= burst + rate * (at - taken[first][0]) + 1e-5


def test_a_task_is_given_everything_or_nothing() -> None:
    resources = shelf()
    assert resources.take([("api", 15), ("gpu", 2)], 0) == {"gpu": [0, 1]}
    assert resources.lacks([("api", 6), ("gpu", 1)], 0) == ["api", "gpu"]
    assert resources.lacks([("api", 5)], 0) == []
    with pytest.raises(TryLaterError, match="not enough of gpu"):
        resources.take([("api", 5), ("gpu", 1)], 0)
    assert resources.lacks([("api", 5)], 0) == []
    assert resources.take([("api", 5)], 0) == {}


def test_what_can_never_be_given_is_refused_with_what_would_be_right() -> None:
    resources = shelf()
    resources.check_possible([("api", 0.5), ("gpu", 2)])
    unknown = refusal(resources, ("gpus", 1))
    assert (unknown.code, unknown.hint) == ("unknown-resource", "did you mean gpu?")
    assert refusal(Resources(), ("gpu", 1)).code == "unknown-resource"
    bare = Resources()
    bare.configure(CATCH_UP, Semaphore(4))
    assert "configuration adds it" in str(refusal(bare, ("gpu", 1)).hint)
    beyond = refusal(resources, ("api", 1), ("gpu", 3))
    assert (beyond.code, beyond.hint, int(beyond.exit)) == ("beyond-capacity", "at most 2", 7)
    for uses in [("api", 20.5), ("api", float("inf")), ("gpu", float("inf"))]:
        assert refusal(resources, uses).code == "beyond-capacity"
    for uses in [("gpu", 0.5), ("gpu", 0), ("api", -1), ("api", float("nan"))]:
        assert refusal(resources, uses).code == "bad-amount"


def test_a_resource_lowered_by_command_still_takes_tasks_but_they_do_not_fit() -> None:
    resources = shelf()
    resources.resize("gpu", 0)
    resources.check_possible([("gpu", 2)])
    assert resources.list_impossible([("api", 1), ("gpu", 1)]) == ["gpu"]
    resources.configure("gpu", Semaphore(1))
    assert refusal(resources, ("gpu", 2)).code == "beyond-capacity"


def test_a_reload_keeps_what_is_out() -> None:
    resources = shelf()
    resources.take([("api", 20), ("gpu", 1)], 0)
    resources.configure("gpu", Semaphore(3))
    resources.configure("api", Bucket(5, 40, 1))
    assert resources.take([("gpu", 2)], 1) == {"gpu": [1, 2]}
    assert resources.lacks([("api", 11)], 1) == ["api"]
    assert resources.lacks([("api", 10)], 1) == []
    resources.configure("api", Semaphore(1))
    assert resources.lacks([("api", 1)], 1) == []
    resources.remove("gpu")
    resources.give_back({"gpu": [0]})
    assert resources.lacks([("gpu", 1)], 1) == ["gpu"]


def test_permits_and_rates_are_not_mixed_up() -> None:
    resources = shelf()
    with pytest.raises(InvalidError, match="not permits"):
        resources.resize("api", 3)
    with pytest.raises(InvalidError, match="not a rate"):
        resources.set_rate("gpu", 1, 1, 0)
    resources.set_rate("api", 1, 5, 0)
    assert resources.lacks([("api", 6)], 0) == ["api"]


def test_a_timer_is_armed_for_the_last_of_the_tokens_and_for_nothing_else() -> None:
    resources = shelf()
    resources.configure("mail", Bucket(1, 4, 0))
    resources.take([("api", 20), ("mail", 4)], 0)
    assert resources.next_ready_s([("api", 5), ("gpu", 1), ("mail", 2)], 0) == 2
    assert resources.next_ready_s([("api", 5)], 0) == 0.5
    assert resources.next_ready_s([("gpu", 1)], 0) is None
    assert resources.next_ready_s([("api", 1)], 100) is None  # they are there
    assert resources.next_ready_s([("api", 1), ("mail", 9)], 0) is None  # never enough mail


class SemaphoreLife(RuleBasedStateMachine):
    """Any sequence of taking, giving back and resizing, against a plain set."""

    @initialize(permits=st.integers(0, 6))
    def open(self, permits: int) -> None:
        self.resources = Resources()
        self.resources.configure("gpu", Semaphore(permits))
        self.permits = permits
        self.held: list[Units] = []

    @rule(amount=st.integers(1, 6))
    def take(self, amount: int) -> None:
        out = {unit for units in self.held for unit in units["gpu"]}
        if self.permits - len(out) < amount:
            assert self.resources.lacks([("gpu", amount)], 0) == ["gpu"]
            return
        units = self.resources.take([("gpu", amount)], 0)
        assert units["gpu"] == [unit for unit in range(self.permits) if unit not in out][:amount]
        self.held.append(units)

    @rule(which=st.integers(0, 99))
    def give_back(self, which: int) -> None:
        if self.held:
            self.resources.give_back(self.held.pop(which % len(self.held)))

    @rule(permits=st.integers(0, 8))
    def resize(self, permits: int) -> None:
        self.resources.resize("gpu", permits)
        self.permits = permits

    @rule()
    def restart(self) -> None:
        self.resources = Resources()
        self.resources.configure("gpu", Semaphore(self.permits))
        for units in self.held:
            self.resources.restore(units)

    @invariant()
    def what_is_out_is_what_tasks_hold(self) -> None:
        gpu = self.resources.get("gpu")
        assert isinstance(gpu, Semaphore)
        assert gpu.units_out == sorted(unit for units in self.held for unit in units["gpu"])
        assert gpu.free == self.permits - len(gpu.units_out)


TestSemaphoreLife = SemaphoreLife.TestCase
