"""What an end means and when to try again: failure classes, backoff, and what a task says of itself.

Pure rules of specification section 3. How a verdict moves a task lives in engine/ends.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.task import Backoff, OnLost

MACHINE_RETRY_S = 5.0
"""Until what the machine lacked (processes, descriptors, memory) is tried again."""

NOT_EXECUTABLE, NOT_FOUND = 126, 127
PERMANENT_CODES = frozenset({NOT_EXECUTABLE, NOT_FOUND})


class Policy(msgspec.Struct, frozen=True):
    """What the engine needs to know of a spec beside its place: shared by all tasks that say the same."""

    kind: str = ""
    retries: int = 0
    backoff: Backoff = Backoff()
    retry_on: frozenset[int] = frozenset()
    no_retry_on: frozenset[int] = frozenset()
    success_codes: frozenset[int] = frozenset()
    on_lost: OnLost = OnLost.COUNT
    stop_signal: int = 15
    grace_s: float = 10.0


class EndKind(StrEnum):
    """How an attempt is judged."""

    SUCCESS = "success"
    PERMANENT = "permanent"
    RETRYABLE = "retryable"
    DEAD = "dead"
    REVOKED = "revoked"
    NOT_COUNTED = "not-counted"
    MACHINE = "machine"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    NEVER_STARTED = "never-started"


class AttemptEnd(msgspec.Struct, kw_only=True):
    """What the runner reports of the end of an attempt (wire/runner, `ended`), as values.

    `cause` tells why it was stopped, if it was: time limit, kill-at, heartbeat, cancelled, interrupted, lost,
    spawn, never started. `error_kind` with cause spawn: command, directory, stdin, output, machine. `report` holds
    the lines of the task's report file in order.
    """

    started_at: float | None = None
    ended_at: float
    run_s: float = 0.0
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    core: bool = False
    cause: str | None = None
    error_kind: str | None = None
    error_message: str | None = None
    report: list[tuple[str, str]] = []
    cpu_user_s: float | None = None
    cpu_system_s: float | None = None
    max_rss: int | None = None
    log_size: int | None = None
    left_behind: int = 0


class Report(msgspec.Struct, kw_only=True):
    """What a task said of itself; the last line of a name counts."""

    outcome: str | None = None
    retry_after_s: float | None = None
    message: str | None = None
    progress: str | None = None
    outputs: dict[str, str] = {}


class Verdict(msgspec.Struct, kw_only=True, frozen=True):
    """The judgement: `message` says what happened in a few words; `at_least_s` is the task's own retry_after."""

    kind: EndKind
    message: str | None = None
    at_least_s: float = 0.0


_OUTCOMES = {
    "success": EndKind.SUCCESS,
    "permanent": EndKind.PERMANENT,
    "dead": EndKind.DEAD,
    "retry": EndKind.RETRYABLE,
    "revoke": EndKind.REVOKED,
    "not-counted": EndKind.NOT_COUNTED,
}

_STOPS = {
    "time limit": (EndKind.RETRYABLE, "time limit reached"),
    "heartbeat": (EndKind.RETRYABLE, "lease expired"),
    "kill-at": (EndKind.PERMANENT, "kill-at time reached"),
}
"""What our own stops mean. Behind its kill-at time a task could only wait to fail, so it does not try again."""


SILENT = Report()
"""The report of a task that said nothing."""
_PLAIN_SUCCESS = Verdict(kind=EndKind.SUCCESS)


def read_report(lines: list[tuple[str, str]]) -> Report:
    """The report's known names; what is unknown or malformed is passed over, as CI systems do."""
    if not lines:
        return SILENT
    report = Report(outputs={})
    for name, value in lines:
        if name == "outcome" and value in _OUTCOMES:
            report.outcome = value
        elif name == "retry_after":
            report.retry_after_s = _read_delay(value, report.retry_after_s)
        elif name == "message":
            report.message = value
        elif name == "progress":
            report.progress = value
        elif name.startswith("output.") and len(name) > len("output."):
            report.outputs[name.removeprefix("output.")] = value
    return report


def _read_delay(text: str, before: float | None) -> float | None:
    try:
        return parse_duration(text)
    except UsageError:
        return before


def judge(policy: Policy, end: AttemptEnd, report: Report) -> Verdict:
    """The verdict on one end: why we stopped it, then the task's own word, then the exit code."""
    if end.exit_code == 0 and end.cause is None and report is SILENT:
        return _PLAIN_SUCCESS
    at_least_s = report.retry_after_s or 0.0
    kind, message = _judge_kind(policy, end, report)
    return Verdict(kind=kind, message=report.message or message, at_least_s=at_least_s)


def _judge_kind(policy: Policy, end: AttemptEnd, report: Report) -> tuple[EndKind, str | None]:
    if end.cause == "lost":
        return EndKind.LOST, "lost: the runner or the machine died"
    if end.cause == "never started":
        return EndKind.NEVER_STARTED, None
    if end.cause == "spawn":
        return _judge_spawn(end)
    if report.outcome is not None:
        return _OUTCOMES[report.outcome], describe_end(end)
    if end.cause == "interrupted":
        return (EndKind.SUCCESS, None) if end.exit_code == 0 else (EndKind.INTERRUPTED, "interrupted")
    if end.cause in _STOPS:
        return _STOPS[end.cause]
    return _judge_code(policy, end), describe_end(end)


def _judge_spawn(end: AttemptEnd) -> tuple[EndKind, str | None]:
    if end.error_kind == "machine":
        return EndKind.MACHINE, end.error_message
    if end.error_kind == "command":
        return EndKind.PERMANENT, end.error_message
    return EndKind.RETRYABLE, end.error_message


def _judge_code(policy: Policy, end: AttemptEnd) -> EndKind:
    code = end.exit_code if end.exit_code is not None else 128 + (end.signal or 0)
    if end.exit_code is not None and (code == 0 or code in policy.success_codes):
        return EndKind.SUCCESS
    if code in policy.no_retry_on:
        return EndKind.PERMANENT
    if policy.retry_on:
        return EndKind.RETRYABLE if code in policy.retry_on else EndKind.PERMANENT
    return EndKind.PERMANENT if code in PERMANENT_CODES else EndKind.RETRYABLE


def describe_end(end: AttemptEnd) -> str | None:
    """`exit 7` or `signal 9`; None for a plain success."""
    if end.signal is not None:
        return f"signal {end.signal}"
    return f"exit {end.exit_code}" if end.exit_code else None


def decide_delay_s(backoff: Backoff, task_id: int, failures: int, at_least_s: float = 0.0) -> float:
    """Seconds until the next attempt after the `failures`-th counted failure (from 1).

    exponential: first, doubling to the most, with a jitter of ±20 % derived from the task and the attempt; linear:
    first × failures to the most; fixed: first; polynomial: n⁴ + 15 + random(0..29)·(n+1) with n from 0 (asynq's).
    What the task asked for is a minimum and never shortens a longer backoff.
    """
    n = max(failures, 1)
    if backoff.kind == "fixed":
        delay = backoff.first_s
    elif backoff.kind == "linear":
        delay = min(backoff.first_s * n, backoff.most_s)
    elif backoff.kind == "polynomial":
        m = n - 1
        delay = float(m**4 + 15 + _draw(task_id, n) % 30 * (m + 1))
    else:
        plain = backoff.most_s if n > 64 else min(backoff.first_s * 2.0 ** (n - 1), backoff.most_s)
        delay = plain * (0.8 + 0.4 * (_draw(task_id, n) % 10_001) / 10_000)
    return max(delay, at_least_s)


def _draw(task_id: int, failures: int) -> int:
    """A number that looks random and depends on nothing else (splitmix64's mixing of two small integers)."""
    mask = (1 << 64) - 1
    value = (task_id * 0x9E3779B97F4A7C15 + failures * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)
