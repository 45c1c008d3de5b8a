"""What pools offered and used of it: counted over changes of size, kept over a crash; changes of a target are told."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.messages import MetersRead, PoolPaused, PoolReplanned, PoolResized, PoolResumed
from cronoq_cli.engine.metering import CHANGES_KEPT, decide_utilisation
from cronoq_cli.engine.pools import GroupPlan, LivePool, PoolPlan
from tests.engine.story import Story


def pool_of(story: Story) -> LivePool:
    return story.engine.state.pools["default"]


def offered_s(story: Story) -> float:
    return pool_of(story).meter.count_offered_s(story.now.awake)


def test_worker_seconds_are_offered_by_all_workers_through_every_change_of_size() -> None:
    story = Story(PoolPlan(2, groups=(GroupPlan({"gpu": "yes"}, 1),)))
    story.pass_time(10)
    began = offered_s(story)
    story.pass_time(10)
    assert offered_s(story) - began == pytest.approx(30)
    story.handle(PoolResized("default", 5))
    story.pass_time(10)
    assert offered_s(story) - began == pytest.approx(30 + 60)


def test_sleep_of_the_machine_offers_nothing() -> None:
    story = Story(2)
    story.pass_time(1)
    before = offered_s(story)
    story.pass_time(3600, awake=5)
    assert offered_s(story) - before == pytest.approx(10)


def test_slots_are_used_by_what_ran_and_by_what_runs() -> None:
    story = Story(4)
    story.pass_time(1)
    story.submit(slots=2)
    story.submit()
    story.pass_time(10)
    assert pool_of(story).count_busy_s(story.now) == pytest.approx(30)
    story.end(1, run_s=10.0)
    story.pass_time(5)
    assert pool_of(story).count_busy_s(story.now) == pytest.approx(20 + 15)


def test_what_is_written_of_a_meter_between_two_counts_is_of_one_moment() -> None:
    story = Story(1)
    story.pass_time(1)
    story.submit()
    story.pass_time(30)
    story.end(1, run_s=30.0)
    story.handle(PoolPaused("default"))
    assert story.shelf.pools["default"].get("meter") is None, "neither side was counted since the start"
    story.handle(MetersRead())
    meter = story.shelf.pools["default"]["meter"]
    assert meter == {"worker_s": pytest.approx(30, abs=1), "busy_s": 30.0}
    story.handle(PoolResumed("default"))
    story.submit()
    story.pass_time(5)
    story.end(2, run_s=5.0)
    story.handle(PoolPaused("default"))
    assert story.shelf.pools["default"]["meter"] == meter


def test_meters_go_on_after_a_crash_from_what_was_written_last() -> None:
    story = Story(2)
    story.pass_time(1)
    story.submit()
    story.pass_time(30)
    story.end(1, run_s=30.0)
    story.handle(MetersRead())
    before = offered_s(story)
    story.crash()
    assert pool_of(story).meter.busy_s == pytest.approx(30)
    assert offered_s(story) == pytest.approx(before, abs=0.01)
    story.pass_time(10)
    story.pass_time(10)
    assert offered_s(story) == pytest.approx(before + 40, abs=0.01)


def test_meters_are_written_down_by_themselves_once_a_minute_while_something_happens() -> None:
    story = Story(2)
    for _ in range(3):
        story.pass_time(50)
    assert story.shelf.pools["default"]["meter"] == {"worker_s": pytest.approx(200), "busy_s": 0}


def test_a_pause_and_what_was_set_by_command_are_stored_beside_the_meter() -> None:
    story = Story(2)
    story.pass_time(1)
    story.pass_time(70)
    story.handle(PoolReplanned("default", PoolPlan(3), changes={"workers": 3}))
    assert story.shelf.pools["default"].keys() == {"set", "meter"}
    story.handle(PoolReplanned("default", PoolPlan(2), changes={}))
    assert story.shelf.pools["default"].keys() == {"meter"}


def test_every_change_of_a_target_is_an_event_without_a_task_and_the_last_are_at_hand() -> None:
    story = Story(2)
    for workers in [*range(3, 3 + CHANGES_KEPT), 4, 4]:
        story.handle(PoolResized("default", workers))
    told = [line for line in story.shelf.history if line.type == "pool-scaled"]
    assert len(told) == CHANGES_KEPT + 1
    assert (told[0].id, told[0].pool, told[0].message) == (None, "default", "2 to 3 workers: by command")
    kept = pool_of(story).meter.changes
    assert [change.after for change in kept] == [*range(4, 3 + CHANGES_KEPT), 4]


def test_a_share_is_never_more_than_the_whole_and_unknown_of_nothing() -> None:
    assert decide_utilisation(5, 10) == 0.5
    assert decide_utilisation(12, 10) == 1.0
    assert decide_utilisation(0, 0) is None
