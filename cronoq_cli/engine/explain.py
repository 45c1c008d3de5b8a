"""Why a task waits: its blockers, the arithmetic of its score, its place in line, and when it is expected to start.

The estimate runs a fork of the engine forward; what ended a finished task is in `endings`.
"""

from __future__ import annotations

from typing import Any

from cronoq_cli.engine.blockers import Blocker, list_blockers, list_rivals
from cronoq_cli.engine.fork import fork
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.simulate import Simulation
from cronoq_cli.engine.state import State
from cronoq_cli.engine.statistics import SAMPLES_FOR_MEDIAN
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.urgency import decide_urgency

LINE_MOST = 10_000
"""Ready tasks of a pool up to which the place of each is found exactly, by score."""
FORWARD_MOST = 2_000
"""Tasks that are run forward for an estimate: more would keep others waiting for the answer."""
HORIZON_S = 366 * 86_400.0
"""Nothing is foretold beyond."""
NEVER = frozenset({"held", "stopping", "draining", "pool paused", "machine", "lacks label", "cannot fit", "gathered"})
"""Blockers that no passing of time removes."""


def explain(state: State, task: LiveTask, now: Now) -> dict[str, Any]:
    """Everything that can be told of a live task (specification section 8), as plain values.

    `first` is None when nothing keeps it back. `score` is None for one that runs, `running` for one that waits. `place`
    counts from 1 among the ready tasks of its pool; `estimated_start` in unix seconds, None where `estimate_basis` says
    why.
    """
    waits = task.is_waiting
    ahead, rivals = _find_place(state, task, now)
    blockers = list_blockers(state, task, now, rivals)
    estimated_start, basis = _estimate_start(state, task, now, blockers, ahead) if waits else (None, None)
    return {
        "id": task.id,
        "status": task.status.value,
        "first": _describe(blockers[0]) if blockers else None,
        "blockers": [_describe(blocker) for blocker in blockers],
        "score": explain_score(state, task, now) if waits else None,
        "place": None if ahead is None else ahead + 1,
        "ahead": ahead,
        "estimated_start": estimated_start,
        "estimate_basis": basis,
        "running": None if waits else explain_running(state, task),
    }


def describe_explanation(found: dict[str, Any], decided_by: str | None = None) -> dict[str, Any]:
    """The document of an explanation: moments as text; `since` of a blocker is not known."""
    at = found["estimated_start"]
    return {
        **found,
        "blockers": [{**blocker, "since": None} for blocker in found["blockers"]],
        "estimated_start": None if at is None else format_utc(at),
        "decided_by": decided_by,
    }


def _describe(blocker: Blocker) -> dict[str, str]:
    return {"what": blocker.what, "detail": blocker.detail}


def explain_running(state: State, task: LiveTask) -> dict[str, Any]:
    """Since when it runs, how long it is expected to, and what that rests on."""
    return {
        "started_at": None if task.started_at is None else format_utc(task.started_at),
        "expected_s": state.expected_s(task),
        "basis": describe_basis(state, task),
    }


# -- the score -------------------------------------------------------------------------------------------------------


def explain_score(state: State, task: LiveTask, now: Now) -> dict[str, Any]:
    """The score term by term (specification section 4): `total` is the sum of base, wait_points and urgency."""
    scoring = state.scoring
    wait_s = 0.0 if task.ready_at is None else max(0.0, now.wall - task.ready_at)
    base, wait_points = scoring.bases[task.priority], min(scoring.rate * wait_s, scoring.cap)
    expected_s, deadline = state.expected_s(task), task.when.deadline
    urgency = 0.0 if deadline is None else decide_urgency(deadline, expected_s, now.wall)
    return {
        "base": base,
        "wait_s": wait_s,
        "rate": scoring.rate,
        "wait_points": wait_points,
        "urgency": urgency,
        "total": base + wait_points + urgency,
        "slack_s": None if deadline is None else deadline - expected_s - now.wall,
        "expected_s": expected_s,
        "basis": describe_basis(state, task),
    }


def describe_basis(state: State, task: LiveTask) -> str:
    """What the expected run time of a task rests on."""
    if task.when.estimate_s is not None:
        return "estimate"
    known = state.run_times.find_run_time(task.pool, task.policy.kind)
    if known is None:
        return "default"
    runs = f"{known.count} run{'s' if known.count > 1 else ''}"
    return f"learned median of {runs}" if known.count >= SAMPLES_FOR_MEDIAN else f"mean of {runs}"


# -- the place -------------------------------------------------------------------------------------------------------


def _find_place(state: State, task: LiveTask, now: Now) -> tuple[int | None, int]:
    """How many ready tasks of its pool stand before it, and how many of these want what it wants."""
    pool = state.pools[task.pool]
    if task.status is not Status.READY or task.id in pool.unfit:
        return None, 0
    if sum(pool.ready) > LINE_MOST:
        ahead = _count_before(state, pool, task)
        return ahead, ahead
    is_rival = list_rivals(pool, task)
    ahead = rivals = 0
    for other in pool.lanes.first(sum(pool.ready), lambda one: state.place(one, now.wall)):
        if other.id == task.id:
            break
        ahead += 1
        rivals += is_rival(other)
    return ahead, rivals


def _count_before(state: State, pool: LivePool, task: LiveTask) -> int:
    """The same of a long line, by class and sequence alone."""
    higher = sum(pool.ready[task.priority + 1 :])
    name, priority, seq = pool.name, task.priority, task.seq
    ahead = sum(
        one.seq < seq and one.priority == priority and one.pool == name and one.status is Status.READY
        for one in state.tasks.made()
    )
    runs = (run for run in state.tasks.runs() if run.sample.pool == name and run.sample.priority == priority)
    return higher + ahead + sum(run.count_before(seq) for run in runs)


# -- the estimate ----------------------------------------------------------------------------------------------------


def _estimate_start(
    state: State, task: LiveTask, now: Now, blockers: list[Blocker], ahead: int | None
) -> tuple[float | None, str]:
    never = next((blocker for blocker in blockers if blocker.what in NEVER), None)
    if never is not None:
        return None, f"{never.what}: {never.detail}"
    if len(state.tasks) <= FORWARD_MOST:
        return _run_forward(state, task, now, None, "what runs and waits, run forward by expected run times")
    if ahead is None:
        return None, f"more than {FORWARD_MOST} tasks are waiting: too many to run forward"
    if ahead < FORWARD_MOST:
        pool = state.pools[task.pool]
        before = pool.lanes.first(ahead + 1, lambda one: state.place(one, now.wall))
        return _run_forward(
            state, task, now, before, "what runs and stands before it in its pool, by expected run times"
        )
    return _estimate_by_work(state, task, now, ahead)


def _run_forward(
    state: State, task: LiveTask, now: Now, tasks: list[LiveTask] | None, basis: str
) -> tuple[float | None, str]:
    """The start of the task in a fork, with expected run times, all attempts succeeding."""
    attempt = task.attempt
    twin = fork(state, None if tasks is None else [*tasks, task])
    mine = twin.state.tasks[task.id]
    simulation = Simulation(twin, now)
    simulation.run(HORIZON_S, until=lambda: mine.attempt > attempt or not mine.is_waiting)
    if mine.attempt > attempt:
        return mine.started_at, basis
    if mine.is_waiting:
        return None, "it never starts as things stand"
    return None, f"it ends without a start: {mine.reason or mine.status.value}"


def _estimate_by_work(state: State, task: LiveTask, now: Now, ahead: int) -> tuple[float | None, str]:
    """The work before it, shared by the workers: for lines too long to run forward."""
    pool = state.pools[task.pool]
    workers = sum(pool.sets[number].workers for number in pool.list_sets(task))
    if workers <= 0:
        return None, f"pool {pool.name} has no workers"
    before = pool.lanes.first(min(ahead, LINE_MOST), lambda one: state.place(one, now.wall))
    work_s = sum(one.slots * state.expected_s(one) for one in before) * ahead / max(1, len(before))
    for one in pool.running.values():
        ran_s = now.wall - (now.wall if one.started_at is None else one.started_at)
        work_s += one.slots * max(0.0, state.expected_s(one) - ran_s)
    basis = f"{ahead} tasks stand before it, {work_s:.3g} s of work for {workers} workers"
    return now.wall + work_s / workers, basis
