"""New tasks: keys, dependencies and batches judged first, then all of them queued, or none.

Also final tasks that are to live again. References are resolved by the caller; cycles are found here.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.engine.edges import open_edges, skip
from cronoq_cli.engine.graph import find_cycle_among
from cronoq_cli.engine.live import LiveBatch, LiveTask, Now
from cronoq_cli.engine.messages import Accepted, Newcomer, Retried, Revival, Submitted, WantedEdge
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.engine.verbs import cancel_one
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.task import Batch, Condition, Edge, TaskSpec

# -- judging -------------------------------------------------------------------------------------------------------


def apply_submitted(state: State, event: Submitted, now: Now) -> Accepted:
    """Queue a submission. Raises InvalidError (pool, slots, cycle, key twice) or ConflictError (key refused)."""
    existing = _judge(state, event)
    ids = _give_ids(state, event, existing)
    accepted = Accepted(ids, duplicates={ids[index] for index in existing})
    fresh = [index for index in range(len(ids)) if index not in existing]
    batch = _open_batch(state, event, ids, existing)
    accepted.batch = batch.record.first if batch else None
    for index in fresh:
        _add(state, event.newcomers[index], ids[index], now, batch if index < event.members else None)
    for index in fresh:
        _connect(state, event.newcomers[index], ids, index, now)
    return accepted


def _judge(state: State, event: Submitted) -> dict[int, int]:
    """What is refused is refused here; the newcomers that stand there already, by index."""
    existing: dict[int, int] = {}
    keys: dict[str, int] = {}
    for index, newcomer in enumerate(event.newcomers):
        spec = newcomer.spec
        _check_room(state, spec)
        if spec.key is not None:
            if spec.key in keys:
                raise InvalidError(f"key {spec.key!r} stands twice in one submission", code="key-twice")
            keys[spec.key] = index
        found = newcomer.existing if newcomer.existing is not None else _find_live(state, spec)
        if found is not None:
            _refuse_if_asked(spec, found)
            existing[index] = found
    _check_cycle(event.newcomers)
    return existing


def _check_room(state: State, spec: TaskSpec) -> None:
    pool = state.get_pool(spec.pool)
    if spec.slots > max(pool.workers, pool.configured):
        raise InvalidError(
            f"{spec.slots} slots can never fit into pool {pool.name!r}",
            hint=f"it has {pool.workers}",
            code="cannot-fit",
        )


def _find_live(state: State, spec: TaskSpec) -> int | None:
    if spec.key is None or spec.if_exists == "replace":
        return None
    return state.keys.get(spec.key)


def _refuse_if_asked(spec: TaskSpec, found: int) -> None:
    if spec.if_exists == "refuse":
        what = f"key {spec.key!r} is taken by" if spec.key else "the same command was submitted as"
        raise ConflictError(f"{what} task {found}", code="exists")


def _check_cycle(newcomers: list[Newcomer]) -> None:
    wants = {
        index: [edge.index for edge in newcomer.edges if edge.index is not None]
        for index, newcomer in enumerate(newcomers)
    }
    if not any(wants.values()):
        return
    cycle = find_cycle_among(wants)
    if cycle is not None:
        names = " -> ".join(newcomers[index].spec.key or f"#{index + 1}" for index in cycle)
        raise InvalidError(f"dependency cycle: {names}", code="cycle")


# -- queueing ------------------------------------------------------------------------------------------------------


def _give_ids(state: State, event: Submitted, existing: dict[int, int]) -> list[int]:
    ids: list[int] = []
    for index in range(len(event.newcomers)):
        if index in existing:
            ids.append(existing[index])
        else:
            ids.append(state.next_id)
            state.next_id += 1
    return ids


def _open_batch(state: State, event: Submitted, ids: list[int], existing: dict[int, int]) -> LiveBatch | None:
    fresh = [ids[index] for index in range(event.members) if index not in existing]
    if not event.batch or not fresh:
        return None
    record = Batch(first=fresh[0], last=fresh[-1], limit=event.limit, max_fails=event.max_fails)
    state.effects.batches[record.first] = record
    return state.add_batch(record)


def next_seq(state: State, task_id: int) -> float:
    """The sequence of a task that goes to the end of its class."""
    state.last_seq = max(float(task_id), float(int(state.last_seq) + 1))
    return state.last_seq


def _add(state: State, newcomer: Newcomer, task_id: int, now: Now, batch: LiveBatch | None) -> None:
    spec = newcomer.spec
    task = LiveTask(task_id, spec, state.policy_of(spec), seq=next_seq(state, task_id), now=now.wall)
    task.status = Status.BLOCKED
    task.facts = {"fingerprint": newcomer.fingerprint} if newcomer.fingerprint else None
    if batch is not None:
        task.batch = batch
        batch.alive += 1
    state.tasks[task_id] = task
    state.pools[spec.pool].counts[Status.BLOCKED] += 1
    state.effects.new[task_id] = spec
    state.effects.touched[task_id] = task
    if spec.kill_at is not None:
        state.timers.arm_wall(spec.kill_at, Due.KILL_AT, task_id)


def _connect(state: State, newcomer: Newcomer, ids: list[int], index: int, now: Now) -> None:
    """Give a new task its edges and its first status."""
    task = state.tasks[ids[index]]
    replaced = _replace(state, task, now)
    edges = [_place(edge, ids) for edge in newcomer.edges]
    if replaced is not None:
        edges.append(WantedEdge(Condition.GONE, target=replaced))
    if task.key is not None:
        state.keys[task.key] = task.id
        _answer_waiting_for_key(state, task)
    enter(state, task, edges, newcomer.spec.await_deps_s, now, "submitted")


def _place(edge: WantedEdge, ids: list[int]) -> WantedEdge:
    return edge if edge.index is None else WantedEdge(edge.condition, target=ids[edge.index])


def _replace(state: State, task: LiveTask, now: Now) -> int | None:
    """Cancel the live task whose key a newcomer takes over; its id while its processes still go."""
    old = state.tasks.get(state.keys.get(task.key or "", 0))
    if old is None:
        return None
    cancel_one(state, old, now, reason=f"replaced by {task.id}")
    return old.id if old.leaving else None


def _answer_waiting_for_key(state: State, task: LiveTask) -> None:
    """Edges that waited for this key become edges on the task that has it now."""
    for edge in state.graph.list_awaiting(task.key or ""):
        state.graph.close(edge)
        state.effects.edges_closed.append(edge)
        state.tasks[edge.task].open_edges -= 1
        state.open_edge(Edge(task=edge.task, condition=edge.condition, target=task.id))


def enter(
    state: State,
    task: LiveTask,
    edges: Iterable[WantedEdge],
    await_s: float | None,
    now: Now,
    first_event: str,
) -> None:
    """Let a task (blocked so far) begin: open edges, then its status, then what belongs to that."""
    unmeetable = open_edges(state, task, edges, await_s, now)
    target = state.decide_waiting(task, now)
    if target is not Status.BLOCKED:
        counts = state.pools[task.pool].counts
        counts[Status.BLOCKED] -= 1
        counts[target] += 1
        task.status = target
    state.settle(task, now)
    state.touch(task, now)
    state.tell(task, first_event, now)
    if unmeetable is not None:
        skip(state, task, unmeetable, now)


# -- living again --------------------------------------------------------------------------------------------------


def apply_retried(state: State, event: Retried, now: Now) -> list[int]:
    """Revive final tasks; attempts go on counting. Raises ConflictError when a key is taken by a live task."""
    keys: set[str] = set()
    for revival in event.revivals:
        _check_revival(state, revival, keys)
    for revival in event.revivals:
        _restore(state, revival, now)
    for revival in event.revivals:
        task = state.tasks[revival.record.id]
        enter(state, task, revival.edges, revival.record.spec.await_deps_s, now, Trigger.RETRIED.value)
    return [revival.record.id for revival in event.revivals]


def _check_revival(state: State, revival: Revival, keys: set[str]) -> None:
    record = revival.record
    state.get_pool(record.spec.pool)
    if record.id in state.tasks:
        raise ConflictError(f"task {record.id} still ends: its processes are not gone", hint="try again in a moment")
    key = record.spec.key
    if key is not None:
        holder = state.keys.get(key)
        if holder is not None or key in keys:
            raise ConflictError(f"task {record.id}: key {key!r} is taken by task {holder or 'another of these'}")
        keys.add(key)


def _restore(state: State, revival: Revival, now: Now) -> None:
    record = revival.record
    policy = state.policy_of(record.spec)
    task = LiveTask.from_record(record, policy)
    task.status = Status.BLOCKED
    task.held = False
    task.finished_at = task.ready_at = task.due_at = task.stop_cause = None
    task.max_attempts = task.attempt + 1 + policy.retries
    task.start_reason = "retry"
    state.tasks[task.id] = task
    state.pools[task.pool].counts[Status.BLOCKED] += 1
    if task.key is not None:
        state.keys[task.key] = task.id
    if task.kill_at is not None and task.kill_at > now.wall:
        state.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)
