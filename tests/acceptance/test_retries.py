"""Failing and trying again, with the real command: classes of failure, backoff, dead letters, what a task says."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

QUICK = ("--backoff", "fixed:1ms")


@pytest.fixture(scope="module")
def one(shared) -> Any:
    shared.configure(
        '[pools.default]\nworkers = 4\n[pools.stubborn]\nworkers = 2\nretries = 1\nbackoff = "fixed:1ms"\n'
    )
    return shared


def ended(cronoq: Any, script: str, *options: str) -> dict[str, Any]:
    """The document of a task that has ended."""
    return dict(cronoq.wait_for(cronoq.submit(*options, "--", "sh", "-c", script)))


def test_a_failure_is_final_unless_retries_were_asked_for(one) -> None:
    task = ended(one, "exit 3")
    assert (task["status"], task["attempt"], task["max_attempts"]) == ("failed", 1, 1)
    task = ended(one, "exit 3", "--retries", "0")
    assert (task["status"], task["attempt"]) == ("failed", 1)


def test_a_task_is_tried_as_often_as_asked_and_then_a_dead_letter(one) -> None:
    task = ended(one, "echo $CRONOQ_ATTEMPT of $CRONOQ_MAX_ATTEMPTS, $CRONOQ_REASON; exit 3", "--retries", "2", *QUICK)
    assert (task["status"], task["attempt"], task["exit_code"]) == ("dead_lettered", 3, 3)
    assert [attempt["exit_code"] for attempt in task["attempts"]] == [3, 3, 3]
    assert one.logs(task["id"], "--attempt", "1") == b"1 of 3, submitted\n"
    assert one.logs(task["id"]) == b"3 of 3, retry\n"


def test_success_on_a_later_attempt_is_success(one) -> None:
    task = ended(one, "test $CRONOQ_ATTEMPT = 3", "--retries", "5", *QUICK)
    assert (task["status"], task["attempt"], task["exit_code"]) == ("succeeded", 3, 0)


def test_a_pool_can_ask_for_retries(one) -> None:
    task = ended(one, "exit 3", "-p", "stubborn")
    assert (task["status"], task["attempt"], task["max_attempts"]) == ("dead_lettered", 2, 2)
    task = ended(one, "exit 3", "-p", "stubborn", "--retries", "0")
    assert (task["status"], task["attempt"]) == ("failed", 1)


@pytest.mark.parametrize(
    ("script", "options", "attempts", "status"),
    [
        ("exit 126", [], 1, "failed"),
        ("exit 127", [], 1, "failed"),
        ("exit 127", ["--retry-on", "127"], 3, "dead_lettered"),
        ("exit 5", ["--no-retry-on", "5"], 1, "failed"),
        ("exit 6", ["--no-retry-on", "5"], 3, "dead_lettered"),
        ("exit 5", ["--retry-on", "5,7-9"], 3, "dead_lettered"),
        ("exit 8", ["--retry-on", "5,7-9"], 3, "dead_lettered"),
        ("exit 5", ["--success-codes", "5"], 1, "succeeded"),
        ("kill -KILL $$", [], 3, "dead_lettered"),
        ("sleep 60", ["--timeout", "100ms"], 3, "dead_lettered"),
        ("true", ["-C", "/nonexistent"], 3, "dead_lettered"),
        ("true", ["--stdin", "/nonexistent"], 3, "dead_lettered"),
    ],
    ids=str,
)
def test_classes_of_failure_decide_about_another_attempt(one, script, options, attempts, status) -> None:
    task = ended(one, script, "--retries", "2", *QUICK, *options)
    assert (task["status"], task["attempt"]) == (status, attempts), task["reason"]


@pytest.mark.parametrize("value", ["0.3", "300ms"])
def test_a_time_limit_below_a_second_acts_in_time(one, value) -> None:
    task = ended(one, "sleep 60", "--timeout", value)
    assert task["status"] == "failed"
    assert 0.3 <= task["run_s"] < 5


def test_the_delay_grows_as_the_backoff_says_within_its_jitter(one) -> None:
    task = ended(one, "exit 1", "--retries", "2", "--backoff", "exponential:300ms..10s")
    moments = [
        (datetime.fromisoformat(a["started_at"]), datetime.fromisoformat(a["finished_at"])) for a in task["attempts"]
    ]
    first, second = ((moments[n + 1][0] - moments[n][1]).total_seconds() for n in (0, 1))
    assert first >= 0.3 * 0.8 - 0.01
    assert second >= 0.6 * 0.8 - 0.01


def test_a_retrying_task_frees_its_slot_and_can_be_started_now_or_cancelled(one) -> None:
    task_id = one.submit("--retries", "2", "--backoff", "fixed:1h", "--", "false")
    task = one.wait_for(task_id, "retrying")
    assert task["not_before"] is not None
    assert one.ask("pool", "show", "default")["pool"]["busy"] == 0
    one.ok("start-now", task_id)
    one.wait_until(lambda: one.show(task_id)["attempt"] == 2)
    one.wait_for(task_id, "retrying")
    one.ok("cancel", task_id)
    assert one.show(task_id)["status"] == "cancelled"


def test_retry_of_a_dead_letter_gives_as_many_attempts_again(one) -> None:
    task_id = ended(one, "exit 1", "--retries", "1", *QUICK)["id"]
    one.ok("retry", task_id)
    task = one.wait_for(task_id, "dead_lettered")
    assert task["attempt"] == 4


@pytest.mark.parametrize(
    ("lines", "code", "status", "attempts"),
    [
        (["outcome=success"], 3, "succeeded", 1),
        (["outcome=permanent"], 0, "failed", 1),
        (["outcome=dead"], 1, "dead_lettered", 1),
        (["outcome=revoke"], 0, "cancelled", 1),
        (["outcome=retry"], 0, "dead_lettered", 3),
        (["nonsense", "outcome=success", "key=with=signs"], 3, "succeeded", 1),
    ],
    ids=str,
)
def test_what_the_task_says_wins_over_its_exit_code(one, lines, code, status, attempts) -> None:
    script = "".join(f"echo '{line}' >> $CRONOQ_REPORT; " for line in lines) + f"exit {code}"
    task = ended(one, script, "--retries", "2", *QUICK)
    assert (task["status"], task["attempt"]) == (status, attempts)


def test_not_counted_is_tried_again_without_counting(one) -> None:
    script = 'test $CRONOQ_ATTEMPT = 3 || echo outcome=not-counted >> "$CRONOQ_REPORT"; test $CRONOQ_ATTEMPT = 3'
    task = ended(one, script, "--retries", "0", *QUICK)
    assert (task["status"], task["attempt"]) == ("succeeded", 3)


def test_retry_after_is_a_minimum_for_the_delay(one) -> None:
    task_id = one.submit("--retries", "1", *QUICK, "--", "sh", "-c", "echo retry_after=1h >> $CRONOQ_REPORT; exit 1")
    task = one.wait_for(task_id, "retrying")
    assert (
        datetime.fromisoformat(task["not_before"]) - datetime.fromisoformat(task["updated_at"])
    ).total_seconds() > 3500
    one.ok("cancel", task_id)


def test_a_task_without_sign_of_life_is_stopped_and_tried_again(one) -> None:
    task = ended(one, "sleep 60", "--heartbeat", "200ms", "--retries", "1", *QUICK)
    assert (task["status"], task["attempt"]) == ("dead_lettered", 2)
    assert "lease expired" in task["reason"]
    alive = ended(one, "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", "--heartbeat", "2s")
    assert alive["status"] == "succeeded"


def test_a_dead_letter_does_not_keep_its_key(one) -> None:
    first = ended(one, "exit 1", "--retries", "1", *QUICK, "--key", "nightly")
    assert first["status"] == "dead_lettered"
    second = one.submit("--key", "nightly", "--if-exists", "refuse", "--", "true")
    assert second != first["id"]
