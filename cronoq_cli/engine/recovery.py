"""The engine as it was, from what the store kept: live tasks, their order, edges, batches, slots and timers.

What the runner says of running attempts comes later, as events (`ends`).
"""

from __future__ import annotations

from typing import Protocol

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.edges import open_edges, skip
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import WantedEdge
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.task import Batch, Edge, TaskRecord


class Kept(Protocol):
    """What recovery reads; the store's LiveState has this shape."""

    tasks: list[TaskRecord]
    edges: list[Edge]
    batches: list[Batch]
    pools: dict[str, dict[str, object]]


def restore(engine: Engine, kept: Kept, now: Now) -> list[int]:
    """Fill a fresh engine; nothing starts until the runners are compared. Returns ids of tasks in pools unknown now.

    A task whose pool is configured no more keeps its place: the pool is there with no workers."""
    state = engine.state
    state.compared = False
    for name, stored in kept.pools.items():
        if name in state.pools:
            state.pools[name].paused = bool(stored.get("paused"))
    for batch in kept.batches:
        state.add_batch(batch)
    orphans = [_restore_task(state, record, now) for record in kept.tasks]
    for edge in kept.edges:
        _restore_edge(state, edge)
    for task in list(state.tasks.values()):
        _settle(state, task, now)
    _resolve_stale_edges(state, now)
    return [task_id for task_id in orphans if task_id]


def _restore_task(state: State, record: TaskRecord, now: Now) -> int:
    orphan = record.spec.pool not in state.pools
    if orphan:
        state.pools[record.spec.pool] = LivePool(record.spec.pool, 0, state.tasks)
    task = LiveTask.from_record(record, state.policy_of(record.spec))
    state.tasks[task.id] = task
    state.next_id = max(state.next_id, task.id + 1)
    state.last_seq = max(state.last_seq, task.seq)
    if task.status in LIVE:
        state.pools[task.pool].counts[task.status] += 1
        if task.key is not None:
            state.keys[task.key] = task.id
        if record.batch is not None and record.batch in state.batches:
            task.batch = state.batches[record.batch]
            task.batch.alive += 1
        if task.kill_at is not None:
            state.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)
    return task.id if orphan else 0


def _restore_edge(state: State, edge: Edge) -> None:
    task = state.tasks.get(edge.task)
    if task is None or task.status not in LIVE:
        return
    state.graph.open(edge)
    task.open_edges += 1
    if edge.awaited_until is not None:
        state.timers.arm_wall(edge.awaited_until, Due.AWAITED, edge.task)


def _settle(state: State, task: LiveTask, now: Now) -> None:
    pool = state.pools[task.pool]
    if task.status is Status.RUNNING or (task.leaving and not task.leased):
        pool.take(task)
    elif task.leased and not task.leaving:
        pool.leased[task.id] = task
    elif task.status in LIVE:
        reason = task.reason
        state.settle(task, now)
        task.reason = reason


def _resolve_stale_edges(state: State, now: Now) -> None:
    """Edges on tasks that are no longer kept cannot be; one that is there all the same must not block for ever."""
    for task in list(state.tasks.values()):
        for edge in state.graph.list_open(task.id):
            if edge.target is None or edge.target in state.tasks:
                continue
            state.graph.close(edge)
            task.open_edges -= 1
            state.effects.edges_closed.append(edge)
            wanted = WantedEdge(edge.condition, target=edge.target, final=Status.FAILED)
            reason = open_edges(state, task, [wanted], None, now)
            if reason is not None:
                skip(state, task, reason, now)
                break
