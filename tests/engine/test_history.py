"""What an end adds to the statistics: once for each attempt, and for each task that ends without one."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.history import BOUNDS_S, Histogram
from cronoq_cli.engine.messages import Cancelled, RunnersCompared
from cronoq_cli.model.task import Backoff, Ended
from tests.engine.story import Story

FIXED = Backoff(kind="fixed", first_s=30.0, most_s=30.0)


def ends(story: Story) -> list[Ended]:
    return [event.ended for event in story.shelf.history if event.ended is not None]


def test_an_attempt_is_told_with_the_end_of_its_task() -> None:
    story = Story(1)
    first, second = story.submit(kind="make", slots=1), story.submit(kind="make")
    story.begin(first)
    story.pass_time(4.0)
    story.end(first, 0, run_s=4.0, started_at=story.now.wall - 4.0)
    story.begin(second)
    story.pass_time(1.0)
    story.end(second, 3, started_at=story.now.wall - 1.0)
    assert ends(story) == [
        Ended("make", "succeeded", "succeeded", 0.0, 4.0),
        Ended("make", "failed", "failed", 4.0, 1.0),
    ]
    told = [event for event in story.shelf.history if event.ended is not None]
    assert [(event.id, event.status) for event in told] == [(first, "succeeded"), (second, "failed")]


def test_an_attempt_that_is_tried_again_is_no_end_of_its_task_and_only_the_first_has_waited() -> None:
    story = Story(1)
    task = story.submit(kind="make", retries=1, backoff=FIXED)
    story.begin(task)
    story.end(task, 1)
    story.pass_time(31.0)
    story.begin(task)
    story.end(task, 1)
    assert ends(story) == [
        Ended("make", None, "failed", 0.0, 1.0),
        Ended("make", "dead_lettered", "failed", None, 1.0),
    ]


def test_what_never_started_is_told_without_an_attempt() -> None:
    story = Story(1)
    story.submit(kind="long")
    waiting = story.submit(kind="make")
    dependent = story.submit(kind="cc", after=[waiting])
    story.handle(Cancelled([waiting]))
    assert ends(story) == [Ended("make", "cancelled"), Ended("cc", "skipped")]
    assert story.status(dependent).value == "skipped"


def test_a_task_cancelled_while_it_runs_has_run_until_then_and_is_told_once() -> None:
    story = Story(1)
    task = story.submit(kind="make", slots=1)
    story.begin(task)
    story.pass_time(5.0)
    story.handle(Cancelled([task]))
    story.pass_time(2.0)
    story.end(task, None, signal=15, cause="cancelled", run_s=7.0)
    assert ends(story) == [Ended("make", "cancelled", "cancelled", 0.0, 5.0)]


def test_an_order_that_never_ran_adds_nothing() -> None:
    story = Story(1)
    story.submit()
    story.handle(RunnersCompared(known=set()))
    assert ends(story) == []


@pytest.mark.parametrize(
    ("fields", "code", "expected"),
    [
        ({"deadline": 3.0}, 0, (True, None)),
        ({"deadline": 1.0}, 0, (False, None)),
        ({"deadline": 3.0}, 1, (False, None)),
        ({"start_at": 10.0}, 0, (None, True)),
        ({}, 0, (None, None)),
    ],
)
def test_deadlines_and_fixed_starts_are_judged(fields: dict[str, Any], code: int, expected: tuple[Any, Any]) -> None:
    story = Story(2)
    task = story.submit(**{name: story.now.wall + seconds for name, seconds in fields.items()})
    if "start_at" in fields:
        story.pass_time(10.0)
    story.begin(task)
    story.pass_time(2.0)
    story.end(task, code, started_at=story.now.wall - 2.0)
    (ended,) = ends(story)
    assert (ended.in_time, ended.on_time) == expected


def test_a_fixed_start_that_was_missed_counts_and_one_that_was_cancelled_does_not() -> None:
    story = Story(1)
    missed = story.submit(start_at=story.now.wall + 10.0, on_miss="skip", kind="a")
    story.submit(kind="long")
    cancelled = story.submit(start_at=story.now.wall + 500.0, kind="b")
    story.handle(Cancelled([cancelled]))
    story.pass_time(12.0)
    found = {ended.kind: ended for ended in ends(story)}
    assert found["b"].on_time is None
    assert story.status(missed).value == "missed"
    assert (found["a"].final, found["a"].on_time) == ("missed", False)


def test_a_pool_counts_the_times_of_its_attempts_in_classes() -> None:
    histogram = Histogram()
    for seconds in (0.0, 0.01, 0.011, 1e9):
        histogram.add(seconds)
    assert (histogram.counts[0], histogram.counts[1], histogram.counts[len(BOUNDS_S)]) == (2, 1, 1)
    story = Story(1)
    task = story.submit()
    story.begin(task)
    story.end(task, 0, run_s=2.0)
    times = story.engine.state.pools["default"].times
    assert (times.runs.sum_s, sum(times.runs.counts), sum(times.waits.counts)) == (2.0, 1, 1)
