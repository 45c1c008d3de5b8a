"""A world for engine tests: an engine, a clock moved by hand, and a shelf that keeps rows exactly as a store would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, cast

import msgspec

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.dispatch import HANDED_OVER
from cronoq_cli.engine.gathering import Gathering
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    Accepted,
    Action,
    AttemptEnded,
    AttemptStarted,
    Bulk,
    Effects,
    Event,
    Forget,
    LeaseReturned,
    Newcomer,
    Retried,
    Revival,
    Revoke,
    RunnersCompared,
    Start,
    Stop,
    Submitted,
    TimePassed,
    WantedEdge,
)
from cronoq_cli.engine.pools import LivePool, PoolPlan, tenant_of
from cronoq_cli.engine.recovery import restore
from cronoq_cli.engine.resources import Semaphore
from cronoq_cli.engine.schedule_changes import restore_schedules
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.policy import AttemptEnd, Policy
from cronoq_cli.model.recurring import PassedSlots, Schedule
from cronoq_cli.model.task import (
    AttemptRecord,
    Backoff,
    Batch,
    Condition,
    Edge,
    OnLost,
    TaskRecord,
    TaskSpec,
    Transition,
)
from cronoq_cli.store.contract import KeptRun

EdgeKey = tuple[int, int, str, str]


def policy_of(spec: TaskSpec) -> Policy:
    """The policy of a spec, nothing taken from a configuration; equal ones are one object."""
    policy = Policy(
        kind=spec.kind,
        retries=spec.retries or 0,
        backoff=spec.backoff or Backoff(),
        retry_on=frozenset(spec.retry_on or ()),
        no_retry_on=frozenset(spec.no_retry_on or ()),
        success_codes=frozenset(spec.success_codes or ()),
        on_lost=OnLost(spec.on_lost or "count"),
        stop_signal=spec.stop_signal,
        grace_s=spec.grace_s,
    )
    return POLICIES.setdefault(policy, policy)


POLICIES: dict[Policy, Policy] = {}


@dataclass
class Shelf:
    """What a store keeps of the effects: rows by id, edges open or closed, batches, pools, attempts."""

    tasks: dict[int, TaskRecord] = field(default_factory=dict)
    lots: dict[int, int] = field(default_factory=dict)
    """The first of those it was submitted with and is like, of each task that nothing has touched since."""
    edge_rows: dict[EdgeKey, tuple[Edge, bool]] = field(default_factory=dict)
    batch_rows: dict[int, Batch] = field(default_factory=dict)
    pools: dict[str, dict[str, object]] = field(default_factory=dict)
    attempts: dict[tuple[int, int], AttemptRecord] = field(default_factory=dict)
    run_times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    history: list[Transition] = field(default_factory=list)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    passed: dict[tuple[str, float, str], PassedSlots] = field(default_factory=dict)

    def commit(self, effects: Effects) -> None:
        """Write everything, in the order of a store: tasks, edges opened, closed, forgotten."""
        told = list(effects.transitions)
        for bulk in reversed(effects.bulks):
            told[bulk.told : bulk.told] = self._write_bulk(bulk)
        for task_id, task in effects.touched.items():
            self._write_task(task_id, task, effects)
        for edge in effects.edges_opened:
            self.edge_rows[_key(edge)] = (edge, True)
        for edge in effects.edges_closed:
            if _key(edge) in self.edge_rows:
                self.edge_rows[_key(edge)] = (self.edge_rows[_key(edge)][0], False)
        forgotten = set(effects.forgotten_edges)
        for key in [key for key in self.edge_rows if key[0] in forgotten]:
            self.edge_rows[key] = (self.edge_rows[key][0], False)
        for first, batch in effects.batches.items():
            self.batch_rows[first] = msgspec.structs.replace(batch)
        for name, stored in effects.pools.items():
            self.pools.pop(name, None)
            if stored is not None:
                self.pools[name] = stored
        self.attempts.update(effects.attempts)
        self.run_times.update(effects.run_times)
        self.history.extend(told)
        self.passed.update(effects.passed)
        for name, schedule in effects.schedules.items():
            self.schedules.pop(name, None)
            if schedule is not None:
                state = msgspec.structs.replace(schedule.state, skips=list(schedule.state.skips))
                self.schedules[name] = msgspec.structs.replace(schedule, state=state)

    def leased(self) -> set[int]:
        """The tasks that are given ahead."""
        return {task_id for stored in self.pools.values() for task_id in cast(list[int], stored.get("leased", []))}

    def find_key(self, key: str) -> int | None:
        """The newest task that has or had a key."""
        return max((task.id for task in self.tasks.values() if task.spec.key == key), default=None)

    def _write_bulk(self, bulk: Bulk) -> list[Transition]:
        told = []
        for task_id, spec in enumerate(bulk.specs, bulk.first):
            sample = bulk.samples[0 if bulk.kinds is None else bulk.kinds[task_id - bulk.first]]
            record = sample.to_record(spec)
            record.id, record.seq = task_id, task_id + sample.seq - sample.id
            self.tasks[task_id] = record
            self.lots[task_id] = sample.id
            told.append(
                Transition(at=sample.submitted_at, type="submitted", id=task_id, pool=sample.pool, status="ready")
            )
        return told

    def _write_task(self, task_id: int, task: LiveTask, effects: Effects) -> None:
        if task_id in effects.new:
            record = task.to_record(effects.edited.get(task_id, effects.new[task_id]))
        elif task_id in effects.edited:
            record = task.to_record(effects.edited[task_id])
        else:
            old, record = self.tasks[task_id], task.to_record()
            record.spec, record.batch, record.fingerprint = old.spec, old.batch, old.fingerprint
        self.tasks[task_id] = msgspec.structs.replace(record)
        self.lots.pop(task_id, None)

    def kept(self) -> Kept:
        """What recovery reads."""
        tasks = sorted((t for t in self.tasks.values() if t.status in LIVE or t.leaving), key=lambda t: t.seq)
        ids = {task.id for task in tasks}
        lots: dict[int, list[int]] = {}
        for task_id, lot in sorted(self.lots.items()):
            lots.setdefault(lot, []).append(task_id)
        return Kept(
            tasks=[msgspec.structs.replace(task) for task in tasks if task.id not in self.lots],
            runs=[KeptRun(ids=members, record=self.tasks[members[0]]) for members in lots.values()],
            edges=[edge for edge, is_open in self.edge_rows.values() if is_open],
            batches=[
                msgspec.structs.replace(batch)
                for batch in self.batch_rows.values()
                if any(i in ids for i in range(batch.first, batch.last + 1))
            ],
            pools=dict(self.pools),
            schedules=[
                msgspec.structs.replace(one, state=msgspec.structs.replace(one.state, skips=list(one.state.skips)))
                for one in self.schedules.values()
            ],
        )


@dataclass
class Kept:
    """What recovery reads, in the shape of the store's LiveState."""

    tasks: list[TaskRecord]
    edges: list[Edge]
    batches: list[Batch]
    pools: dict[str, dict[str, object]]
    schedules: list[Schedule] = field(default_factory=list)
    runs: list[KeptRun] = field(default_factory=list)


def _key(edge: Edge) -> EdgeKey:
    return (edge.task, edge.target or 0, edge.awaited or "", edge.condition.value)


class Story:
    """Drives one engine: `submit`, `begin`, `end`, `after`; what is committed lies on `shelf`, orders in `orders`."""

    def __init__(
        self,
        workers: int | PoolPlan = 1,
        *,
        leases: bool = False,
        scoring: Scoring | None = None,
        setup: Callable[[State], None] | None = None,
        runs: tuple[int, int] | None = None,
        **pools: int | PoolPlan,
    ) -> None:
        """`setup` configures what is not a pool (resources, groups, totals) in this engine and in every later one.

        `runs`: objects in a lane behind which there are runs, and tasks of a submission that come as such."""
        self.pools: dict[str, int | PoolPlan] = {"default": workers, **pools}
        self.scoring = scoring
        self.leases = leases
        self.setup = setup
        self.runs = runs
        self.now = Now(1_000_000.0, 5_000.0)
        self.shelf = Shelf()
        self.orders: list[Action] = []
        self.zone: tzinfo = UTC
        self.boot_id = "boot-1"
        self.engine = self._make_engine(self.pools, 1)

    def _make_engine(self, pools: Mapping[str, int | PoolPlan], next_id: int) -> Engine:
        engine = Engine(policy_of, pools, next_id=next_id, scoring=self.scoring)
        engine.state.leases = "auto" if self.leases else "never"
        if self.runs is not None:
            engine.state.tasks.window, engine.state.tasks.bulk = self.runs
        schedules = engine.state.schedules
        schedules.zone, schedules.boot_id, schedules.remembers = self.zone, self.boot_id, self.shelf.find_key
        if self.setup is not None:
            self.setup(engine.state)
        for (pool, kind), floats in self.shelf.run_times.items():
            engine.state.run_times.load(pool, kind, floats)
        return engine

    # -- events --------------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> Any:
        """One event, one commit."""
        result = self.engine.handle(event, self.now)
        self.commit()
        return result

    def commit(self) -> None:
        """What a turn of the loop does behind its events."""
        effects = self.engine.take_effects()
        self.shelf.commit(effects)
        self.orders += effects.actions

    def submit(self, name: str = "job", *, after: Iterable[int | WantedEdge] = (), **fields: Any) -> int:
        """Submit one task; its id. `after`: ids that must succeed, or edges."""
        return int(self.accept(Newcomer(spec(name, **fields), edges(after))).ids[0])

    def accept(self, *newcomers: Newcomer, **batch: Any) -> Accepted:
        """Submit several tasks at once."""
        result: Accepted = self.handle(Submitted(list(newcomers), **batch))
        return result

    def array(self, count: int, *, limit: int | None = None, max_fails: int | None = None, **fields: Any) -> list[int]:
        """Submit a batch of equal tasks; their ids."""
        newcomers = [Newcomer(spec(f"job-{index}", array_index=index, **fields)) for index in range(count)]
        return self.accept(*newcomers, batch=True, members=count, limit=limit, max_fails=max_fails).ids

    def pass_time(self, seconds: float, *, awake: float | None = None) -> None:
        """Move both clocks, and tell the engine."""
        self.now = Now(self.now.wall + seconds, self.now.awake + (seconds if awake is None else awake))
        self.handle(TimePassed())

    def revival(self, task_id: int, after: Iterable[int | WantedEdge] = ()) -> Revival:
        """What is needed to let a final task live again."""
        record = msgspec.structs.replace(self.shelf.tasks[task_id])
        stored = self.shelf.batch_rows.get(record.batch or 0)
        return Revival(record, edges(after), stored and msgspec.structs.replace(stored))

    def retry(self, *ids: int) -> list[int]:
        """Revive final tasks, without dependencies."""
        revived: list[int] = self.handle(Retried([self.revival(task_id) for task_id in ids]))
        return revived

    # -- the runner ----------------------------------------------------------------------------------------------

    def take_orders(self) -> list[Action]:
        """The orders since they were last taken."""
        orders, self.orders = self.orders, []
        return orders

    def started(self) -> list[int]:
        """The tasks ordered to start since orders were last taken, in order; the other orders are dropped."""
        return [order.task for order in self.take_orders() if isinstance(order, Start)]

    def revoked(self) -> list[int]:
        """The tasks whose orders were asked back since orders were last taken."""
        return [order.task for order in self.take_orders() if isinstance(order, Revoke)]

    def stopped(self) -> list[Stop]:
        """The stops since orders were last taken."""
        return [order for order in self.take_orders() if isinstance(order, Stop)]

    def forgotten(self) -> list[tuple[int, int]]:
        """The attempts the runner may forget, since orders were last taken."""
        return [(order.task, order.attempt) for order in self.take_orders() if isinstance(order, Forget)]

    def begin(self, task_id: int, *, pid: int = 100, attempt: int | None = None) -> bool:
        """The runner reports the start of the attempt it was given."""
        number = self.number(task_id) if attempt is None else attempt
        return bool(self.handle(AttemptStarted(task_id, number, pid, self.now.wall)))

    def end(self, task_id: int, code: int | None = 0, *, attempt: int | None = None, **fields: Any) -> bool:
        """The runner reports the end of the attempt it was given."""
        number = self.number(task_id) if attempt is None else attempt
        return bool(self.handle(AttemptEnded(task_id, number, self.describe_end(code, **fields))))

    def describe_end(self, code: int | None = 0, **fields: Any) -> AttemptEnd:
        """An end now, after a second."""
        facts = {"started_at": self.now.wall, "ended_at": self.now.wall, "run_s": 1.0, "exit_code": code, **fields}
        return AttemptEnd(**facts)

    def give_back(self, task_id: int) -> bool:
        """The runner reports that it dropped the order without starting it."""
        return bool(self.handle(LeaseReturned(task_id, self.number(task_id))))

    def number(self, task_id: int) -> int:
        """The attempt the runner knows a task by."""
        return self.task(task_id).attempt_at_runner

    # -- looking -------------------------------------------------------------------------------------------------

    def task(self, task_id: int) -> LiveTask:
        """A task the engine keeps."""
        found = self.engine.find(task_id)
        assert found is not None, f"task {task_id} is not kept: {self.shelf.tasks.get(task_id)}"
        return found

    def record(self, task_id: int) -> TaskRecord:
        """A task as committed; that it is given ahead is kept with its pool."""
        record, ahead = self.shelf.tasks[task_id], self.shelf.leased()
        return msgspec.structs.replace(record, leased=True, reason=HANDED_OVER) if task_id in ahead else record

    def status(self, *ids: int) -> Any:
        """The committed status of one task, or those of several."""
        found = [self.shelf.tasks[task_id].status for task_id in ids]
        return found[0] if len(found) == 1 else found

    def ids(self, status: Status) -> list[int]:
        """The committed tasks of a status."""
        return sorted(task.id for task in self.shelf.tasks.values() if task.status is status)

    def queue(self, pool: str = "default") -> list[int]:
        """The ready tasks of a pool in the order of their starts."""
        lanes = self.engine.state.pools[pool].lanes
        state, wall = self.engine.state, self.now.wall
        return [task.id for task in lanes.first(10**9, lambda task: state.place(task, wall))]

    # -- crash ---------------------------------------------------------------------------------------------------

    def crash(self, *, compare: bool = True, pools: Mapping[str, int | PoolPlan] | None = None) -> None:
        """The daemon dies and another takes over; with `compare` the runner says it knows all it was given."""
        self.orders = []
        self.engine = self.make_twin(pools)
        if compare:
            self.handle(RunnersCompared(self.known()))

    def make_twin(self, pools: Mapping[str, int | PoolPlan] | None = None) -> Engine:
        """A second engine made from what is committed."""
        twin = self._make_engine(self.pools if pools is None else pools, max(self.shelf.tasks, default=0) + 1)
        kept = self.shelf.kept()
        restore(twin, kept, self.now)
        restore_schedules(twin.state, kept.schedules, self.now)
        return twin

    def known(self) -> set[tuple[int, int]]:
        """All attempts that the store thinks a runner may have."""
        tasks = self.engine.state.tasks.values()
        return {(task.id, task.attempt_at_runner) for task in tasks if task.has_process}


def spec(name: str = "job", **fields: Any) -> TaskSpec:
    """A spec of a task that does nothing in particular."""
    return TaskSpec(name=name, **{"command": ["true"], "kind": name, **fields})


def edges(after: Iterable[int | WantedEdge]) -> list[WantedEdge]:
    """Wanted edges: an id must succeed."""
    return [WantedEdge(Condition.SUCCESS, target=one) if isinstance(one, int) else one for one in after]


def member(
    name: str = "job", *, after: Iterable[int] = (), on: Condition = Condition.SUCCESS, **fields: Any
) -> Newcomer:
    """One task of a submission; `after`: indexes of other members."""
    return Newcomer(spec(name, **fields), [WantedEdge(on, index=index) for index in after])


def take_snapshot(engine: Engine, wall: float = 0.0) -> dict[str, Any]:
    """Everything that must be the same in an engine made from the store; `wall`: the moment, for what is ahead."""
    state = engine.state
    return {
        "tasks": {task.id: (task.to_record(), task.key, task.policy) for task in state.tasks.values()},
        "places": {task.id: _place(task) for task in state.tasks.values()},
        "edges": {task.id: _edges_of(engine, task) for task in state.tasks.values()},
        "keys": dict(state.keys),
        "pools": {name: _pool_facts(engine, name, wall) for name in state.pools},
        "batches": {first: (batch.running, batch.kept, batch.record) for first, batch in state.batches.items()},
        "units out": {
            name: known.units_out for name, known in state.resources.known.items() if isinstance(known, Semaphore)
        },
        "gatherings": {name: dict(gathering.members) for name, gathering in _prune(state).items()},
    }


def _prune(state: State) -> dict[str, Gathering]:
    for name, gathering in state.gatherings.items():
        state.prune_gathering(name, gathering)
    return {name: gathering for name, gathering in state.gatherings.items() if gathering.members}


def _place(task: LiveTask) -> tuple[Any, ...]:
    return task.pool, task.priority, task.slots, task.kill_at, task.not_before, task.due_at


def _edges_of(engine: Engine, task: LiveTask) -> tuple[int, set[Edge], set[Edge]]:
    graph = engine.state.graph
    return task.open_edges, set(graph.list_open(task.id)), set(graph.list_dependents(task.id))


def _pool_facts(engine: Engine, name: str, wall: float) -> dict[str, Any]:
    pool = engine.state.pools[name]
    return {
        "workers": pool.workers,
        "busy": [one.busy for one in pool.sets if one.workers or one.busy],
        "reserved": _reserved(pool, engine, wall),
        "victims": len(pool.victims),
        "wanting": pool.wanting,
        "ready": pool.ready,
        "tenants": {tenant_of(task): pool.shares.running(tenant_of(task)) for task in pool.running.values()},
        "paused": pool.paused,
        "running": set(pool.running),
        "leased": set(pool.leased),
        "unfit": set(pool.unfit),
        "counts": {status: count for status, count in pool.counts.items() if count},
        "order": [task.id for task in pool.lanes.first(10**9, lambda t: engine.state.place(t, 0.0)) if not task.leased],
    }


def _reserved(pool: LivePool, engine: Engine, wall: float) -> list[tuple[int, float, int]]:
    found = [pool.find_reservation(task_id) for task_id in engine.state.tasks]
    return sorted((one.task_id, one.start_at, one.slots) for one in found if one is not None and one.start_at > wall)
