"""The engine as it was, from what the store kept: live tasks, their order, edges, batches, slots and timers.

What the runner says of running attempts comes later, as events (`ends`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from cronoq_cli.engine.bulk import restore_run
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.dispatch import HANDED_OVER
from cronoq_cli.engine.fixed import arm_expiry, restore_reservation
from cronoq_cli.engine.graph import decide_edge
from cronoq_cli.engine.kept_runs import split_records
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool, WorkerSet, set_of
from cronoq_cli.engine.state import State, describe_unmet
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.lifecycle import LIVE, Status, Trigger
from cronoq_cli.model.task import Batch, Edge, TaskRecord


class KeptRun(Protocol):
    """Ready tasks that are alike."""

    @property
    def ids(self) -> Sequence[int]:
        """Their ids, ascending."""
        ...

    @property
    def record(self) -> TaskRecord:
        """That of the first."""
        ...


class Kept(Protocol):
    """What recovery reads; the store's LiveState has this shape."""

    @property
    def runs(self) -> Sequence[KeptRun]:
        """Tasks beside those of `tasks`."""
        ...

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
            changes = stored.get("set")
            state.pools[name].changes = dict(changes) if isinstance(changes, dict) else {}
            state.pools[name].meter.restore(stored.get("meter"))
    for batch in kept.batches:
        state.add_batch(batch)
    apart = [record for run in kept.runs if not _restore_run(state, run, None) for record in _expand(run)]
    runs, others = split_records(kept.tasks, state.tasks.window)
    apart += [record for run in runs if not _restore_run(state, run, run.at) for record in run.records]
    orphans = [record.id for record in (*others, *apart) if _restore_task(state, record, now)]
    for edge in kept.edges:
        _restore_edge(state, edge)
    for task in list(state.tasks.made()):
        _settle(state, task, now)
        state.fold(task)
    for stored in kept.pools.values():
        _restore_leases(state, stored.get("leased"))
    _judge_stale_edges(state, now)
    _end_stale_members(state, now)
    return orphans


def _restore_run(state: State, run: KeptRun, at: Sequence[float] | None) -> bool:
    """Take tasks in as a run; False when they cannot start as things are sized and named now: each is judged then.

    `at`: when each was submitted, None: all of them with the first."""
    record, pool = run.record, state.pools.get(run.record.spec.pool)
    sample = LiveTask.from_record(record, state.policy_of(record.spec))
    if pool is None or not sample.is_as_submitted or not state.fits(sample, pool):
        return False
    if record.batch is not None and record.batch not in state.batches:
        return False
    state.intern(sample)
    ids = run.ids
    if record.batch is not None:
        sample.join(record.batch, state.batches.get(record.batch))
        if sample.batch is not None:
            sample.batch.kept += len(ids) - 1
    restore_run(sample, ids, sample.submitted_at if at is None else at, pool)
    state.next_id = max(state.next_id, ids[-1] + 1)
    state.first_seq = min(state.first_seq, sample.seq)
    state.last_seq = max(state.last_seq, ids[-1] + sample.seq - sample.id)
    return True


def _expand(run: KeptRun) -> Iterator[TaskRecord]:
    shift = run.record.seq - run.record.id
    return (msgspec.structs.replace(run.record, id=task_id, seq=task_id + shift) for task_id in run.ids)


def _restore_task(state: State, record: TaskRecord, now: Now) -> bool:
    """Take one task in; whether its pool is unknown now."""
    orphan = record.spec.pool not in state.pools
    if orphan:
        state.pools[record.spec.pool] = LivePool(record.spec.pool, 0, state.tasks)
    task = LiveTask.from_record(record, state.policy_of(record.spec))
    state.tasks[task.id] = task
    state.next_id = max(state.next_id, task.id + 1)
    state.first_seq = min(state.first_seq, task.seq)
    state.last_seq = max(state.last_seq, task.seq)
    if record.batch is not None:
        task.join(record.batch, state.batches.get(record.batch))
    if task.status in LIVE:
        state.intern(task)
        state.pools[task.pool].enter_status(task)
        if task.key is not None:
            state.keys[task.key] = task.id
        arm_expiry(state, task)
        restore_reservation(state, task, now)
        if task.kill_at is not None:
            state.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)
    return orphan


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
        while set_of(task) >= len(pool.sets):
            pool.add_sets([WorkerSet(0, shared=False)])  # of a group that is configured no more
        pool.take(task)
        if task.units is not None:
            state.resources.restore(task.units)
    elif task.leased and not task.leaving:
        _restore_lease(pool, task)
    elif task.status in LIVE:
        state.settle(task, now)


def _restore_leases(state: State, ids: object) -> None:
    """Tasks that are given ahead are kept with their pool; what cannot be read is none."""
    for task_id in ids if isinstance(ids, list) else ():
        task = state.tasks.get(task_id) if isinstance(task_id, int) else None
        if task is not None and task.status is Status.READY:
            pool = state.pools[task.pool]
            pool.unfit.pop(task.id, None)
            pool.victims.discard(task.id, task.priority)
            _restore_lease(pool, task)


def _restore_lease(pool: LivePool, task: LiveTask) -> None:
    task.leased, task.reason = True, HANDED_OVER
    pool.leased[task.id] = task
    pool.contested = True


def _judge_stale_edges(state: State, now: Now) -> None:
    """Edges on tasks that are not kept: those set aside as failed because their rows were damaged."""
    for task in list(state.tasks.made()):
        for edge in state.graph.list_open(task.id):
            if edge.target is None or edge.target in state.tasks:
                continue
            if decide_edge(edge.condition, Status.FAILED):
                state.meet_edge(edge, now)
            else:
                state.skip(task, describe_unmet(edge.target, Status.FAILED), now)
                break


def _end_stale_members(state: State, now: Now) -> None:
    """Members of a group whose task is not kept: its row was damaged, and it was set aside as failed."""
    for task in list(state.tasks.made()):
        if task.gathered_by is not None and task.status in LIVE and task.gathered_by not in state.tasks:
            task.reason = f"{task.gathered_by} could not be read"
            state.move(task, Trigger.GATHERED, Status.FAILED, now)
            state.finish(task, now)
