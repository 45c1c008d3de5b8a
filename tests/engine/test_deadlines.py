"""Soft deadlines: urgency through the engine, earliest deadline first inside a class, expected run times, expiry."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.messages import Edited, Held, Released
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff, Priority
from tests.engine.story import Story, spec


def score_of(story: Story, task: int, at: float) -> float:
    """The score of a waiting task so many seconds from now."""
    return story.engine.state.score(story.task(task), story.now.wall + at)


def busy_story(plan: int | PoolPlan = 1) -> tuple[Story, int]:
    story = Story(plan)
    return story, story.submit("busy")


def drain(story: Story, task: int) -> list[int]:
    """End what runs, again and again; the order of the starts."""
    order = []
    story.take_orders()
    while True:
        story.end(task)
        started = story.started()
        if not started:
            return order
        task = started[0]
        order.append(task)


@pytest.mark.parametrize(
    ("priority", "vector"),
    [
        (Priority.LOW, {0: 10, 45: 100, 46: 102, 400: 810, 5000: 810}),
        (Priority.NORMAL, {0: 100, 45: 190, 400: 900, 401: 900}),
        (Priority.HIGH, {0: 1000, 400: 1800, 9999: 1800}),
        (Priority.CRITICAL, {0: 10000, 400: 10800, 9999: 10800}),
    ],
)
def test_a_score_grows_with_waiting_by_the_written_numbers(priority: Priority, vector: dict[int, float]) -> None:
    story, _ = busy_story()
    task = story.submit(priority=priority)
    assert {at: score_of(story, task, at) for at in vector} == vector


@pytest.mark.parametrize(
    ("at", "urgency"),
    [(0, 0), (30, 0), (40, 0), (45, 2500), (50, 5000), (51, 5010), (100, 5500), (350, 8000), (9999, 8000)],
)
def test_a_deadline_adds_urgency_from_the_horizon_on_and_at_most_8000(at: float, urgency: float) -> None:
    story, _ = busy_story()
    task = story.submit(deadline=story.now.wall + 60, estimate_s=10)  # latest start 50, horizon 10
    plain = story.submit()
    assert score_of(story, task, at) - score_of(story, plain, at) == pytest.approx(urgency)


def test_the_horizon_is_the_window_for_what_runs_shorter() -> None:
    story, _ = busy_story()
    task = story.submit(deadline=story.now.wall + 60, estimate_s=1)  # latest start 59, horizon 5
    assert score_of(story, task, 54) == 100 + 2 * 54
    assert score_of(story, task, 56.5) == 100 + 2 * 56.5 + 2500


def test_nothing_below_critical_passes_a_fresh_critical_however_late_it_is() -> None:
    story, busy = busy_story()
    late = story.submit(priority=Priority.HIGH, deadline=story.now.wall + 1, estimate_s=1)
    story.pass_time(100_000)
    critical = story.submit(priority=Priority.CRITICAL)
    assert score_of(story, late, 0) == 1000 + 800 + 8000
    assert drain(story, busy) == [critical, late]


def test_inside_a_class_the_earliest_deadline_goes_first_and_the_plain_by_sequence() -> None:
    story, busy = busy_story()
    wall = story.now.wall
    plain = [story.submit() for _ in range(2)]
    late, soon, same = (story.submit(deadline=wall + at, estimate_s=1) for at in (5000, 4000, 4000))
    assert drain(story, busy) == [*plain, soon, same, late]  # nothing is urgent: equal scores, older sequence first


def test_an_urgent_deadline_passes_older_tasks_of_its_class_and_of_a_higher_one() -> None:
    story, busy = busy_story()
    high, normal = story.submit(priority=Priority.HIGH), story.submit()
    urgent = story.submit(deadline=story.now.wall + 2, estimate_s=2)
    assert drain(story, busy) == [urgent, high, normal]


def test_a_deadline_never_kills() -> None:
    story, busy = busy_story()
    task = story.submit(deadline=story.now.wall + 1)
    story.pass_time(1000)
    story.end(busy)
    assert story.status(task) is Status.RUNNING
    assert not story.stopped()


def test_the_expected_run_time_is_estimate_then_median_then_mean_then_default() -> None:
    story = Story(PoolPlan(1, default_duration_s=60))
    expected = story.engine.state.expected_s
    probe = story.submit("job", hold=True)
    estimated = story.submit("job", hold=True, estimate_s=7)
    seen = [expected(story.task(probe))]
    for run_s in (10, 20, 90):
        task = story.submit("job")
        story.end(task, run_s=run_s)
        seen.append(expected(story.task(probe)))
    assert seen == [60, 10, 15, 20]  # default, mean of one, mean of two, median of three
    assert expected(story.task(estimated)) == 7
    assert expected(story.task(story.submit("other", hold=True))) == 60
    story.crash()
    assert story.engine.state.expected_s(story.task(probe)) == 20, "learned run times outlive the daemon"


def test_a_retrying_deadline_task_keeps_its_deadline_and_place() -> None:
    story = Story(1)
    wall = story.now.wall
    first = story.submit(deadline=wall + 1000, retries=1, backoff=Backoff(kind="fixed", first_s=5))
    busy = story.submit(deadline=wall + 900)
    story.end(first, 1)
    later = story.submit(deadline=wall + 1001)
    story.pass_time(5)
    assert drain(story, busy) == [first, later]


def test_an_edited_deadline_counts_from_then_on() -> None:
    story, busy = busy_story()
    wall = story.now.wall
    one, two = (story.submit(deadline=wall + at, estimate_s=1) for at in (100, 200))
    story.handle(Edited(two, spec(deadline=wall + 50, estimate_s=1)))
    plain = story.submit()
    story.handle(Edited(one, spec()))
    assert story.queue() == [one, two, plain]  # not urgent yet: by sequence
    story.pass_time(49)
    assert drain(story, busy) == [two, one, plain]


# -- expiry ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ready", "scheduled", "held", "dependencies"])
def test_what_has_not_started_by_its_expiry_is_missed(kind: str) -> None:
    story, busy = busy_story()
    fields: dict[str, Any] = {
        "ready": {},
        "scheduled": {"not_before": story.now.wall + 60},
        "held": {"hold": True},
        "dependencies": {"after": [busy]},
    }[kind]
    task = story.submit(expires_at=story.now.wall + 30, **fields)
    dependent = story.submit(after=[task])
    story.pass_time(29)
    assert story.status(task) not in (Status.MISSED, Status.RUNNING)
    story.pass_time(1)
    assert (story.status(task), story.record(task).reason) == (Status.MISSED, "not started before it expired")
    assert story.status(dependent) is Status.SKIPPED


def test_expiry_counts_before_the_first_start_only() -> None:
    story = Story(1)
    task = story.submit(expires_at=story.now.wall + 30, retries=1, backoff=Backoff(kind="fixed", first_s=60))
    story.end(task, 1)
    story.pass_time(59)
    assert story.status(task) is Status.RETRYING
    story.crash()
    story.pass_time(1)
    assert story.status(task) is Status.RUNNING


def test_an_end_at_the_moment_of_expiry_does_not_start_what_has_expired() -> None:
    story, busy = busy_story()
    task = story.submit(expires_at=story.now.wall + 30)
    story.now = story.now._replace(wall=story.now.wall + 31, awake=story.now.awake + 31)
    story.end(busy)  # before anybody told the engine the time
    assert story.status(task) is Status.MISSED


def test_a_task_submitted_behind_its_expiry_is_missed_at_once() -> None:
    story = Story(1)
    task = story.submit(expires_at=story.now.wall - 1)
    assert story.status(task) is Status.MISSED
    assert story.started() == []


def test_a_missed_task_that_is_retried_runs_and_does_not_expire_again_after_a_restart() -> None:
    story, busy = busy_story()
    task = story.submit(expires_at=story.now.wall + 30)
    story.pass_time(30)
    story.retry(task)
    story.crash()
    story.pass_time(1)
    assert story.status(task) is Status.READY
    story.end(busy)
    assert story.status(task) is Status.RUNNING
    assert story.record(task).spec.expires_at is None


def test_an_expiry_ahead_still_counts_after_a_retry_by_the_user() -> None:
    story, _ = busy_story()
    task = story.submit(expires_at=story.now.wall + 30, hold=True)
    story.handle(Held([task]))
    story.handle(Released([task]))
    story.handle(Edited(task, spec(expires_at=story.now.wall + 10)))
    story.pass_time(10)
    assert story.status(task) is Status.MISSED
    story.retry(task)
    story.handle(Edited(task, spec(expires_at=story.now.wall + 10)))
    story.pass_time(10)
    assert story.status(task) is Status.MISSED
