"""What decided the end of a finished task, in a sentence, from what is recorded of it.

The judgement itself is model/policy's; nothing is decided anew here.
"""

from __future__ import annotations

from collections.abc import Sequence

from cronoq_cli.model.lifecycle import BAD_ENDS, Status
from cronoq_cli.model.policy import PERMANENT_CODES, Policy
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, TaskRecord

_WANTED = {
    Condition.SUCCESS: "was to succeed",
    Condition.FAIL: "was to fail",
    Condition.ANY: "was to end",
    Condition.GONE: "was to be gone",
}

_STOPPED = {
    "time limit": "its time limit was reached",
    "heartbeat": "it gave no sign of life in time",
    "kill-at": "its kill-at time was reached",
}


def explain_ended(
    record: TaskRecord,
    attempts: Sequence[AttemptRecord] = (),
    edges: Sequence[Edge] = (),
    batch: Batch | None = None,
    policy: Policy | None = None,
) -> str:
    """What decided the end of a task with a final status.

    `edges`: its dependencies, closed ones too; `policy`: what holds of its retries, to say why there was none.
    """
    tell = _TELLERS.get(record.status)
    if tell is not None:
        return tell(record)
    if record.status is Status.SKIPPED:
        return _tell_skipped(record, edges)
    if record.status is Status.CANCELLED:
        return _tell_cancelled(record, batch)
    return _tell_run(record, attempts, policy)


def _tell_missed(record: TaskRecord) -> str:
    return record.reason or "its time passed before it could start"


def _tell_shed(record: TaskRecord) -> str:
    return f"dropped while the queue was full: {record.reason}" if record.reason else "dropped while the queue was full"


_TELLERS = {Status.MISSED: _tell_missed, Status.SHED: _tell_shed}


def _tell_skipped(record: TaskRecord, edges: Sequence[Edge]) -> str:
    """The dependency that could not be met; the reason begins with the task that ended."""
    reason = record.reason or "a dependency could not be met"
    target = reason.split(" ", 1)[0]
    broken = next((edge for edge in edges if str(edge.target) == target), None)
    if broken is None:
        return f"its dependency could not be met: {reason}" if record.reason else reason
    return f"task {target} {_WANTED[broken.condition]}, but it ended {reason.removeprefix(target).strip()}"


def _tell_cancelled(record: TaskRecord, batch: Batch | None) -> str:
    reason = record.reason or "cancelled"
    if batch is not None and batch.max_fails is not None and batch.failed > batch.max_fails:
        return f"{reason}: {batch.failed} of its batch failed, at most {batch.max_fails} may"
    return reason


def _tell_run(record: TaskRecord, attempts: Sequence[AttemptRecord], policy: Policy | None) -> str:
    """Success, failure or dead letter: the last attempt, how many there were, and why there was no other."""
    ran = [attempt for attempt in attempts if attempt.outcome not in (None, "not-started")]
    last = ran[-1] if ran else None
    facts = [_tell_end(record, last)]
    stopped = last is not None and last.cause in _STOPPED
    if record.reason and record.status is not Status.SUCCEEDED and record.reason not in facts[0] and not stopped:
        facts.append(record.reason)
    count = record.attempt
    if record.status is Status.SUCCEEDED:
        facts += [f"at attempt {count}"] if count > 1 else []
    elif count:
        facts.append(_tell_retries(record, last, policy))
    return ", ".join(fact for fact in facts if fact)


def _tell_end(record: TaskRecord, last: AttemptRecord | None) -> str:
    cause = None if last is None else last.cause
    if cause is not None and cause != "spawn":
        return _STOPPED.get(cause, cause)
    if record.signal is not None:
        return f"signal {record.signal}"
    if record.exit_code is not None:
        own = " by --success-codes" if record.status is Status.SUCCEEDED and record.exit_code else ""
        return f"exit {record.exit_code}{own}"
    return record.message or record.reason or record.status.value.replace("_", " ")


def _tell_retries(record: TaskRecord, last: AttemptRecord | None, policy: Policy | None) -> str:
    count, most = record.attempt, record.max_attempts
    if record.status in BAD_ENDS and count >= most:
        if count == 1:
            return "no retries"
        return f"all {count} attempts are used"
    if policy is not None and record.exit_code is not None:
        if record.exit_code in policy.no_retry_on:
            return "not tried again: --no-retry-on"
        if policy.retry_on and record.exit_code not in policy.retry_on:
            return "not tried again: not in --retry-on"
    if record.exit_code in PERMANENT_CODES or (last is not None and last.cause == "spawn"):
        return "trying again would not help"
    return f"attempt {count} of {most}"
