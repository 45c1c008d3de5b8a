"""How many workers: the written rule term by term, then whole days of arrivals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine.autoscale import (
    AutoscaleSettings,
    DemandInputs,
    MachineLimits,
    MachineSeen,
    ScaleDecision,
    ScaleState,
    decide_demand,
    decide_machine_cap,
    decide_target,
)

SETTINGS = AutoscaleSettings(slo_s={"high": 10.0, "normal": 120.0})


def inputs(**changes: Any) -> DemandInputs:
    return DemandInputs(**{"current": 2, "least": 0, "most": 16, **changes})


def decide(state: ScaleState | None = None, now: float = 0.0, **changes: Any) -> ScaleDecision:
    return decide_target(SETTINGS, inputs(**changes), state or ScaleState(), now)


@pytest.mark.parametrize(
    ("changes", "demand", "reason"),
    [
        ({}, 0, "arrivals"),
        ({"arrival_rate": 2, "service_s": 2}, 5, "arrivals"),
        ({"arrival_rate": 2, "service_s": 2, "backlog": 60}, 6, "backlog"),
        ({"waiting_work_s": (900, 0, 0, 0)}, 0, "arrivals"),  # low has no SLO
        ({"waiting_work_s": (0, 240, 0, 0)}, 2, "SLO of normal"),
        ({"waiting_work_s": (0, 0, 30, 10)}, 4, "SLO of high"),  # critical work is above high
        ({"waiting_work_s": (0, 600, 30, 0)}, 5.25, "SLO of normal"),
        ({"reserved": 3}, 3, "fixed starts"),
        ({"arrival_rate": 2, "service_s": 2, "reserved": 1}, 6, "arrivals, fixed starts"),
    ],
)
def test_demand_is_the_greatest_of_its_terms_and_the_reservations(
    changes: dict[str, Any], demand: float, reason: str
) -> None:
    assert decide_demand(SETTINGS, inputs(**changes)) == (pytest.approx(demand), reason)


@pytest.mark.parametrize(
    ("demand", "wanted"), [(0.0, 0), (0.0099, 0), (0.0101, 1), (1.0, 1), (1.001, 2), (3 * 1.1 / 1.1, 3), (99, 16)]
)
def test_demand_is_rounded_up_and_next_to_none_is_none(demand: float, wanted: int) -> None:
    decision = decide(arrival_rate=demand * 0.8, service_s=1)
    assert decision.wanted == wanted


def test_the_target_stays_within_the_bounds_and_says_so() -> None:
    assert decide(least=1, current=1) == (1, "no demand; at least 1", 1, 0.0)
    decision = decide(waiting_work_s=(0, 0, 500, 0), current=16)
    assert (decision.target, decision.reason) == (16, "demand 50.00 (SLO of high); at most 16")
    assert decide(current=40).target <= 16
    assert decide(current=0, least=3).target == 3


def test_a_step_up_is_limited_by_the_larger_of_ratio_and_number() -> None:
    hurry: dict[str, Any] = {"waiting_work_s": (0, 0, 5000, 0), "most": 100}
    assert decide(current=0, **hurry).target == 4
    assert decide(current=3, **hurry).target == 7
    assert decide(current=10, **hurry).target == 20
    assert (
        decide(current=10, **hurry).reason == "demand 500.00 (SLO of high); at most 100; 100 wanted, 10 more at a time"
    )


def test_a_step_down_waits_for_cooldown_and_window_and_is_small() -> None:
    state = ScaleState()
    state.record(decide(state, 0, current=2, waiting_work_s=(0, 0, 80, 0)), 2, 0, SETTINGS)
    assert state.last_up_at == 0
    assert decide(state, 10, current=6).reason == "no demand; 0 wanted, cooling down for 20 s"
    assert decide(state, 30, current=6).reason == "no demand; 0 wanted, 8 within the last 60 s"
    assert decide(state, 60, current=6).target == 6
    down = decide(state, 61, current=6)
    assert (down.target, down.reason) == (5, "no demand; 0 wanted, 1 fewer at a time")
    state.record(down, 6, 61, SETTINGS)
    assert state.last_down_at == 61
    assert decide(state, 90, current=5).target == 5
    assert decide(state, 91, current=5).target == 4


def test_the_arrival_rate_follows_its_mean_however_often_one_looks() -> None:
    often, late = ScaleState(), ScaleState()
    for _ in range(6):
        often.learn_arrivals(10, 5, SETTINGS)
    late.learn_arrivals(60, 30, SETTINGS)
    assert often.arrival_rate == pytest.approx(late.arrival_rate) == pytest.approx(2 * (1 - 0.7**6))
    assert often.learn_arrivals(9, 0, SETTINGS) == often.arrival_rate


class Day:
    """A pool in virtual time: tasks of `service_s` arrive at a rate, the rule looks every 5 s."""

    def __init__(self, rate: Callable[[float], float], service_s: float, end_s: float) -> None:
        self.targets: list[int] = []
        self.waited: list[float] = []
        state, target, queue, owed, now = ScaleState(), 0, 0.0, 0.0, 0.0
        while now < end_s:
            owed += rate(now) * 5
            arrivals, owed = int(owed), owed - int(owed)
            queue = max(0.0, queue + arrivals - target * 5 / service_s)
            seen = DemandInputs(
                arrival_rate=state.learn_arrivals(arrivals, 5, SETTINGS),
                service_s=service_s,
                backlog=int(queue),
                waiting_work_s=(0.0, queue * service_s, 0.0, 0.0),
                current=target,
                least=0,
                most=16,
            )
            decision = decide_target(SETTINGS, seen, state, now)
            assert decision.target - target <= max(target, 4)
            assert target - decision.target <= 1
            state.record(decision, target, now, SETTINGS)
            target = decision.target
            self.targets.append(target)
            self.waited.append(queue)
            now += 5

    def turns(self) -> int:
        """How often the target changed its direction."""
        steps = [b - a for a, b in pairwise(self.targets) if b != a]
        return sum((a > 0) != (b > 0) for a, b in pairwise(steps))


def test_a_step_of_arrivals_is_met_held_without_oscillation_and_let_go() -> None:
    day = Day(lambda now: 2.0 if 100 <= now < 1900 else 0.0, service_s=3, end_s=3600)
    steady = day.targets[200:380]
    assert set(steady) == {8}  # 2 a second × 3 s ÷ 0.8 = 7.5
    assert day.targets[24] >= 4
    assert max(day.waited[100:380]) == 0
    assert day.turns() == 1
    assert day.targets[-1] == 0


def test_a_ramp_is_followed_up_and_down() -> None:
    day = Day(lambda now: max(0.0, 3.0 - abs(now - 1800) / 600), service_s=3, end_s=5400)
    assert max(day.targets) in {11, 12}  # 3 a second × 3 s ÷ 0.8 = 11.25
    assert abs(day.targets.index(max(day.targets)) * 5 - 1800) < 120
    assert day.turns() == 1
    assert day.targets[-1] == 0


def test_a_spike_is_worked_off_and_forgotten() -> None:
    day = Day(lambda now: 40.0 if 300 <= now < 310 else 0.1, service_s=2, end_s=3600)
    steady = day.targets[59]
    assert steady == 1
    assert max(day.targets) == 16
    assert day.waited[62 + 24] < 5  # 400 tasks × 2 s on up to 16 workers
    assert day.turns() == 1
    assert day.targets[-1] == steady


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 60), st.integers(0, 500), st.integers(0, 3)), max_size=60),
    st.integers(0, 4),
    st.integers(0, 12),
)
def test_whatever_comes_steps_and_bounds_hold(seen: list[tuple[float, float, int, int]], least: int, more: int) -> None:
    state, target, last_change = ScaleState(), least, -1e9
    for look, (rate, service_s, backlog, reserved) in enumerate(seen):
        now = look * 5.0
        demand = inputs(
            arrival_rate=rate,
            service_s=service_s,
            backlog=backlog,
            reserved=reserved,
            current=target,
            least=least,
            most=least + more,
        )
        decision = decide_target(SETTINGS, demand, state, now)
        assert least <= decision.target <= least + more
        assert -1 <= decision.target - target <= max(target, 4)
        if decision.target < target:
            assert now - last_change >= SETTINGS.cooldown_s
        if decision.target != target:
            last_change = now
        state.record(decision, target, now, SETTINGS)
        target = decision.target


LIMITS = MachineLimits(max_load=1.5, min_free_memory=1 << 30, max_memory_pressure=20)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (MachineSeen(), None),
        (MachineSeen(load_per_cpu=1.5, free_memory=1 << 30, memory_pressure=20), None),
        (MachineSeen(load_per_cpu=1.75), "load 1.75 per CPU is above max_load 1.5"),
        (MachineSeen(free_memory=512 << 20), "512 MiB of memory free, below min_free_memory 1024 MiB"),
        (MachineSeen(memory_pressure=33.3), "memory pressure 33.3 % is above max_memory_pressure 20 %"),
    ],
)
def test_the_machine_says_no_and_why(seen: MachineSeen, reason: str | None) -> None:
    assert decide_machine_cap(LIMITS, seen) == reason


def test_without_limits_the_machine_never_says_no() -> None:
    seen = MachineSeen(load_per_cpu=99, free_memory=0, memory_pressure=100)
    assert decide_machine_cap(MachineLimits(), seen) is None
