"""Orders given to the runner ahead of need: short kinds only, taken back for better ones, and races with a start."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.messages import (
    AttemptEnded,
    AttemptStarted,
    Cancelled,
    DrainBegan,
    Edited,
    Held,
    LeasesRevoked,
    LeasesSettled,
    Moved,
    PoolPaused,
    PoolResized,
    PoolResumed,
    Released,
    Revoke,
    RunnersCompared,
    Start,
    Stop,
    TotalsReplanned,
)
from cronoq_cli.engine.pools import AHEAD_MOST
from cronoq_cli.errors import ConflictError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story, spec, take_snapshot


def leasing_story(ahead: int = 3, *, run_s: float = 0.001, **fields: Any) -> tuple[Story, int, list[int]]:
    """A story with one worker that runs a task while others of the same short kind stand at the runner."""
    story = Story(1, leases=True, other=1)
    for _ in range(4):
        task = story.submit("short")
        story.begin(task)
        story.end(task, run_s=run_s)
    running = story.submit("short")
    story.begin(running)
    story.take_orders()
    leased = [story.submit("short", **fields) for _ in range(ahead)]
    return story, running, leased


def test_short_kinds_are_given_ahead_and_hold_no_slot() -> None:
    story, running, leased = leasing_story()
    assert story.take_orders() == [Start(task, 1, "default", 1, ahead=True) for task in leased]
    record = story.record(leased[0])
    assert (record.status, record.leased, record.reason) == (Status.READY, True, "handed to the runner")
    pool = story.engine.state.pools["default"]
    assert (pool.busy, list(pool.running)) == (1, [running])


def test_long_or_unknown_kinds_wide_tasks_and_limited_arrays_are_not_given_ahead() -> None:
    story, _, _ = leasing_story(0, run_s=0.2)
    story.submit("short")
    assert story.started() == []
    story, _, _ = leasing_story(0)
    story.submit("unknown")
    assert story.started() == []
    story, _, _ = leasing_story(0)
    story.submit("short", kill_at=story.now.wall + 60)
    assert story.started() == []
    story, _, _ = leasing_story(0)
    story.array(3, limit=2)
    assert story.started() == []


def test_only_so_many_are_given_ahead() -> None:
    story, _, leased = leasing_story(200)
    assert story.started() == leased[:AHEAD_MOST]
    story, _, leased = leasing_story(200, run_s=0.05)
    assert story.started() == leased[:5], "a quarter of a second of work"


def test_who_wants_it_has_everything_given_ahead_or_nothing() -> None:
    story, _, leased = leasing_story()
    story.take_orders()
    story.handle(TotalsReplanned(leases="never"))
    assert sorted(story.revoked()) == leased, "what stands at the runner comes back"
    assert all(story.give_back(task) for task in leased)
    story.submit("short")
    assert story.started() == []
    story.handle(TotalsReplanned(leases="always"))
    story.take_orders()
    unknown = story.submit("unknown")
    assert story.take_orders() == [Start(unknown, 1, "default", 1, ahead=True)]
    story.array(3, limit=2)
    assert story.started() == [], "what only its turn can decide is not given ahead by any setting"
    story.handle(Cancelled(story.ids(Status.READY)))
    story.take_orders()
    story.array(3, max_fails=1)
    assert story.started() == [], "what fails first may end the rest"


def test_the_runner_starts_the_next_by_itself_in_one_report() -> None:
    story, running, leased = leasing_story()
    story.take_orders()
    for event in (
        AttemptEnded(running, 1, story.describe_end(0, run_s=0.001)),
        AttemptStarted(leased[0], 1, 55, story.now.wall),
        AttemptEnded(leased[0], 1, story.describe_end(0, run_s=0.001)),
        AttemptStarted(leased[1], 1, 56, story.now.wall),
    ):
        story.engine.handle(event, story.now)
    story.commit()
    assert story.status(running, *leased) == [Status.SUCCEEDED, Status.SUCCEEDED, Status.RUNNING, Status.READY]
    assert (story.record(leased[1]).attempt, story.record(leased[1]).leased) == (1, False)
    assert not [order for order in story.take_orders() if isinstance(order, Start) and not order.ahead]
    assert [event.type for event in story.shelf.history if event.id == leased[0]] == [
        "submitted",
        "started",
        "succeeded",
    ]


def test_when_the_last_lease_has_started_a_slot_that_is_still_free_is_given_out() -> None:
    story, _running, leased = leasing_story(1)
    story.handle(PoolResized("default", 3))
    long = [story.submit("long") for _ in range(2)]
    story.take_orders()
    assert story.status(*long) == [Status.READY] * 2, "the lease stands before them"
    story.begin(leased[0])
    assert story.started() == long[:1]


def test_an_end_without_a_start_report_counts_as_both() -> None:
    story, running, leased = leasing_story(1)
    story.end(running, run_s=0.001)
    story.end(leased[0], 1, run_s=0.001)
    record = story.record(leased[0])
    assert (record.status, record.attempt) == (Status.FAILED, 1)
    assert story.engine.state.pools["default"].busy == 0


def test_a_better_placed_newcomer_takes_leases_back_and_goes_first() -> None:
    story, running, leased = leasing_story(2)
    story.take_orders()
    urgent = story.submit("unknown", priority=Priority.HIGH)
    assert story.take_orders() == [Revoke(leased[1], 1), Revoke(leased[0], 1)]
    more = story.submit("unknown", priority=Priority.HIGH)
    assert story.take_orders() == [], "what was asked back once is not asked back again"
    assert [story.give_back(task) for task in leased] == [True, True]
    assert story.record(leased[0]).leased is False
    assert story.record(leased[0]).attempt == 0, "a lease taken back does not count"
    story.end(running, run_s=0.001)
    assert story.started() == [urgent]
    assert story.queue() == [more, *leased]


def test_a_newcomer_of_a_better_class_takes_no_lease_back_from_one_that_has_aged_beyond_it() -> None:
    story, _, leased = leasing_story(1, priority=Priority.LOW)
    story.take_orders()
    story.pass_time(100)
    story.submit("short", priority=Priority.NORMAL)
    assert story.revoked() == []
    assert story.record(leased[0]).leased


def test_a_lease_that_started_before_it_could_be_taken_back_simply_runs() -> None:
    story, running, leased = leasing_story(1)
    urgent = story.submit("unknown", priority=Priority.CRITICAL)
    story.end(running, run_s=0.001)
    assert story.status(urgent) is Status.READY
    story.begin(leased[0])
    assert story.status(leased[0]) is Status.RUNNING
    story.take_orders()
    story.end(leased[0], run_s=0.001)
    assert story.started() == [urgent]


def test_a_task_moved_to_the_front_takes_leases_back() -> None:
    story, _, leased = leasing_story(1)
    last = story.submit("unknown")
    story.take_orders()
    story.handle(Moved([last], first=True))
    assert story.revoked() == leased


def test_a_lease_cancelled_before_it_started_is_gone_when_the_runner_dropped_it() -> None:
    story, running, leased = leasing_story(1)
    story.take_orders()
    story.handle(Cancelled(leased))
    assert story.take_orders() == [Stop(leased[0], 1, 15, 10.0, "cancelled")]
    assert (story.status(leased[0]), story.record(leased[0]).leaving) == (Status.CANCELLED, True)
    assert story.give_back(leased[0]) is True
    record = story.record(leased[0])
    assert (record.leaving, record.leased, record.attempt) == (False, False, 0)
    assert story.engine.state.pools["default"].busy == 1
    assert list(story.engine.state.tasks) == [running]


def test_a_lease_cancelled_just_as_it_started_takes_its_slot_until_it_is_gone() -> None:
    story, running, leased = leasing_story(1)
    behind = story.submit("unknown")
    story.handle(Cancelled(leased))
    story.engine.handle(AttemptEnded(running, 1, story.describe_end(run_s=0.001)), story.now)
    story.engine.handle(AttemptStarted(leased[0], 1, 60, story.now.wall), story.now)
    story.commit()
    story.crash()
    pool = story.engine.state.pools["default"]
    assert pool.busy == 2, "one started in good faith, one not yet gone"
    story.end(leased[0], None, signal=15, cause="cancelled")
    assert (pool.busy, story.record(leased[0]).attempt) == (1, 1)
    assert story.shelf.attempts[leased[0], 1].outcome == "cancelled"
    assert story.status(behind) is Status.RUNNING


def test_pause_and_drain_and_a_smaller_pool_take_all_leases_back() -> None:
    for event in (PoolPaused("default"), DrainBegan(), PoolResized("default", 0)):
        story, _, leased = leasing_story(3)
        story.take_orders()
        story.handle(event)
        assert story.revoked() == leased
        for task in leased:
            story.give_back(task)
        assert story.started() == []


def test_a_resumed_pool_gives_ahead_again() -> None:
    story, _, leased = leasing_story(2)
    story.handle(PoolPaused("default"))
    for task in leased:
        story.give_back(task)
    story.take_orders()
    story.handle(PoolResumed("default"))
    assert story.started() == leased


def test_nothing_is_given_ahead_while_a_change_waits_for_leases_to_come_back() -> None:
    story, _, leased = leasing_story(3)
    story.take_orders()
    assert story.handle(LeasesRevoked([leased[1], 999])) == [leased[1]]
    assert story.revoked() == [leased[1]]
    story.give_back(leased[1])
    assert story.started() == []
    assert story.handle(Held([leased[1]])) == [leased[1]]
    story.handle(LeasesSettled([leased[1]]))
    assert story.status(leased[1]) is Status.BLOCKED
    assert story.handle(Held([leased[0]])) == [], "a lease must come back first"


def test_all_leases_of_a_pool_or_of_all_can_be_called_back() -> None:
    story, _, leased = leasing_story(2)
    story.take_orders()
    assert story.handle(LeasesRevoked(pool="other")) == []
    assert story.handle(LeasesRevoked(pool="default")) == leased
    assert story.handle(LeasesRevoked()) == leased
    assert story.revoked() == leased, "asked back once"


def test_a_lease_survives_a_crash_and_a_lost_revocation_is_asked_again() -> None:
    story, _, leased = leasing_story(2)
    story.handle(PoolPaused("default"))
    story.crash()
    assert story.record(leased[0]).leased
    assert sorted(story.revoked()) == leased


def test_a_lease_no_runner_knows_is_given_again_under_the_same_number() -> None:
    story, running, leased = leasing_story(1)
    story.crash(compare=False)
    story.handle(RunnersCompared({(running, 1)}))
    record = story.record(leased[0])
    assert (record.status, record.leased, record.attempt) == (Status.READY, True, 0)
    assert story.take_orders() == [Start(leased[0], 1, "default", 1, ahead=True)]


def test_a_leased_task_cannot_be_edited() -> None:
    story, _, leased = leasing_story(1)
    with pytest.raises(ConflictError, match="not waiting"):
        story.handle(Edited(leased[0], spec()))


def test_a_batch_whose_last_member_was_cancelled_as_a_lease_is_there_while_that_one_runs_after_all() -> None:
    story, _, _ = leasing_story(0)
    story.handle(PoolResized("default", 2))
    story.submit("long")
    members = story.array(3, kind="short")
    assert all(story.record(task).leased for task in members)
    story.handle(Cancelled(members))
    assert take_snapshot(story.make_twin())["batches"] == take_snapshot(story.engine)["batches"] != {}
    story.give_back(members[0])
    story.begin(members[1])
    twin = take_snapshot(story.make_twin())
    assert twin["batches"] == take_snapshot(story.engine)["batches"]
    assert [(running, kept) for running, kept, _ in twin["batches"].values()] == [(1, 2)]
    story.end(members[1], None, signal=15, cause="cancelled")
    story.give_back(members[2])
    assert story.engine.state.batches == story.make_twin().state.batches == {}


def aged_story() -> tuple[Story, dict[str, int]]:
    """Three ready tasks whose scores go round: x is before y by sequence, y before z and z before x by score."""
    story, running, _ = leasing_story(0)
    story.handle(PoolPaused("default"))
    fields = {"x": Priority.NORMAL, "y": Priority.NORMAL, "z": Priority.LOW}
    ids = {name: story.submit("short", priority=priority, hold=name == "x") for name, priority in fields.items()}
    story.pass_time(100)
    story.handle(Released([ids["x"]]))
    story.take_orders()
    assert story.status(running) is Status.RUNNING
    return story, ids


def test_leases_are_given_in_the_order_of_starts_and_stay_out() -> None:
    story, ids = aged_story()
    story.handle(PoolResumed("default"))
    assert story.take_orders() == [Start(ids[name], 1, "default", 1, ahead=True) for name in "zxy"]
    story.handle(LeasesRevoked([ids["y"]]))
    story.give_back(ids["y"])
    story.handle(LeasesSettled([ids["y"]]))
    assert story.take_orders() == [Revoke(ids["y"], 1), Start(ids["y"], 1, "default", 1, ahead=True)]


def test_a_lease_that_comes_back_takes_back_all_behind_it_also_one_given_before_better_ones() -> None:
    story, ids = aged_story()
    story.handle(PoolResumed("default"))
    story.handle(LeasesRevoked([ids["z"]]))
    story.take_orders()
    story.give_back(ids["z"])
    story.handle(LeasesSettled([ids["z"]]))
    assert sorted(story.revoked()) == sorted([ids["x"], ids["y"]]), "z goes first, though y has the best score"
    story.give_back(ids["y"])
    assert story.take_orders() == [], "nothing is given ahead while a lease is on its way back"
    story.give_back(ids["x"])
    assert story.started() == [ids[name] for name in "zxy"]
    assert story.revoked() == []


def test_a_recalled_lease_that_started_instead_lets_orders_be_given_ahead_again() -> None:
    story, running, leased = leasing_story(3)
    story.take_orders()
    story.handle(LeasesRevoked([leased[0]]))
    story.handle(LeasesSettled([leased[0]]))
    more = story.submit("short")
    assert story.started() == []
    story.end(running, run_s=0.001)
    story.begin(leased[0])
    assert story.started() == [more]
