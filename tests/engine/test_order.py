"""Who goes next: classes, aging, sequence, slots of unequal size, arrays with a limit, pools."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    Held,
    Moved,
    Newcomer,
    PoolPaused,
    PoolResized,
    PoolResumed,
    Released,
)
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story, edges, spec, take_snapshot


def busy_story(workers: int = 1, **pools: int) -> tuple[Story, list[int]]:
    """A story whose workers all have something to do, and the tasks that keep them busy."""
    story = Story(workers, **pools)
    ids = [story.submit("long", priority=Priority.CRITICAL) for _ in range(workers)]
    story.take_orders()
    return story, ids


def run_dry(story: Story) -> list[int]:
    """End what runs, one at a time, until nothing is left; the order in which tasks started."""
    order = story.started()
    while story.ids(Status.RUNNING):
        story.end(story.ids(Status.RUNNING)[0])
        order += story.started()
    return order


def test_classes_start_from_critical_to_low() -> None:
    story, _ = busy_story()
    low, normal, high, critical = (story.submit(priority=priority) for priority in Priority)
    assert run_dry(story) == [critical, high, normal, low]


def test_within_a_class_first_come_is_first_served() -> None:
    story, _ = busy_story()
    ids = [story.submit() for _ in range(20)]
    assert run_dry(story) == ids


@pytest.mark.parametrize(
    ("waited_s", "score"),
    [(0, 10.0), (44, 98.0), (45, 100.0), (46, 102.0), (400, 810.0), (401, 810.0), (1e9, 810.0)],
)
def test_a_low_task_ages_by_two_points_a_second_up_to_the_cap(waited_s: float, score: float) -> None:
    story, _ = busy_story()
    task = story.task(story.submit(priority=Priority.LOW))
    assert Scoring().score(task, story.now.wall + waited_s) == score


@pytest.mark.parametrize(("waited_s", "low_first"), [(44.9, False), (45.0, True), (46.0, True)])
def test_low_passes_a_fresh_normal_from_45_seconds_on(waited_s: float, low_first: bool) -> None:
    story, _ = busy_story()
    low = story.submit(priority=Priority.LOW)
    story.pass_time(waited_s)
    normal = story.submit(priority=Priority.NORMAL)
    assert (run_dry(story)[0] == low) is low_first
    assert story.status(normal) is Status.SUCCEEDED


@pytest.mark.parametrize("priority", [Priority.LOW, Priority.NORMAL, Priority.HIGH])
def test_nothing_below_critical_passes_a_fresh_critical_however_long_it_waited(priority: Priority) -> None:
    story, _ = busy_story()
    old = story.submit(priority=priority)
    story.pass_time(10_000_000)
    critical = story.submit(priority=Priority.CRITICAL)
    assert run_dry(story) == [critical, old]


def test_of_equal_scores_the_older_sequence_goes_first() -> None:
    story, _ = busy_story()
    low = story.submit(priority=Priority.LOW)
    story.pass_time(45)
    normal = story.submit(priority=Priority.NORMAL)
    assert story.queue() == [low, normal], "both have 100 points now"
    assert run_dry(story) == [low, normal]


def test_waiting_is_counted_from_the_first_moment_it_was_ready_also_over_a_hold() -> None:
    story, _ = busy_story()
    low = story.submit(priority=Priority.LOW)
    story.pass_time(30)
    story.handle(Held([low]))
    story.pass_time(30)
    story.handle(Released([low]))
    normal = story.submit(priority=Priority.NORMAL)
    assert story.queue() == [low, normal]


def test_a_clock_set_back_gives_no_negative_score() -> None:
    story, _ = busy_story()
    task = story.task(story.submit(priority=Priority.LOW))
    assert Scoring().score(task, story.now.wall - 500) == 10.0


# -- slots ---------------------------------------------------------------------------------------------------------


def test_no_more_slots_are_given_than_there_are() -> None:
    story = Story(4)
    ids = [story.submit(slots=slots) for slots in (2, 1, 1, 1)]
    assert story.started() == ids[:3]
    story.end(ids[0])
    assert story.started() == ids[3:]
    assert story.engine.state.pools["default"].busy == 3


def test_a_large_task_at_the_head_keeps_freed_slots_until_it_fits() -> None:
    story = Story(3)
    small = [story.submit() for _ in range(3)]
    large = story.submit(slots=3)
    behind = story.submit()
    story.take_orders()
    for task_id in small[:2]:
        story.end(task_id)
        assert story.started() == [], "nobody passes the large one"
    story.end(small[2])
    assert story.started() == [large]
    story.end(large)
    assert story.started() == [behind]


def test_what_can_never_fit_is_refused_at_submission() -> None:
    story = Story(2)
    with pytest.raises(InvalidError, match="3 slots can never fit into pool 'default'") as refusal:
        story.submit(slots=3)
    assert refusal.value.code == "cannot-fit"
    assert story.engine.find(1) is None


def test_an_unknown_pool_is_refused_with_the_nearest_known_one() -> None:
    story = Story(2, big=3)
    with pytest.raises(InvalidError, match="unknown pool 'bog'") as refusal:
        story.submit(pool="bog")
    assert "big" in (refusal.value.hint or "")


def test_what_fits_no_more_after_a_resize_steps_aside_with_the_reason_and_comes_back() -> None:
    story, (busy,) = busy_story(1, wide=4)
    first = story.submit(pool="wide", slots=4)
    large = story.submit(pool="wide", slots=4)
    small = story.submit(pool="wide", slots=1)
    story.handle(PoolResized("wide", 2))
    assert story.record(large).reason == "cannot fit"
    assert story.queue("wide") == [small]
    story.end(first)
    assert story.started()[-1] == small, "the large one blocks nobody any more"
    story.handle(PoolResized("wide", 4))
    assert story.record(large).reason is None
    assert story.started() == []
    story.end(small)
    assert story.started() == [large]
    assert story.status(busy) is Status.RUNNING


def test_what_was_set_aside_can_be_held_released_and_cancelled() -> None:
    story = Story(1, wide=4)
    story.handle(PoolPaused("wide"))
    held, gone = story.submit(pool="wide", slots=4), story.submit(pool="wide", slots=3)
    story.handle(PoolResized("wide", 2))
    story.handle(Held([held]))
    story.handle(Cancelled([gone]))
    assert story.record(held).reason == "held"
    story.handle(Released([held]))
    assert (story.status(held), story.record(held).reason) == (Status.READY, "cannot fit")
    story.handle(PoolResized("wide", 4))
    story.handle(PoolResumed("wide"))
    assert story.started() == [held]


def test_running_tasks_go_on_when_a_pool_is_made_smaller() -> None:
    story = Story(3)
    ids = [story.submit() for _ in range(4)]
    story.handle(PoolResized("default", 1))
    assert story.status(*ids[:3]) == [Status.RUNNING] * 3
    story.take_orders()
    for task_id in ids[:2]:
        story.end(task_id)
    assert story.started() == []
    story.end(ids[2])
    assert story.started() == [ids[3]]


def test_a_larger_pool_starts_more_at_once() -> None:
    story = Story(1)
    ids = [story.submit() for _ in range(3)]
    story.take_orders()
    story.handle(PoolResized("default", 3))
    assert story.started() == ids[1:]


def test_a_paused_pool_starts_nothing_while_others_go_on() -> None:
    story = Story(1, other=1)
    assert story.handle(PoolPaused("default")) is True
    assert story.handle(PoolPaused("default")) is False
    here, there = story.submit(), story.submit(pool="other")
    assert story.started() == [there]
    assert story.shelf.pools == {"default": {"paused": True}}
    assert story.handle(PoolResumed("default")) is True
    assert story.started() == [here]
    assert story.shelf.pools == {}


# -- arrays with a limit -------------------------------------------------------------------------------------------


def test_of_a_limited_array_at_most_so_many_run_while_others_pass() -> None:
    story = Story(4)
    members = story.array(5, limit=2)
    other = story.submit()
    assert story.started() == [members[0], members[1], other]
    story.end(members[0])
    assert story.started() == [members[2]]


def test_members_in_another_pool_count_for_the_limit_and_wake_each_other() -> None:
    story = Story(2, other=2)
    members = story.array(2, limit=1)
    story.handle(Held([members[1]]))

    story.handle(Edited(members[1], spec("job-1", pool="other")))
    story.handle(Released([members[1]]))
    story.take_orders()
    story.end(members[0])
    assert story.started() == [members[1]]


def test_max_fails_cancels_the_rest_of_the_batch() -> None:
    story = Story(2)
    members = story.array(6, max_fails=1)
    outsider = story.submit()
    story.end(members[0], 1)
    assert story.status(members[2]) is Status.RUNNING
    story.take_orders()
    story.end(members[1], 1)
    assert story.status(*members[3:]) == [Status.CANCELLED] * 3
    assert story.record(members[4]).reason == "batch 1-6: more than 1 failed"
    assert [stop.task for stop in story.stopped()] == [members[2]]
    assert story.shelf.batch_rows[1].failed == 2
    assert story.status(outsider) is Status.RUNNING


def test_a_failure_counts_no_more_when_its_task_is_retried() -> None:
    story = Story(1)
    members = story.array(3, max_fails=1)
    story.end(members[0], 1)
    assert story.retry(members[0]) == [members[0]]
    assert story.shelf.batch_rows[1].failed == 0
    story.end(members[0], 1)
    assert story.status(members[1]) is Status.RUNNING


def test_a_retried_member_keeps_to_the_limit_also_when_the_whole_batch_was_over() -> None:
    story = Story(2)
    members = story.array(2, limit=1)
    for task_id in members:
        story.end(task_id, 1)
    assert not story.engine.state.batches
    story.take_orders()
    story.retry(*members)
    assert story.started() == [members[0]]
    assert story.record(members[1]).batch == members[0]


# -- moving --------------------------------------------------------------------------------------------------------


def test_moved_tasks_go_to_the_front_or_the_end_in_their_own_order() -> None:
    story, _ = busy_story()
    a, b, c, d = (story.submit() for _ in range(4))
    assert story.handle(Moved([d, c], first=True)) == [c, d]
    assert story.queue() == [c, d, a, b]
    story.handle(Moved([b], first=True))
    assert story.queue() == [b, c, d, a]
    story.handle(Moved([c, b]))
    assert story.queue() == [d, a, b, c]
    late = story.submit()
    assert story.queue() == [d, a, b, c, late]
    assert run_dry(story) == [d, a, b, c, late]


def test_a_moved_task_stands_right_before_the_one_named() -> None:
    story, _ = busy_story()
    a, b, c, d = (story.submit() for _ in range(4))
    story.handle(Moved([d, c], before=b))
    assert story.queue() == [a, c, d, b]
    story.handle(Moved([b, d], before=d))
    assert story.queue() == [a, c, b, d], "the one named does not move"
    story.handle(Moved([d], before=a))
    story.handle(Moved([c], first=True))
    assert story.queue() == [c, d, a, b]


def test_moving_before_what_does_not_wait_is_refused() -> None:
    story, (busy,) = busy_story()
    task = story.submit()
    with pytest.raises(ConflictError, match=f"task {busy} is not waiting"):
        story.handle(Moved([task], before=busy))


def test_room_is_made_when_the_numbers_between_two_neighbours_are_used_up() -> None:
    story, _ = busy_story()
    ids = [story.submit() for _ in range(6)]
    expected = ids[:]
    for turn in range(200):
        moved = ids[turn % 2]
        story.handle(Moved([moved], before=ids[5]))
        expected.remove(moved)
        expected.insert(expected.index(ids[5]), moved)
        assert story.queue() == expected
    story.crash()
    assert story.queue() == expected
    front = story.submit()
    story.handle(Moved([front], first=True))
    assert story.queue() == [front, *expected]


def test_a_place_survives_hold_retry_and_restart() -> None:
    story, _ = busy_story()
    a, b, c = (story.submit() for _ in range(3))
    story.handle(Moved([c], first=True))
    story.handle(Held([c]))
    story.crash()
    story.handle(Released([c]))
    assert story.queue() == [c, a, b]


def test_a_task_moved_away_and_back_is_listed_and_started_once() -> None:
    story, _ = busy_story()
    a, b = story.submit(), story.submit()
    story.handle(Held([b]))
    story.handle(Released([b]))
    story.handle(Moved([a]))
    story.handle(Moved([b]))
    assert story.queue() == [a, b]
    assert run_dry(story) == [a, b]


def test_within_a_class_the_sequence_decides_also_when_a_later_task_has_waited_longer() -> None:
    story, (busy,) = busy_story()
    first = story.submit(hold=True)
    second = story.submit()
    story.pass_time(100)
    story.handle(Released([first]))
    assert story.queue() == [first, second], "listed as they will start"
    story.end(busy)
    assert story.started() == [first]


@pytest.mark.parametrize("what", ["cancel", "hold", "move", "edit", "block", "kill"])
def test_when_a_large_head_goes_away_those_behind_it_use_the_free_slots(what: str) -> None:
    story = Story(2, other=2)
    busy = story.submit()
    large = story.submit(slots=2, kill_at=story.now.wall + 10 if what == "kill" else None)
    small = story.submit()
    assert story.started() == [busy]
    changes = {
        "cancel": Cancelled([large]),
        "hold": Held([large]),
        "move": Moved([large]),
        "edit": Edited(large, spec(slots=2, pool="other")),
        "block": Edited(large, spec(slots=2), edges([busy])),
    }
    if what == "kill":
        story.pass_time(10)
    else:
        story.handle(changes[what])
    assert small in story.started()


def test_when_an_array_gets_full_its_wide_members_keep_no_slots_in_other_pools() -> None:
    story = Story(1, big=3)
    busy, large = story.submit(), [story.submit(pool="big") for _ in range(2)]
    narrow, wide = Newcomer(spec()), Newcomer(spec(pool="big", slots=2))
    accepted = story.accept(narrow, wide, batch=True, members=2, limit=1)
    behind = story.submit(pool="big")
    assert story.started() == [busy, *large], "one slot is kept for the wide member"
    story.end(busy)
    assert story.started() == [accepted.ids[0], behind]


def test_tasks_submitted_one_by_one_stand_as_those_submitted_together() -> None:
    fields = [{"pool": "side"}, {"priority": Priority.HIGH}, {"slots": 2}, {}, {"hold": True}, {"tenant": "a"}, {}]
    newcomers = [Newcomer(spec(**{**one, "kind": "job"})) for one in fields * 12]
    alone, together = (Story(2, side=1, runs=(4, 1000)) for _ in range(2))
    for newcomer in newcomers:
        alone.accept(newcomer)
    together.accept(*newcomers)
    assert take_snapshot(alone.engine) == take_snapshot(together.engine)
    assert [event.type for event in alone.shelf.history].count("submitted") == len(newcomers)
    assert alone.shelf.tasks.keys() == together.shelf.tasks.keys()


def test_what_can_never_be_had_is_refused_of_a_single_task_too() -> None:
    story = Story(2)
    for fields, why in (({"pool": "none"}, "unknown pool"), ({"slots": 3}, "can never fit")):
        with pytest.raises(InvalidError, match=why):
            story.submit(**fields)
    assert story.submit() == 1, "no id is lost"


def test_looking_at_the_first_of_a_lane_finds_objects_and_runs_in_one_order() -> None:
    """Runs of two alternating kinds lie within each other, and the first of some are gone from their middle."""
    story = Story(1, runs=(2, 4))
    story.handle(PoolPaused("default"))
    ids = [story.submit(kind=f"k{n % 2}") for n in range(9)]
    for n in range(3):
        ids += story.accept(*[Newcomer(spec(kind=kind)) for kind in (f"k{n}", "other") * 3]).ids
    for gone in (ids[4], ids[9], ids[20]):
        story.handle(Cancelled(ids=[gone]))
        ids.remove(gone)
    tasks, lanes = story.engine.state.tasks, story.engine.state.pools["default"].lanes
    assert len(list(tasks.runs())) > 4
    objects = len(tasks.made())
    for count in (1, 5, len(ids), len(ids) + 1):
        assert [task.id for task in lanes.first(count, lambda task: -task.seq)] == ids[:count]
    assert len(tasks.made()) == objects, "looking makes no objects"
