"""What ends make of tasks: success, failure, retries, lost work, what the machine lacks, what a task says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    Held,
    Released,
    RunnerGone,
    RunnersCompared,
    StartedNow,
    Stop,
    StopBegan,
)
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff
from tests.engine.story import Story, spec

FIXED = Backoff(kind="fixed", first_s=30.0, most_s=30.0)


def test_a_success_frees_the_slot_and_is_forgotten_by_the_runner() -> None:
    story = Story(1)
    first, second = story.submit(), story.submit()
    story.begin(first, pid=7)
    story.take_orders()
    assert story.end(first, 0, cpu_user_s=0.5, cpu_system_s=0.1, max_rss=1000, log_size=5, left_behind=2) is True
    record = story.record(first)
    assert (record.status, record.exit_code, record.reason, record.left_behind) == (Status.SUCCEEDED, 0, None, 2)
    assert record.usage == {"cpu_user_s": 0.5, "cpu_system_s": 0.1, "max_rss_bytes": 1000}
    assert story.forgotten() == [(first, 1)]
    assert story.status(second) is Status.RUNNING
    attempt = story.shelf.attempts[first, 1]
    assert (attempt.outcome, attempt.reason, attempt.log_size, attempt.run_s) == ("succeeded", "submitted", 5, 1.0)


@pytest.mark.parametrize(
    ("fields", "code", "expected"),
    [
        ({}, 1, Status.FAILED),
        ({}, 126, Status.FAILED),
        ({"retries": 2}, 1, Status.RETRYING),
        ({"retries": 2}, 127, Status.FAILED),
        ({"retries": 2, "retry_on": [127]}, 127, Status.RETRYING),
        ({"retries": 2, "retry_on": [3]}, 1, Status.FAILED),
        ({"retries": 2, "no_retry_on": [1]}, 1, Status.FAILED),
        ({"retries": 0, "success_codes": [3]}, 3, Status.SUCCEEDED),
    ],
)
def test_an_exit_code_is_judged_by_the_policy(fields: dict[str, Any], code: int, expected: Status) -> None:
    story = Story(1)
    task = story.submit(**fields)
    story.end(task, code)
    assert story.status(task) is expected


def test_retries_come_after_the_backoff_and_end_in_the_dead_letters() -> None:
    story = Story(1)
    task = story.submit(retries=2, backoff=FIXED)
    for attempt in (1, 2):
        story.take_orders()
        story.end(task, 1)
        record = story.record(task)
        assert (record.status, record.attempt, record.reason) == (Status.RETRYING, attempt, "exit 1")
        assert record.due_at == story.now.wall + 30
        assert story.engine.next_due_s(story.now) == 30
        story.pass_time(29.5)
        assert story.status(task) is Status.RETRYING
        story.pass_time(0.5)
        assert story.started() == [task]
    story.end(task, 1)
    assert story.status(task) is Status.DEAD_LETTERED
    assert [story.shelf.attempts[task, n].reason for n in (1, 2, 3)] == ["submitted", "retry", "retry"]
    assert story.record(task).max_attempts == 3


def test_backoff_counts_time_awake_not_time_asleep() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    story.pass_time(1000, awake=10)
    assert story.status(task) is Status.RETRYING
    story.pass_time(20)
    assert story.status(task) is Status.RUNNING


def test_what_the_task_asks_for_is_a_minimum_and_never_shortens_the_backoff() -> None:
    for asked, expected in (("5s", 30.0), ("2m", 120.0), ("nonsense", 30.0)):
        story = Story(1)
        task = story.submit(retries=1, backoff=FIXED)
        story.end(task, 1, report=[("retry_after", asked)])
        assert story.engine.next_due_s(story.now) == expected


def test_a_retrying_task_keeps_its_place_and_takes_every_limit_again() -> None:
    story = Story(1)
    first = story.submit(retries=1, backoff=FIXED)
    story.end(first, 1)
    running, waiting = story.submit(), story.submit()
    story.pass_time(30)
    assert story.status(first) is Status.READY
    assert story.queue() == [first, waiting]
    story.take_orders()
    story.end(running)
    assert story.started() == [first]


def test_a_retrying_task_can_be_started_now() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    assert story.handle(StartedNow([task])) == [task]
    assert story.status(task) is Status.RUNNING
    story.pass_time(30)
    assert story.record(task).attempt == 2, "the old timer does nothing"


def test_a_held_retrying_task_goes_on_with_its_backoff_when_released() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    story.pass_time(500, awake=10)
    story.handle(Held([task]))
    assert (story.status(task), story.record(task).reason) == (Status.BLOCKED, "held")
    story.crash()
    story.handle(Released([task]))
    assert (story.status(task), story.record(task).reason) == (Status.RETRYING, "exit 1")
    story.pass_time(19)
    assert story.status(task) is Status.RETRYING
    story.pass_time(1)
    assert story.status(task) is Status.RUNNING


def test_a_held_retrying_task_whose_backoff_is_over_is_ready_when_released() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    story.handle(Held([task]))
    story.pass_time(31)
    assert story.status(task) is Status.BLOCKED
    story.handle(Released([task]))
    assert story.status(task) is Status.RUNNING


def test_an_edited_retrying_task_goes_on_with_its_backoff() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    story.handle(Edited(task, spec(retries=4, backoff=FIXED)))
    assert story.status(task) is Status.RETRYING
    assert story.record(task).max_attempts == 5
    story.pass_time(30)
    assert story.status(task) is Status.RUNNING
    assert [event.type for event in story.shelf.history if event.id == task].count("edited") == 1


def test_a_start_time_given_to_a_retrying_task_makes_it_wait_at_least_so_long() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1)
    story.handle(Edited(task, spec(retries=1, not_before=story.now.wall + 100)))
    story.pass_time(30)
    assert story.status(task) is Status.RETRYING
    story.pass_time(70)
    assert story.status(task) is Status.RUNNING


# -- reports of the task -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "code", "retries", "expected"),
    [
        ("success", 9, 0, Status.SUCCEEDED),
        ("permanent", 0, 3, Status.FAILED),
        ("dead", 0, 0, Status.DEAD_LETTERED),
        ("retry", 0, 3, Status.RETRYING),
        ("retry", 0, 0, Status.FAILED),
        ("revoke", 0, 3, Status.CANCELLED),
        ("not-counted", 1, 0, Status.RUNNING),
        ("nonsense", 0, 0, Status.SUCCEEDED),
    ],
)
def test_the_outcome_a_task_reports_wins_over_its_exit_code(
    outcome: str, code: int, retries: int, expected: Status
) -> None:
    story = Story(1)
    task = story.submit(retries=retries)
    story.end(task, code, report=[("outcome", outcome)])
    assert story.status(task) is expected


def test_an_attempt_that_asks_not_to_count_does_not_count() -> None:
    story = Story(1)
    task = story.submit(retries=1, backoff=FIXED)
    story.end(task, 1, report=[("outcome", "not-counted"), ("retry_after", "5s")])
    assert (story.status(task), story.record(task).max_attempts) == (Status.RETRYING, 3)
    story.pass_time(5)
    story.end(task, 1)
    assert story.engine.next_due_s(story.now) == 30, "the first counted failure"


def test_message_progress_and_outputs_of_the_last_attempt_are_kept() -> None:
    story = Story(1)
    task = story.submit(retries=1)
    story.end(task, 1, report=[("message", "no net"), ("progress", "0.5"), ("output.a", "1"), ("output.b", "2")])
    assert story.record(task).reason == "no net"
    story.handle(StartedNow([task]))
    story.end(task, 0, report=[("output.a", "3"), ("output.", "x"), ("unknown", "y")])
    record = story.record(task)
    assert (record.outputs, record.progress, record.message) == ({"a": "3", "b": "2"}, "0.5", None)


# -- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cause", "reason"), [("time limit", "time limit reached"), ("heartbeat", "lease expired")])
def test_our_own_limits_are_retryable_and_count(cause: str, reason: str) -> None:
    story = Story(1)
    task = story.submit(retries=1)
    story.end(task, None, signal=15, cause=cause)
    assert (story.status(task), story.record(task).reason) == (Status.RETRYING, reason)
    assert story.record(task).max_attempts == 2


def test_behind_its_kill_at_time_a_task_fails_instead_of_trying_again() -> None:
    story = Story(1)
    task = story.submit(retries=3, kill_at=story.now.wall + 10)
    story.pass_time(10)
    assert story.status(task) is Status.RUNNING, "the runner ends it"
    story.end(task, None, signal=15, cause="kill-at")
    assert (story.status(task), story.record(task).reason) == (Status.FAILED, "kill-at time reached")


def test_a_task_that_comes_back_behind_its_kill_at_time_fails() -> None:
    story = Story(1)
    task = story.submit(retries=3, kill_at=story.now.wall + 10)
    story.pass_time(11)
    story.end(task, 1)
    assert (story.status(task), story.record(task).reason) == (Status.FAILED, "kill-at time passed before it ended")


@pytest.mark.parametrize("kind", ["ready", "held", "scheduled", "dependencies", "retrying"])
def test_kill_at_ends_whatever_waits(kind: str) -> None:
    story = Story(1)
    kill_at = story.now.wall + 10
    if kind == "retrying":
        task = story.submit(kill_at=kill_at, retries=1, backoff=FIXED)
        story.end(task, 1)
    else:
        busy = story.submit()
        held = kind == "held"
        later = story.now.wall + 99 if kind == "scheduled" else None
        after = [busy] if kind == "dependencies" else []
        task = story.submit(kill_at=kill_at, hold=held, not_before=later, after=after)
    behind = story.submit(after=[task])
    story.crash()
    story.pass_time(10)
    assert story.status(task, behind) == [Status.FAILED, Status.SKIPPED]


def test_what_cannot_start_is_judged_by_what_was_missing() -> None:
    story = Story(4)
    expected = {
        "command": Status.FAILED,
        "directory": Status.RETRYING,
        "stdin": Status.RETRYING,
        "output": Status.RETRYING,
        "machine": Status.RETRYING,
    }
    for kind, status in expected.items():
        task = story.submit(retries=1)
        story.end(task, None, cause="spawn", error_kind=kind, error_message=f"no {kind}", started_at=None)
        assert (story.status(task), story.record(task).reason) == (status, f"no {kind}")


def test_what_the_machine_lacks_is_not_counted_and_tried_again_after_five_seconds() -> None:
    story = Story(1)
    task = story.submit()
    story.end(task, None, cause="spawn", error_kind="machine", error_message="no processes")
    assert story.engine.next_due_s(story.now) == 5
    assert story.record(task).max_attempts == 2
    assert story.shelf.attempts[task, 1].outcome == "not-started"
    story.pass_time(5)
    assert story.status(task) is Status.RUNNING


# -- stop and loss -------------------------------------------------------------------------------------------------


def test_a_task_interrupted_by_stop_goes_back_to_the_front_uncounted() -> None:
    story = Story(1)
    task, behind = story.submit(grace_s=3.0, stop_signal=2), story.submit()
    story.begin(task)
    story.take_orders()
    assert story.handle(StopBegan()) == 1
    assert story.take_orders() == [Stop(task, 1, 2, 3.0, "interrupted")]
    story.handle(StopBegan(hurry=True))
    assert story.take_orders() == [Stop(task, 1, 2, 0.0, "interrupted")]
    story.end(task, None, signal=2, cause="interrupted")
    assert (story.status(task), story.record(task).max_attempts) == (Status.READY, 2)
    assert story.started() == [], "nothing starts while the daemon stops"
    story.crash()
    assert story.started() == [task]
    assert story.status(behind) is Status.READY
    assert story.shelf.attempts[task, 1].outcome == "interrupted"


def test_a_task_that_exits_well_after_the_stop_signal_has_succeeded() -> None:
    story = Story(1)
    task = story.submit()
    story.handle(StopBegan())
    story.end(task, 0, cause="interrupted")
    assert story.status(task) is Status.SUCCEEDED


def test_with_on_lost_hold_an_interrupted_task_is_held() -> None:
    story = Story(1)
    task = story.submit(on_lost="hold")
    story.handle(StopBegan())
    story.end(task, None, signal=15, cause="interrupted")
    assert (story.status(task), story.record(task).held) == (Status.BLOCKED, True)


@pytest.mark.parametrize(
    ("on_lost", "retries", "expected", "max_attempts"),
    [
        ("count", 0, Status.DEAD_LETTERED, 1),
        ("count", 1, Status.RETRYING, 2),
        ("requeue", 0, Status.READY, 2),
        ("hold", 0, Status.BLOCKED, 2),
    ],
)
def test_lost_work_counts_is_requeued_or_held(on_lost: str, retries: int, expected: Status, max_attempts: int) -> None:
    story = Story(1)
    task = story.submit(on_lost=on_lost, retries=retries)
    story.submit(priority=3)
    story.begin(task)
    story.end(task, None, cause="lost")
    assert (story.status(task), story.record(task).max_attempts) == (expected, max_attempts)
    assert story.shelf.attempts[task, 1].outcome == "lost"


def test_what_no_runner_knows_is_lost_when_its_start_was_seen_and_else_never_started() -> None:
    story = Story(3)
    seen, unseen, known = (story.submit() for _ in range(3))
    story.begin(seen, pid=70)
    story.begin(known, pid=71)
    story.handle(RunnerGone())
    story.crash(compare=False)
    assert story.task(seen).pid == 70, "the proof of the start outlives the daemon"
    assert story.handle(RunnersCompared({(known, 1)})) == [seen, unseen]
    assert story.status(seen) is Status.DEAD_LETTERED
    assert story.status(unseen, known) == [Status.RUNNING] * 2
    assert (story.record(unseen).attempt, story.record(unseen).max_attempts) == (2, 2)
    assert story.shelf.attempts[unseen, 1].outcome == "not-started"


def test_nothing_starts_between_the_death_of_a_runner_and_the_comparison() -> None:
    story = Story(1)
    story.handle(RunnerGone())
    task = story.submit()
    assert story.started() == []
    story.handle(RunnersCompared(set()))
    assert story.started() == [task]


# -- old news ------------------------------------------------------------------------------------------------------


def test_reports_that_are_repeated_or_late_change_nothing() -> None:
    story = Story(1)
    task = story.submit(retries=2, backoff=FIXED)
    assert story.begin(task, pid=5) is True
    assert story.begin(task, pid=5) is False
    assert story.end(task, 1) is True
    assert story.end(task, 1, attempt=1) is False
    assert story.begin(task, pid=5, attempt=1) is False
    story.pass_time(30)
    story.take_orders()
    assert story.end(task, 0, attempt=1) is False
    assert story.status(task) is Status.RUNNING
    assert story.forgotten() == [(task, 1)], "the runner may forget it all the same"
    story.end(task, 0)
    assert story.end(task, 0, attempt=2) is False
    assert story.end(99, 0, attempt=1) is False


# -- cancelled while it runs ---------------------------------------------------------------------------------------


def test_a_cancelled_running_task_is_final_at_once_but_keeps_its_slot_until_its_tree_is_gone() -> None:
    story = Story(1)
    task, behind = story.submit(), story.submit()
    story.begin(task)
    story.take_orders()
    assert story.handle(Cancelled([task], grace_s=1.5)) == [task]
    assert story.take_orders() == [Stop(task, 1, 15, 1.5, "cancelled")]
    record = story.record(task)
    assert (record.status, record.leaving, record.reason) == (Status.CANCELLED, True, "cancelled by the user")
    assert story.status(behind) is Status.READY
    assert story.handle(Cancelled([task])) == [], "it is cancelled once"
    story.end(task, None, signal=15, cause="cancelled")
    assert story.record(task).leaving is False
    assert story.status(behind) is Status.RUNNING
    assert story.shelf.attempts[task, 1].outcome == "cancelled"


def test_cancel_to_the_dead_letters() -> None:
    story = Story(1)
    running, waiting = story.submit(), story.submit()
    story.handle(Cancelled([running, waiting], dead=True))
    assert story.status(running, waiting) == [Status.DEAD_LETTERED] * 2


def test_a_stop_that_may_never_have_reached_the_runner_is_ordered_again() -> None:
    story = Story(1)
    task = story.submit()
    story.begin(task)
    story.handle(Cancelled([task]))
    story.crash()
    assert story.take_orders() == [Stop(task, 1, 15, 10.0, "cancelled")]
    story.end(task, None, signal=15, cause="cancelled")
    assert story.engine.state.tasks == {}


def test_a_cancelled_order_that_no_runner_knows_is_gone() -> None:
    story = Story(1)
    task, behind = story.submit(), story.submit()
    story.handle(Cancelled([task]))
    story.crash(compare=False)
    assert story.handle(RunnersCompared(set())) == [task]
    assert story.record(task).leaving is False
    assert story.status(behind) is Status.RUNNING
