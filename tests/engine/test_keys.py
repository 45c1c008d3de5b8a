"""Keys: one live task for each, and what a second submission makes of it: return, refuse, replace."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.messages import Cancelled, Edited, Newcomer, Stop
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status
from tests.engine.story import Story, edges, member, spec


def test_by_default_the_task_that_has_the_key_is_returned() -> None:
    story = Story(1)
    first = story.submit(key="k")
    accepted = story.accept(member(key="k"))
    assert accepted.ids == [first]
    assert accepted.duplicates == {first}
    assert list(story.shelf.tasks) == [first]


def test_refuse_names_the_task_that_has_it() -> None:
    story = Story(1)
    story.submit(key="k")
    with pytest.raises(ConflictError, match="key 'k' is taken by task 1") as refusal:
        story.submit(key="k", if_exists="refuse")
    assert refusal.value.code == "exists"


def test_the_same_command_within_its_time_is_refused_by_the_same_word() -> None:
    story = Story(1)
    with pytest.raises(ConflictError, match="the same command was submitted as task 9"):
        story.accept(Newcomer(spec(if_exists="refuse"), existing=9))


def test_a_key_is_free_again_when_its_task_has_ended() -> None:
    story = Story(1)
    first = story.submit(key="k")
    story.end(first)
    second = story.submit(key="k")
    assert story.engine.find_by_key("k") is story.task(second)


def test_a_key_twice_in_one_submission_is_refused_whole() -> None:
    story = Story(1)
    with pytest.raises(InvalidError, match="key 'k' stands twice"):
        story.accept(member(key="k"), member(key="k"))
    assert story.engine.state.tasks == {}


def test_a_replacement_starts_when_the_old_tree_is_gone() -> None:
    story = Story(2)
    old = story.submit(key="k")
    story.begin(old)
    story.take_orders()
    new = story.submit(key="k", if_exists="replace")
    assert story.status(old, new) == [Status.CANCELLED, Status.BLOCKED]
    assert story.record(old).reason == f"replaced by {new}"
    assert story.take_orders() == [Stop(old, 1, 15, 10.0, "cancelled")]
    assert story.engine.find_by_key("k") is story.task(new)
    story.end(old, None, signal=15, cause="cancelled")
    assert story.started() == [new]


def test_a_replacement_of_a_waiting_task_takes_its_turn_at_once() -> None:
    story = Story(1)
    story.submit()
    old = story.submit(key="k")
    new = story.submit(key="k", if_exists="replace")
    assert story.status(old, new) == [Status.CANCELLED, Status.READY]


def test_a_replacement_of_a_replacement_waits_for_the_tree_that_still_goes() -> None:
    story = Story(2)
    first = story.submit(key="k")
    second = story.submit(key="k", if_exists="replace")
    third = story.submit(key="k", if_exists="replace")
    assert story.status(first, second, third) == [Status.CANCELLED, Status.CANCELLED, Status.BLOCKED]
    story.crash()
    assert story.status(third) is Status.BLOCKED
    story.end(first, None, signal=15, cause="cancelled")
    assert story.status(third) is Status.RUNNING


def test_a_replacement_waits_for_the_old_tree_also_when_its_dependencies_are_edited() -> None:
    story = Story(2)
    old = story.submit(key="k")
    new = story.submit(key="k", if_exists="replace")
    story.handle(Edited(new, spec(key="k"), edges([])))
    assert story.status(new) is Status.BLOCKED
    story.end(old, None, signal=15, cause="cancelled")
    assert story.status(new) is Status.RUNNING


def test_a_replacement_waits_for_the_old_tree_over_a_restart() -> None:
    story = Story(1)
    old = story.submit(key="k")
    new = story.submit(key="k", if_exists="replace")
    story.crash()
    assert story.status(new) is Status.BLOCKED
    story.end(old, None, signal=9, cause="cancelled")
    assert story.status(new) is Status.RUNNING


def test_a_key_may_be_changed_given_up_or_taken_by_edit() -> None:
    story = Story(1)
    story.submit()
    task = story.submit(key="a")
    other = story.submit(key="b")
    with pytest.raises(ConflictError, match="key 'b' is taken"):
        story.handle(Edited(task, spec(key="b")))
    story.handle(Edited(task, spec(key="c")))
    assert story.engine.state.keys == {"b": other, "c": task}
    story.handle(Edited(other, spec()))
    assert story.engine.state.keys == {"c": task}
    story.crash()
    assert story.engine.state.keys == {"c": task}


def test_a_revival_is_refused_when_a_live_task_has_its_key() -> None:
    story = Story(2)
    old = story.submit(key="k")
    story.end(old, 1)
    holder = story.submit(key="k")
    with pytest.raises(ConflictError, match=f"key 'k' is taken by task {holder}"):
        story.retry(old)
    story.handle(Cancelled([holder]))
    assert story.retry(old) == [old]
    assert story.engine.find_by_key("k") is story.task(old)


def test_two_old_tasks_of_one_key_cannot_both_live_again() -> None:
    story = Story(2)
    first = story.submit(key="k")
    story.end(first)
    second = story.submit(key="k")
    story.end(second)
    with pytest.raises(ConflictError, match="taken by task another of these"):
        story.retry(first, second)
    assert story.engine.state.tasks == {}
