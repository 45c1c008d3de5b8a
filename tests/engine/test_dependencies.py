"""Dependencies: the three conditions, targets that are gone or final, awaited keys, skips down the graph, cycles."""

from __future__ import annotations

from time import process_time

import pytest

from cronoq_cli.engine.messages import Cancelled, Edited, Held, Newcomer, Released, Retried, WantedEdge
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.task import Condition
from tests.engine.story import Story, edges, member, spec

SUCCESS, ANY, FAIL = Condition.SUCCESS, Condition.ANY, Condition.FAIL


def on(condition: Condition, target: int) -> WantedEdge:
    """An edge on a task."""
    return WantedEdge(condition, target=target)


def awaiting(key: str, condition: Condition = SUCCESS) -> WantedEdge:
    """An edge on a key that nobody has yet."""
    return WantedEdge(condition, awaited=key)


def test_a_dependent_waits_blocked_and_starts_when_its_target_has_succeeded() -> None:
    story = Story(2)
    target = story.submit()
    dependent = story.submit(after=[target])
    assert (story.status(dependent), story.record(dependent).reason) == (Status.BLOCKED, "dependencies")
    story.take_orders()
    story.end(target)
    assert story.started() == [dependent]
    assert not any(is_open for _, is_open in story.shelf.edge_rows.values())


@pytest.mark.parametrize(
    ("condition", "code", "expected"),
    [
        (SUCCESS, 0, Status.RUNNING),
        (SUCCESS, 1, Status.SKIPPED),
        (ANY, 0, Status.RUNNING),
        (ANY, 1, Status.RUNNING),
        (FAIL, 0, Status.SKIPPED),
        (FAIL, 1, Status.RUNNING),
    ],
)
def test_each_condition_asks_for_its_own_ends(condition: Condition, code: int, expected: Status) -> None:
    story = Story(2)
    target = story.submit()
    dependent = story.submit(after=[on(condition, target)])
    story.end(target, code)
    assert story.status(dependent) is expected


@pytest.mark.parametrize("final", sorted(FINAL))
@pytest.mark.parametrize("condition", [SUCCESS, ANY, FAIL])
def test_a_target_that_is_final_already_is_judged_at_once(condition: Condition, final: Status) -> None:
    story = Story(1)
    met = {
        SUCCESS: final is Status.SUCCEEDED,
        ANY: True,
        FAIL: final in (Status.FAILED, Status.DEAD_LETTERED),
    }[condition]
    dependent = story.submit(after=[WantedEdge(condition, target=77, final=final)])
    assert story.status(dependent) is (Status.RUNNING if met else Status.SKIPPED)
    if not met:
        assert story.record(dependent).reason == f"77 {final.value.replace('_', '-')}"
    assert [is_open for edge, is_open in story.shelf.edge_rows.values() if edge.target == 77] == [False]


def test_cancelling_a_running_target_decides_its_dependents_at_once() -> None:
    story = Story(1)
    target = story.submit()
    after, whatever = story.submit(after=[target]), story.submit(after=[on(ANY, target)])
    story.handle(Cancelled([target]))
    assert story.status(after) is Status.SKIPPED
    assert story.status(whatever) is Status.READY, "its slot is free only when the tree is gone"
    story.end(target, None, signal=15, cause="cancelled")
    assert story.status(whatever) is Status.RUNNING


def test_a_task_with_two_targets_waits_for_both() -> None:
    story = Story(3)
    a, b = story.submit(), story.submit()
    both = story.submit(after=[a, b])
    story.end(b)
    assert story.status(both) is Status.BLOCKED
    story.end(a)
    assert story.status(both) is Status.RUNNING


def test_the_same_dependency_named_twice_counts_once() -> None:
    story = Story(2)
    target = story.submit()
    dependent = story.submit(after=[target, target])
    assert story.task(dependent).open_edges == 1
    story.end(target)
    assert story.status(dependent) is Status.RUNNING


def test_a_skip_goes_down_the_graph_also_where_ways_meet_again() -> None:
    story = Story(1)
    newcomers = [member(), member(after=[0, 2]), member(after=[0]), member(after=[1, 2]), member(after=[3], on=ANY)]
    first, joint, left, end, after_all = story.accept(*newcomers).ids
    story.end(first, 1)
    assert story.status(joint, left, end) == [Status.SKIPPED] * 3
    assert story.record(joint).reason == f"{first} failed"
    assert story.status(after_all) is Status.RUNNING
    assert not story.engine.state.graph.list_open(end)


def test_conditions_that_exclude_each_other_skip_once() -> None:
    for code in (0, 1):
        story = Story(1)
        target = story.submit()
        torn = story.submit(after=[on(FAIL, target), on(SUCCESS, target)])
        story.end(target, code)
        assert story.status(torn) is Status.SKIPPED
        assert story.engine.state.tasks == {}
        story.crash()


def test_a_chain_of_ten_thousand_is_skipped_at_once_without_recursion() -> None:
    story = Story(1)
    chain = [member(after=[index - 1] if index else []) for index in range(10_000)]
    ids = story.accept(*chain).ids
    story.end(ids[0], 1)
    assert story.status(*ids[1:]) == [Status.SKIPPED] * 9_999
    assert story.engine.state.tasks == {}


def test_a_fan_of_ten_thousand_dependents_is_released_in_linear_time() -> None:
    def release(count: int) -> float:
        story = Story(1)
        target = story.submit()
        story.accept(*[Newcomer(spec(), [on(SUCCESS, target)]) for _ in range(count)])
        began = process_time()
        story.end(target)
        took = process_time() - began
        assert len(story.ids(Status.READY)) == count - 1
        return took

    release(100)
    small, large = min(release(1_000) for _ in range(3)), min(release(10_000) for _ in range(2))
    assert large < small * 10 * 5, "ten times as many take about ten times as long, not a hundred times"


def test_a_held_dependent_stays_held_when_its_edges_are_met() -> None:
    story = Story(2)
    target = story.submit()
    dependent = story.submit(after=[target])
    story.handle(Held([dependent]))
    story.end(target)
    assert (story.status(dependent), story.record(dependent).reason) == (Status.BLOCKED, "held")
    story.handle(Released([dependent]))
    assert story.status(dependent) is Status.RUNNING


def test_a_released_task_still_waits_for_its_dependencies() -> None:
    story = Story(2)
    target = story.submit()
    dependent = story.submit(after=[target], hold=True)
    story.handle(Released([dependent]))
    assert (story.status(dependent), story.record(dependent).reason) == (Status.BLOCKED, "dependencies")


def test_a_member_may_depend_on_one_that_stood_there_before() -> None:
    story = Story(2)
    once = Newcomer(spec("old"), existing=40, existing_final=Status.SUCCEEDED)
    accepted = story.accept(once, member(after=[0]), batch=True, members=2)
    assert accepted.ids == [40, 1]
    assert accepted.duplicates == {40}
    assert story.status(1) is Status.RUNNING


# -- keys nobody has yet -------------------------------------------------------------------------------------------


def test_who_awaits_a_key_waits_for_the_first_task_that_has_it() -> None:
    story = Story(1)
    waiting = story.submit(after=[awaiting("data")], await_deps_s=60.0)
    assert story.status(waiting) is Status.BLOCKED
    holder = story.submit(key="data")
    story.pass_time(61)
    assert story.status(waiting) is Status.BLOCKED, "the key came in time"
    story.end(holder)
    assert story.status(waiting) is Status.RUNNING


def test_a_key_that_never_comes_skips_who_awaits_it() -> None:
    story = Story(1)
    waiting = story.submit(after=[awaiting("data")], await_deps_s=60.0)
    behind = story.submit(after=[waiting])
    assert story.engine.next_due_s(story.now) == 60.0
    story.pass_time(59)
    assert story.status(waiting) is Status.BLOCKED
    story.pass_time(1)
    assert story.status(waiting, behind) == [Status.SKIPPED] * 2
    assert story.record(waiting).reason == "no task with key data"


def test_a_key_that_a_live_task_has_is_not_awaited() -> None:
    story = Story(2)
    holder = story.submit(key="data")
    waiting = story.submit(after=[awaiting("data")], await_deps_s=1.0)
    story.pass_time(5)
    story.end(holder)
    assert story.status(waiting) is Status.RUNNING


def test_the_wait_for_a_key_goes_on_after_a_restart() -> None:
    story = Story(1)
    waiting = story.submit(after=[awaiting("data")], await_deps_s=60.0)
    other = story.submit(after=[awaiting("tool")], await_deps_s=60.0)
    story.crash()
    holder = story.submit(key="data")
    story.end(holder)
    assert story.status(waiting) is Status.RUNNING
    story.pass_time(60)
    assert story.status(other) is Status.SKIPPED


def test_an_edit_that_awaits_the_same_key_anew_is_what_counts_after_a_restart() -> None:
    story = Story(1)
    waiting = story.submit(after=[awaiting("data")], await_deps_s=60.0)
    story.pass_time(50)
    story.handle(Edited(waiting, spec(await_deps_s=60.0), [awaiting("data")]))
    story.crash()
    story.pass_time(20)
    assert story.status(waiting) is Status.BLOCKED
    story.pass_time(40)
    assert story.status(waiting) is Status.SKIPPED


# -- cycles --------------------------------------------------------------------------------------------------------


def test_a_cycle_in_a_batch_is_refused_with_its_members_and_nothing_is_queued() -> None:
    story = Story(1)
    cycle = [member(after=[2], key="a"), member(after=[0]), member(after=[1], key="c"), member(after=[2])]
    with pytest.raises(InvalidError) as refusal:
        story.accept(*cycle)
    assert refusal.value.code == "cycle"
    assert refusal.value.message in (
        "dependency cycle: a -> c -> #2 -> a",
        "dependency cycle: c -> #2 -> a -> c",
        "dependency cycle: #2 -> a -> c -> #2",
    )
    assert story.engine.state.tasks == {}
    assert story.engine.state.next_id == 1


def test_a_task_cannot_wait_for_itself() -> None:
    story = Story(1)
    with pytest.raises(InvalidError, match="cycle"):
        story.accept(member(after=[0]))
    with pytest.raises(InvalidError, match="cycle: a -> a"):
        story.submit(key="a", after=[awaiting("a")])


def test_a_cycle_through_a_key_that_is_awaited_is_refused() -> None:
    story = Story(1)
    first = story.submit(key="a", after=[awaiting("b")], await_deps_s=60.0)
    middle = story.submit(after=[first])
    with pytest.raises(InvalidError, match=f"cycle: b -> {middle} -> {first} -> b"):
        story.submit(key="b", after=[middle])
    assert story.engine.state.keys == {"a": first}


def test_a_cycle_by_edit_is_refused_and_named() -> None:
    story = Story(1)
    a = story.submit(hold=True)
    b = story.submit(after=[a])
    c = story.submit(after=[b])
    with pytest.raises(InvalidError, match=f"dependency cycle: {a} -> {c} -> {b} -> {a}"):
        story.handle(Edited(a, spec(), edges([c])))
    assert story.status(a) is Status.BLOCKED
    assert not story.engine.state.graph.list_open(a)


def test_a_cycle_by_a_new_key_is_refused() -> None:
    story = Story(1)
    first = story.submit(after=[awaiting("b")], await_deps_s=60.0)
    second = story.submit(after=[first])
    with pytest.raises(InvalidError, match="cycle"):
        story.handle(Edited(second, spec(key="b")))
    assert story.engine.state.keys == {}


def test_the_middle_of_a_long_cycle_is_left_out() -> None:
    story = Story(1)
    ids = story.accept(*[member(hold=True, after=[index - 1] if index else []) for index in range(100)]).ids
    with pytest.raises(InvalidError, match=r"1 -> 100 -> 99 -> 98 -> \.\.\. -> 3 -> 2 -> 1"):
        story.handle(Edited(ids[0], spec(), edges([ids[99]])))


# -- edits and revivals --------------------------------------------------------------------------------------------


def test_an_edit_that_adds_an_open_dependency_blocks_and_one_that_drops_it_lets_go() -> None:
    story = Story(1)
    running = story.submit()
    task = story.submit()
    story.handle(Edited(task, spec(), edges([running])))
    assert story.status(task) is Status.BLOCKED
    story.crash()
    assert story.task(task).open_edges == 1, "new edges of an edit are stored"
    story.handle(Edited(task, spec(), []))
    assert story.status(task) is Status.READY
    story.crash()
    assert story.status(task) is Status.READY


def test_an_edit_that_keeps_a_dependency_and_adds_one_keeps_both_in_the_store() -> None:
    story = Story(2)
    a, b = story.submit(), story.submit()
    task = story.submit(after=[a])
    story.handle(Edited(task, spec(), edges([a, b])))
    story.crash()
    story.end(a)
    assert story.status(task) is Status.BLOCKED
    story.end(b)
    assert story.status(task) is Status.RUNNING


def test_several_edits_in_one_commit_leave_the_last_edges() -> None:
    story = Story(1)
    a = story.submit()
    task = story.submit(after=[a])
    for after in ([a], [], [a], []):
        story.engine.handle(Edited(task, spec(), edges(after)), story.now)
    story.commit()
    story.crash()
    assert story.task(task).open_edges == 0
    for after in ([], [a]):
        story.engine.handle(Edited(task, spec(), edges(after)), story.now)
    story.commit()
    story.crash()
    assert story.task(task).open_edges == 1


def test_an_edit_to_a_dependency_that_cannot_be_met_skips() -> None:
    story = Story(1)
    story.submit()
    task = story.submit()
    story.handle(Edited(task, spec(), [WantedEdge(SUCCESS, target=99, final=Status.FAILED)]))
    assert story.status(task) is Status.SKIPPED
    assert story.engine.state.pools["default"].counts[Status.READY] == 0


def test_revived_tasks_wait_for_each_other_again() -> None:
    story = Story(1)
    a = story.submit()
    b = story.submit(after=[a])
    story.end(a, 1)
    assert story.status(b) is Status.SKIPPED
    story.handle(Retried([story.revival(a), story.revival(b, after=[a])]))
    assert story.status(a, b) == [Status.RUNNING, Status.BLOCKED]
    story.end(a)
    assert story.status(b) is Status.RUNNING


def test_skipped_and_revived_in_one_commit_the_new_edges_are_stored() -> None:
    story = Story(1)
    a = story.submit()
    b = story.submit(after=[a])
    story.engine.handle(Cancelled([b]), story.now)
    record = story.task(a) and story.record(b)
    record.status = Status.CANCELLED
    story.engine.handle(Retried([story.revival(b, after=[a])]), story.now)
    story.commit()
    story.crash()
    assert story.task(b).open_edges == 1


def test_a_task_that_still_ends_cannot_be_revived() -> None:
    story = Story(1)
    task = story.submit()
    story.handle(Cancelled([task]))
    with pytest.raises(ConflictError, match="still ends"):
        story.retry(task)
    story.end(task, None, signal=15, cause="cancelled")
    assert story.retry(task) == [task]
