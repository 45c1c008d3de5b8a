"""Failure classes, what a task says of itself, and every kind of backoff."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.model.policy import AttemptEnd, EndKind, Policy, decide_delay_s, judge, read_report
from cronoq_cli.model.task import Backoff


def judged(policy: Policy | None = None, **fields: Any) -> tuple[EndKind, str | None]:
    """Kind and message of the verdict on an end."""
    end = AttemptEnd(ended_at=1.0, **fields)
    verdict = judge(policy or Policy(), end, read_report(end.report))
    return verdict.kind, verdict.message


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"exit_code": 0}, EndKind.SUCCESS, None),
        ({"exit_code": 7}, EndKind.RETRYABLE, "exit 7"),
        ({"signal": 9}, EndKind.RETRYABLE, "signal 9"),
        ({"exit_code": 126}, EndKind.PERMANENT, "exit 126"),
        ({"exit_code": 127}, EndKind.PERMANENT, "exit 127"),
        ({"cause": "lost"}, EndKind.LOST, "lost: the runner or the machine died"),
        ({"cause": "never started"}, EndKind.NEVER_STARTED, None),
        ({"cause": "interrupted", "signal": 15}, EndKind.INTERRUPTED, "interrupted"),
        ({"cause": "interrupted", "exit_code": 1}, EndKind.INTERRUPTED, "interrupted"),
        ({"cause": "interrupted", "exit_code": 0}, EndKind.SUCCESS, None),
        ({"cause": "time limit", "exit_code": 0}, EndKind.RETRYABLE, "time limit reached"),
        ({"cause": "heartbeat", "signal": 9}, EndKind.RETRYABLE, "lease expired"),
        ({"cause": "kill-at", "signal": 15}, EndKind.PERMANENT, "kill-at time reached"),
    ],
)
def test_an_end_is_judged_by_why_it_was_stopped_then_by_its_code(
    fields: dict[str, Any], kind: EndKind, message: str | None
) -> None:
    assert judged(**fields) == (kind, message)


@pytest.mark.parametrize(
    ("error_kind", "kind"),
    [
        ("command", EndKind.PERMANENT),
        ("directory", EndKind.RETRYABLE),
        ("stdin", EndKind.RETRYABLE),
        ("output", EndKind.RETRYABLE),
        ("machine", EndKind.MACHINE),
    ],
)
def test_what_could_not_be_started_is_judged_by_what_was_missing(error_kind: str, kind: EndKind) -> None:
    fields = {"cause": "spawn", "error_kind": error_kind, "error_message": "why", "report": [("outcome", "success")]}
    assert judged(**fields) == (kind, "why")


def test_codes_named_by_the_user_override_the_classes() -> None:
    assert judged(Policy(retry_on=frozenset({127})), exit_code=127)[0] is EndKind.RETRYABLE
    assert judged(Policy(retry_on=frozenset({3})), exit_code=4)[0] is EndKind.PERMANENT
    assert judged(Policy(no_retry_on=frozenset({4})), exit_code=4)[0] is EndKind.PERMANENT
    assert judged(Policy(no_retry_on=frozenset({4}), retry_on=frozenset({4})), exit_code=4)[0] is EndKind.PERMANENT
    assert judged(Policy(retry_on=frozenset({137})), signal=9)[0] is EndKind.RETRYABLE
    assert judged(Policy(success_codes=frozenset({4, 137})), exit_code=4)[0] is EndKind.SUCCESS
    assert judged(Policy(success_codes=frozenset({137})), signal=9)[0] is EndKind.RETRYABLE, "a signal is no exit"


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("success", EndKind.SUCCESS),
        ("permanent", EndKind.PERMANENT),
        ("dead", EndKind.DEAD),
        ("retry", EndKind.RETRYABLE),
        ("revoke", EndKind.REVOKED),
        ("not-counted", EndKind.NOT_COUNTED),
    ],
)
def test_the_outcome_in_the_report_wins_over_code_and_stop_but_not_over_loss(outcome: str, kind: EndKind) -> None:
    report = [("outcome", outcome)]
    for fields in ({"exit_code": 0}, {"exit_code": 127}, {"cause": "time limit"}, {"cause": "interrupted"}):
        assert judged(report=report, **fields)[0] is kind
    assert judged(report=report, cause="lost")[0] is EndKind.LOST


def test_of_a_report_the_last_good_line_of_a_name_counts() -> None:
    lines = [
        *[("outcome", "retry"), ("outcome", "nonsense"), ("retry_after", "30s"), ("retry_after", "soon")],
        *[
            ("message", "a"),
            ("message", "b"),
            ("progress", "1/2"),
            ("output.x", "1"),
            ("output.x", "2"),
            ("output.", "3"),
        ],
        ("unheard", "of"),
    ]
    report = read_report(lines)
    assert (report.outcome, report.retry_after_s, report.message, report.progress) == ("retry", 30.0, "b", "1/2")
    assert report.outputs == {"x": "2"}
    assert read_report([]).outputs is not report.outputs


def test_the_message_of_the_task_is_shown_instead_of_ours() -> None:
    assert judged(exit_code=3, report=[("message", "no disk")]) == (EndKind.RETRYABLE, "no disk")


# -- backoff -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff("fixed", 7.0, 7.0), [7.0, 7.0, 7.0]),
        (Backoff("fixed", 0.0, 0.0), [0.0, 0.0]),
        (Backoff("linear", 10.0, 25.0), [10.0, 20.0, 25.0, 25.0]),
    ],
)
def test_plain_backoffs_are_exact(backoff: Backoff, delays: list[float]) -> None:
    assert [decide_delay_s(backoff, 1, failures) for failures in range(1, len(delays) + 1)] == delays


@given(task=st.integers(1, 10**9), failures=st.integers(1, 200))
def test_exponential_doubles_to_the_most_within_twenty_percent(task: int, failures: int) -> None:
    delay = decide_delay_s(Backoff(), task, failures)
    plain = min(10.0 * 2.0 ** (failures - 1), 600.0)
    assert 0.8 * plain <= delay <= 1.2 * plain
    assert delay == decide_delay_s(Backoff(), task, failures), "no chance in it"


def test_the_jitter_differs_between_tasks_and_attempts_and_fills_its_range() -> None:
    shares = [decide_delay_s(Backoff(), task, 1) / 10.0 for task in range(1, 2001)]
    assert len(set(shares)) > 1500
    assert min(shares) < 0.82
    assert max(shares) > 1.18
    assert abs(sum(shares) / len(shares) - 1.0) < 0.01
    assert decide_delay_s(Backoff("exponential", 600.0, 600.0), 5, 1) != decide_delay_s(
        Backoff("exponential", 600.0, 600.0), 5, 2
    )


@given(task=st.integers(1, 10**9), n=st.integers(0, 50))
def test_polynomial_is_n_to_the_fourth_and_a_little_chance(task: int, n: int) -> None:
    chance = decide_delay_s(Backoff(kind="polynomial"), task, n + 1) - n**4 - 15
    assert chance % (n + 1) == 0
    assert 0 <= chance // (n + 1) <= 29


@given(kind=st.sampled_from(["fixed", "linear", "exponential", "polynomial"]), asked=st.floats(0, 1e6))
def test_what_the_task_asks_for_never_shortens_a_longer_backoff(kind: str, asked: float) -> None:
    backoff = Backoff(kind=kind)
    assert decide_delay_s(backoff, 3, 2, asked) == max(asked, decide_delay_s(backoff, 3, 2))
