"""Fixed starts through the engine: capacity reserved, workers held ahead, tolerance, miss policies, conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.explain import explain
from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    EditedTogether,
    Held,
    PoolPaused,
    PoolResized,
    PoolResumed,
    Released,
    StartedNow,
)
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Semaphore
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff, Priority
from tests.engine.story import Story, edges, spec

GPU = {"gpu": "yes"}


def fixed(story: Story, in_s: float, **fields: Any) -> int:
    """Submit a fixed start so many seconds from now, expected to run for a minute."""
    return story.submit("fixed", start_at=story.now.wall + in_s, **{"estimate_s": 60.0, **fields})


def reserved(story: Story, pool: str = "default") -> int:
    return story.engine.state.pools[pool].reserved


def test_a_fixed_start_waits_scheduled_and_starts_at_its_moment() -> None:
    story = Story(2)
    task = fixed(story, 100)
    assert (story.status(task), reserved(story)) == (Status.SCHEDULED, 1)
    story.pass_time(99.9)
    assert story.status(task) is Status.SCHEDULED
    assert story.engine.next_due_s(story.now) == pytest.approx(0.1)
    story.pass_time(0.1)
    assert (story.status(task), reserved(story)) == (Status.RUNNING, 0)


def test_in_a_full_pool_of_short_tasks_a_worker_is_held_and_the_start_is_within_its_tolerance() -> None:
    story = Story(PoolPlan(2, max_hold_s=300))
    began = story.now.wall
    short = [story.submit(estimate_s=50) for _ in range(60)]
    task = story.submit(start_at=began + 1000, estimate_s=60)
    ends = dict.fromkeys(story.started(), began + 50)
    while story.status(task) is not Status.RUNNING:
        at = min([*ends.values(), story.now.wall + (story.engine.next_due_s(story.now) or 0.0)])
        story.pass_time(max(at - story.now.wall, 0.0))
        for done in [one for one, end_at in ends.items() if end_at <= story.now.wall]:
            del ends[done]
            story.end(done)
        ends |= dict.fromkeys(story.started(), story.now.wall + 50)
    assert 0 <= story.now.wall - (began + 1000) <= 1
    assert story.record(task).started_at == story.now.wall
    assert sum(story.status(one) is Status.SUCCEEDED for one in short) >= 38, "the workers were used until then"


def test_a_freed_worker_is_kept_from_max_hold_before_the_start_on() -> None:
    story = Story(PoolPlan(1, max_hold_s=100))
    story.take_orders()
    fixed(story, 1000)
    busy = story.submit(estimate_s=850)
    long, short = story.submit(estimate_s=200), story.submit(estimate_s=30)
    story.take_orders()
    story.pass_time(850)
    story.end(busy)
    assert story.started() == [long], "the start is further away than max_hold"
    story.end(long)
    long = story.submit(estimate_s=200)
    story.take_orders()
    story.pass_time(60)
    story.end(short)
    assert story.started() == [], "it would outlast the start, which is 90 s away"
    assert story.submit(estimate_s=30, priority=Priority.LOW) in story.started(), "what ends before the start may pass"


def test_a_higher_class_does_not_take_what_is_held_and_the_fixed_start_goes_first() -> None:
    story = Story(1)
    task = fixed(story, 50, priority=Priority.LOW)
    critical = story.submit(priority=Priority.CRITICAL)
    assert story.started() == []
    story.pass_time(50)
    assert story.started() == [task]
    story.end(task)
    assert story.started() == [critical]


@pytest.mark.parametrize("what", ["cancel", "hold", "edit", "later"])
def test_a_held_worker_is_free_again_when_the_fixed_start_goes_away(what: str) -> None:
    story = Story(1)
    task = fixed(story, 50)
    waiting = story.submit()
    assert story.started() == []
    later = spec("fixed", start_at=story.now.wall + 5000, estimate_s=60.0)
    events: dict[str, Any] = {
        "cancel": Cancelled([task]),
        "hold": Held([task]),
        "edit": Edited(task, spec()),
        "later": Edited(task, later),
    }
    story.handle(events[what])
    assert story.started() == [task if what == "edit" else waiting]
    assert reserved(story) == (1 if what in ("hold", "later") else 0)


def test_for_a_fixed_start_that_waits_for_another_task_no_worker_is_held_from_it() -> None:
    story = Story(1)
    first = story.submit(hold=True)
    task = fixed(story, 50, after=[first])
    story.handle(Released([first]))
    assert story.started() == [first], "else both would wait for ever"
    story.pass_time(60)
    story.end(first)
    assert story.started() == [task]


def test_running_tasks_are_never_stopped_and_a_late_start_is_told() -> None:
    story = Story(1)
    busy = story.submit(estimate_s=10)
    task = fixed(story, 50)
    story.pass_time(70)
    assert (story.status(task), story.stopped()) == (Status.READY, [])
    story.end(busy)
    assert story.status(task) is Status.RUNNING
    assert [event.type for event in story.shelf.history if event.id == task] == [
        "submitted",
        "time-came",
        "started",
        "late",
    ]


@pytest.mark.parametrize(
    ("on_miss", "status"),
    [("run-late", Status.READY), ("skip", Status.MISSED), ("fail", Status.FAILED)],
)
def test_what_has_not_started_within_its_tolerance_goes_by_its_miss_policy(on_miss: str, status: Status) -> None:
    story = Story(1)
    busy = story.submit(estimate_s=10)
    task = fixed(story, 50, on_miss=on_miss, tolerance_s=5)
    story.pass_time(54.9)
    assert story.status(task) is Status.READY
    story.pass_time(0.1)
    assert story.status(task) is status
    assert reserved(story) == (1 if status is Status.READY else 0)
    story.end(busy)
    assert story.status(task) is (Status.RUNNING if status is Status.READY else status)


@pytest.mark.parametrize(("on_miss", "status"), [("run-late", Status.RUNNING), ("skip", Status.MISSED)])
@pytest.mark.parametrize("how", ["held", "dependencies"])
def test_what_is_blocked_at_its_start_is_judged_when_it_is_free(on_miss: str, status: Status, how: str) -> None:
    story = Story(2)
    first = story.submit()
    task = fixed(story, 50, on_miss=on_miss, hold=how == "held", after=[first] if how == "dependencies" else [])
    story.pass_time(60)
    assert story.status(task) is Status.BLOCKED
    if how == "held":
        story.handle(Released([task]))
    else:
        story.end(first)
    assert story.status(task) is status


def test_a_paused_pool_or_a_sleeping_machine_misses_the_start() -> None:
    story = Story(1)
    skip, late = fixed(story, 50, on_miss="skip"), fixed(story, 150, on_miss="run-late")
    story.handle(PoolPaused("default"))
    story.pass_time(3600, awake=1)
    assert story.status(skip, late) == [Status.MISSED, Status.READY]
    story.handle(PoolResumed("default"))
    assert story.status(late) is Status.RUNNING


@pytest.mark.parametrize(("ago", "on_miss", "status"), [(0.5, "skip", "running"), (2, "skip", "missed")])
def test_a_start_in_the_past_is_judged_at_once(ago: float, on_miss: str, status: str) -> None:
    story = Story(1)
    task = fixed(story, -ago, on_miss=on_miss)
    assert (story.status(task).value, reserved(story)) == (status, 0)


# -- reservations ----------------------------------------------------------------------------------------------------


def test_a_reservation_beyond_the_fraction_is_refused_with_exit_4_and_nothing_is_queued() -> None:
    story = Story(PoolPlan(4, reservable_fraction=0.5))
    fixed(story, 100)
    fixed(story, 130)
    with pytest.raises(ConflictError, match=r"2 of the 2 slots") as caught:
        fixed(story, 140)
    assert (caught.value.code, int(caught.value.exit)) == ("reservation-conflict", 4)
    assert (len(story.shelf.tasks), reserved(story)) == (2, 2)
    fixed(story, 160)  # the first has ended by then
    with pytest.raises(ConflictError, match="3 slots is more than the 2"):
        fixed(story, 9000, slots=3)


def test_a_batch_gets_all_its_reservations_or_none() -> None:
    story = Story(PoolPlan(2))
    with pytest.raises(ConflictError):
        story.array(2, start_at=story.now.wall + 100)
    assert (story.shelf.tasks, reserved(story)) == ({}, 0)


def test_a_task_reserves_its_slots_and_they_are_held_together() -> None:
    story = Story(PoolPlan(4, reservable_fraction=1))
    busy = [story.submit(estimate_s=10) for _ in range(4)]
    task = fixed(story, 100, slots=3)
    waiting = [story.submit(estimate_s=600) for _ in range(4)]
    story.take_orders()
    for one in busy:
        story.end(one)
    assert story.started() == waiting[:1], "one of four workers is not held"
    story.pass_time(100)
    assert story.started() == [task]


@pytest.mark.parametrize("end", ["start", "cancel", "skip", "kill", "shed", "edit"])
def test_every_end_of_waiting_gives_the_reservation_back(end: str) -> None:
    story = Story(PoolPlan(2, overflow="shed-lowest"))
    first = story.submit(hold=True)
    kill_at = story.now.wall + 50 if end == "kill" else None
    task = fixed(story, 100, after=[first] if end == "skip" else [], kill_at=kill_at)
    assert reserved(story) == 1
    if end in ("start", "kill"):
        story.pass_time(100)
    elif end == "cancel":
        story.handle(Cancelled([task]))
    elif end == "skip":
        story.handle(Cancelled([first]))
    elif end == "edit":
        story.handle(Edited(task, spec()))
    else:
        return
    assert reserved(story) == 0
    assert fixed(story, 200)


def test_an_edit_moves_the_reservation_or_is_refused_and_leaves_it() -> None:
    story = Story(PoolPlan(2), other=PoolPlan(2))
    fixed(story, 100)
    task = fixed(story, 300)
    clash = spec("fixed", start_at=story.now.wall + 100, estimate_s=60.0)
    with pytest.raises(ConflictError):
        story.handle(Edited(task, clash))
    with pytest.raises(ConflictError):
        fixed(story, 300)
    story.handle(Edited(task, spec("fixed", start_at=story.now.wall + 100, estimate_s=60.0, pool="other")))
    assert (reserved(story), reserved(story, "other")) == (1, 1)
    fixed(story, 300)
    story.handle(Edited(task, spec("fixed", start_at=story.now.wall + 50, estimate_s=60.0, pool="other", nice=3)))
    story.pass_time(50)
    assert story.status(task) is Status.RUNNING


def test_what_was_promised_stays_promised_after_a_restart() -> None:
    story = Story(PoolPlan(2))
    task = fixed(story, 100)
    story.crash(pools={"default": PoolPlan(2, reservable_fraction=0)})
    assert reserved(story) == 1
    with pytest.raises(ConflictError):
        fixed(story, 100)
    story.pass_time(100)
    assert story.status(task) is Status.RUNNING


def test_a_fixed_start_of_labelled_workers_holds_those_and_no_others() -> None:
    story = Story(PoolPlan(2, groups=(GroupPlan(GPU, 2),)))
    task = fixed(story, 100, labels=GPU)
    with pytest.raises(ConflictError):
        fixed(story, 100, labels=GPU)
    plain = [story.submit() for _ in range(2)]
    labelled = [story.submit(labels=GPU, estimate_s=300) for _ in range(2)]
    assert story.status(*plain, *labelled) == [Status.RUNNING] * 3 + [Status.READY]
    story.pass_time(100)
    assert story.status(task) is Status.RUNNING


def test_for_what_cannot_fit_any_more_nothing_is_held() -> None:
    story = Story(PoolPlan(4, reservable_fraction=1))
    wide = fixed(story, 100, slots=4)
    busy = [story.submit(estimate_s=10) for _ in range(2)]
    waiting = [story.submit(estimate_s=600) for _ in range(2)]
    assert story.status(*waiting) == [Status.READY] * 2
    story.handle(PoolResized("default", 2))
    for task in busy:
        story.end(task)
    assert story.status(*waiting) == [Status.RUNNING] * 2
    story.pass_time(100)
    assert story.record(wide).reason == "cannot fit"


def test_a_late_fixed_start_that_lacks_a_resource_lets_others_use_the_worker() -> None:
    story = Story(2, setup=lambda state: state.resources.configure("db", Semaphore(1)))
    busy = story.submit(uses={"db": 1}, estimate_s=100)
    task = fixed(story, 50, uses={"db": 1})
    waiting = story.submit(estimate_s=600)
    assert story.status(waiting) is Status.READY
    story.pass_time(50)
    assert story.status(task, waiting) == [Status.READY, Status.RUNNING]
    story.end(busy)
    assert story.status(task) is Status.RUNNING


def test_start_now_starts_a_fixed_start_early() -> None:
    story = Story(1)
    task = fixed(story, 500)
    story.handle(StartedNow([task]))
    assert (story.status(task), reserved(story)) == (Status.RUNNING, 0)


def test_a_retry_of_a_fixed_start_takes_its_turn_like_all_others() -> None:
    story = Story(1)
    task = fixed(story, 10, retries=1, on_miss="skip", backoff=Backoff(kind="fixed", first_s=30))
    story.pass_time(10)
    critical = story.submit(priority=Priority.CRITICAL)
    story.end(task, 1)
    story.pass_time(30)
    assert story.status(task, critical) == [Status.READY, Status.RUNNING]
    story.crash()
    story.end(critical)
    assert story.status(task) is Status.RUNNING


def test_a_missed_start_that_the_user_retries_runs_at_once_and_a_cancelled_one_reserves_again() -> None:
    story = Story(2)
    missed, ahead = fixed(story, 10, on_miss="skip"), fixed(story, 500)
    story.handle(Held([missed]))
    story.pass_time(20)
    story.handle(Released([missed]))
    story.handle(Cancelled([ahead]))
    assert (story.status(missed, ahead), reserved(story)) == ([Status.MISSED, Status.CANCELLED], 0)
    story.retry(missed, ahead)
    assert (story.status(missed, ahead), reserved(story)) == ([Status.RUNNING, Status.SCHEDULED], 1)


def test_fixed_starts_are_never_given_ahead_and_take_leases_back() -> None:
    story = Story(1, leases=True)
    for _ in range(4):
        story.end(story.submit("short"), run_s=0.001)
    running = story.submit("short")
    leased = [story.submit("short") for _ in range(3)]
    task = fixed(story, 10)
    story.take_orders()
    story.pass_time(10)
    assert story.revoked() == leased[::-1]
    for one in leased:
        story.give_back(one)
    story.end(running)
    assert story.started() == [task]


# -- behind a head that is held back ---------------------------------------------------------------------------------


def test_a_shorter_task_behind_a_held_one_of_the_same_lane_starts_in_its_order() -> None:
    story = Story(PoolPlan(1))
    fixed(story, 50)
    long, longer, short = (story.submit(estimate_s=seconds) for seconds in (60, 70, 40))
    assert story.started() == [short]
    story.pass_time(40)
    story.end(short)
    assert story.started() == []
    assert story.status(long, longer) == [Status.READY] * 2


def test_a_stand_in_takes_its_turn_by_its_own_score() -> None:
    story = Story(PoolPlan(1))
    fixed(story, 50)
    high = story.submit(estimate_s=60, priority=Priority.HIGH)
    low, low_short = (story.submit(estimate_s=seconds, priority=Priority.LOW) for seconds in (30, 5))
    assert story.started() == [low]
    story.end(low)
    high_short = story.submit(estimate_s=5, priority=Priority.HIGH)
    assert story.started() == [low_short]
    story.end(low_short)
    assert story.started() == [high_short]
    assert story.status(high) is Status.READY


def test_nobody_passes_a_head_that_is_held_and_behind_it_one_that_lacks_slots() -> None:
    story = Story(PoolPlan(2))
    busy = story.submit(estimate_s=1)
    fixed(story, 50, slots=1)
    held = story.submit(estimate_s=60, slots=1)
    wide = story.submit(estimate_s=10, slots=2)
    story.submit(estimate_s=10)
    assert story.started() == [busy, held], "one of two workers stays for the fixed start"
    story.end(busy)
    assert story.started() == []
    story.end(held)
    assert story.started() == [wide]


def test_a_resource_that_the_first_behind_a_held_head_lacks_is_not_taken_by_the_next() -> None:
    def setup(state: State) -> None:
        state.resources.configure("gpu", Semaphore(2))

    story = Story(PoolPlan(3), setup=setup)
    holder = story.submit(estimate_s=90, uses={"gpu": 1})
    fixed(story, 50, slots=1)
    other = story.submit(estimate_s=90)
    head = story.submit(estimate_s=60, uses={"gpu": 1})
    greedy = story.submit(estimate_s=10, uses={"gpu": 2})
    modest = story.submit(estimate_s=10, uses={"gpu": 1})
    assert story.started() == [holder, other]
    story.end(holder)
    assert story.started() == [head]
    story.end(head)
    assert story.started() == [greedy]
    assert story.status(modest) is Status.READY


# -- workers that all pools share ------------------------------------------------------------------------------------


def shared_story(workers: int, **plan: Any) -> Story:
    def setup(state: State) -> None:
        state.total = TotalWorkers(workers)

    return Story(PoolPlan(4, **plan), setup=setup, other=PoolPlan(4, **plan))


def test_reservations_of_all_pools_together_are_bounded_by_the_fraction_of_the_shared_workers() -> None:
    story = shared_story(2)
    fixed(story, 100)
    with pytest.raises(ConflictError, match="in all pools together") as caught:
        fixed(story, 130, pool="other")
    assert caught.value.code == "reservation-conflict"
    fixed(story, 160, pool="other")
    with pytest.raises(ConflictError):
        fixed(story, 1000, slots=2)
    assert (reserved(story), reserved(story, "other")) == (1, 1)


def test_a_shared_worker_is_held_from_other_pools_too_and_the_start_comes_first_whoever_has_the_turn() -> None:
    story = shared_story(1)
    task = fixed(story, 50, pool="other")
    long, short = story.submit(estimate_s=60), story.submit(estimate_s=40)
    assert story.started() == [short]
    story.pass_time(40)
    story.end(short)
    late = story.submit(estimate_s=1, priority=Priority.CRITICAL)
    assert story.started() == [late]
    story.pass_time(10)
    assert story.started() == []
    story.end(late)
    assert story.started() == [task], "though the other pool had as few turns"
    assert story.status(long) is Status.READY


def test_an_explanation_names_the_fixed_start_of_another_pool_that_keeps_the_shared_worker() -> None:
    story = shared_story(1)
    task = fixed(story, 50, pool="other")
    long = story.submit(estimate_s=60)
    found = explain(story.engine.state, story.task(long), story.now)
    assert found["first"]["what"] == "fixed start"
    assert f"task {task}" in found["first"]["detail"]


def test_several_edits_are_all_made_or_none_and_their_reservations_move_together() -> None:
    story = Story(4)
    wall = story.now.wall
    one, two = fixed(story, 100), fixed(story, 100)
    fixed(story, 500)
    later = [Edited(task, spec("fixed", start_at=wall + 500, estimate_s=60.0)) for task in (one, two)]
    with pytest.raises(ConflictError):
        story.handle(EditedTogether(later))
    assert [story.task(task).when.start_at for task in (one, two)] == [wall + 100] * 2
    with pytest.raises(ConflictError):
        fixed(story, 100)
    longer = [Edited(task, spec("fixed", start_at=wall + 130, estimate_s=90.0)) for task in (one, two)]
    assert story.handle(EditedTogether(longer)) == [one, two]
    assert reserved(story) == 3


@pytest.mark.parametrize("fault", ["key", "slots", "gone", "cycle"])
def test_when_one_of_several_edits_is_refused_none_is_made(fault: str) -> None:
    story = Story(1)
    story.submit()
    one, two = story.submit(), story.submit()
    wanted = {
        "key": [Edited(one, spec(key="k")), Edited(two, spec(key="k"))],
        "slots": [Edited(one, spec(priority=3)), Edited(two, spec(slots=9))],
        "gone": [Edited(one, spec(priority=3)), Edited(99, spec())],
        "cycle": [Edited(one, spec(), edges([two])), Edited(two, spec(), edges([one]))],
    }[fault]
    with pytest.raises((ConflictError, InvalidError)):
        story.handle(EditedTogether(wanted))
    assert story.record(one).spec == story.record(two).spec == spec()
    assert story.status(one, two) == [Status.READY] * 2
