"""Fair shares through the engine: tenants inside a class of a pool, and pools that compete for all the workers."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cronoq_cli.engine.messages import PoolReplanned, TotalsReplanned
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story, member

FAIR = PoolPlan(6, fair_share=True, tenant_weights={"alice": 2})


def serve(story: Story, seed: int, starts: int, share_of: dict[int, str]) -> Counter[str]:
    """Run tasks of random lengths one after the other; the slot seconds each of those who share got."""
    draw, now, got = random.Random(seed), 0.0, Counter[str]()
    running = [(draw.uniform(0.5, 1.5), task) for task in story.started()]
    began = dict.fromkeys((task for _, task in running), 0.0)
    for _ in range(starts):
        running.sort(reverse=True)
        now, ended = running.pop()
        got[share_of[ended]] += now - began.pop(ended)
        story.end(ended)
        for task in story.started():
            began[task] = now
            running.append((now + draw.uniform(0.5, 1.5), task))
    return got


@pytest.mark.parametrize("seed", range(2))
def test_tenants_of_weight_2_and_1_get_slots_two_to_one_within_two_percent(seed: int) -> None:
    story = Story(FAIR)
    owner = {story.submit(tenant=name): name for _ in range(2500) for name in ("bob", "alice")}
    got = serve(story, seed, 3000, owner)
    assert got["alice"] / got["bob"] == pytest.approx(2, rel=0.02)


def test_without_fair_share_tenants_take_their_turn_by_sequence() -> None:
    story = Story(PoolPlan(2))
    alice = [story.submit(tenant="alice") for _ in range(3)]
    bob = story.submit(tenant="bob")
    for task in alice[:2]:
        story.end(task)
    assert story.started() == [*alice, bob]


def test_a_tenant_alone_may_use_everything_and_nobody_is_the_tenant_without_a_name() -> None:
    story = Story(PoolPlan(3, fair_share=True))
    nobody = [story.submit() for _ in range(5)]
    assert story.started() == nobody[:3]
    alice = story.submit(tenant="alice")
    story.end(nobody[0])
    assert story.started() == [alice]


def test_shares_count_inside_a_class_only() -> None:
    story = Story(PoolPlan(2, fair_share=True))
    first = [story.submit(tenant="alice") for _ in range(2)]
    low = story.submit(tenant="bob", priority=Priority.LOW)
    high = story.submit(tenant="alice", priority=Priority.HIGH)
    story.take_orders()
    story.end(first[0])
    assert story.started() == [high]
    story.end(high)
    assert story.started() == [low]


def test_a_tenant_whose_task_lacks_something_lets_the_next_tenant_go() -> None:
    story = Story(PoolPlan(3, fair_share=True))
    busy = [story.submit(tenant="bob") for _ in range(2)]
    wide = story.submit(tenant="alice", slots=2)
    story.take_orders()
    bob = story.submit(tenant="bob")
    assert story.started() == [], "the free slot is kept for the wide task of the tenant whose turn it is"
    story.end(busy[0])
    assert story.started() == [wide]
    story.end(busy[1])
    assert story.started() == [bob]


def test_shares_are_known_again_after_a_crash_and_after_fair_share_is_switched_on() -> None:
    story = Story(PoolPlan(3))
    busy = [story.submit(tenant=name) for name in ("alice", "alice", "bob")]
    alice, bob = story.submit(tenant="alice"), story.submit(tenant="bob")
    story.handle(PoolReplanned("default", PoolPlan(3, fair_share=True)))
    story.take_orders()
    story.end(busy[0])
    assert story.started() == [alice], "one each, and alice was served longer ago"
    story.pools["default"] = PoolPlan(3, fair_share=True)
    story.crash()
    story.end(alice)
    story.end(busy[1])
    assert story.started() == [bob]


# -- all pools together ----------------------------------------------------------------------------------------------


def competing(workers: int, *, strict: bool = False) -> Story:
    def setup(state: State) -> None:
        state.total = TotalWorkers(workers, strict=strict)

    weights = {"critical": 6.0, "normal": 3.0, "low": 1.0}
    return Story(workers, setup=setup, **{name: PoolPlan(workers, weight=w) for name, w in weights.items()})


@pytest.mark.parametrize("seed", range(2))
def test_pools_of_weight_6_3_and_1_get_60_30_and_10_percent(seed: int) -> None:
    story = competing(10)
    pool_of = {story.submit(pool=name): name for _ in range(2000) for name in ("low", "normal", "critical")}
    got = serve(story, seed, 2500, pool_of)
    for name, part in {"critical": 0.6, "normal": 0.3, "low": 0.1}.items():
        assert got[name] / got.total() == pytest.approx(part, abs=0.02)


def test_strictly_the_highest_weight_goes_first_and_the_others_get_what_is_left() -> None:
    story = competing(2, strict=True)
    low = [story.submit(pool="low") for _ in range(3)]
    critical = [story.submit(pool="critical") for _ in range(2)]
    assert story.started() == low[:2]
    story.end(low[0])
    story.end(low[1])
    assert story.started() == critical
    story.end(critical[0])
    assert story.started() == [low[2]]


def test_no_more_run_than_all_pools_may_together() -> None:
    story = competing(3)
    tasks = [story.submit(pool=name) for name in ("low", "normal", "critical") for _ in range(2)]
    assert len(story.started()) == 3
    assert sum(pool.busy for pool in story.engine.state.pools.values()) == 3
    story.crash()
    story.end(next(task for task in tasks if story.status(task) is Status.RUNNING))
    assert sum(pool.busy for pool in story.engine.state.pools.values()) == 3


def test_a_wide_task_keeps_the_workers_of_all_pools_until_it_fits() -> None:
    story = competing(2)
    one, two = story.submit(pool="normal"), story.submit(pool="normal")
    wide = story.submit(pool="low", slots=2)
    small = [story.submit(pool="normal") for _ in range(3)]
    story.take_orders()
    story.end(one)
    assert story.started() == [], "low has its turn (nothing runs of it), and wants both"
    story.end(two)
    assert story.started() == [wide]
    story.end(wide)
    assert story.started() == small[:2]


def test_more_slots_than_all_pools_share_are_refused_or_step_aside() -> None:
    story = competing(2)
    with pytest.raises(InvalidError, match="3 slots can never"):
        story.submit(slots=3)
    wide = story.submit(pool="low", slots=2, hold=True)
    story.handle(TotalsReplanned(workers=1))
    small = story.submit(pool="low")
    assert story.started() == [small]
    story.end(small)
    assert story.status(wide) is Status.BLOCKED


def test_when_the_bound_is_lifted_everything_starts() -> None:
    story = competing(1)
    tasks = [story.submit(pool=name) for name in ("low", "normal")]
    assert len(story.started()) == 1
    story.handle(TotalsReplanned())
    assert story.status(*tasks) == [Status.RUNNING, Status.RUNNING]


def test_nothing_is_given_ahead_where_pools_or_tenants_compete() -> None:
    story = Story(FAIR, leases=True)
    for _ in range(4):
        task = story.submit("short")
        story.end(task, run_s=0.001)
    story.take_orders()
    story.accept(*[member("short") for _ in range(10)])
    assert len(story.started()) == 6
