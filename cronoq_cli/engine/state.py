"""Everything the engine holds, and the few moves all duties share: changing a status, settling, finishing.

No decisions of a single duty here: judging ends is in `ends`, submissions in `submissions`, the user's verbs in
`verbs`, starting in `dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cronoq_cli.engine.graph import Graph, decide_edge
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import LiveBatch, LiveTask, Now
from cronoq_cli.engine.messages import Effects, Revoke
from cronoq_cli.engine.pools import LivePool, RunTimes
from cronoq_cli.engine.timers import Due, Timers
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.lifecycle import ALLOWED, LIVE, Status, Trigger
from cronoq_cli.model.policy import Policy
from cronoq_cli.model.task import Batch, Edge, TaskSpec, Transition
from cronoq_cli.model.words import hint_for

PolicyOf = Callable[[TaskSpec], Policy]


@dataclass(slots=True)
class State:
    """Everything the engine holds. The other modules of this room work on it, one duty each."""

    policy_of: PolicyOf
    scoring: Scoring = field(default_factory=Scoring)
    tasks: dict[int, LiveTask] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    pools: dict[str, LivePool] = field(default_factory=dict)
    batches: dict[int, LiveBatch] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    timers: Timers = field(default_factory=Timers)
    run_times: RunTimes = field(default_factory=RunTimes)
    next_id: int = 1
    first_seq: float = 0.0
    last_seq: float = 0.0
    stopping: bool = False
    draining: bool = False
    compared: bool = True
    leases: bool = True
    """Whether orders may be given to the runner ahead of need at all."""
    pinned: set[int] = field(default_factory=set)
    """Tasks whose leases were called back for a change: nothing is given ahead until the change is made."""
    overfailed: set[int] = field(default_factory=set)
    """Batches that have failed more often than they may."""
    woken: dict[str, None] = field(default_factory=dict)
    """Pools in which something may start now, in the order in which that came up."""
    effects: Effects = field(default_factory=Effects)

    # -- looking -------------------------------------------------------------------------------------------------

    def get_pool(self, name: str) -> LivePool:
        """The pool of that name. Raises InvalidError when there is none."""
        pool = self.pools.get(name)
        if pool is None:
            raise InvalidError(f"unknown pool {name!r}", hint=hint_for(name, sorted(self.pools)), code="unknown-pool")
        return pool

    # -- moving --------------------------------------------------------------------------------------------------

    def move(self, task: LiveTask, trigger: Trigger, target: Status, now: Now, message: str | None = None) -> None:
        """The one way a task's status changes. Raises AssertionError for a move outside the tables."""
        assert (task.status, trigger, target) in ALLOWED, f"task {task.id}: {task.status} -> {target} by {trigger}"
        counts = self.pools[task.pool].counts
        if task.status in LIVE:
            counts[task.status] -= 1
        if target in LIVE:
            counts[target] += 1
        if task.status is Status.READY and target is not Status.RUNNING:
            self.woken[task.pool] = None  # a large head may have kept slots free that others fit into
        task.status = target
        task.updated_at = now.wall
        self.effects.touched[task.id] = task
        self.tell(task, trigger._value_, now, message)

    def touch(self, task: LiveTask, now: Now) -> None:
        """Mark a task's state as changed, to be written with the next commit."""
        task.updated_at = now.wall
        self.effects.touched[task.id] = task

    def tell(self, task: LiveTask, kind: str, now: Now, message: str | None = None) -> None:
        """Add a line to the event history."""
        self.effects.transitions.append(
            Transition(
                at=now.wall,
                type=kind,
                id=task.id,
                key=task.key,
                pool=task.pool,
                status=task.status._value_,
                attempt=task.attempt or None,
                message=message if message is not None else task.reason,
            )
        )

    def wake(self, pool: str) -> None:
        """Something changed that may let a task of this pool start."""
        self.woken[pool] = None

    def wake_all(self) -> None:
        """Something changed that may let a task of any pool start."""
        self.woken.update(dict.fromkeys(self.pools))

    def decide_waiting(self, task: LiveTask, now: Now) -> Status:
        """Where a task that does not run belongs: blocked, scheduled, retrying or ready."""
        if task.held or task.open_edges:
            return Status.BLOCKED
        if task.due_at is not None and task.due_at > now.wall:
            return Status.SCHEDULED if task.due_at == task.not_before else Status.RETRYING
        return Status.READY

    def settle(self, task: LiveTask, now: Now) -> None:
        """Do what belongs to the waiting status a task has just got: lane, timer, reason."""
        if task.status is Status.READY:
            self._settle_ready(task, now)
        elif task.status is Status.BLOCKED:
            task.reason = "held" if task.held else "dependencies"
        elif task.status is Status.SCHEDULED and task.due_at is not None:
            task.reason = "scheduled"
            self.timers.arm_wall(task.due_at, Due.START, task.id)
        elif task.status is Status.RETRYING and task.due_at is not None:
            task.reason = task.message
            task.due_awake = now.awake + max(0.0, task.due_at - now.wall)
            self.timers.arm_awake(task.due_awake, Due.BACKOFF, task.id)

    def _settle_ready(self, task: LiveTask, now: Now) -> None:
        if task.ready_at is None:
            task.ready_at = now.wall
        task.due_at = task.due_awake = task.reason = None
        pool = self.pools[task.pool]
        if task.slots > pool.workers:
            task.reason = "cannot fit"
            task.in_heap = False
            pool.unfit[task.id] = task
            return
        pool.lanes.push(task)
        if pool.leased:
            self._recall_outranked(task, pool, now)
        if self.leases or pool.busy < pool.workers:
            self.woken[task.pool] = None

    def _recall_outranked(self, task: LiveTask, pool: LivePool, now: Now) -> None:
        """Take leases back that a better-placed newcomer outranks (specification section 3, `ready`).

        They were given best first, so the search ends at the first that stays."""
        for leased in reversed(pool.leased.values()):
            if not self.scoring.outranks(task, leased, now.wall):
                break
            self.recall(leased)

    def recall(self, task: LiveTask) -> None:
        """Ask the runner for a leased order back, once."""
        if not task.recalled:
            task.recalled = True
            self.effects.actions.append(Revoke(task.id, task.attempt + 1))

    def free(self, task: LiveTask) -> None:
        """The process tree of a task is gone: its slots are free for others."""
        self.pools[task.pool].give_back(task)
        self.woken[task.pool] = None
        if task.batch is not None:
            self._drop_if_over(task.batch)
            if task.batch.record.limit is not None:
                self.wake_all()

    # -- edges and ends ------------------------------------------------------------------------------------------

    def open_edge(self, edge: Edge) -> None:
        """Add an open edge and count it; one that is open already is not counted twice."""
        if self.graph.open(edge):
            self.tasks[edge.task].open_edges += 1
            self.effects.edges.open(edge)

    def remember_edge(self, edge: Edge) -> None:
        """Keep an edge that was judged as soon as it was wanted: a retry with dependents goes along it."""
        self.effects.edges.open(edge)
        self.effects.edges.close(edge)

    def drop_edge(self, edge: Edge) -> None:
        """Take one open edge away; its task is not moved."""
        self.graph.close(edge)
        self.tasks[edge.task].open_edges -= 1
        self.effects.edges.close(edge)

    def forget_edges(self, task: LiveTask) -> None:
        """Drop all open edges of a task that waits for them no more."""
        if task.open_edges:
            self.effects.edges.forget(task.id, self.graph.forget(task.id))
            task.open_edges = 0

    def finish(self, task: LiveTask, now: Now) -> None:
        """Do what belongs to a final status just got, for this task and for all it decides down the graph."""
        ended = [task]
        while ended:
            one = ended.pop()
            self._leave(one, now)
            for edge in self.graph.list_dependents(one.id):
                skipped = self._resolve(edge, one, now)
                if skipped is not None:
                    ended.append(skipped)

    def _leave(self, task: LiveTask, now: Now) -> None:
        task.finished_at = now.wall
        task.due_at = task.due_awake = None
        self.effects.ended.append(task.id)
        if task.key is not None and self.keys.get(task.key) == task.id:
            del self.keys[task.key]
        pool = self.pools[task.pool]
        pool.totals[task.status._value_] += 1
        pool.unfit.pop(task.id, None)
        self.forget_edges(task)
        if task.batch is not None:
            self._count_out(task.batch, task)
        if not task.leaving:
            self.tasks.pop(task.id, None)

    def _count_out(self, batch: LiveBatch, task: LiveTask) -> None:
        batch.alive -= 1
        if task.status in (Status.FAILED, Status.DEAD_LETTERED):
            batch.record.failed += 1
            self.effects.batches[batch.record.first] = batch.record
            if batch.record.max_fails is not None and batch.record.failed > batch.record.max_fails:
                self.overfailed.add(batch.record.first)
        self._drop_if_over(batch)

    def _drop_if_over(self, batch: LiveBatch) -> None:
        if batch.alive == 0 and batch.running == 0:
            self.batches.pop(batch.record.first, None)

    def _resolve(self, edge: Edge, target: LiveTask, now: Now) -> LiveTask | None:
        """Close or keep one edge of a target that has ended; the dependent, if this skips it."""
        dependent = self.tasks[edge.task]
        met = decide_edge(edge.condition, target.status, leaving=target.leaving)
        if met is None or dependent.status is not Status.BLOCKED:
            return None
        if met:
            self.meet_edge(edge, now)
            return None
        dependent.reason = describe_unmet(target.id, target.status)
        self.move(dependent, Trigger.EDGE_UNMEETABLE, Status.SKIPPED, now)
        return dependent

    def meet_edge(self, edge: Edge, now: Now) -> None:
        """An edge is met: its task may go on when it was the last."""
        self.drop_edge(edge)
        dependent = self.tasks[edge.task]
        target = self.decide_waiting(dependent, now)
        if target is not Status.BLOCKED:
            self.move(dependent, Trigger.EDGES_MET, target, now, "")
            self.settle(dependent, now)

    def skip(self, task: LiveTask, reason: str, now: Now) -> None:
        """An edge of a blocked task can no longer be met: it is skipped, whatever else holds it back."""
        task.reason = reason
        self.move(task, Trigger.EDGE_UNMEETABLE, Status.SKIPPED, now)
        self.finish(task, now)

    def release_gone(self, task: LiveTask, now: Now) -> None:
        """The process tree of a final task is gone: its slots are free, and who waited for that may go on."""
        task.leaving = task.recalled = False
        task.pid = task.slot = None
        self.free(task)
        self.tasks.pop(task.id, None)
        self.touch(task, now)
        for edge in self.graph.list_dependents(task.id):
            self._resolve(edge, task, now)

    def add_batch(self, record: Batch) -> LiveBatch:
        """Keep a batch with live members."""
        batch = self.batches[record.first] = LiveBatch(record)
        return batch


def describe_unmet(target: int, final: Status) -> str:
    """Why a task is skipped: what became of the one it waited for."""
    return f"{target} {final.value.replace('_', '-')}"
