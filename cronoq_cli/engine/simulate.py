"""The real engine run forward in virtual time: a model runner ends what it starts after given or expected run times.

No decision of scheduling is made here. Where the engine comes from (a fork, the store, an empty one) is the
caller's; arrivals and what-ifs are applied to it as events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush

import msgspec

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.fork import copy_run_times
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import (
    AttemptEnded,
    Cancelled,
    Newcomer,
    RunnersCompared,
    Start,
    Stop,
    Submitted,
    TimePassed,
    WantedEdge,
)
from cronoq_cli.engine.runs import NEVER
from cronoq_cli.engine.simulated import Arrival, Outcome, PlannedRun, PoolUse, SimulatedTask
from cronoq_cli.engine.submissions import check_fits
from cronoq_cli.errors import ConflictError, InvalidError, TryLaterError
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.model.recurring import PassedSlots
from cronoq_cli.model.task import TaskSpec

IDLE_MOST = 100_000
"""Moments in a row in which nothing happens, after which nothing is expected any more: autoscaling looks again and
again at a paused pool."""
LEFT_OUT = "left out"
PLAIN_RUN = PlannedRun()
_FLUSH = 2000
_STEP_S = 1e-6
"""The least step of time towards a timer: below it the clocks' own precision could keep time from passing."""


class Simulation:
    """Runs `engine` forward from `now`; the engine is used up by it.

    `runs`: how attempts go, by task id; others take their expected time (specification section 4) as it is known
    at the beginning, and succeed. `specs`: what is told with each task. `plan_of`: how tasks go that come from the
    engine's own schedules; with schedules a run has no end but its horizon. Raises what a submission raises for
    arrivals that could never be taken (InvalidError).
    """

    def __init__(
        self,
        engine: Engine,
        now: Now,
        *,
        arrivals: Sequence[Arrival] = (),
        runs: Mapping[int, PlannedRun] | None = None,
        specs: Mapping[int, TaskSpec] | None = None,
        plan_of: Callable[[TaskSpec], PlannedRun] | None = None,
    ) -> None:
        self.engine = engine
        self.began = now
        self._passed_s = 0.0
        self._now = now
        self._arrivals = sorted(enumerate(arrivals), key=lambda pair: pair[1].at_s)
        self._next_arrival = 0
        self.ids: dict[int, int] = {}
        """The ids that arrivals got, by their position."""
        self._runs = dict(runs or {})
        self._specs = dict(specs or {})
        self._plan_of = plan_of
        self._passed_slots: dict[tuple[str, float, str], PassedSlots] = {}
        self._known = copy_run_times(engine.state.run_times)
        self._ends: list[tuple[float, int, int, int, AttemptEnd]] = []
        self._ending: dict[int, int] = {}
        self._orders = 0
        self._rows: dict[int, SimulatedTask] = {}
        self._uses: dict[str, PoolUse] = {}
        self._there: dict[str, float] = {}
        self._changed_s = 0.0
        self._refused: dict[int, tuple[Arrival, str]] = {}
        self._begun = False

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, horizon_s: float | None = None, until: Callable[[], bool] | None = None) -> Outcome:
        """Run until everything has ended, nothing more can happen, `horizon_s` is reached or `until` is true."""
        if not self._begun:
            self._begin()
        idle = 0
        while not (until is not None and until()) and idle < IDLE_MOST:
            step_s = self._find_step_s()
            if step_s is None or (horizon_s is not None and self._passed_s + step_s > horizon_s):
                break
            self._advance(step_s)
            idle = 0 if self._do_what_is_due() else idle + 1
        return self._conclude()

    def find_row(self, task_id: int) -> SimulatedTask | None:
        """What has become of a task so far."""
        return self._rows.get(task_id)

    def _begin(self) -> None:
        self._begun = True
        state = self.engine.state
        state.leases = "never"
        state.tasks.bulk = NEVER
        for pool in state.pools.values():
            self._uses[pool.name] = PoolUse(pool.name, pool.capacity)
            self._there[pool.name] = 0.0
        for task in state.tasks.values():
            self._add_row(task)
            if task.id in state.pools[task.pool].running:
                self._go_on(task)
        if not state.compared:
            known = {(task_id, state.tasks[task_id].attempt) for task_id in self._ending}
            self.engine.handle(RunnersCompared(known), self._now)
        state.wake_all()
        self._submit_due()
        self.engine.handle(TimePassed(), self._now)
        self._collect()

    def _find_step_s(self) -> float | None:
        """Seconds to the next moment at which something is due, or None when nothing ever will be."""
        ends, ending = self._ends, self._ending
        while ends and ending.get(ends[0][2]) != ends[0][1]:
            heappop(ends)
        next_s = ends[0][0] if ends else None
        if self._next_arrival < len(self._arrivals):
            at_s = self._arrivals[self._next_arrival][1].at_s
            next_s = at_s if next_s is None or at_s < next_s else next_s
        elif not self.engine.state.tasks and not self.engine.state.schedules:
            return None
        step_s = None if next_s is None else max(0.0, next_s - self._passed_s)
        due_s = self.engine.next_due_s(self._now)
        if due_s is None or (step_s is not None and step_s <= due_s):
            return step_s
        return due_s if due_s == 0.0 else max(due_s, _STEP_S)

    def _advance(self, step_s: float) -> None:
        if step_s <= 0.0:
            return
        for pool in self.engine.state.pools.values():
            use = self._use_of(pool.name)
            use.busy_s += pool.busy * step_s
            self._there[pool.name] += pool.capacity * step_s
        self._passed_s += step_s
        self._now = Now(self.began.wall + self._passed_s, self.began.awake + self._passed_s)

    def _do_what_is_due(self) -> bool:
        """Ends, then arrivals, then timers; whether anything was done."""
        done = self._end_due()
        done = self._submit_due() or done
        if self.engine.next_due_s(self._now) == 0.0:
            self.engine.handle(TimePassed(), self._now)
            done = self._collect() or done
        return done

    # -- the model runner ----------------------------------------------------------------------------------------

    def _go_on(self, task: LiveTask) -> None:
        """A task runs already: it ends when it is expected to, or now when that has passed or it is being stopped."""
        started_at = task.started_at if task.started_at is not None else self._now.wall
        self._rows[task.id].runs.append((started_at, None))
        ran_s = max(0.0, self._now.wall - started_at)
        self._order_end(task, 0.0 if task.leaving else max(0.0, self._run_of(task) - ran_s), ran_s)

    def _run_of(self, task: LiveTask) -> float:
        run_s = self._runs.get(task.id, PLAIN_RUN).run_s
        if run_s is not None:
            return run_s
        pool = self.engine.state.pools[task.pool]
        return self._known.expected_s(task.pool, task.policy.kind, task.when.estimate_s, pool.plan.default_duration_s)

    def _order_end(self, task: LiveTask, left_s: float, ran_s: float = 0.0) -> None:
        """Let a running attempt end in `left_s`, or at its limit when that comes first."""
        plan = self._runs.get(task.id, PLAIN_RUN)
        limits = [] if plan.timeout_s is None else [(max(0.0, plan.timeout_s - ran_s), "time limit")]
        if task.kill_at is not None:
            limits.append((max(0.0, task.kill_at - self._now.wall), "kill-at"))
        limit_s, cause = min(limits, default=(left_s, ""))
        if limit_s < left_s:
            self._plan_end(task, limit_s, AttemptEnd(ended_at=0.0, run_s=ran_s + limit_s, signal=15, cause=cause))
        else:
            self._plan_end(task, left_s, AttemptEnd(ended_at=0.0, run_s=ran_s + left_s, exit_code=plan.exit_code))

    def _plan_end(self, task: LiveTask, left_s: float, end: AttemptEnd) -> None:
        self._orders += 1
        self._ending[task.id] = self._orders
        end.started_at = task.started_at
        heappush(self._ends, (self._passed_s + left_s, self._orders, task.id, task.attempt, end))

    def _end_due(self) -> bool:
        done = False
        ends, ending = self._ends, self._ending
        while ends and ends[0][0] <= self._passed_s:
            _, order, task_id, attempt, end = heappop(ends)
            if ending.get(task_id) != order:
                continue
            del ending[task_id]
            end.ended_at = self._now.wall
            runs = self._rows[task_id].runs
            runs[-1] = (runs[-1][0], end.ended_at)
            self.engine.handle(AttemptEnded(task_id, attempt, end), self._now)
            done = self._collect() or done
        return done

    def _collect(self) -> bool:
        """Carry out the orders of the engine and note what ended; whether there was anything."""
        effects = self.engine.state.effects
        done = bool(effects.actions or effects.ended or effects.transitions)
        if not done:
            return False
        if self._plan_of is not None:
            self._note_occurrences(self._plan_of)
        for action in effects.actions:
            if isinstance(action, Start):
                self._start(action)
            elif isinstance(action, Stop):
                self._stop(action)
        for task_id in effects.ended:
            task = effects.touched.get(task_id)
            if task is not None:
                self._note(task)
        effects.actions.clear()
        effects.ended.clear()
        effects.transitions.clear()
        if len(effects.touched) > _FLUSH:
            self.engine.take_effects()
        self._changed_s = self._passed_s
        for name, there_s in self._there.items():
            self._uses[name].there_s = there_s
        return True

    def _note_occurrences(self, plan_of: Callable[[TaskSpec], PlannedRun]) -> None:
        """Keep what is known of tasks that schedules have made, and the slots of which they made none."""
        effects = self.engine.state.effects
        for task_id, spec in effects.new.items():
            self._specs[task_id], self._runs[task_id] = spec, plan_of(spec)
        effects.new.clear()
        self._passed_slots.update(effects.passed)
        effects.passed.clear()

    def _start(self, order: Start) -> None:
        task = self.engine.state.tasks[order.task]
        row = self._rows.get(task.id) or self._add_row(task)
        row.runs.append((self._now.wall, None))
        row.ready_at = task.ready_at
        use = self._use_of(task.pool)
        use.started += 1
        use.most_busy = max(use.most_busy, self.engine.state.pools[task.pool].busy)
        self._order_end(task, self._run_of(task))

    def _stop(self, order: Stop) -> None:
        """What is stopped ends at once."""
        task = self.engine.state.tasks.get(order.task)
        if task is not None and order.task in self._ending:
            end = AttemptEnd(ended_at=0.0, run_s=0.0, signal=order.signal, cause=order.cause)
            self._plan_end(task, 0.0, end)

    # -- arrivals ------------------------------------------------------------------------------------------------

    def _submit_due(self) -> bool:
        """Submit what arrives now: together, as one submission, or one by one where that is refused."""
        due: list[tuple[int, Arrival]] = []
        while self._next_arrival < len(self._arrivals):
            position, arrival = self._arrivals[self._next_arrival]
            if arrival.at_s > self._passed_s:
                break
            due.append((position, arrival))
            self._next_arrival += 1
        if due and not self._submit(due):
            for one in due:
                self._submit([one])
        return bool(due)

    def _submit(self, due: list[tuple[int, Arrival]]) -> bool:
        """Queue them all; False when several cannot be queued together now. Raises InvalidError."""
        newcomers = self._place(due)
        try:
            ids = self.engine.handle(Submitted(newcomers), self._now).ids
        except (TryLaterError, ConflictError) as error:
            if len(due) == 1:
                self._refused[due[0][0]] = (due[0][1], error.message)
            return len(due) == 1
        except InvalidError:
            self._find_wrong(due)
            raise
        left_out = [task_id for (_, arrival), task_id in zip(due, ids, strict=True) if arrival.left_out]
        for (position, arrival), task_id in zip(due, ids, strict=True):
            self.ids[position] = task_id
            if task_id not in self._rows:
                self._runs[task_id] = arrival.run
                self._specs[task_id] = arrival.newcomer.spec
                self._add_row(self._get(task_id))
        if left_out:
            self.engine.handle(Cancelled(left_out, reason=LEFT_OUT), self._now)
        self._collect()
        return True

    def _get(self, task_id: int) -> LiveTask:
        """A task, also one that has ended a moment ago."""
        return self.engine.find(task_id) or self.engine.state.effects.touched[task_id]

    def _place(self, due: list[tuple[int, Arrival]]) -> list[Newcomer]:
        """The newcomers with edges as the engine knows them. Raises InvalidError for those on later arrivals."""
        members = {position: index for index, (position, _) in enumerate(due)}
        newcomers = []
        for _, arrival in due:
            newcomer = arrival.newcomer
            if newcomer.edges:
                try:
                    newcomer = Newcomer(newcomer.spec, [self._resolve(edge, members) for edge in newcomer.edges])
                except InvalidError as error:
                    raise _at(arrival, error) from error
            if arrival.left_out:
                newcomer = Newcomer(msgspec.structs.replace(newcomer.spec, hold=True), newcomer.edges)
            newcomers.append(newcomer)
        return newcomers

    def _find_wrong(self, due: list[tuple[int, Arrival]]) -> None:
        """Raises InvalidError naming the first arrival that could never be taken, if one alone is to blame."""
        for _, arrival in due:
            try:
                check_fits(self.engine.state, arrival.newcomer.spec)
            except InvalidError as error:
                raise _at(arrival, error) from error

    def _resolve(self, edge: WantedEdge, members: Mapping[int, int]) -> WantedEdge:
        """An edge on another arrival: of the same submission, queued before, or never taken (then as if cancelled)."""
        if edge.index is None:
            return edge
        if edge.index in members:
            return WantedEdge(edge.condition, index=members[edge.index])
        task_id = self.ids.get(edge.index)
        if task_id is None and edge.index in self._refused:
            return WantedEdge(edge.condition, target=0, final=Status.CANCELLED)
        if task_id is None:
            raise InvalidError("it waits for a task that is submitted later", hint="submit that one first")
        row = self._rows[task_id]
        return WantedEdge(edge.condition, target=task_id, final=None if row.status in LIVE else row.status)

    # -- looking -------------------------------------------------------------------------------------------------

    def _use_of(self, pool: str) -> PoolUse:
        """The use of a pool, also of one that came later."""
        use = self._uses.get(pool)
        if use is None:
            use = self._uses[pool] = PoolUse(pool, self.engine.state.pools[pool].capacity)
            self._there[pool] = 0.0
        return use

    def _add_row(self, task: LiveTask) -> SimulatedTask:
        when = task.when
        row = self._rows[task.id] = SimulatedTask(
            id=task.id,
            pool=task.pool,
            priority=task.priority,
            submitted_at=task.submitted_at,
            spec=self._specs.get(task.id) or self.engine.state.effects.new.get(task.id),
            status=task.status,
            reason=task.reason,
            deadline=when.deadline,
            start_at=when.start_at if task.attempt == 0 else None,
            tolerance_s=when.tolerance_s,
        )
        return row

    def _note(self, task: LiveTask) -> None:
        row = self._rows.get(task.id) or self._add_row(task)
        row.status, row.reason, row.ended_at = task.status, task.reason, task.finished_at

    def _conclude(self) -> Outcome:
        live = self.engine.state.tasks.values()
        for task in live:
            row = self._rows.get(task.id) or self._add_row(task)
            row.status, row.reason, row.ready_at = task.status, task.reason, task.ready_at
        return Outcome(
            began_at=self.began.wall,
            ended_at=self.began.wall + self._changed_s,
            tasks=sorted((row for row in self._rows.values() if row.reason != LEFT_OUT), key=_order),
            pools=list(self._uses.values()),
            refused=list(self._refused.values()),
            passed=sorted(self._passed_slots.values(), key=lambda row: (row.first_at, row.schedule)),
            is_whole=not live and self._next_arrival == len(self._arrivals),
        )


def _at(arrival: Arrival, error: InvalidError) -> InvalidError:
    """The error with the place of the arrival before it."""
    where = f"{arrival.what}: " if arrival.what else ""
    return InvalidError(where + error.message, hint=error.hint, code=error.code)


def _order(row: SimulatedTask) -> tuple[bool, float, int]:
    started_at = row.started_at
    return started_at is None, row.submitted_at if started_at is None else started_at, row.id
