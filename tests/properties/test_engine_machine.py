"""Random lives of a whole queue against a model runner: whatever happens, nothing is lost, overdrawn or out of order.

Tasks want resources, workers with labels and fixed starts, belong to tenants and groups, have deadlines and expire.

The runner of this file starts, ends and gives back what it was told in any order, repeats itself and tells old news.
After every step the invariants hold, and an engine made from the committed rows equals the one that lives.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import INVARIANT_MARKER as INVARIANT
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cronoq_cli.engine.admission import choose, choose_jointly
from cronoq_cli.engine.autoscale import MachineLimits, MachineSeen
from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.graph import decide_edge
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import (
    AttemptEnded,
    AttemptStarted,
    Cancelled,
    Edited,
    Held,
    LeaseReturned,
    LeasesRevoked,
    LeasesSettled,
    MachineLooked,
    Moved,
    Newcomer,
    PoolPaused,
    PoolResized,
    PoolResumed,
    Released,
    ResourceChanged,
    Revoke,
    RunnersCompared,
    Start,
    StartedNow,
    Stop,
    StopBegan,
    WantedEdge,
)
from cronoq_cli.engine.pools import GroupPlan, PoolPlan, set_of
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.state import State
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.lifecycle import ALLOWED, FINAL, LIVE, NEW, WAITING, Status, Trigger
from cronoq_cli.model.task import Backoff, Condition
from tests.engine.story import Story, spec, take_snapshot

GPU = {"gpu": "yes"}
POOLS = {
    "default": PoolPlan(2, max_pending=14, overflow="shed-lowest", limits=MachineLimits(max_load=1.0)),
    "big": PoolPlan(3, fair_share=True, groups=(GroupPlan(GPU, 1, shared=True),), reservable_fraction=1.0),
}
MAIL = GroupTemplate(spec("mail", pool="big", retries=1), grace_s=2.0, max_delay_s=7.0, max_size=3)
KEYS = ("a", "b", "c")
pick = st.integers(min_value=0, max_value=10_000)
seeds = st.integers(min_value=0, max_value=2**32)
codes = st.sampled_from([0, 0, 0, 1, 2, 126])
causes = st.sampled_from([None, None, None, "time limit", "kill-at", "lost", "interrupted", "spawn"])

Attempt = tuple[int, int]


class QueueLife(RuleBasedStateMachine):
    """Events in any order; see the module."""

    def __init__(self) -> None:
        super().__init__()
        self.story = Story()
        self.waiting: dict[Attempt, bool] = {}
        self.running: set[Attempt] = set()
        self.ended: dict[Attempt, Any] = {}
        self.old_news: list[Any] = []
        self.submitted: set[int] = set()
        self.wanted: dict[int, list[tuple[Condition, int]]] = {}
        self.revived: set[int] = set()
        self.heard = 0
        self.permits = 2

    @initialize(leases=st.booleans(), bounded=st.booleans())
    def begin(self, leases: bool, bounded: bool) -> None:
        plan = POOLS["default"] if bounded else PoolPlan(2)
        self.story = Story(plan, leases=leases, setup=self._configure, big=POOLS["big"])

    def _configure(self, state: State) -> None:
        state.resources.configure("gpu", Semaphore(self.permits))
        state.resources.configure("db", Semaphore(1))
        state.resources.configure("api", Bucket(0.5, 3.0, 5000.0))
        state.groups = {"mail": MAIL}

    # -- people ----------------------------------------------------------------------------------------------------

    @rule(seed=seeds)
    def submit(self, seed: int) -> None:
        draw = self._make_draw(seed)
        count = draw.randint(1, 4)
        newcomers = [self._draw_newcomer(draw, index) for index in range(count)]
        batch: dict[str, Any] = {}
        if count > 1 and draw.random() < 0.5:
            batch = {
                "batch": True,
                "members": count,
                "limit": draw.choice([None, 1, 2]),
                "max_fails": draw.choice([None, 0, 1]),
            }
        try:
            accepted = self.story.accept(*newcomers, **batch)
        except CronoqError:
            assert not self.story.engine.state.effects.touched
            return
        self.submitted.update(accepted.ids)
        for task_id, newcomer in zip(accepted.ids, newcomers, strict=True):
            if task_id not in accepted.duplicates:
                self._want(task_id, newcomer.edges, accepted.ids)

    def _want(self, task_id: int, wanted: list[WantedEdge], ids: list[int]) -> None:
        """Keep in mind whom a task waits for."""
        targets = [(edge, ids[edge.index] if edge.index is not None else edge.target) for edge in wanted]
        self.wanted[task_id] = [(edge.condition, target) for edge, target in targets if target is not None]

    def _draw_newcomer(self, draw: Random, index: int) -> Newcomer:
        wall = self.story.now.wall
        fields: dict[str, Any] = {
            "pool": draw.choice(list(POOLS)),
            "priority": draw.randint(0, 3),
            "retries": draw.choice([None, 0, 2]),
            "hold": draw.randint(0, 9) == 0,
            "on_lost": draw.choice([None, "requeue", "hold"]),
            "slots": draw.choice([1, 1, 1, 2]),
            "backoff": Backoff(kind="fixed", first_s=5.0),
        }
        if draw.randint(0, 3) == 0:
            fields["key"] = draw.choice(KEYS)
            fields["if_exists"] = draw.choice(["return", "refuse", "replace", "replace"])
        if draw.randint(0, 3) == 0:
            fields |= self._draw_times(draw, wall)
        if draw.randint(0, 2) == 0:
            fields |= self._draw_wants(draw)
        if draw.randint(0, 6) == 0:
            fields["kill_at"] = wall + draw.choice([-1.0, 8.0, 40.0])
        return Newcomer(spec(draw.choice("xy"), **fields), self._draw_edges(draw, index))

    def _draw_times(self, draw: Random, wall: float) -> dict[str, Any]:
        at = wall + draw.choice([-5.0, 3.0, 30.0])
        kind = draw.choice(["not_before", "start_at", "start_at", "deadline", "expires_at", "group"])
        if kind == "group":
            return {"group": "mail"}
        estimate_s = draw.choice([None, 1.0, 20.0])
        return {kind: at, "on_miss": draw.choice(["run-late", "skip", "fail"]), "estimate_s": estimate_s}

    def _draw_wants(self, draw: Random) -> dict[str, Any]:
        names = draw.choice([[], ["gpu"], ["db"], ["api"], ["gpu", "db"], ["gpu", "api"]])
        fields: dict[str, Any] = {"tenant": draw.choice(["", "alice"])}
        fields["uses"] = {name: 1 if name == "db" else draw.randint(1, 2) for name in names}
        if draw.randint(0, 3) == 0:
            fields |= {"labels": GPU, "pool": "big", "slots": 1}
        return fields

    def _draw_edges(self, draw: Random, index: int) -> list[WantedEdge]:
        wanted = []
        conditions = [Condition.SUCCESS, Condition.ANY, Condition.FAIL]
        for _ in range(draw.choice([0, 0, 0, 1, 2])):
            condition = draw.choice(conditions)
            kind = draw.randint(0, 4)
            if kind == 0 and index:
                wanted.append(WantedEdge(condition, index=draw.randint(0, index - 1)))
            elif kind == 1 and not any(key in self.story.engine.state.keys for key in KEYS):
                wanted.append(WantedEdge(condition, awaited=draw.choice(KEYS)))
            elif self.submitted:
                target = self._pick(sorted(self.submitted), draw.randrange(10_000))
                status = self.story.status(target)
                wanted.append(WantedEdge(condition, target=target, final=status if status in FINAL else None))
        return wanted

    def _make_draw(self, seed: int) -> Random:
        """Fields are drawn by a seed: that mixes them better than many small choices, and faster."""
        return Random(seed * 1009 + len(self.submitted))

    def _pick(self, some: list[Any], number: int) -> Any:
        return some[number % len(some)]

    def _some_ids(self, numbers: list[int]) -> list[int]:
        ids = sorted(self.submitted)
        return [ids[-1 - number % min(len(ids), 12)] for number in numbers] if ids else []

    @rule(numbers=st.lists(pick, min_size=1, max_size=3), dead=st.booleans())
    def cancel(self, numbers: list[int], dead: bool) -> None:
        self.story.handle(Cancelled(self._some_ids(numbers), dead=dead))

    @rule(numbers=st.lists(pick, min_size=1, max_size=3))
    def hold(self, numbers: list[int]) -> None:
        self.story.handle(Held(self._some_ids(numbers)))

    @rule(numbers=st.lists(pick, min_size=1, max_size=3))
    def release(self, numbers: list[int]) -> None:
        self.story.handle(Released(self._some_ids(numbers)))

    @rule(numbers=st.lists(pick, min_size=1, max_size=3))
    def start_now(self, numbers: list[int]) -> None:
        self.story.handle(StartedNow(self._some_ids(numbers)))

    @rule(
        numbers=st.lists(pick, min_size=1, max_size=3), where=st.sampled_from(["first", "last", "before"]), number=pick
    )
    def move(self, numbers: list[int], where: str, number: int) -> None:
        before = (self._some_ids([number]) or [None])[0] if where == "before" else None
        try:
            self.story.handle(Moved(self._some_ids(numbers), first=where == "first", before=before))
        except CronoqError:
            assert not self.story.engine.state.effects.touched

    @precondition(lambda self: self.submitted)
    @rule(number=pick, seed=seeds)
    def edit(self, number: int, seed: int) -> None:
        draw = self._make_draw(seed)
        task_id = self._some_ids([number])[0]
        old = self.story.record(task_id).spec
        new = self._draw_newcomer(draw, 0).spec
        new.key = draw.choice([old.key, *KEYS])
        wanted = self._draw_edges(draw, 0) if draw.random() < 0.5 else None
        try:
            self.story.handle(Edited(task_id, new, wanted))
        except CronoqError:
            assert not self.story.engine.state.effects.touched
            return
        if wanted is not None:
            self._want(task_id, wanted, [])

    @rule(numbers=st.lists(pick, min_size=1, max_size=2))
    def retry(self, numbers: list[int]) -> None:
        finals = [task_id for task_id in self._some_ids(numbers) if self.story.status(task_id) in FINAL]
        try:
            self.story.retry(*finals)
        except CronoqError:
            assert not self.story.engine.state.effects.touched
            return
        self.revived.update(finals)
        for task_id in finals:
            self.wanted[task_id] = []

    @rule(pool=st.sampled_from(list(POOLS)), what=st.sampled_from(["pause", "resume", "0", "1", "4"]))
    def change_pool(self, pool: str, what: str) -> None:
        events = {"pause": PoolPaused(pool), "resume": PoolResumed(pool)}
        if what in events:
            self.story.handle(events[what])
        else:
            self.story.handle(PoolResized(pool, int(what)))
            plan = self.story.pools[pool]
            assert isinstance(plan, PoolPlan)
            self.story.pools[pool] = msgspec.structs.replace(plan, workers=int(what))

    @rule(permits=st.integers(0, 3))
    def change_permits(self, permits: int) -> None:
        self.story.handle(ResourceChanged("gpu", permits=permits))
        self.permits = permits

    @rule(load=st.sampled_from([0.5, 2.0]))
    def look_at_the_machine(self, load: float) -> None:
        self.story.handle(MachineLooked(MachineSeen(load_per_cpu=load)))

    @rule(seconds=st.sampled_from([0.5, 2.0, 7.0, 60.0]), asleep=st.booleans())
    def pass_time(self, seconds: float, asleep: bool) -> None:
        self.story.pass_time(seconds, awake=0.0 if asleep else seconds)

    @rule(numbers=st.lists(pick, min_size=1, max_size=3), settled=st.booleans())
    def call_leases_back(self, numbers: list[int], settled: bool) -> None:
        ids = self.story.handle(LeasesRevoked(self._some_ids(numbers)))
        if settled:
            self.story.handle(LeasesSettled(ids))
        else:
            self.hear_orders()
            for attempt in [(i, n) for i, n in self.waiting if i in ids]:
                self._give_back(attempt)
            self.story.handle(LeasesSettled(ids))

    # -- the runner ------------------------------------------------------------------------------------------------

    def hear_orders(self) -> None:
        for order in self.story.take_orders():
            attempt = (order.task, order.attempt)
            match order:
                case Start(ahead=ahead):
                    assert attempt not in self.running, "an attempt is started once"
                    self.waiting[attempt] = ahead
                case Revoke() if attempt in self.waiting:
                    self._give_back(attempt)
                case Stop() if attempt in self.waiting:
                    self._give_back(attempt)
                case _:
                    pass

    def _give_back(self, attempt: Attempt) -> None:
        """An order is dropped once, and its number may be ordered anew: that report is never repeated."""
        del self.waiting[attempt]
        self.story.handle(LeaseReturned(*attempt))

    def _report(self, event: Any) -> None:
        self.story.handle(event)
        self.old_news.append(event)

    @rule()
    def runner_hears(self) -> None:
        self.hear_orders()

    @rule(number=pick)
    def runner_starts(self, number: int) -> None:
        if self.waiting:
            attempt = self._pick(sorted(self.waiting), number)
            del self.waiting[attempt]
            self.running.add(attempt)
            self._report(AttemptStarted(*attempt, 100 + attempt[0], self.story.now.wall))

    @rule(
        number=pick, code=codes, cause=causes, lone=st.booleans(), outcome=st.sampled_from(["", "", "retry", "revoke"])
    )
    def runner_ends(self, number: int, code: int, cause: str | None, lone: bool, outcome: str) -> None:
        able = sorted(self.running) + (sorted(self.waiting) if lone else [])
        if not able:
            return
        attempt = self._pick(able, number)
        self.running.discard(attempt)
        self.waiting.pop(attempt, None)
        report = [("outcome", outcome)] if outcome else []
        end = self.story.describe_end(code, cause=cause, report=report, run_s=0.01, error_kind="machine")
        self._report(AttemptEnded(*attempt, end))

    @rule(number=pick)
    def runner_repeats_itself(self, number: int) -> None:
        if self.old_news:
            before = take_snapshot(self.story.engine)
            self.story.handle(self._pick(self.old_news, number))
            self.story.engine.state.effects.touched.clear()
            assert take_snapshot(self.story.engine)["tasks"] == before["tasks"], "old news changes nothing"

    @rule(hurry=st.booleans(), code=codes)
    def stop_and_start_the_daemon(self, hurry: bool, code: int) -> None:
        """Every running task gets its signal and ends by it; then the next daemon begins."""
        self.story.handle(StopBegan(hurry=hurry))
        self.hear_orders()
        for attempt in sorted(self.running):
            self._report(AttemptEnded(*attempt, self.story.describe_end(code, cause="interrupted")))
        self.running.clear()
        assert not [order for order in self.story.take_orders() if isinstance(order, Start)]
        self.crash(forget=False)

    @rule(forget=st.booleans())
    def crash(self, forget: bool) -> None:
        """The daemon dies, orders on their way are lost; perhaps the runner died as well."""
        if forget:
            self.waiting.clear()
            self.running.clear()
        self.story.crash(compare=False)
        self.story.handle(RunnersCompared(set(self.waiting) | self.running))

    # -- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        kept = self.story.engine.state.tasks
        for task_id in self.submitted:
            record = self.story.record(task_id)
            assert (record.status in LIVE or record.leaving) == (task_id in kept)
            if task_id in kept:
                assert kept[task_id].status is record.status

    @invariant()
    def every_move_is_in_the_table(self) -> None:
        status: dict[int, str] = {}
        for event in self.story.shelf.history:
            if event.id is None:
                continue
            before, status[event.id] = status.get(event.id), event.status or ""
            if before is None:
                assert Status(event.status or "") in NEW
            elif before != event.status:
                step = (Status(before), Trigger(event.type), Status(event.status or ""))
                assert step in ALLOWED or step[1] is Trigger.RETRIED, step

    @invariant()
    def no_dependent_runs_against_its_condition(self) -> None:
        news, self.heard = self.story.shelf.history[self.heard :], len(self.story.shelf.history)
        for event in news:
            if event.type != Trigger.STARTED or event.id is None:
                continue
            for condition, target in self.wanted.get(event.id, []):
                final = self.story.status(target)
                assert target in self.revived or (final in FINAL and decide_edge(condition, final)), (event, target)

    @invariant()
    def slots_are_counted_right(self) -> None:
        state = self.story.engine.state
        for name, pool in state.pools.items():
            tasks = [task for task in state.tasks.values() if task.pool == name]
            assert pool.busy == sum(task.slots for task in tasks if _takes_slots(task))
            assert set(pool.leased) == {task.id for task in tasks if task.leased and not task.leaving}
            for status in LIVE:
                assert pool.counts[status] == sum(task.status is status for task in tasks), (name, status)

    @invariant()
    def what_may_start_has_started(self) -> None:
        state, now = self.story.engine.state, self.story.now
        pools = [pool for pool in state.pools.values() if state.is_open(pool) and not pool.leased]
        wanting = [pool for pool in pools if pool.wanting]
        found = choose_jointly(state, wanting, now) if len(wanting) > 1 else None
        assert found is None, found and found[1].to_record()
        for pool in pools:
            if len(wanting) < 2 or not pool.wanting:
                start = choose(state, pool, now)
                assert start is None, start and start[0].to_record()

    @invariant()
    def no_unit_is_held_twice_or_leaked(self) -> None:
        state = self.story.engine.state
        holders = [task for task in state.tasks.values() if task.units and _takes_slots(task)]
        for name, known in state.resources.known.items():
            if isinstance(known, Semaphore):
                out = [unit for task in holders for unit in (task.units or {}).get(name, [])]
                assert sorted(out) == known.units_out, name
        assert all(task.units is None for task in state.tasks.values() if not _takes_slots(task))
        for pool in state.pools.values():
            for number, workers in enumerate(pool.sets):
                assert workers.busy == sum(task.slots for task in pool.running.values() if set_of(task) == number)

    @invariant()
    def only_fixed_starts_ahead_have_reservations(self) -> None:
        state = self.story.engine.state
        for pool in state.pools.values():
            fixed = [task for task in state.tasks.values() if task.pool == pool.name and task.is_fixed]
            ahead = [task.id for task in fixed if task.is_waiting and (task.when.start_at or 0) > self.story.now.wall]
            reserved = [task.id for task in fixed if pool.find_reservation(task.id) is not None]
            assert set(ahead) <= set(reserved)
            assert len(reserved) == pool.reserved

    @invariant()
    def members_of_a_group_have_a_task_that_runs_for_them(self) -> None:
        state = self.story.engine.state
        for task in state.tasks.values():
            if task.gathered_by is not None and task.status in LIVE:
                assert state.tasks[task.gathered_by].status in LIVE
            if task.gathering and task.status is Status.BLOCKED and not (task.held or task.open_edges):
                assert task.id in state.gatherings[task.gathering].members

    @invariant()
    def batches_keep_their_limit(self) -> None:
        state = self.story.engine.state
        assert all(state.batches.get(t.batch.record.first) is t.batch for t in state.tasks.values() if t.batch)
        for batch in state.batches.values():
            members = [task for task in state.tasks.values() if task.batch is batch]
            assert batch.running == sum(_takes_slots(task) for task in members)
            assert batch.record.limit is None or batch.running <= batch.record.limit
            assert batch.kept == len(members) > 0

    @invariant()
    def nothing_waits_without_a_reason(self) -> None:
        state = self.story.engine.state
        for task in state.tasks.values():
            gathers = bool(task.gathering) or task.gathered_by is not None
            waits = task.held or task.open_edges > 0 or gathers
            assert (task.status is Status.BLOCKED) == waits or task.status not in LIVE
            for edge in state.graph.list_open(task.id):
                if edge.target is not None:
                    target = state.tasks[edge.target]
                    assert target.status in LIVE or (edge.condition is Condition.GONE and target.leaving)

    @invariant()
    def keys_are_unique(self) -> None:
        state = self.story.engine.state
        live = [task for task in state.tasks.values() if task.status in LIVE and task.key is not None]
        assert {task.key: task.id for task in live} == state.keys
        assert len(live) == len(state.keys)

    @invariant()
    def order_is_kept(self) -> None:
        state = self.story.engine.state
        for name, pool in state.pools.items():
            ready = [t for t in state.tasks.values() if t.pool == name and t.status is Status.READY and not t.leased]
            order = self.story.queue(name)
            assert sorted(i for i in order if not state.tasks[i].leased) == sorted(
                task.id for task in ready if task.id not in pool.unfit
            )
            for priority in range(4):
                seqs = [state.tasks[i].seq for i in order if _is_plain(state.tasks[i], priority)]
                assert seqs == sorted(seqs)

    @invariant()
    def recovery_gives_the_same_engine(self) -> None:
        wall = self.story.now.wall
        twin = self.story.make_twin(self.story.pools)
        found, wanted = take_snapshot(twin, wall), take_snapshot(self.story.engine, wall)
        for part in wanted:
            assert found[part] == wanted[part], (part, found[part], wanted[part])

    @invariant()
    def time_is_armed_for_what_waits_for_it(self) -> None:
        state, now = self.story.engine.state, self.story.now
        soonest = self.story.engine.next_due_s(now)
        for task in state.tasks.values():
            if task.status is Status.SCHEDULED and task.due_at is not None:
                assert soonest is not None and soonest <= max(0.0, task.due_at - now.wall) + 1e-6
            if task.status in WAITING and task.when.expires_at is not None and task.attempt == 0:
                due = max(0.0, task.when.expires_at - now.wall)
                assert state.is_run_for(task) or (soonest is not None and soonest <= due + 1e-6)
            if task.status is Status.RETRYING:
                assert task.due_awake is not None
                assert soonest is not None and soonest <= max(0.0, task.due_awake - now.awake) + 1e-6


def _takes_slots(task: LiveTask) -> bool:
    return task.status is Status.RUNNING or (task.leaving and not task.leased)


def _is_plain(task: LiveTask, priority: int) -> bool:
    return task.priority == priority and task.wants is None


TestQueueLife = QueueLife.TestCase
TestQueueLife.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


# -- long lives ------------------------------------------------------------------------------------------------------

LIVES = 20
STEPS = 250


def _list_steps(life: QueueLife, draw: Random) -> list[tuple[int, Callable[[], None]]]:
    """What may happen next, and how often in comparison."""
    number, numbers = draw.randrange(10_000), [draw.randrange(10_000) for _ in range(draw.randint(1, 3))]
    heads = draw.random() < 0.5
    pool = draw.choice(list(POOLS))
    outcome = draw.choice(["", "", "", "retry", "revoke"])
    cause = draw.choice([None, None, None, None, "time limit", "kill-at", "lost", "interrupted", "spawn"])
    return [
        (12, lambda: life.submit(seed=draw.randrange(2**32))),
        (6, life.runner_hears),
        (10, lambda: life.runner_starts(number=number)),
        (
            12,
            lambda: life.runner_ends(
                number=number, code=draw.choice([0, 0, 0, 1, 126]), cause=cause, lone=heads, outcome=outcome
            ),
        ),
        (6, lambda: life.pass_time(seconds=draw.choice([0.5, 2.0, 7.0, 60.0]), asleep=draw.random() < 0.2)),
        (1, lambda: life.cancel(numbers=numbers, dead=heads)),
        (1, lambda: life.hold(numbers=numbers)),
        (3, lambda: life.release(numbers=numbers)),
        (1, lambda: life.start_now(numbers=numbers)),
        (1, lambda: life.move(numbers=numbers, where=draw.choice(["first", "last", "before"]), number=number)),
        (2, lambda: life.edit(number=number, seed=number) if life.submitted else None),
        (2, lambda: life.retry(numbers=numbers)),
        (1, lambda: life.change_pool(pool=pool, what=draw.choice(["pause", "resume", "resume", "1", "4", "4"]))),
        (1, lambda: life.change_permits(permits=draw.choice([0, 1, 2, 3]))),
        (1, lambda: life.look_at_the_machine(load=draw.choice([0.5, 0.5, 2.0]))),
        (1, lambda: life.call_leases_back(numbers=numbers, settled=heads)),
        (1, lambda: life.runner_repeats_itself(number=number)),
        (1, lambda: life.crash(forget=draw.random() < 0.2)),
        (1, lambda: life.stop_and_start_the_daemon(hurry=heads, code=draw.choice([0, 1]))),
    ]


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_long_life_full_of_work_keeps_every_promise(seed: int) -> None:
    draw, life = Random(seed), QueueLife()
    life.begin(leases=seed % 2 == 0, bounded=seed % 3 == 0)
    promises = [getattr(life, name) for name, value in vars(QueueLife).items() if hasattr(value, INVARIANT)]
    assert len(promises) > 10
    for _ in range(STEPS):
        weights, steps = zip(*_list_steps(life, draw), strict=True)
        draw.choices(steps, weights)[0]()
        for promise in promises:
            promise()
