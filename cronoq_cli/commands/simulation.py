"""A simulation as `simulate` wants it: the engine, what is different, the run, and the document of what came out.

The words stand in `simulate`, how a scenario is read in `scenario`; no scheduling here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.planning import QueueSnapshot, restore_engine
from cronoq_cli.commands.reading import read_text
from cronoq_cli.commands.scenario import find_positions, parse_scenario
from cronoq_cli.commands.what_if import Differences
from cronoq_cli.commands.zone import load_machine_zone
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.schedule_changes import restore_schedules
from cronoq_cli.engine.simulate import Simulation
from cronoq_cli.engine.simulated import Arrival, Outcome, PlannedRun, PoolUse, SimulatedTask
from cronoq_cli.engine.what_if import fix_workers, leave_out, set_resources
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.ids import find_run
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.recurring import Schedule
from cronoq_cli.model.task import Priority, TaskSpec
from cronoq_cli.model.words import RESERVED_KEY
from cronoq_cli.store.collector import without_collector

LAST_S = 0.001
"""A stretch of time ends before its last instant, where the next one begins."""


def run_simulation(
    context: Context, snapshot: QueueSnapshot, wanted: Differences, file: str | None, horizon_s: float | None
) -> dict[str, Any]:
    """The document of a simulation: of the queue in the snapshot, or of the scenario in `file`.

    Raises NotFoundError, InvalidError and UsageError for what the differences or the scenario name wrongly.
    """
    now = Now(context.now(), 0.0)
    engine = restore_engine(snapshot, now, empty=file is not None)
    _change(engine, wanted, now)
    if file is None:
        simulation = _prepare_queue(engine, now, snapshot, wanted)
    else:
        arrivals = parse_scenario(read_text(context, file), context, snapshot)
        simulation = _prepare_scenario(engine, now, wanted, arrivals)
    with without_collector():
        outcome = simulation.run(horizon_s)
    return describe_simulation(outcome, horizon_s=horizon_s, what_if=_describe_changes(wanted))


def simulate_schedules(
    schedules: Sequence[Schedule], snapshot: QueueSnapshot, wanted: Differences, from_at: float, for_s: float
) -> dict[str, Any]:
    """The document of a run of these schedules alone, from a moment on; with what became of each under `recurring`."""
    now = Now(from_at, 0.0)
    engine = restore_engine(snapshot, now, empty=True)
    _change(engine, wanted, now)
    engine.state.schedules.zone = load_machine_zone()
    restore_schedules(engine.state, schedules, now)

    def plan_of(spec: TaskSpec) -> PlannedRun:
        return PlannedRun(timeout_s=snapshot.find_timeout_s(spec))

    with without_collector():
        outcome = Simulation(engine, now, plan_of=plan_of).run(for_s - LAST_S)
    outcome.ended_at = max(outcome.ended_at, from_at + for_s)
    doc = describe_simulation(outcome, horizon_s=for_s, what_if=_describe_changes(wanted))
    return doc | {"recurring": describe_days([one.spec.name for one in schedules], outcome)}


def _change(engine: Engine, wanted: Differences, now: Now) -> None:
    fix_workers(engine, _for_pools(wanted.workers, list(engine.state.pools)), now)
    set_resources(engine, wanted.resources, now)


def _describe_changes(wanted: Differences) -> dict[str, Any]:
    return {
        "workers": {name or "*": count for name, count in wanted.workers.items()},
        "without": list(wanted.without),
        "resources": dict(wanted.resources),
    }


def _prepare_queue(engine: Engine, now: Now, snapshot: QueueSnapshot, wanted: Differences) -> Simulation:
    leave_out(engine, _find_ids(wanted.without, snapshot), now)
    return Simulation(engine, now, runs=snapshot.list_runs(), specs=snapshot.list_specs())


def _prepare_scenario(engine: Engine, now: Now, wanted: Differences, arrivals: list[Arrival]) -> Simulation:
    gone = find_positions(wanted.without, arrivals)
    arrivals = [
        msgspec.structs.replace(one, left_out=True) if place in gone else one for place, one in enumerate(arrivals)
    ]
    return Simulation(engine, now, arrivals=arrivals)


def _for_pools(workers: Mapping[str | None, int], pools: list[str]) -> dict[str, int]:
    """The number for every pool, and those of single pools over it."""
    named = {name: count for name, count in workers.items() if name is not None}
    return {**dict.fromkeys(pools, workers[None]), **named} if None in workers else named


def _find_ids(refs: Sequence[str], snapshot: QueueSnapshot) -> list[int]:
    """The live tasks that references mean. Raises NotFoundError."""
    live = {record.id for record in snapshot.kept.tasks}
    keys = {record.spec.key: record.id for record in snapshot.kept.tasks if record.spec.key is not None}
    ids: list[int] = []
    for ref in refs:
        run = find_run(ref)
        named = [keys[ref]] if ref in keys else [max(live, default=0)] if ref == RESERVED_KEY else []
        found = [task_id for task_id in (named if run is None else run) if task_id in live]
        if not found:
            raise NotFoundError(f"--without: no task {ref} is waiting or running", hint="cronoq ls shows what is")
        ids += found
    return list(dict.fromkeys(ids))


# -- the document ----------------------------------------------------------------------------------------------------


def describe_simulation(outcome: Outcome, *, horizon_s: float | None, what_if: Mapping[str, Any]) -> dict[str, Any]:
    """The document of an outcome, below `simulation`. `complete`: every task ended."""
    deadlines, missed = outcome.count_deadlines()
    fixed, late = outcome.count_fixed()
    return {
        "from": format_utc(outcome.began_at),
        "until": format_utc(outcome.ended_at),
        "makespan_s": outcome.makespan_s,
        "horizon_s": horizon_s,
        "complete": outcome.is_whole,
        "what_if": what_if,
        "counts": {status.value: count for status, count in outcome.count_by_status().items()},
        "deadlines": {"total": deadlines, "missed": missed},
        "fixed_starts": {"total": fixed, "late": late},
        "pools": [_describe_pool(use) for use in outcome.pools],
        "tasks": [_describe_task(row, outcome.ended_at) for row in outcome.tasks],
        "refused": [
            {"line": arrival.what.removeprefix("line "), "name": arrival.newcomer.spec.name, "reason": reason}
            for arrival, reason in outcome.refused
        ],
    }


def _describe_pool(use: PoolUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "workers": use.workers,
        "most_busy": use.most_busy,
        "started": use.started,
        "busy_s": use.busy_s,
        "utilisation": use.utilisation,
    }


def _describe_task(row: SimulatedTask, until: float) -> dict[str, Any]:
    started_at, ready_at = row.started_at, row.submitted_at if row.ready_at is None else row.ready_at
    runs = [{"started_at": format_utc(start), "finished_at": _moment(end)} for start, end in row.runs]
    ran_s = sum((until if end is None else end) - start for start, end in row.runs)
    return {
        "id": row.id,
        "name": None if row.spec is None else row.spec.name,
        "key": None if row.spec is None else row.spec.key,
        "pool": row.pool,
        "priority": Priority(row.priority).word,
        "status": row.status.value,
        "reason": row.reason,
        "submitted_at": format_utc(row.submitted_at),
        "started_at": _moment(started_at),
        "finished_at": _moment(row.ended_at),
        "wait_s": None if started_at is None else max(0.0, started_at - ready_at),
        "run_s": ran_s if row.runs else None,
        "attempts": runs,
        "deadline": _moment(row.deadline),
        "deadline_missed": row.misses_deadline(until),
        "start_at": _moment(row.start_at),
        "late_s": row.late_s,
    }


def describe_days(names: Sequence[str], outcome: Outcome) -> list[dict[str, Any]]:
    """What became of each schedule: how often it ran, waited and was left out, by name in the given order."""
    found: dict[str, dict[str, Any]] = {
        name: {
            "name": name,
            "runs": 0,
            "not_started": 0,
            "skipped": 0,
            "missed": 0,
            "busy_s": 0.0,
            "longest_wait_s": 0.0,
        }
        for name in names
    }
    for row in outcome.tasks:
        if row.spec is not None and row.spec.recurring in found:
            _count(found[row.spec.recurring], row, outcome.ended_at)
    for slots in outcome.passed:
        found[slots.schedule][slots.status] += slots.count
    return list(found.values())


def _count(one: dict[str, Any], row: SimulatedTask, until: float) -> None:
    if row.status in (Status.MISSED, Status.SKIPPED):
        one[row.status.value] += 1
    elif row.started_at is None:
        one["not_started"] += 1
    else:
        one["runs"] += 1
        one["busy_s"] += sum((until if end is None else end) - start for start, end in row.runs)
        ready_at = row.submitted_at if row.ready_at is None else row.ready_at
        one["longest_wait_s"] = max(one["longest_wait_s"], row.started_at - ready_at)


def _moment(at: float | None) -> str | None:
    return None if at is None else format_utc(at)
