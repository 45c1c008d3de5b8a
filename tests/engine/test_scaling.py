"""Autoscaling through the engine: arrivals as a step, a ramp and a spike; fixed starts ahead; the machine's limits."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise

import pytest

from cronoq_cli.engine.autoscale import AutoscaleSettings, MachineLimits, MachineSeen
from cronoq_cli.engine.messages import MachineLooked, PoolReplanned
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.model.lifecycle import Status
from tests.engine.story import Story

SETTINGS = AutoscaleSettings()
ROUNDING_S = 1e-6
"""Moments are sums: a little later than the last of them is surely not before it."""


def scaled(least: int = 0, most: int = 16, start: int = 2, **fields: object) -> PoolPlan:
    return PoolPlan(start, least=least, most=most, autoscale=SETTINGS, default_duration_s=10, **fields)  # type: ignore[arg-type]


class Crowd:
    """Tasks of ten seconds that arrive as told; `targets` holds (second, workers) of every change."""

    def __init__(self, plan: PoolPlan) -> None:
        self.story = Story(plan)
        self.began = self.story.now.awake
        self.running: list[tuple[float, int]] = []
        self.targets = [(0.0, plan.workers)]
        self.waited: list[float] = []

    @property
    def workers(self) -> int:
        return self.story.engine.state.pools["default"].workers

    @property
    def seconds(self) -> float:
        return self.story.now.awake - self.began

    def live(self, arrivals: list[float], until: float) -> None:
        """Let tasks arrive at these seconds, and everything end and be looked at in its time."""
        ahead = sorted(arrivals, reverse=True)
        while True:
            due_s = self.story.engine.next_due_s(self.story.now)
            moments = [until, *ahead[-1:], *[end_at for end_at, _ in self.running[:1]]]
            at = min(moments + ([] if due_s is None else [self.seconds + due_s]))
            self.story.pass_time(max(0.0, at - self.seconds) + ROUNDING_S)
            while self.running and self.running[0][0] <= self.seconds:
                self.story.end(heappop(self.running)[1], run_s=10.0)
                self._hear()
            while ahead and ahead[-1] <= self.seconds:
                ahead.pop()
                self.story.submit()
            self._hear()
            if at >= until:
                return

    def _hear(self) -> None:
        for task in self.story.started():
            record = self.story.record(task)
            self.waited.append((record.started_at or 0.0) - record.submitted_at)
            heappush(self.running, (self.seconds + 10.0, task))
        if self.workers != self.targets[-1][1]:
            self.targets.append((self.seconds, self.workers))


def changes(targets: list[tuple[float, int]]) -> list[int]:
    return [after - before for (_, before), (_, after) in pairwise(targets)]


def test_a_step_of_arrivals_is_met_without_oscillation_and_everything_returns_to_min() -> None:
    crowd = Crowd(scaled())
    crowd.live([0.5 * n for n in range(600)], until=300)  # two a second, ten seconds each: more than 16 can do
    assert crowd.workers == 16
    top = len(crowd.targets) - 1
    assert all(before < after <= before + max(4, before) for (_, before), (_, after) in pairwise(crowd.targets))
    crowd.live([], until=2000)
    downs = changes(crowd.targets)[top:]
    assert set(downs) == {-1}, "down by one at a time, never up again"
    assert crowd.workers == 0
    assert crowd.story.engine.next_due_s(crowd.story.now) is None, "a resting pool needs no timer"


def test_a_steady_load_keeps_a_steady_target() -> None:
    crowd = Crowd(scaled())
    crowd.live([5.0 * n for n in range(400)], until=2000)  # two slots of work, at 80 %: three workers
    settled = [workers for at, workers in crowd.targets if at > 600]
    assert crowd.workers in (3, 4)
    assert len(settled) <= 3


def test_a_ramp_is_followed_up_and_down() -> None:
    crowd = Crowd(scaled())
    gaps = [
        *[20.0 / n for n in range(1, 17) for _ in range(2 * n)],
        *[20.0 / n for n in range(16, 0, -1) for _ in range(n)],
    ]
    arrivals, at = [], 0.0
    for gap in gaps:
        at += gap
        arrivals.append(at)
    crowd.live(arrivals, until=at + 1500)
    tops = max(workers for _, workers in crowd.targets)
    assert 8 <= tops <= 16
    turn = [workers for _, workers in crowd.targets].index(tops)
    assert all(step > 0 for step in changes(crowd.targets[:turn]) if step not in (-1, -2))
    assert crowd.workers == 0


def test_a_spike_is_worked_off_and_forgotten() -> None:
    crowd = Crowd(scaled())
    crowd.live([0.0] * 60, until=1500)
    assert max(workers for _, workers in crowd.targets) == 16
    assert max(crowd.waited) < 120
    assert (crowd.workers, len(crowd.waited)) == (0, 60)


def test_after_a_long_rest_old_arrivals_do_not_count() -> None:
    crowd = Crowd(scaled(least=2))
    crowd.live([0.5 * n for n in range(200)], until=1000)
    assert crowd.workers == 2
    crowd.story.pass_time(36_000)
    crowd.live([crowd.seconds + 1.0], until=crowd.seconds + 30)
    assert crowd.workers == 2
    assert crowd.story.engine.state.pools["default"].scale.arrival_rate < 0.1


def test_a_pool_without_workers_wakes_up_for_work() -> None:
    crowd = Crowd(scaled(start=0))
    crowd.live([1.0], until=30)
    assert crowd.waited == [pytest.approx(5.0, abs=0.01)]


def test_a_pool_grows_for_fixed_starts_within_the_horizon_and_sleeps_until_then() -> None:
    story = Story(scaled(start=0))
    tasks = [story.submit(start_at=story.now.wall + 1000, estimate_s=60) for _ in range(3)]
    assert story.engine.next_due_s(story.now) == pytest.approx(700)
    story.pass_time(700)
    pool = story.engine.state.pools["default"]
    assert (pool.workers, pool.scale_reason) == (3, "demand 3.00 (fixed starts)")
    while story.status(tasks[0]) is not Status.RUNNING:
        story.pass_time(story.engine.next_due_s(story.now) or 0.0)
    assert story.record(tasks[2]).started_at == story.record(tasks[2]).spec.start_at


def test_early_arrivals_wake_a_pool_that_sleeps_until_a_fixed_start() -> None:
    story = Story(scaled(start=0))
    story.submit(start_at=story.now.wall + 10_000, estimate_s=60)
    task = story.submit()
    story.pass_time(5)
    assert story.status(task) is Status.RUNNING


def test_other_bounds_of_a_pool_are_kept_to_at_the_next_look() -> None:
    story = Story(scaled(least=2))
    story.handle(PoolReplanned("default", scaled(least=4, most=6)))
    story.pass_time(5)
    assert story.engine.state.pools["default"].workers == 4
    story.handle(PoolReplanned("default", PoolPlan(1)))
    assert story.engine.state.pools["default"].workers == 1
    assert story.engine.next_due_s(story.now) is None or story.engine.state.scales is False


# -- the machine -----------------------------------------------------------------------------------------------------

LIMITS = MachineLimits(max_load=1.5)
BUSY, CALM = MachineSeen(load_per_cpu=2.0), MachineSeen(load_per_cpu=0.5)


def test_above_its_limit_new_starts_wait_running_tasks_go_on_and_all_start_when_it_is_calm() -> None:
    story = Story(PoolPlan(2, limits=LIMITS), free=1)
    running = story.submit()
    assert story.handle(MachineLooked(BUSY)) == ["default"]
    waiting, other = story.submit(), story.submit(pool="free")
    assert story.status(running, waiting, other) == [Status.RUNNING, Status.READY, Status.RUNNING]
    assert story.engine.state.pools["default"].capped == "load 2.00 per CPU is above max_load 1.5"
    assert story.handle(MachineLooked(BUSY)) == []
    assert story.handle(MachineLooked(CALM)) == ["default"]
    assert story.status(waiting) is Status.RUNNING


def test_a_capped_pool_takes_its_leases_back() -> None:
    story = Story(PoolPlan(1, limits=LIMITS), leases=True)
    for _ in range(4):
        story.end(story.submit("short"), run_s=0.001)
    story.submit("short")
    leased = story.submit("short")
    story.handle(MachineLooked(BUSY))
    assert story.revoked() == [leased]


def test_an_autoscaled_pool_shrinks_while_the_machine_is_needed_and_grows_back() -> None:
    crowd = Crowd(scaled(limits=LIMITS))
    steady = [0.7 * n for n in range(2000)]
    crowd.live([at for at in steady if at < 100], until=100)
    grown = crowd.workers
    crowd.story.handle(MachineLooked(BUSY))
    crowd.live([at for at in steady if 100 <= at < 130], until=130)
    pool = crowd.story.engine.state.pools["default"]
    assert (crowd.workers, pool.busy, pool.scale_reason) == (0, 0, "load 2.00 per CPU is above max_load 1.5")
    crowd.story.handle(MachineLooked(CALM))
    crowd.live([at for at in steady if 130 <= at < 200], until=200)
    assert crowd.workers >= grown


def test_every_change_of_the_target_is_told_with_its_reason() -> None:
    crowd = Crowd(scaled())
    crowd.live([0.5 * n for n in range(600)], until=2000)
    told = [line.message or "" for line in crowd.story.shelf.history if line.type == "pool-scaled"]
    steps = [f"{before} to {after} workers: " for (_, before), (_, after) in pairwise(crowd.targets)]
    assert [any(line.startswith(step) for step in steps) for line in told] == [True] * len(steps)
    assert any("demand" in line for line in told)
