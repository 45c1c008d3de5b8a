"""What a task wants besides a slot: units, tokens, workers with labels; who passes and who keeps what is free."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Cancelled, Edited, PoolPaused, PoolReplanned, ResourceChanged, RunnersCompared
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.state import State
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff, Priority
from tests.engine.story import Story, spec

GPU = {"gpu": "yes"}


def configure(state: State) -> None:
    state.resources.configure("gpu", Semaphore(2))
    state.resources.configure("db", Semaphore(1))
    state.resources.configure("api", Bucket(rate=10, burst=20, now_awake=5000.0))


def resource_story(workers: int | PoolPlan = 4, **pools: int | PoolPlan) -> Story:
    return Story(workers, setup=configure, **pools)


def units(story: Story, task: int) -> dict[str, list[int]]:
    return story.record(task).units


def units_out(story: Story, name: str = "gpu") -> list[int]:
    known = story.engine.state.resources.known[name]
    assert isinstance(known, Semaphore)
    return known.units_out


# -- semaphores ------------------------------------------------------------------------------------------------------


def test_units_are_numbered_handed_to_the_task_and_given_back_at_the_end_of_the_attempt() -> None:
    story = resource_story()
    first, second = story.submit(uses={"gpu": 1}), story.submit(uses={"gpu": 1})
    third = story.submit(uses={"gpu": 1})
    assert [units(story, task) for task in (first, second, third)] == [{"gpu": [0]}, {"gpu": [1]}, {}]
    story.end(first)
    assert (units(story, first), units(story, third)) == ({}, {"gpu": [0]})


def test_a_unit_is_not_held_during_backoff() -> None:
    story = resource_story()
    task = story.submit(uses={"db": 1}, retries=1, backoff=Backoff(kind="fixed", first_s=10))
    other = story.submit(uses={"db": 1})
    story.end(task, 1)
    assert (story.status(task), units(story, task)) == (Status.RETRYING, {})
    assert units(story, other) == {"db": [0]}
    story.pass_time(10)
    assert story.status(task) is Status.READY, "it takes every limit again"
    story.end(other)
    assert units(story, task) == {"db": [0]}


def test_units_of_a_cancelled_task_are_free_when_its_tree_is_gone() -> None:
    story = resource_story()
    task, other = story.submit(uses={"db": 1}), story.submit(uses={"db": 1})
    story.begin(task)
    story.handle(Cancelled([task]))
    assert story.status(task, other) == [Status.CANCELLED, Status.READY]
    story.end(task, None, signal=15)
    assert story.status(other) is Status.RUNNING


def test_an_order_that_never_reached_the_runner_gives_its_units_back() -> None:
    story = resource_story()
    task = story.submit(uses={"gpu": 2})
    story.crash(compare=False)
    assert units_out(story) == [0, 1]
    story.handle(RunnersCompared(set()))
    assert (story.status(task), units(story, task)) == (Status.RUNNING, {"gpu": [0, 1]})
    assert units_out(story) == [0, 1]


def test_resources_are_taken_all_at_once_or_not_at_all() -> None:
    story = resource_story()
    busy = story.submit(uses={"db": 1})
    both = story.submit(uses={"gpu": 2, "db": 1})
    assert (story.status(both), units_out(story)) == (Status.READY, [])
    story.end(busy)
    assert units(story, both) == {"gpu": [0, 1], "db": [0]}


def test_what_lacks_a_resource_lets_those_pass_that_do_not_want_it() -> None:
    story = resource_story()
    story.submit(uses={"db": 1})
    waiting = story.submit(uses={"db": 1}, priority=Priority.HIGH)
    plain, gpu = story.submit(), story.submit(uses={"gpu": 1})
    assert story.status(waiting, plain, gpu) == [Status.READY, Status.RUNNING, Status.RUNNING]


def test_a_task_that_asks_for_all_permits_starts_before_later_small_ones() -> None:
    story = resource_story(10)
    small = [story.submit(uses={"gpu": 1}) for _ in range(2)]
    large = story.submit(uses={"gpu": 2})
    later = [story.submit(uses={"gpu": 1}) for _ in range(5)]
    story.take_orders()
    story.end(small[0])
    assert story.started() == [], "the free permit is kept for the one that wants two"
    story.end(small[1])
    assert story.started() == [large]
    story.end(large)
    assert story.started() == later[:2]


def test_a_large_request_of_one_pool_is_not_starved_by_small_ones_of_another() -> None:
    story = resource_story(2, other=5)
    small = [story.submit(uses={"gpu": 1}, pool="other") for _ in range(2)]
    large = story.submit(uses={"gpu": 2})
    later = story.submit(uses={"gpu": 1}, pool="other")
    story.take_orders()
    story.end(small[0])
    assert story.started() == []
    story.end(small[1])
    assert story.started() == [large]
    story.end(large)
    assert story.started() == [later]


@pytest.mark.parametrize("what", ["cancel", "pause", "edit"])
def test_a_claim_on_a_resource_ends_with_its_task_or_pool(what: str) -> None:
    story = resource_story(2, other=5)
    story.submit(uses={"gpu": 1}, pool="other")
    large = story.submit(uses={"gpu": 2})
    later = story.submit(uses={"gpu": 1}, pool="other")
    story.take_orders()
    event: Any = {"cancel": Cancelled([large]), "pause": PoolPaused("default"), "edit": Edited(large, spec())}[what]
    story.handle(event)
    assert later in story.started()


def test_permits_shared_by_pools_wake_each_other() -> None:
    story = resource_story(1, other=1)
    one = story.submit(uses={"db": 1})
    two = story.submit(uses={"db": 1}, pool="other")
    assert story.status(two) is Status.READY
    story.end(one)
    assert story.status(two) is Status.RUNNING


def test_what_fits_no_more_steps_aside_with_the_reason_and_comes_back() -> None:
    story = resource_story()
    busy = story.submit(uses={"gpu": 1})
    large, small = story.submit(uses={"gpu": 2}), story.submit(uses={"gpu": 1})
    assert story.status(small) is Status.READY
    story.handle(ResourceChanged("gpu", permits=1))
    assert (story.record(large).reason, story.status(small)) == ("cannot fit", Status.READY)
    story.end(busy)
    assert story.status(large, small) == [Status.READY, Status.RUNNING]
    story.crash()
    assert story.status(large) is Status.READY
    story.handle(ResourceChanged("gpu", permits=1))  # the configuration has 2 again after a restart
    assert story.record(large).reason == "cannot fit"
    story.end(small)
    story.handle(ResourceChanged("gpu", permits=2))
    assert (story.status(large), units(story, large)) == (Status.RUNNING, {"gpu": [0, 1]})


def test_no_unit_is_given_twice_when_a_semaphore_shrinks_and_grows() -> None:
    story = resource_story()
    one, two = story.submit(uses={"gpu": 1}), story.submit(uses={"gpu": 1})
    story.handle(ResourceChanged("gpu", permits=1))
    waiting = story.submit(uses={"gpu": 1})
    story.end(one)
    assert story.status(waiting) is Status.READY, "unit 1 is still out, and there is one permit"
    story.handle(ResourceChanged("gpu", permits=3))
    fourth = story.submit(uses={"gpu": 1})
    out = [unit for task in (two, waiting, fourth) for unit in units(story, task)["gpu"]]
    assert sorted(out) == [0, 1, 2]


@pytest.mark.parametrize(
    ("uses", "code"),
    [
        ({"gpu": 3}, "beyond-capacity"),
        ({"gp": 1}, "unknown-resource"),
        ({"gpu": 0.5}, "bad-amount"),
        ({"api": 21}, "beyond-capacity"),
        ({"workers": 1}, "unknown-resource"),
    ],
)
def test_what_can_never_be_had_is_refused(uses: dict[str, float], code: str) -> None:
    story = resource_story()
    with pytest.raises(InvalidError) as caught:
        story.submit(uses=uses)
    assert (caught.value.code, int(caught.value.exit)) == (code, 7)
    assert story.shelf.tasks == {}


def test_units_survive_a_crash() -> None:
    story = resource_story()
    one, two = story.submit(uses={"gpu": 1}), story.submit(uses={"gpu": 1})
    story.end(one)
    story.crash()
    assert units_out(story) == [1]
    three = story.submit(uses={"gpu": 1})
    assert (units(story, two), units(story, three)) == ({"gpu": [1]}, {"gpu": [0]})
    story.end(two)
    assert units_out(story) == [0]


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_rate_10_and_burst_20_let_20_and_600_through_a_minute_and_20_and_10_w_in_any_window() -> None:
    story = resource_story(1000)
    began = story.now.awake
    story.array(2000, uses={"api": 1})
    starts = [0.0] * len(story.started())
    while (wait_s := story.engine.next_due_s(story.now)) is not None:
        at = max(story.now.awake + wait_s, story.now.awake + 1e-6)
        if at > began + 60:
            break
        story.pass_time(at - story.now.awake)
        starts += [story.now.awake - began] * len(story.started())
    story.pass_time(began + 60 - story.now.awake)
    starts += [60.0] * len(story.started())
    assert len(starts) == 20 + 600
    for first, at in enumerate(starts):
        for last in range(first, len(starts)):
            assert last - first + 1 <= 20 + 10 * (starts[last] - at) + 1e-3


def test_tokens_may_be_fractions_and_are_spent_not_given_back() -> None:
    story = resource_story()
    half = [story.submit(uses={"api": 7.5}) for _ in range(3)]
    assert story.status(*half) == [Status.RUNNING, Status.RUNNING, Status.READY]
    story.end(half[0])
    assert story.status(half[2]) is Status.READY
    assert story.engine.next_due_s(story.now) == pytest.approx(0.25)
    story.pass_time(0.25)
    assert story.status(half[2]) is Status.RUNNING


def test_tokens_do_not_come_while_the_machine_sleeps() -> None:
    story = resource_story()
    story.submit(uses={"api": 20})
    task = story.submit(uses={"api": 1})
    story.pass_time(3600, awake=0.05)
    assert story.status(task) is Status.READY
    story.pass_time(0.05)
    assert story.status(task) is Status.RUNNING


def test_a_large_wish_for_tokens_is_not_starved_by_small_ones() -> None:
    story = resource_story(100)
    story.submit(uses={"api": 20})
    large = story.submit(uses={"api": 20})
    small = [story.submit(uses={"api": 1}) for _ in range(3)]
    story.pass_time(1.9)
    assert set(story.status(large, *small)) == {Status.READY}
    story.pass_time(0.1)
    assert story.status(large, *small) == [Status.RUNNING] + [Status.READY] * 3


def test_another_rate_counts_at_once() -> None:
    story = resource_story()
    story.submit(uses={"api": 20})
    task = story.submit(uses={"api": 20})
    story.handle(ResourceChanged("api", rate=1000))
    assert story.engine.next_due_s(story.now) == pytest.approx(0.02)
    story.pass_time(0.02)
    assert story.status(task) is Status.RUNNING


# -- workers with labels ---------------------------------------------------------------------------------------------


def grouped(workers: int = 1, *, shared: bool = False) -> PoolPlan:
    return PoolPlan(workers, groups=(GroupPlan(GPU, 2, shared=shared),))


def test_labels_lead_to_their_workers_and_are_not_blocked_by_a_full_pool() -> None:
    story = Story(grouped())
    plain = [story.submit() for _ in range(2)]
    labelled = [story.submit(labels=GPU) for _ in range(3)]
    assert story.status(*plain) == [Status.RUNNING, Status.READY]
    assert story.status(*labelled) == [Status.RUNNING, Status.RUNNING, Status.READY]
    story.end(labelled[0])
    assert story.status(plain[1], labelled[2]) == [Status.READY, Status.RUNNING]


def test_workers_that_are_shared_take_plain_tasks_when_the_plain_ones_are_busy() -> None:
    story = Story(grouped(shared=True))
    plain = [story.submit() for _ in range(4)]
    assert story.status(*plain) == [Status.RUNNING] * 3 + [Status.READY]
    assert [story.record(task).units for task in plain[:3]] == [{}, {"@workers": [1]}, {"@workers": [1]}]
    story.end(plain[1])
    assert story.status(plain[3]) is Status.RUNNING


def test_a_label_that_no_workers_have_is_refused() -> None:
    story = Story(grouped())
    with pytest.raises(InvalidError, match=r"no workers of pool 'default' have gpu=no") as caught:
        story.submit(labels={"gpu": "no"})
    assert int(caught.value.exit) == 7
    with pytest.raises(InvalidError, match="3 slots can never fit"):
        story.submit(labels=GPU, slots=3)


def test_a_wide_labelled_task_keeps_the_workers_of_its_group_until_it_fits() -> None:
    story = Story(grouped())
    first = story.submit(labels=GPU)
    wide, small = story.submit(labels=GPU, slots=2), story.submit(labels=GPU)
    plain = story.submit()
    assert story.status(wide, small, plain) == [Status.READY, Status.READY, Status.RUNNING]
    story.end(first)
    assert story.status(wide, small) == [Status.RUNNING, Status.READY]


def test_workers_of_a_group_are_found_again_after_a_crash_and_when_the_group_is_gone() -> None:
    story = Story(grouped())
    running = [story.submit(labels=GPU) for _ in range(2)]
    waiting = story.submit(labels=GPU)
    story.crash()
    story.end(running[0])
    assert story.status(waiting) is Status.RUNNING
    story.crash(pools={"default": 1})
    plain = story.submit()
    assert story.status(plain) is Status.RUNNING, "what runs of a group that is gone takes no other worker"
    for task in (running[1], waiting, plain):
        story.end(task)
    assert story.engine.state.pools["default"].busy == 0


def test_a_group_that_is_made_smaller_or_dropped_lets_running_tasks_go_on() -> None:
    story = Story(grouped())
    running = [story.submit(labels=GPU) for _ in range(2)]
    waiting = story.submit(labels=GPU)
    story.handle(PoolReplanned("default", PoolPlan(1)))
    assert story.record(waiting).reason == "cannot fit"
    for task in running:
        story.end(task)
    assert story.status(waiting) is Status.READY
    story.handle(PoolReplanned("default", grouped()))
    assert story.status(waiting) is Status.RUNNING


def test_moments_of_buckets_are_of_the_awake_clock() -> None:
    story = resource_story()
    story.now = Now(0.0, story.now.awake)  # a wall clock set back changes nothing
    story.submit(uses={"api": 20})
    task = story.submit(uses={"api": 10})
    story.pass_time(1.0)
    assert story.status(task) is Status.RUNNING
