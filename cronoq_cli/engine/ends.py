"""What the runner reports: starts, ends, orders given back, what nobody knows of; and what an end makes of a task.

The judgement itself is pure and stands in model/policy.
"""

from __future__ import annotations

from cronoq_cli.engine import dispatch, occurrences
from cronoq_cli.engine.history import sum_up_attempt
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    AttemptEnded,
    AttemptStarted,
    Forget,
    LeaseReturned,
    RunnerGone,
    RunnersCompared,
    Start,
    Stop,
)
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.policy import (
    MACHINE_RETRY_S,
    SILENT,
    AttemptEnd,
    EndKind,
    Report,
    Verdict,
    decide_delay_s,
    judge,
    read_report,
)
from cronoq_cli.model.task import AttemptRecord, OnLost


def apply_attempt_started(state: State, event: AttemptStarted, now: Now) -> bool:
    """An attempt runs; False when that is no news or about an attempt that is over."""
    task = state.tasks.find_made(event.task)
    if task is None or not task.is_at_runner(event.attempt):
        return False
    if not task.leased and task.pid == event.pid and task.slot == event.slot:
        return False
    if task.leaving:
        _begin_leaving(state, task)
    elif task.leased:
        _begin_leased(state, task, event.at, now)
    task.pid, task.slot, task.started_at = event.pid, event.slot, event.at
    state.touch(task, now)
    state.effects.attempts[task.id, task.attempt] = AttemptRecord(
        task=task.id, number=task.attempt, started_at=event.at, reason=task.start_reason, pid=event.pid
    )
    return True


def _begin_leased(state: State, task: LiveTask, at: float, now: Now) -> None:
    """The runner has started an order given ahead: from here on it runs like any other."""
    pool = state.drop_lease(task)
    if task.recalled or not pool.leased:
        state.wake(task.pool)  # nothing is given ahead beside recalled leases, nor given out beside any
    dispatch.mark_started(state, task, now, at=at)


def _begin_leaving(state: State, task: LiveTask) -> None:
    """An order was started before its cancellation arrived: its slots are taken until its processes are gone."""
    if task.leased:
        task.leased = False
        task.attempt += 1
        state.pools[task.pool].take(task)


def apply_attempt_ended(state: State, event: AttemptEnded, now: Now) -> bool:
    """Judge an end and move the task; False when it is no news. The runner may forget it once this is committed."""
    state.effects.actions.append(Forget(event.task, event.attempt))
    task = state.tasks.find_made(event.task)
    if task is None or not task.is_at_runner(event.attempt):
        return False
    if task.leaving:
        _end_leaving(state, task, event.end, now)
        return True
    if task.leased:
        _begin_leased(state, task, event.end.started_at or now.wall, now)
    _end_running(state, task, event.end, now)
    return True


def _end_leaving(state: State, task: LiveTask, end: AttemptEnd, now: Now) -> None:
    _begin_leaving(state, task)
    _keep_facts(task, end, read_report(end.report))
    _write_attempt(state, task, end, "cancelled", task.reason)
    state.release_gone(task, now)


def _end_running(state: State, task: LiveTask, end: AttemptEnd, now: Now) -> None:
    report = read_report(end.report)
    verdict = judge(task.policy, end, report)
    state.free(task)
    if end.cause is None and end.run_s > 0:
        state.run_times.learn(task.pool, task.policy.kind, end.run_s)
    task.exit_code, task.signal, task.message = end.exit_code, end.signal, verdict.message
    task.started_at = end.started_at or task.started_at
    task.pid = task.slot = task.stop_cause = None
    _keep_facts(task, end, report)
    kind = verdict.kind
    outcome = _OUTCOMES[kind]
    _write_attempt(state, task, end, outcome, verdict.message)
    told = len(state.effects.transitions)
    _MOVES[kind](state, task, verdict, now)
    if outcome != "not-started":
        ended = sum_up_attempt(task, end, outcome)
        state.effects.transitions[told].ended = ended  # the first line since then tells of the end
        state.pools[task.pool].times.add(ended)
    if task.kill_at is not None and task.is_waiting:
        state.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)


def _keep_facts(task: LiveTask, end: AttemptEnd, report: Report) -> None:
    """Keep what the task said and used. The usage and what was left behind are of its last attempt."""
    facts = dict(task.facts) if task.facts else {}
    if report is not SILENT:
        if report.outputs:
            facts["outputs"] = {**facts.get("outputs", {}), **report.outputs}
        if report.progress is not None:
            facts["progress"] = report.progress
    if end.left_behind:
        facts["left_behind"] = end.left_behind
    if end.cpu_user_s is not None:
        facts["usage"] = {
            "cpu_user_s": end.cpu_user_s,
            "cpu_system_s": end.cpu_system_s,
            "max_rss_bytes": end.max_rss,
        }
    task.facts = facts or None


def _write_attempt(state: State, task: LiveTask, end: AttemptEnd, outcome: str, message: str | None) -> None:
    state.pools[task.pool].meter.busy_s += end.run_s * task.slots
    state.effects.attempts[task.id, task.attempt] = AttemptRecord(
        task=task.id,
        number=task.attempt,
        started_at=end.started_at or task.started_at,
        ended_at=end.ended_at,
        run_s=end.run_s,
        outcome=outcome,
        reason=task.start_reason,
        exit_code=end.exit_code,
        signal=end.signal,
        core=end.core,
        cause=end.cause,
        message=message,
        pid=end.pid,
        cpu_user_s=end.cpu_user_s,
        cpu_system_s=end.cpu_system_s,
        max_rss=end.max_rss,
        log_size=end.log_size,
        left_behind=end.left_behind,
    )


# -- what a verdict does -------------------------------------------------------------------------------------------


def _succeed(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.reason = None
    state.move(task, Trigger.SUCCEEDED, Status.SUCCEEDED, now, verdict.message)
    state.finish(task, now)


def _fail(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.reason = verdict.message
    state.move(task, Trigger.FAILED_PERMANENT, Status.FAILED, now)
    state.finish(task, now)


def _bury(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.reason = verdict.message
    state.move(task, Trigger.FAILED_PERMANENT, Status.DEAD_LETTERED, now)
    state.finish(task, now)


def _revoke(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.reason = verdict.message or "revoked by the task"
    state.move(task, Trigger.REVOKED_BY_TASK, Status.CANCELLED, now)
    state.finish(task, now)


def _retry_or_end(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    lost = verdict.kind is EndKind.LOST
    trigger = Trigger.LOST if lost else Trigger.FAILED_RETRYABLE
    if task.attempt < task.max_attempts:
        failures = task.attempt - (task.max_attempts - 1 - task.policy.retries)
        delay_s = decide_delay_s(task.policy.backoff, task.id, failures, verdict.at_least_s)
        _wait_to_retry(state, task, trigger, delay_s, now)
        return
    asked = task.policy.retries > 0
    task.reason = verdict.message
    state.move(task, trigger, Status.DEAD_LETTERED if lost or asked else Status.FAILED, now)
    state.finish(task, now)


def _wait_to_retry(state: State, task: LiveTask, trigger: Trigger, delay_s: float, now: Now) -> None:
    task.due_at = now.wall + delay_s
    task.start_reason = "retry"
    task.reason = task.message
    state.pools[task.pool].totals["retried"] += 1
    state.move(task, trigger, Status.RETRYING, now)
    state.settle(task, now)


def _lose(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    is_manual = task.facts is not None and "manual" in task.facts
    if is_manual:
        task.max_attempts = task.attempt  # who asked for it sees that it is lost, and asks again
    if is_manual or task.policy.on_lost is OnLost.COUNT:
        _retry_or_end(state, task, verdict, now)
    else:
        _back_uncounted(state, task, verdict, Trigger.LOST, now)


def _interrupt(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    _back_uncounted(state, task, verdict, Trigger.INTERRUPTED, now)


def _back_uncounted(state: State, task: LiveTask, verdict: Verdict, trigger: Trigger, now: Now) -> None:
    task.max_attempts += 1
    task.start_reason = "retry"
    task.held = task.policy.on_lost is OnLost.HOLD
    state.move(task, trigger, Status.BLOCKED if task.held else Status.READY, now, verdict.message)
    state.settle(task, now)


def _not_counted(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.max_attempts += 1
    if verdict.at_least_s > 0:
        _wait_to_retry(state, task, Trigger.NOT_COUNTED, verdict.at_least_s, now)
        return
    task.start_reason = "retry"
    state.move(task, Trigger.NOT_COUNTED, Status.READY, now, verdict.message)
    state.settle(task, now)


def _wait_for_machine(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.max_attempts += 1
    _wait_to_retry(state, task, Trigger.MACHINE_LACKS, MACHINE_RETRY_S, now)


def _never_started(state: State, task: LiveTask, verdict: Verdict, now: Now) -> None:
    task.max_attempts += 1
    task.message = None
    state.move(task, Trigger.INTERRUPTED, Status.READY, now, "the order never reached the runner")
    state.settle(task, now)


_MOVES = {
    EndKind.SUCCESS: _succeed,
    EndKind.PERMANENT: _fail,
    EndKind.DEAD: _bury,
    EndKind.REVOKED: _revoke,
    EndKind.RETRYABLE: _retry_or_end,
    EndKind.LOST: _lose,
    EndKind.INTERRUPTED: _interrupt,
    EndKind.NOT_COUNTED: _not_counted,
    EndKind.MACHINE: _wait_for_machine,
    EndKind.NEVER_STARTED: _never_started,
}

_OUTCOMES = {
    EndKind.SUCCESS: "succeeded",
    EndKind.PERMANENT: "failed",
    EndKind.DEAD: "failed",
    EndKind.REVOKED: "cancelled",
    EndKind.RETRYABLE: "failed",
    EndKind.LOST: "lost",
    EndKind.INTERRUPTED: "interrupted",
    EndKind.NOT_COUNTED: "not-counted",
    EndKind.MACHINE: "not-started",
    EndKind.NEVER_STARTED: "not-started",
}


# -- orders given back, and what nobody knows ------------------------------------------------------------------------


def apply_lease_returned(state: State, event: LeaseReturned, now: Now) -> bool:
    """An order came back unstarted: uncounted, in its old place; or, cancelled meanwhile, gone for good."""
    task = state.tasks.find_made(event.task)
    if task is None or not task.is_at_runner(event.attempt):
        return False
    if task.leaving:
        _leave_unstarted(state, task, now)
    elif task.leased:
        dispatch.take_back(state, task, now)
    else:
        end = AttemptEnd(ended_at=now.wall, cause="never started")
        _end_running(state, task, end, now)
    return True


def _leave_unstarted(state: State, task: LiveTask, now: Now) -> None:
    if not task.leased:
        _write_attempt(state, task, AttemptEnd(ended_at=now.wall, cause="never started"), "not-started", None)
    task.leased = False
    state.release_gone(task, now)


def apply_runner_gone(state: State, event: RunnerGone, now: Now) -> None:
    """Nothing starts until it is known what became of the dead runner's attempts."""
    state.compared, state.runner_trouble = False, event.trouble


def apply_runners_compared(state: State, event: RunnersCompared, now: Now) -> list[int]:
    """What no runner knows of never started, or is lost when a start had been seen; returns these tasks.

    Orders that may not have arrived before a runner or a daemon died are given again: stops, and leases asked back.
    Of a start that waits for its commit no runner can know yet: it goes out afterwards."""
    to_come = {(action.task, action.attempt) for action in state.effects.actions if isinstance(action, Start)}
    tasks = [task for task in state.tasks.made() if task.has_process]
    at_runner = [task for task in tasks if (task.id, task.attempt_at_runner) not in to_come]
    unknown = [task for task in at_runner if (task.id, task.attempt_at_runner) not in event.known]
    for task in unknown:
        if task.pid is None:
            apply_lease_returned(state, LeaseReturned(task.id, task.attempt_at_runner), now)
        else:
            end = AttemptEnd(ended_at=now.wall, started_at=task.started_at, pid=task.pid, cause="lost")
            apply_attempt_ended(state, AttemptEnded(task.id, task.attempt_at_runner, end), now)
    for task in at_runner:
        if (task.id, task.attempt_at_runner) in event.known:
            _order_again(state, task)
    state.compared, state.runner_trouble, state.several_runners = True, None, event.several
    occurrences.look_at_waiting(state, now)
    state.wake_all()
    return [task.id for task in unknown]


def _order_again(state: State, task: LiveTask) -> None:
    if task.leaving:
        state.effects.actions.append(
            Stop(task.id, task.attempt_at_runner, task.policy.stop_signal, task.policy.grace_s, "cancelled")
        )
    elif task.leased and (task.recalled or state.pools[task.pool].paused or state.draining or state.stopping):
        task.recalled = False
        state.recall(task)
