"""What waits: start times, hold, start-now, edits of the start, signals, and what an engine made anew remembers."""

from __future__ import annotations

import sys

import pytest

from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import (
    Cancelled,
    DrainBegan,
    Edited,
    Held,
    Moved,
    Newcomer,
    PoolPaused,
    Released,
    SendSignal,
    Signalled,
    StartedNow,
    WantedEdge,
)
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Condition, Edge, TaskSpec
from tests.engine.story import Story, edges, spec, take_snapshot


def test_a_start_time_ahead_schedules_and_its_coming_makes_ready() -> None:
    story = Story(1)
    task = story.submit(not_before=story.now.wall + 60)
    assert (story.status(task), story.record(task).reason) == (Status.SCHEDULED, "scheduled")
    assert story.record(task).due_at == story.now.wall + 60
    assert story.record(task).ready_at is None
    story.pass_time(59.9, awake=1000)
    assert story.status(task) is Status.SCHEDULED, "start times follow the wall clock"
    story.pass_time(0.1)
    assert story.status(task) is Status.RUNNING
    assert story.record(task).due_at is None


def test_a_start_time_in_the_past_is_no_start_time() -> None:
    story = Story(1)
    assert story.status(story.submit(not_before=story.now.wall - 1)) is Status.RUNNING


def test_a_blocked_task_with_a_start_time_ahead_is_scheduled_when_its_edges_are_met() -> None:
    story = Story(1)
    target = story.submit()
    task = story.submit(after=[target], not_before=story.now.wall + 60)
    story.end(target)
    assert story.status(task) is Status.SCHEDULED
    story.pass_time(60)
    assert story.status(task) is Status.RUNNING


@pytest.mark.parametrize("crash", [False, True])
def test_start_now_skips_the_waiting_time_for_good(crash: bool) -> None:
    story = Story(1)
    story.submit()
    task = story.submit(not_before=story.now.wall + 60)
    assert story.handle(StartedNow([task, 999])) == [task]
    if crash:
        story.crash()
    story.handle(Held([task]))
    story.handle(Released([task]))
    assert story.status(task) is Status.READY
    assert story.handle(StartedNow([task])) == [], "it waits for a slot, and limits are not skipped"


def test_held_tasks_keep_place_and_attempts_and_are_not_started() -> None:
    story = Story(1)
    running, a, b = (story.submit() for _ in range(3))
    story.take_orders()
    assert story.handle(Held([running, a, 999])) == [a]
    assert (story.status(a), story.record(a).reason) == (Status.BLOCKED, "held")
    assert story.handle(Held([a])) == []
    assert story.handle(Released([b])) == []
    story.end(running)
    assert story.started() == [b]
    assert story.handle(Released([a])) == [a]
    late = story.submit()
    assert story.queue() == [a, late]


def test_a_task_may_be_held_from_the_start() -> None:
    story = Story(1)
    task = story.submit(hold=True)
    assert (story.status(task), story.record(task).reason) == (Status.BLOCKED, "held")
    story.handle(Released([task]))
    assert story.status(task) is Status.RUNNING


@pytest.mark.parametrize("crash", [False, True])
def test_a_scheduled_task_held_and_released_is_scheduled_again(crash: bool) -> None:
    story = Story(1)
    first = story.submit(not_before=story.now.wall + 60)
    second = story.submit(not_before=story.now.wall + 60)
    story.handle(Held([first, second]))
    story.pass_time(10)
    if crash:
        story.crash()
    story.handle(Released([first]))
    assert story.status(first) is Status.SCHEDULED
    story.pass_time(50)
    assert story.status(first) is Status.RUNNING
    story.handle(Released([second]))
    assert story.status(second) is Status.READY


def test_a_revived_task_with_a_start_time_ahead_is_scheduled_again_also_after_a_hold() -> None:
    story = Story(1)
    task = story.submit(retries=1, not_before=story.now.wall + 1000)
    story.handle(StartedNow([task]))
    story.end(task, 126)
    assert story.retry(task) == [task]
    assert story.status(task) is Status.SCHEDULED
    story.handle(Held([task]))
    story.handle(Released([task]))
    assert story.status(task) is Status.SCHEDULED


def test_a_retry_by_the_user_keeps_the_id_and_goes_on_counting() -> None:
    story = Story(1)
    task = story.submit(retries=1)
    story.end(task, 126)
    assert story.retry(task, task) == [task]
    record = story.record(task)
    assert (record.status, record.attempt, record.max_attempts) == (Status.RUNNING, 2, 3)
    assert story.shelf.attempts[task, 2].reason == "retry"
    story.end(task, 1)
    assert story.status(task) is Status.RETRYING, "as many more attempts as the policy allows"
    assert story.record(task).finished_at is None


# -- edit ----------------------------------------------------------------------------------------------------------


def test_an_edit_moves_between_ready_and_scheduled() -> None:
    story = Story(1)
    story.submit()
    task = story.submit()
    story.handle(Edited(task, spec(not_before=story.now.wall + 60)))
    assert story.status(task) is Status.SCHEDULED
    story.handle(Edited(task, spec(not_before=story.now.wall + 90)))
    story.pass_time(60)
    assert story.status(task) is Status.SCHEDULED, "the first timer counts no more"
    story.handle(Edited(task, spec()))
    assert story.status(task) is Status.READY


def test_an_edit_moves_to_another_pool_and_class_and_back() -> None:
    story = Story(1, other=1)
    running, task, mate = (story.submit() for _ in range(3))
    story.take_orders()
    story.handle(PoolPaused("other"))
    story.handle(Edited(task, spec(pool="other", priority=3)))
    assert (story.queue(), story.queue("other")) == ([mate], [task])
    story.handle(Edited(task, spec()))
    assert (story.queue(), story.queue("other")) == ([task, mate], [])
    story.end(running)
    assert story.started() == [task]
    assert story.engine.state.pools["other"].counts[Status.READY] == 0


def test_an_edit_of_other_fields_leaves_one_entry_in_the_queue() -> None:
    story = Story(1)
    story.submit()
    task = story.submit()
    for retries in range(5):
        story.handle(Edited(task, spec(retries=retries)))
    lane = story.engine.state.pools["default"].lanes._classes[1][None]
    assert [entry[1] for entry in lane._heap].count(task) == 1
    assert story.record(task).max_attempts == 5


def test_an_edit_is_refused_for_what_runs_or_can_never_fit() -> None:
    story = Story(1, wide=4)
    running = story.submit()
    task = story.submit()
    with pytest.raises(ConflictError, match=f"task {running} is not waiting"):
        story.handle(Edited(running, spec()))
    with pytest.raises(ConflictError, match="task 77 is not waiting"):
        story.handle(Edited(77, spec()))
    with pytest.raises(InvalidError, match="2 slots can never fit"):
        story.handle(Edited(task, spec(slots=2)))
    with pytest.raises(InvalidError, match="unknown pool"):
        story.handle(Edited(task, spec(pool="nowhere")))
    assert story.engine.state.effects.edited == {}


def test_a_task_that_cannot_fit_any_more_may_still_be_edited_otherwise() -> None:
    story = Story(1, wide=4)
    task = story.submit(pool="wide", slots=4, hold=True)
    story.crash(pools={"default": 1, "wide": 2})
    story.handle(Edited(task, spec(pool="wide", slots=4, priority=3)))
    story.handle(Edited(task, spec(pool="wide", slots=2)))
    story.handle(Released([task]))
    assert story.status(task) is Status.RUNNING


# -- signal, drain -------------------------------------------------------------------------------------------------


def test_a_signal_goes_to_running_tasks_only() -> None:
    story = Story(1)
    running, waiting = story.submit(), story.submit()
    story.take_orders()
    assert story.handle(Signalled([running, waiting], 10)) == [running]
    assert story.take_orders() == [SendSignal(running, 1, 10)]


def test_while_draining_nothing_starts_and_what_runs_ends_by_itself() -> None:
    story = Story(1)
    running, waiting = story.submit(), story.submit()
    story.take_orders()
    assert story.handle(DrainBegan()) == 1
    story.end(running)
    assert story.started() == []
    assert story.status(waiting) is Status.READY


# -- recovery ------------------------------------------------------------------------------------------------------


def test_an_engine_made_anew_equals_the_one_before() -> None:
    story = Story(2, wide=4)
    target = story.submit(key="k", retries=3)
    story.begin(target, pid=9)
    story.submit(after=[target], on_lost="hold")
    story.submit(after=[WantedEdge(Condition.ANY, awaited="later")], await_deps_s=60.0)
    story.submit(not_before=story.now.wall + 60, kill_at=story.now.wall + 90)
    story.submit(hold=True, pool="wide", slots=4)
    story.array(4, limit=1, max_fails=2)
    cancelled = story.submit(priority=3)
    story.handle(Cancelled([cancelled]))
    story.end(target, 1, report=[("progress", "0.5"), ("output.a", "b")], left_behind=2)
    story.handle(Moved([story.submit()], first=True))
    story.handle(PoolPaused("wide"))
    assert take_snapshot(story.make_twin()) == take_snapshot(story.engine)
    assert not story.engine.take_effects().touched


def test_a_new_engine_goes_on_with_ids_and_sequences_where_the_old_one_was() -> None:
    story = Story(1)
    story.submit()
    a, b = story.submit(), story.submit()
    story.handle(Moved([a]))
    story.crash()
    c = story.submit()
    assert c == b + 1
    assert story.queue() == [b, a, c]


def test_tasks_of_a_pool_that_is_configured_no_more_keep_their_place_and_can_be_moved_out() -> None:
    story = Story(1, old=1)
    running, waiting = story.submit(pool="old"), story.submit(pool="old")
    story.begin(running)
    story.crash(pools={"default": 1})
    assert (story.task(waiting).reason, story.status(running)) == ("cannot fit", Status.RUNNING)
    with pytest.raises(InvalidError, match="can never fit into pool 'old'"):
        story.submit(pool="old")
    story.end(running)
    story.take_orders()
    story.handle(Edited(waiting, spec()))
    assert story.started() == [waiting]


def test_who_waits_for_a_damaged_row_is_judged_by_its_failure() -> None:
    story = Story(1)
    damaged = story.submit(hold=True)
    success = story.submit(after=[damaged])
    behind = story.submit(after=[success])
    failure, whatever = (
        story.submit(after=[WantedEdge(condition, target=damaged)]) for condition in (Condition.FAIL, Condition.ANY)
    )
    del story.shelf.tasks[damaged]
    story.crash()
    assert story.status(success, behind) == [Status.SKIPPED] * 2
    assert story.record(success).reason == f"{damaged} failed"
    assert story.status(failure, whatever) == [Status.RUNNING, Status.READY]
    assert not [edge for edge, is_open in story.shelf.edge_rows.values() if is_open]


def test_an_edge_of_a_task_that_is_gone_is_passed_over() -> None:
    story = Story(1)
    stray = Edge(task=77, condition=Condition.ANY, target=78)
    story.shelf.edge_rows[77, 78, "", "any"] = (stray, True)
    story.crash()
    assert story.engine.state.graph.list_open(77) == []


def test_a_waiting_task_takes_little_memory() -> None:
    story = Story(1)
    story.submit()
    task: LiveTask = story.task(story.submit())
    size = sys.getsizeof(task) + sum(sys.getsizeof(value) for value in (task.id, task.seq, task.updated_at))
    assert size < 700
    assert not hasattr(task, "__dict__")


def test_a_refused_submission_changes_nothing() -> None:
    story = Story(1)
    good, bad = Newcomer(spec("good")), Newcomer(TaskSpec(name="bad", pool="nowhere"))
    with pytest.raises(InvalidError):
        story.accept(good, bad)
    assert not story.engine.take_effects().touched
    assert story.submit() == 1


def test_listing_by_status_gives_live_tasks_in_order_of_ids() -> None:
    story = Story(1)
    ids = [story.submit() for _ in range(3)]
    assert story.engine.list_ids() == ids
    assert story.engine.list_ids([Status.READY]) == ids[1:]
    assert story.engine.find_by_key("none") is None
    assert edges([]) == []


def test_waiting_tasks_that_are_alike_come_back_as_runs_and_the_others_as_they_stood() -> None:
    story = Story(1, runs=(3, 100))
    running = story.submit()
    ids = []
    for moment in range(12):
        story.pass_time(1.0)
        ids.append(story.submit(f"name-{moment}", kind=f"k{moment % 2}", command=[f"c{moment}"]))
    others = [story.submit(kind="k0", key="k"), story.submit(kind="k0", priority=3), story.submit(kind="k0", slots=1)]
    late = story.submit(kind="k1", not_before=story.now.wall + 60)
    moved = ids.pop(4)
    story.handle(Held(ids=[moved]))
    before = take_snapshot(story.engine)
    twin = story.make_twin()
    tasks = twin.state.tasks
    assert {task.id for task in tasks.made()} == {running, moved, late, *others[:2]}
    assert sorted(task_id for run in tasks.runs() for task_id in run) == [*ids, others[2]]
    assert take_snapshot(twin) == before
    story.crash()
    story.end(running)
    order = story.started()
    while story.ids(Status.RUNNING):
        story.end(story.ids(Status.RUNNING)[0])
        order += story.started()
    assert order == [others[1], *ids, others[0], others[2]]
    assert [story.record(task_id).spec.name for task_id in ids[:2]] == ["name-0", "name-1"]


def test_alike_tasks_that_cannot_start_as_things_are_sized_now_are_judged_one_by_one() -> None:
    story = Story(8, runs=(2, 100))
    story.handle(PoolPaused("default"))
    ids = [story.submit(slots=4) for _ in range(6)]
    story.crash(pools={"default": 2})
    assert [story.task(task_id).reason for task_id in ids] == ["cannot fit"] * 6
