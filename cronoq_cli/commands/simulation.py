"""A simulation as `simulate` wants it: the engine, what is different, the run, and the document of what came out.

The words stand in `simulate`, how a scenario is read in `scenario`; no scheduling here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.planning import QueueSnapshot, restore_engine
from cronoq_cli.commands.reading import read_text
from cronoq_cli.commands.scenario import find_positions, parse_scenario
from cronoq_cli.commands.simulate import Differences
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.simulate import Simulation
from cronoq_cli.engine.simulated import Arrival, Outcome, PoolUse, SimulatedTask
from cronoq_cli.engine.what_if import fix_workers, leave_out, set_resources
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.ids import find_run
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.task import Priority
from cronoq_cli.model.words import RESERVED_KEY
from cronoq_cli.store.collector import without_collector


def run_simulation(
    context: Context, snapshot: QueueSnapshot, wanted: Differences, file: str | None, horizon_s: float | None
) -> dict[str, Any]:
    """The document of a simulation: of the queue in the snapshot, or of the scenario in `file`.

    Raises NotFoundError, InvalidError and UsageError for what the differences or the scenario name wrongly.
    """
    now = Now(context.now(), 0.0)
    engine = restore_engine(snapshot, now, empty=file is not None)
    fix_workers(engine, _for_pools(wanted.workers, list(engine.state.pools)), now)
    set_resources(engine, wanted.resources, now)
    if file is None:
        simulation = _prepare_queue(engine, now, snapshot, wanted)
    else:
        arrivals = parse_scenario(read_text(context, file), context, snapshot)
        simulation = _prepare_scenario(engine, now, wanted, arrivals)
    what_if = {
        "workers": {name or "*": count for name, count in wanted.workers.items()},
        "without": list(wanted.without),
        "resources": dict(wanted.resources),
    }
    with without_collector():
        outcome = simulation.run(horizon_s)
    return describe_simulation(outcome, horizon_s=horizon_s, what_if=what_if)


def _prepare_queue(engine: Engine, now: Now, snapshot: QueueSnapshot, wanted: Differences) -> Simulation:
    leave_out(engine, _find_ids(wanted.without, snapshot), now)
    return Simulation(engine, now, runs=snapshot.list_runs(), specs=snapshot.list_specs())


def _prepare_scenario(engine: Engine, now: Now, wanted: Differences, arrivals: list[Arrival]) -> Simulation:
    gone = find_positions(wanted.without, arrivals)
    arrivals = [replace(one, left_out=True) if place in gone else one for place, one in enumerate(arrivals)]
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


def _moment(at: float | None) -> str | None:
    return None if at is None else format_utc(at)
