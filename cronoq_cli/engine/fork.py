"""An engine beside the engine: a copy of what it holds that can be run forward without a trace in the original.

What is run forward, and with which ends, is decided in `simulate`.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy, deepcopy
from typing import Any

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.graph import Graph
from cronoq_cli.engine.lanes import Lanes
from cronoq_cli.engine.live import LiveBatch, LiveTask
from cronoq_cli.engine.messages import Effects
from cronoq_cli.engine.notices import Incidents
from cronoq_cli.engine.overload import Victims
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.runs import Tasks
from cronoq_cli.engine.schedules import Schedules
from cronoq_cli.engine.state import State
from cronoq_cli.engine.statistics import RunTimes
from cronoq_cli.engine.timers import Timers
from cronoq_cli.model.lifecycle import Status


def fork(state: State, tasks: Iterable[LiveTask] | None = None) -> Engine:
    """An engine that stands where this one stands, with all its tasks, or with these and all that run.

    Nothing is given ahead of need in it: leased tasks stand in their lanes. It has no schedules. With some of the
    tasks alone, timers and dependencies are left behind. Costs a few microseconds a task.
    """
    engine = Engine(state.policy_of, {}, scoring=state.scoring)
    whole = tasks is None
    values: dict[str, Any] = {
        "tasks": Tasks(state.tasks.window, state.tasks.bulk),
        "pools": {},
        "keys": dict(state.keys) if whole else {},
        "batches": {first: _copy_batch(batch) for first, batch in state.batches.items()},
        "graph": Graph(),
        "timers": _copy_timers(state.timers) if whole else Timers(),
        "tokens_at": state.tokens_at if whole else None,
        "run_times": copy_run_times(state.run_times),
        "effects": Effects(),
        "leases": False,
        "pinned": set(),
        "incidents": Incidents(),
        "schedules": Schedules(),
        "over": [],
    }
    values |= {name: deepcopy(getattr(state, name)) for name in state.__struct_fields__ if name not in values}
    twin = engine.state = State(**values)
    for name, pool in state.pools.items():
        twin.pools[name] = _copy_pool(pool, twin.tasks, whole=whole)
    for task in state.tasks.made() if tasks is None else _with_running(state, tasks):
        _copy_task(state, twin, task)
    for run in state.tasks.runs() if whole else ():
        sample = copy(run.sample)
        sample.batch = _find_batch(twin, sample.batch)
        twin.pools[sample.pool].lanes.add_run(run.twin(sample))
    return engine


def copy_run_times(run_times: RunTimes) -> RunTimes:
    """The same knowledge, which learns apart."""
    twin = RunTimes()
    for (pool, kind), known in run_times:
        twin.load(pool, kind, known.to_floats())
    return twin


def _with_running(state: State, tasks: Iterable[LiveTask]) -> Iterable[LiveTask]:
    chosen = {task.id: task for pool in state.pools.values() for task in pool.running.values()}
    chosen.update((task.id, task) for task in tasks)
    return chosen.values()


def _copy_timers(timers: Timers) -> Timers:
    """The same entries in heaps of its own."""
    twin = Timers()
    for name in Timers.__slots__:
        setattr(twin, name, list(getattr(timers, name)))
    return twin


def _copy_batch(batch: LiveBatch) -> LiveBatch:
    twin = LiveBatch(copy(batch.record))
    twin.running, twin.kept = batch.running, batch.kept
    return twin


def _copy_pool(pool: LivePool, tasks: Tasks, *, whole: bool) -> LivePool:
    """The pool as it is, numbers and all, but for the tasks it points to."""
    twin = copy(pool)
    own: dict[str, Any] = {
        "plan": pool.plan,
        "lanes": Lanes(tasks),
        "running": {},
        "leased": {},
        "unfit": {},
    }
    if not whole:
        own |= {"victims": Victims(), "scale_seen_at": None}
    for name in LivePool.__slots__:
        setattr(twin, name, own[name] if name in own else deepcopy(getattr(pool, name)))
    return twin


def _find_batch(twin: State, batch: LiveBatch | None) -> LiveBatch | None:
    return None if batch is None else twin.batches.get(batch.record.first) or _copy_batch(batch)


def _copy_task(state: State, twin: State, task: LiveTask) -> None:
    one = copy(task)
    one.leased = one.recalled = False
    one.entry = None
    one.batch = _find_batch(twin, task.batch)
    twin.tasks[one.id] = one
    old, pool = state.pools[one.pool], twin.pools[one.pool]
    if one.id in old.running:
        pool.running[one.id] = one
    elif one.id in old.unfit:
        pool.unfit[one.id] = one
    elif one.status is Status.READY:
        pool.lanes.push(one)
    if one.open_edges:
        for edge in state.graph.list_open(one.id):
            twin.graph.open(edge)
