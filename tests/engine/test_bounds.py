"""Bounds on what waits, in a pool and in all, through the engine: refused, parked or shed (specification section 5)."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.bounds import NoRoomError
from cronoq_cli.engine.messages import Edited, Held, Newcomer, PoolReplanned, Released
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story, edges, spec

LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH


def full_story(overflow: str, priorities: list[Priority], **pools: PoolPlan) -> tuple[Story, list[int]]:
    """A pool that holds just the waiting tasks given, behind one that runs."""
    story = Story(PoolPlan(1, max_pending=len(priorities), overflow=overflow), **pools)
    story.submit("busy")
    waiting = [story.submit(priority=priority) for priority in priorities]
    return story, waiting


@pytest.mark.parametrize(("overflow", "waits"), [("reject", False), ("wait", True)])
def test_a_full_pool_refuses_with_exit_75_and_says_whether_waiting_helps(overflow: str, waits: bool) -> None:
    story, waiting = full_story(overflow, [LOW, NORMAL])
    with pytest.raises(NoRoomError, match="pool 'default' holds 2 waiting tasks at most") as caught:
        story.submit(priority=HIGH)
    assert (caught.value.waits, caught.value.pool, int(caught.value.exit)) == (waits, "default", 75)
    assert story.status(*waiting) == [Status.READY] * 2
    story.end(1)
    assert story.submit(), "there is room again"


def test_shed_lowest_evicts_the_newest_task_of_the_lowest_class_below_the_newcomer() -> None:
    story, waiting = full_story("shed-lowest", [LOW, LOW, NORMAL])
    newcomer = story.submit(priority=NORMAL)
    assert story.status(*waiting, newcomer) == [Status.READY, Status.SHED, Status.READY, Status.READY]
    assert story.record(waiting[1]).reason == "shed: too many waited"
    story.submit(priority=HIGH)
    story.submit(priority=HIGH)
    assert story.status(*waiting, newcomer) == [Status.SHED, Status.SHED, Status.READY, Status.SHED]
    with pytest.raises(NoRoomError):
        story.submit(priority=NORMAL)


def test_shed_oldest_evicts_the_oldest_low_task_whoever_comes() -> None:
    story, waiting = full_story("shed-oldest", [NORMAL, LOW, LOW])
    newcomer = story.submit(priority=LOW)
    assert story.status(*waiting, newcomer) == [Status.READY, Status.SHED, Status.READY, Status.READY]


def test_fixed_starts_blocked_running_and_leased_tasks_are_never_victims() -> None:
    story = Story(PoolPlan(1, max_pending=4, overflow="shed-lowest"), leases=True)
    for _ in range(4):
        story.end(story.submit("short"), run_s=0.001)
    running = story.submit("short", priority=LOW)
    leased = story.submit("short", priority=LOW)
    blocked, held = story.submit(priority=LOW, after=[running]), story.submit(priority=LOW, hold=True)
    fixed = story.submit(priority=LOW, start_at=story.now.wall + 100)
    with pytest.raises(NoRoomError):
        story.submit(priority=HIGH)
    story.handle(Released([held]))
    newcomer = story.submit(priority=HIGH)
    assert story.status(running, leased, blocked, held, fixed, newcomer) == [
        Status.RUNNING,
        Status.READY,
        Status.BLOCKED,
        Status.SHED,
        Status.SCHEDULED,
        Status.READY,
    ]
    story.give_back(leased)
    story.submit(priority=HIGH)
    assert story.status(leased) is Status.SHED, "it waits here again"


def test_a_delayed_task_may_be_shed_and_takes_its_dependents_along() -> None:
    story, _ = full_story("shed-lowest", [NORMAL, NORMAL, NORMAL])
    story.end(1)
    delayed = story.submit(priority=LOW, not_before=story.now.wall + 100)
    story.end(2)
    dependent = story.submit(after=[delayed])
    newcomer = story.submit(priority=HIGH)
    assert story.status(delayed, dependent, newcomer) == [Status.SHED, Status.SKIPPED, Status.READY]


def test_a_batch_is_queued_whole_or_not_at_all_and_then_sheds_nothing() -> None:
    story, waiting = full_story("shed-lowest", [LOW, LOW, NORMAL])
    with pytest.raises(NoRoomError):
        story.array(3, priority=NORMAL)
    assert story.status(*waiting) == [Status.READY] * 3
    assert len(story.shelf.tasks) == 4
    ids = story.array(2, priority=NORMAL)
    assert story.status(*waiting, *ids) == [Status.SHED, Status.SHED, *[Status.READY] * 3]


def test_a_refused_fixed_start_gives_its_reservation_back() -> None:
    story, _ = full_story("reject", [NORMAL])
    with pytest.raises(NoRoomError):
        story.submit(start_at=story.now.wall + 100)
    assert story.engine.state.pools["default"].reserved == 0


def test_a_submission_larger_than_its_pool_may_ever_hold_is_not_kept_waiting() -> None:
    story = Story(PoolPlan(1, max_pending=3, overflow="wait"))
    with pytest.raises(NoRoomError, match="4 tasks at once are more than the 3 that may wait") as caught:
        story.accept(*[Newcomer(spec()) for _ in range(4)])
    assert not caught.value.waits
    assert story.accept(*[Newcomer(spec()) for _ in range(3)]).ids == [1, 2, 3]


def totals(most: int) -> Any:
    def setup(state: State) -> None:
        state.max_pending = most
        state.note_plans()

    return setup


def test_a_bound_for_all_pools_goes_by_the_way_of_the_newcomers_pool() -> None:
    plans = {"bulk": PoolPlan(0, overflow="shed-lowest", most=1), "other": PoolPlan(0, overflow="reject", most=1)}
    story = Story(PoolPlan(0, overflow="wait", most=1), setup=totals(3), **plans)
    low = story.submit(pool="bulk", priority=LOW)
    story.submit(pool="other", priority=LOW)
    story.submit()
    with pytest.raises(NoRoomError, match="3 tasks may wait in all") as caught:
        story.submit()
    assert caught.value.waits
    with pytest.raises(NoRoomError) as caught:
        story.submit(pool="other", priority=HIGH)
    assert not caught.value.waits
    story.submit(pool="bulk", priority=HIGH)
    assert story.status(low) is Status.SHED


def test_who_may_be_shed_is_known_after_edits_holds_crashes_and_another_plan() -> None:
    story, (first, second, third) = full_story("shed-lowest", [LOW, LOW, LOW])
    story.handle(Held([third]))
    story.handle(Edited(second, spec(priority=NORMAL)))
    story.crash()
    story.submit(priority=NORMAL)
    assert story.status(first, second, third) == [Status.SHED, Status.READY, Status.BLOCKED]
    story.handle(PoolReplanned("default", PoolPlan(1, max_pending=3, overflow="wait")))
    story.handle(Released([third]))
    story.handle(PoolReplanned("default", PoolPlan(1, max_pending=3, overflow="shed-oldest")))
    story.submit(priority=LOW)
    assert story.status(third) is Status.SHED


def test_who_depends_on_the_task_that_is_shed_for_it_is_skipped() -> None:
    story, (low,) = full_story("shed-lowest", [LOW])
    newcomer = story.accept(Newcomer(spec(priority=HIGH), edges([low]))).ids[0]
    assert story.status(low, newcomer) == [Status.SHED, Status.SKIPPED]
