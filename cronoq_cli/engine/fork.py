"""An engine beside the engine: a copy of what it holds that can be run forward without a trace in the original.

What is run forward, and with which ends, is decided in `simulate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import replace

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.fixed import arm_moments
from cronoq_cli.engine.graph import Graph
from cronoq_cli.engine.lanes import Lanes
from cronoq_cli.engine.live import LiveBatch, LiveTask, Now
from cronoq_cli.engine.messages import Effects
from cronoq_cli.engine.overload import Victims
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.reservations import Reservations
from cronoq_cli.engine.state import State
from cronoq_cli.engine.statistics import RunTimes
from cronoq_cli.engine.timers import Due, Timers
from cronoq_cli.model.lifecycle import LIVE, Status


def fork(state: State, now: Now, tasks: Iterable[LiveTask] | None = None) -> Engine:
    """An engine that stands where this one stands, with all its tasks, or with these and all that run.

    Nothing is given ahead of need in it: leased tasks stand in their lanes. Costs a few microseconds a task.
    """
    engine = Engine(state.policy_of, {}, scoring=state.scoring)
    twin = engine.state = replace(
        state,
        tasks={},
        keys=dict(state.keys),
        pools={},
        batches={first: _copy_batch(batch) for first, batch in state.batches.items()},
        graph=Graph(),
        timers=Timers(),
        run_times=copy_run_times(state.run_times),
        leases=False,
        pinned=set(),
        overfailed=set(),
        woken={},
        effects=Effects(),
        resources=deepcopy(state.resources),
        total=deepcopy(state.total),
        demands=dict(state.demands),
        gatherings=deepcopy(state.gatherings),
        full_gatherings=set(),
        tokens_at=None,
    )
    for name, pool in state.pools.items():
        twin.pools[name] = _copy_pool(pool, twin.tasks)
    for task in _with_running(state, tasks):
        _copy_task(state, twin, task)
    for name, gathering in twin.gatherings.items():
        template = twin.groups.get(name)
        if template is not None and gathering.members:
            twin.timers.arm_wall(gathering.due_at(template), Due.GATHER, gathering.members[-1])
    return engine


def copy_run_times(run_times: RunTimes) -> RunTimes:
    """The same knowledge, which learns apart."""
    twin = RunTimes()
    for (pool, kind), known in run_times:
        twin.load(pool, kind, known.to_floats())
    return twin


def _with_running(state: State, tasks: Iterable[LiveTask] | None) -> Iterable[LiveTask]:
    if tasks is None:
        return state.tasks.values()
    chosen = {task.id: task for pool in state.pools.values() for task in pool.running.values()}
    chosen.update((task.id, task) for task in tasks)
    return chosen.values()


def _copy_batch(batch: LiveBatch) -> LiveBatch:
    twin = LiveBatch(copy(batch.record))
    twin.running, twin.alive = batch.running, batch.alive
    return twin


def _copy_pool(pool: LivePool, tasks: dict[int, LiveTask]) -> LivePool:
    """The pool as it is, but for its tasks."""
    twin = copy(pool)
    twin.sets = [copy(one) for one in pool.sets]
    twin.ready, twin.counts, twin.totals = [0, 0, 0, 0], Counter(), Counter()
    twin.shares, twin.scale, twin.scale_seen_at = deepcopy(pool.shares), deepcopy(pool.scale), None
    twin.reservations, twin.victims, twin.lanes = Reservations(), Victims(), Lanes(pool.name, tasks)
    twin.running, twin.leased, twin.unfit = {}, {}, {}
    return twin


def _copy_task(state: State, twin: State, task: LiveTask) -> None:
    one = copy(task)
    one.leased = one.recalled = one.in_heap = False
    if task.batch is not None:
        one.batch = twin.batches.get(task.batch.record.first) or _copy_batch(task.batch)
    twin.tasks[one.id] = one
    old, pool = state.pools[one.pool], twin.pools[one.pool]
    if one.status in LIVE:
        pool.enter_status(one)
    if one.id in old.running:
        pool.running[one.id] = one
    elif one.status is Status.READY:
        if one.id in old.unfit:
            pool.unfit[one.id] = one
        else:
            pool.lanes.push(one)
    if one.is_waiting:
        _arm(twin, one)
        _copy_promises(state, twin, one)


def _arm(twin: State, task: LiveTask) -> None:
    if task.status is Status.SCHEDULED and task.due_at is not None:
        twin.timers.arm_wall(task.due_at, Due.START, task.id)
    elif task.status is Status.RETRYING and task.due_awake is not None:
        twin.timers.arm_awake(task.due_awake, Due.BACKOFF, task.id)
    if task.kill_at is not None:
        twin.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)
    arm_moments(twin, task)


def _copy_promises(state: State, twin: State, task: LiveTask) -> None:
    """The slots reserved for a fixed start, and what a task depends on."""
    reservation = state.pools[task.pool].reservations.find(task.id)
    if reservation is not None:
        twin.pools[task.pool].reservations.add(task.id, reservation.start_at, reservation.slots, reservation.expected_s)
    if task.open_edges:
        for edge in state.graph.list_open(task.id):
            twin.graph.open(edge)
            if edge.awaited_until is not None:
                twin.timers.arm_wall(edge.awaited_until, Due.AWAITED, task.id)
