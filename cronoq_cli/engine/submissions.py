"""New tasks: keys, dependencies and batches judged first, then all of them queued, or none.

Also final tasks that are to live again. References are resolved by the caller; cycles are found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import msgspec

from cronoq_cli.engine.bounds import NoRoomError, make_room
from cronoq_cli.engine.bulk import asks_for_nothing, find_alike, make_samples, queue
from cronoq_cli.engine.demand import read_demand
from cronoq_cli.engine.edges import find_target, open_edges
from cronoq_cli.engine.fixed import arm_expiry, release_all, reserve_all
from cronoq_cli.engine.graph import CYCLE_HINT, describe_cycle, find_cycle_among
from cronoq_cli.engine.live import BLOCKED, LiveBatch, LiveTask, Now, read_occurrence
from cronoq_cli.engine.messages import Accepted, Newcomer, Retried, Revival, Submitted, WantedEdge
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.engine.verbs import cancel_one
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import BAD_ENDS, Trigger
from cronoq_cli.model.task import Batch, Condition, Dependency, Edge, TaskRecord, TaskSpec
from cronoq_cli.model.words import hint_for

# -- judging -------------------------------------------------------------------------------------------------------


def apply_submitted(state: State, event: Submitted, now: Now) -> Accepted:
    """Queue a submission. Raises InvalidError (pool, slots, cycle, key twice) or ConflictError (key refused)."""
    newcomers = event.newcomers
    if len(newcomers) == 1 and asks_for_nothing(newcomers[0]) and not event.batch:
        task_id = _queue_plain(state, newcomers[0].spec, now)
        if task_id is not None:
            return Accepted([task_id])
    if len(newcomers) >= state.tasks.bulk and (not event.batch or event.members == len(newcomers)):
        accepted = _queue_in_bulk(state, event, now)
        if accepted is not None:
            return accepted
    existing = _judge(state, newcomers)
    ids = _choose_ids(state, len(newcomers), existing)
    fresh = [index for index in range(len(ids)) if index not in existing] if existing else range(len(ids))
    _check_cycle(state, newcomers, ids, fresh)
    _find_place(state, newcomers, ids, fresh, now)
    batch = _open_batch(state, event, ids, existing) if event.batch else None
    if any(newcomers[index].spec.after for index in fresh):
        _name_members(newcomers, ids, fresh)
    for index in fresh:
        _add(state, newcomers[index], ids[index], now, batch if index < event.members else None)
    for index in fresh:
        state.fold(_connect(state, newcomers, ids, index, now))
    duplicates = {ids[index] for index in existing} if existing else set()
    return Accepted(ids, duplicates, None if batch is None else batch.record.first)


def _queue_plain(state: State, spec: TaskSpec, now: Now) -> int | None:
    """Queue one task that asks for nothing but a place in its lane; None when it has to be looked at more closely."""
    pool = state.pools.get(spec.pool)
    if pool is None or spec.slots > pool.sets[0].workers or not pool.sets[0].shared:
        return None
    if spec.tenant or spec.uses or spec.labels or state.total is not None or state.roomy_below < inf or pool.sheds:
        return None
    task_id = state.next_id
    task = LiveTask(task_id, spec, state.policy_of(spec), seq=next_seq(state, task_id), now=now.wall)
    state.next_id = task_id + 1
    task.ready_at = now.wall
    state.tasks[task_id] = task
    pool.arrivals += 1
    pool.enter_status(task)
    pool.lanes.push(task)
    state.wake_for_ready(pool)
    effects = state.effects
    effects.new[task_id], effects.touched[task_id] = spec, task
    state.tell(task, "submitted", now)
    pool.lanes.fold(task)
    return task_id


def _queue_in_bulk(state: State, event: Submitted, now: Now) -> Accepted | None:
    """Queue a submission as runs; None when not all of it can be. Raises alike."""
    newcomers = event.newcomers
    alike = find_alike(newcomers)
    if alike is None:
        return None
    specs = [newcomers[index].spec for index in alike.firsts]
    for spec in specs:
        check_fits(state, spec)
    samples = make_samples(state, specs, now)
    if samples is None:
        return None
    ids = range(state.next_id, state.next_id + len(newcomers))
    _find_place(state, newcomers, ids, range(len(ids)), now)
    batch = _open_batch(state, event, ids, {}) if event.batch else None
    return Accepted(queue(state, newcomers, alike, samples, batch), batch=None if batch is None else batch.record.first)


def _name_members(newcomers: list[Newcomer], ids: list[int], fresh: Sequence[int]) -> None:
    """Let dependencies on members of the same submission (`#N`, or a key) be known by their ids from now on."""
    keys = {newcomer.spec.key: task_id for newcomer, task_id in zip(newcomers, ids, strict=True)}
    for index in fresh:
        spec = newcomers[index].spec
        if spec.after:
            spec.after = [_name_member(one, keys, ids) for one in spec.after]


def _name_member(one: Dependency, keys: Mapping[str | None, int], ids: list[int]) -> Dependency:
    if one.ref.startswith("#"):
        return Dependency(str(ids[int(one.ref[1:])]), one.condition)
    member = keys.get(one.ref)
    return one if member is None else Dependency(one.ref, one.condition, member)


def _find_place(state: State, newcomers: list[Newcomer], ids: Sequence[int], fresh: Sequence[int], now: Now) -> None:
    """Reserve for fixed starts and make room where what waits is bounded; both or nothing."""
    fixed = {}
    for index in fresh:
        if newcomers[index].spec.start_at is not None:
            fixed[ids[index]] = newcomers[index].spec
    if fixed:
        reserve_all(state, fixed, now)
    if len(state.tasks) + len(newcomers) > state.roomy_below:
        try:
            make_room(state, [newcomers[index] for index in fresh], now)
        except NoRoomError:
            release_all(state, fixed)
            raise


def _judge(state: State, newcomers: list[Newcomer]) -> dict[int, int]:
    """What is refused is refused here; the newcomers that stand there already, by index."""
    existing: dict[int, int] = {}
    keys: set[str] = set()
    for index, newcomer in enumerate(newcomers):
        spec = newcomer.spec
        check_fits(state, spec)
        if spec.key is not None:
            if spec.key in keys:
                raise InvalidError(
                    f"key {spec.key!r} stands twice in one submission",
                    hint="each task has a key of its own",
                    code="key-twice",
                )
            keys.add(spec.key)
        found = newcomer.existing if newcomer.existing is not None else _find_live(state, spec)
        if found is not None:
            _refuse_if_asked(spec, found)
            existing[index] = found
    return existing


def check_fits(state: State, spec: TaskSpec) -> None:
    """Raises InvalidError for what can never be had: pool, group or resource unknown, too many slots, no such label."""
    pool = state.get_pool(spec.pool)
    demand = read_demand(spec)
    if demand is None and spec.group is None and spec.slots <= pool.workers and state.total is None:
        return
    labels = () if demand is None else demand.labels
    if labels and not any(one.serves(labels) for one in pool.sets):
        wanted = ", ".join(f"{k}={v}" for k, v in labels)
        raise InvalidError(
            f"no workers of pool {pool.name!r} have {wanted}", hint=_tell_labels(pool), code="no-such-workers"
        )
    if not pool.can_ever_fit(spec.slots, labels):
        what = "1 slot" if spec.slots == 1 else f"{spec.slots} slots"
        raise InvalidError(
            f"{what} can never fit into pool {pool.name!r}",
            hint=f"it has {pool.most}",
            code="cannot-fit",
        )
    if demand is not None:
        state.resources.check_possible(demand.uses)
    if state.total is not None and spec.slots > state.total.workers:
        raise InvalidError(
            f"{spec.slots} slots can never be had", hint=f"all pools share {state.total.workers}", code="cannot-fit"
        )
    if spec.group is not None:
        _check_group(state, spec, spec.group)


def _tell_labels(pool: LivePool) -> str:
    """What workers with labels a pool has."""
    known = {", ".join(f"{name}={value}" for name, value in one.labels.items()) for one in pool.sets if one.labels}
    return f"its groups have {'; '.join(sorted(known))}" if known else f"[[pools.{pool.name}.groups]] makes some"


def _check_group(state: State, spec: TaskSpec, group: str) -> None:
    if group not in state.groups:
        hint = hint_for(group, sorted(state.groups)) if state.groups else "[groups.NAME] in the configuration makes one"
        raise InvalidError(f"unknown group {group!r}", hint=hint, code="unknown-group")
    if spec.start_at is not None or spec.not_before is not None:
        raise InvalidError(
            "a task of a group has no start time of its own", hint="leave out --group or the time", code="group-start"
        )


def _find_live(state: State, spec: TaskSpec) -> int | None:
    if spec.key is None or spec.if_exists == "replace":
        return None
    return state.keys.get(spec.key)


def _refuse_if_asked(spec: TaskSpec, found: int) -> None:
    if spec.if_exists == "refuse":
        what = f"key {spec.key!r} is taken by" if spec.key else "the same command was submitted as"
        raise ConflictError(
            f"{what} task {found}", hint="--if-exists return prints its id, replace cancels it", code="exists"
        )


def _choose_ids(state: State, count: int, existing: dict[int, int]) -> list[int]:
    """The ids of a submission; those of new tasks are given for good when the first of them is added."""
    next_id = state.next_id
    if not existing:
        return [*range(next_id, next_id + count)]
    ids = []
    for index in range(count):
        ids.append(existing.get(index, next_id))
        next_id += index not in existing
    return ids


def _check_cycle(state: State, newcomers: list[Newcomer], ids: list[int], fresh: Sequence[int]) -> None:
    """Raises InvalidError for a cycle among the new, or through live tasks that wait for the key of a new one."""
    for index in fresh:
        if newcomers[index].edges:
            break
    else:
        return
    keys = {newcomers[index].spec.key: ids[index] for index in fresh if newcomers[index].spec.key is not None}
    wants = {ids[index]: _list_targets(state, newcomers[index].edges, ids, keys) for index in fresh}
    cycle = find_cycle_among(wants)
    answered: dict[int, list[int]] = {}
    for key, task_id in keys.items():
        for edge in state.graph.list_awaiting(key or ""):
            answered.setdefault(edge.task, []).append(task_id)
    for task_id in {task_id for found in answered.values() for task_id in found}:
        cycle = cycle or state.graph.find_cycle(task_id, wants[task_id], {**answered, **wants})
    if cycle is not None:
        names = {ids[index]: newcomers[index].spec.key or f"#{index + 1}" for index in fresh}
        raise InvalidError("dependency cycle: " + describe_cycle(cycle, names), hint=CYCLE_HINT, code="cycle")


def _list_targets(state: State, edges: list[WantedEdge], ids: list[int], keys: dict[str | None, int]) -> list[int]:
    """What the edges of a newcomer wait for, as ids: members of the submission, live tasks, holders of keys."""
    targets = []
    for edge in edges:
        if edge.index is not None:
            targets.append(ids[edge.index])
        elif edge.awaited in keys:
            targets.append(keys[edge.awaited])
        else:
            targets.append(find_target(state, edge) or 0)
    return targets


# -- queueing ------------------------------------------------------------------------------------------------------


def _open_batch(state: State, event: Submitted, ids: Sequence[int], existing: dict[int, int]) -> LiveBatch | None:
    fresh = [ids[index] for index in range(event.members) if index not in existing]
    if not fresh:
        return None
    record = Batch(first=fresh[0], last=fresh[-1], limit=event.limit, max_fails=event.max_fails)
    state.effects.batches[record.first] = record
    return state.add_batch(record)


def next_seq(state: State, task_id: int) -> float:
    """The sequence of a task that goes to the end of its class."""
    seq, last = float(task_id), state.last_seq
    state.last_seq = seq if seq > last else float(int(last) + 1)
    return state.last_seq


def _add(state: State, newcomer: Newcomer, task_id: int, now: Now, batch: LiveBatch | None) -> None:
    task = add_task(state, newcomer.spec, task_id, now)
    if newcomer.fingerprint:
        task.facts = {"fingerprint": newcomer.fingerprint}
    if newcomer.reason is not None:
        task.facts = {**(task.facts or {}), **read_occurrence(newcomer.spec)}
        task.start_reason = newcomer.reason
    if batch is not None:
        task.join(batch.record.first, batch)


def add_task(state: State, spec: TaskSpec, task_id: int, now: Now) -> LiveTask:
    """A new task, blocked until it enters."""
    task = LiveTask(task_id, spec, state.policy_of(spec), seq=next_seq(state, task_id), now=now.wall)
    task.status = BLOCKED
    if task_id >= state.next_id:
        state.next_id = task_id + 1
    state.tasks[task_id] = task
    if task.demand is not None:
        state.intern(task)
    state.pools[spec.pool].counts[BLOCKED] += 1
    state.effects.new[task_id] = spec
    state.effects.touched[task_id] = task
    if spec.kill_at is not None:
        state.timers.arm_wall(spec.kill_at, Due.KILL_AT, task_id)
    if task.times is not None:
        arm_expiry(state, task)
    return task


def _connect(state: State, newcomers: list[Newcomer], ids: list[int], index: int, now: Now) -> LiveTask:
    """Give a new task its edges and its first status."""
    newcomer, task = newcomers[index], state.tasks[ids[index]]
    edges = [_place(edge, newcomers, ids) for edge in newcomer.edges] if newcomer.edges else []
    if task.key is not None:
        edges += [WantedEdge(Condition.GONE, target=target) for target in _replace(state, task, task.key, now)]
        state.keys[task.key] = task.id
        answer_waiting_for_key(state, task)
    enter(state, task, edges, newcomer.spec.await_deps_s, now, "submitted")
    return task


def _place(edge: WantedEdge, newcomers: list[Newcomer], ids: list[int]) -> WantedEdge:
    if edge.index is None:
        return edge
    return WantedEdge(edge.condition, target=ids[edge.index], final=newcomers[edge.index].existing_final)


def _replace(state: State, task: LiveTask, key: str, now: Now) -> list[int]:
    """Cancel the live task whose key a newcomer takes over; whose processes must be gone before that may start.

    When the old one waited itself for those it replaced, the newcomer waits for them in its place."""
    old = state.tasks.get(state.keys.get(key, 0))
    if old is None:
        return []
    before = [edge.target for edge in state.graph.list_open(old.id) if edge.condition is Condition.GONE]
    cancel_one(state, old, now, reason=f"replaced by {task.id}")
    return [old.id] if old.leaving else [target for target in before if target is not None]


def answer_waiting_for_key(state: State, task: LiveTask) -> None:
    """Edges that waited for this key become edges on the task that has it now."""
    for edge in state.graph.list_awaiting(task.key or ""):
        state.drop_edge(edge)
        state.open_edge(Edge(task=edge.task, condition=edge.condition, target=task.id))


def enter(
    state: State, task: LiveTask, edges: list[WantedEdge], await_s: float | None, now: Now, first_event: str
) -> None:
    """Let a task (blocked so far) begin: open edges, then its status, then what belongs to that."""
    unmeetable = open_edges(state, task, edges, await_s, now) if edges else None
    target = state.decide_waiting(task, now)
    if unmeetable is None and target is not BLOCKED:
        state.pools[task.pool].change_status(task, target)
    state.settle(task, now)
    state.touch(task, now)
    state.tell(task, first_event, now)
    if unmeetable is not None:
        state.skip(task, unmeetable, now)


# -- living again --------------------------------------------------------------------------------------------------


def apply_retried(state: State, event: Retried, now: Now) -> list[int]:
    """Revive final tasks; attempts go on counting. Raises ConflictError when a key is taken by a live task."""
    revivals = {revival.record.id: revival for revival in event.revivals}
    keys: set[str] = set()
    for revival in revivals.values():
        _check_revival(state, revival, keys)
    unstarted = [revival.record for revival in revivals.values() if revival.record.attempt == 0]
    reserve_all(state, {record.id: record.spec for record in unstarted}, now)
    for record in unstarted:
        _waive_past(state, record, now)
    for revival in revivals.values():
        _revive(state, revival)
    for task_id, revival in revivals.items():
        enter(state, state.tasks[task_id], revival.edges, revival.record.spec.await_deps_s, now, Trigger.RETRIED.value)
    return list(revivals)


def _check_revival(state: State, revival: Revival, keys: set[str]) -> None:
    record = revival.record
    state.get_pool(record.spec.pool)
    if record.id in state.tasks:
        raise ConflictError(f"task {record.id} still ends: its processes are not gone", hint="try again in a moment")
    key = record.spec.key
    if key is not None:
        holder = state.keys.get(key)
        if holder is not None or key in keys:
            raise ConflictError(
                f"task {record.id}: key {key!r} is taken by task {holder or 'another of these'}",
                hint="cronoq rerun makes a new task",
            )
        keys.add(key)


def _waive_past(state: State, record: TaskRecord, now: Now) -> None:
    """Who revives a task that never started wants it to run: moments that have passed are asked for no more."""
    spec, changes = record.spec, dict[str, None]()
    if spec.expires_at is not None and spec.expires_at <= now.wall:
        changes["expires_at"] = None
    if spec.start_at is not None and spec.start_at <= now.wall:
        changes["start_at"] = None
    if changes:
        record.spec = state.effects.edited[record.id] = msgspec.structs.replace(spec, **changes)


def _revive(state: State, revival: Revival) -> None:
    record = revival.record
    policy = state.policy_of(record.spec)
    task = LiveTask.from_record(record, policy)
    task.status = BLOCKED
    task.held = False
    task.finished_at = task.ready_at = task.stop_cause = task.pid = task.slot = task.gathered_by = None
    task.gathering = record.spec.group or ""
    task.due_at = task.not_before
    task.max_attempts = task.attempt + 1 + policy.retries
    task.start_reason = "retry"
    state.tasks[task.id] = task
    state.intern(task)
    state.pools[task.pool].enter_status(task)
    if task.key is not None:
        state.keys[task.key] = task.id
        answer_waiting_for_key(state, task)
    if task.facts is not None and "recurring" in task.facts:
        state.schedules.rejoin(task.facts["recurring"], task.id)
    if record.batch is not None:
        _rejoin(state, task, record, revival.batch)
    if task.kill_at is not None:
        state.timers.arm_wall(task.kill_at, Due.KILL_AT, task.id)
    arm_expiry(state, task)


def _rejoin(state: State, task: LiveTask, record: TaskRecord, stored: Batch | None) -> None:
    """Be a member of its batch again; its failure no longer counts there."""
    first = record.batch or 0
    batch = state.batches.get(first)
    if batch is None and stored is not None:
        batch = state.add_batch(stored)
    task.join(first, batch)
    if batch is not None and record.status in BAD_ENDS and batch.record.failed:
        batch.record.failed -= 1
        state.effects.batches[first] = batch.record
