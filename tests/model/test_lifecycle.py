"""The tables: what is in them, and that every state x trigger is either in the table or refused by the engine."""

from __future__ import annotations

import itertools

import pytest

from cronoq_cli.engine.live import LiveTask
from cronoq_cli.model.lifecycle import ALLOWED, BAD_ENDS, FINAL, LIVE, NEW, TRANSITIONS, WAITING, Status, Trigger
from tests.engine.story import Story


def test_every_status_is_live_or_final_and_seven_are_final() -> None:
    assert set(Status) == LIVE | FINAL
    assert not LIVE & FINAL
    assert len(FINAL) == 7
    assert LIVE - {Status.RUNNING} == WAITING
    assert BAD_ENDS <= FINAL
    assert {Status.BLOCKED, Status.SCHEDULED, Status.READY} == NEW


def test_only_a_retry_by_the_user_leaves_a_final_status() -> None:
    for status in FINAL:
        assert TRANSITIONS[status] == {Trigger.RETRIED: NEW}


def test_every_status_has_a_row_and_every_trigger_stands_somewhere() -> None:
    assert set(TRANSITIONS) == set(Status)
    assert {trigger for row in TRANSITIONS.values() for trigger in row} == set(Trigger)


def test_every_status_can_be_reached() -> None:
    reached = set(NEW)
    while more := {target for status, _, target in ALLOWED if status in reached} - reached:
        reached |= more
    assert reached == set(Status)


def test_what_waits_can_always_be_cancelled_archived_and_killed() -> None:
    for status in WAITING:
        for trigger, target in (
            (Trigger.CANCELLED, Status.CANCELLED),
            (Trigger.ARCHIVED, Status.DEAD_LETTERED),
            (Trigger.KILL_AT_PASSED, Status.FAILED),
        ):
            assert TRANSITIONS[status][trigger] == {target}


def test_only_a_ready_task_starts_and_it_starts_to_run() -> None:
    starts = [
        (status, targets)
        for status, row in TRANSITIONS.items()
        for trigger, targets in row.items()
        if trigger is Trigger.STARTED
    ]
    assert starts == [(Status.READY, {Status.RUNNING})]


def test_the_tables_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[Status.READY] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        TRANSITIONS[Status.READY][Trigger.STARTED] = frozenset()  # type: ignore[index]


@pytest.mark.parametrize("status", list(Status))
def test_each_trigger_moves_where_the_table_says_and_nowhere_else(status: Status) -> None:
    story = Story(1)
    task: LiveTask = story.task(story.submit(hold=True))
    for trigger, target in itertools.product(Trigger, Status):
        task.status = status
        if (status, trigger, target) in ALLOWED:
            story.engine.state.move(task, trigger, target, story.now)
            assert task.status is target
            assert story.engine.state.effects.transitions[-1].type == trigger.value
        else:
            with pytest.raises(AssertionError):
                story.engine.state.move(task, trigger, target, story.now)
            assert task.status is status
