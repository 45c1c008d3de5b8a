"""Everything the engine holds, and the few moves all duties share: changing a status, settling, finishing.

No decisions of a single duty here: judging ends is in `ends`, submissions in `submissions`, the user's verbs in
`verbs`, starting in `dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import msgspec

from cronoq_cli.engine.demand import Demand
from cronoq_cli.engine.gathering import Gathering, GroupTemplate
from cronoq_cli.engine.graph import Graph, decide_edge
from cronoq_cli.engine.history import TOLD_WITH_ATTEMPT, sum_up_task
from cronoq_cli.engine.lanes import Place, Scoring
from cronoq_cli.engine.live import BLOCKED, READY, RETRYING, RUNNING, SCHEDULED, LiveBatch, LiveTask, Now
from cronoq_cli.engine.messages import Effects, Revoke
from cronoq_cli.engine.notices import Incidents, note_end, note_start
from cronoq_cli.engine.pools import Leases, LivePool
from cronoq_cli.engine.resources import Resources
from cronoq_cli.engine.runs import Tasks
from cronoq_cli.engine.schedules import Schedules
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.statistics import RunTimes
from cronoq_cli.engine.timers import Due, Timers
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.lifecycle import ALLOWED, LIVE, Status, Trigger
from cronoq_cli.model.policy import Policy
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.model.task import Batch, Edge, TaskSpec, Transition
from cronoq_cli.model.urgency import decide_urgency
from cronoq_cli.model.words import hint_for

PolicyOf = Callable[[TaskSpec], Policy]
Note = Callable[[Incidents, LiveTask, ScheduleSpec | None, Now], None]


class State(msgspec.Struct):
    """Everything the engine holds. The other modules of this room work on it, one duty each."""

    policy_of: PolicyOf
    scoring: Scoring = msgspec.field(default_factory=Scoring)
    tasks: Tasks = msgspec.field(default_factory=Tasks)
    keys: dict[str, int] = {}
    pools: dict[str, LivePool] = {}
    batches: dict[int, LiveBatch] = {}
    graph: Graph = msgspec.field(default_factory=Graph)
    timers: Timers = msgspec.field(default_factory=Timers)
    run_times: RunTimes = msgspec.field(default_factory=RunTimes)
    next_id: int = 1
    first_seq: float = 0.0
    last_seq: float = 0.0
    stopping: bool = False
    draining: bool = False
    compared: bool = True
    several_runners: bool = False
    """Nothing is given ahead then: what starts by itself in one runner would not see what the other runs."""
    runner_trouble: str | None = None
    """Why there is no runner; None where none is missing, or it is only awaited."""
    leases: Leases = "auto"
    """Whether orders may be given to the runner ahead of need at all."""
    pinned: set[int] = set()
    """Tasks whose leases were called back for a change: nothing is given ahead until the change is made."""
    overfailed: set[int] = set()
    """Batches that have failed more often than they may."""
    woken: dict[str, None] = {}
    """Pools in which something may start now, in the order in which that came up."""
    effects: Effects = msgspec.field(default_factory=Effects)
    resources: Resources = msgspec.field(default_factory=Resources)
    total: TotalWorkers | None = None
    demands: dict[Demand, Demand] = {}
    groups: dict[str, GroupTemplate] = {}
    gatherings: dict[str, Gathering] = {}
    full_gatherings: dict[str, None] = {}
    """Groups whose members are to be handed to one task now."""
    deserted: set[int] = set()
    """Tasks of groups of which a member has ended before them."""
    max_pending: int | None = None
    """How many tasks may wait in all pools together."""
    roomy_below: float = inf
    """As long as fewer tasks are live, no pool and no total is full."""
    scales: bool = False
    """Whether any pool is autoscaled."""
    limited: bool = False
    """Whether any pool goes by limits of the machine's."""
    incidents: Incidents = msgspec.field(default_factory=Incidents)
    meters_due_at: float = -inf
    """When, on the awake clock, the pools' meters are written down again, should something happen then."""
    tokens_at: float | None = None
    """When, on the awake clock, a timer for tokens is armed already."""
    schedules: Schedules = msgspec.field(default_factory=Schedules)
    over: list[LiveTask] = []
    """Occurrences that have ended and are not judged yet."""

    def note_plans(self) -> None:
        """Keep in mind what any of the pools' plans asks for."""
        plans = [pool.plan for pool in self.pools.values()]
        self.scales = any(plan.autoscale is not None for plan in plans)
        self.limited = any(plan.limits is not None for plan in plans)
        bounds = [self.max_pending, *(plan.max_pending for plan in plans)]
        self.roomy_below = min((bound for bound in bounds if bound is not None), default=inf)

    # -- looking -------------------------------------------------------------------------------------------------

    def get_pool(self, name: str) -> LivePool:
        """The pool of that name. Raises InvalidError when there is none."""
        pool = self.pools.get(name)
        if pool is None:
            raise InvalidError(f"unknown pool {name!r}", hint=hint_for(name, sorted(self.pools)), code="unknown-pool")
        return pool

    def is_open(self, pool: LivePool) -> bool:
        """Whether tasks of a pool may start at all."""
        return self.compared and not (pool.paused or pool.capped or self.draining or self.stopping)

    def is_run_for(self, task: LiveTask) -> bool:
        """Whether the task of its group has started on a gathered task: from there on that one's end decides."""
        runner = None if task.gathered_by is None else self.tasks.get(task.gathered_by)
        return runner is not None and runner.attempt > 0

    # -- moving --------------------------------------------------------------------------------------------------

    def move(self, task: LiveTask, trigger: Trigger, target: Status, now: Now, message: str | None = None) -> None:
        """The one way a task's status changes. Raises AssertionError for a move outside the tables."""
        assert (task.status, trigger, target) in ALLOWED, f"task {task.id}: {task.status} -> {target} by {trigger}"
        was = task.status
        if target is not RUNNING:
            if was is READY:
                self.woken[task.pool] = None  # a large head may have kept slots free that others fit into
                if task.demand is not None and task.demand.uses:
                    self.wake_all()  # or units that tasks of other pools want
            elif task.times is not None:
                self.woken[task.pool] = None  # workers may have been held for its fixed start
        self.pools[task.pool].change_status(task, target)
        task.updated_at = now.wall
        self.effects.touched[task.id] = task
        told = self.tell(task, trigger._value_, now, message)
        if target not in LIVE and trigger not in TOLD_WITH_ATTEMPT:
            told.ended = sum_up_task(task, was, now)

    def touch(self, task: LiveTask, now: Now) -> None:
        """Mark a task's state as changed, to be written with the next commit."""
        task.updated_at = now.wall
        self.effects.touched[task.id] = task

    def tell(self, task: LiveTask, kind: str, now: Now, message: str | None = None) -> Transition:
        """Add a line to the event history; the line."""
        told = Transition(
            at=now.wall,
            type=kind,
            id=task.id,
            key=task.key,
            pool=task.pool,
            status=task.status._value_,
            attempt=task.attempt or None,
            message=message if message is not None else task.reason,
        )
        self.effects.transitions.append(told)
        return told

    def wake(self, pool: str) -> None:
        """Something changed that may let a task of this pool start."""
        self.woken[pool] = None

    def wake_all(self) -> None:
        """Something changed that may let a task of any pool start."""
        self.woken.update(dict.fromkeys(self.pools))

    def wake_wanting(self, pool: LivePool) -> None:
        """What other pools left to better-placed candidates of this one may be theirs now."""
        for other in self.pools.values():
            if other.wanting and other is not pool:
                self.woken[other.name] = None

    def intern(self, task: LiveTask) -> None:
        """Let equal demands be one object."""
        if task.demand is not None:
            task.demand = self.demands.setdefault(task.demand, task.demand)

    def expected_s(self, task: LiveTask) -> float:
        """The expected run time of a task, seconds (specification section 4)."""
        default_s = self.pools[task.pool].plan.default_duration_s
        return self.run_times.expected_s(task.pool, task.policy.kind, task.when.estimate_s, default_s)

    def score(self, task: LiveTask, wall: float) -> float:
        """The score of a task at the moment `wall`, urgency included."""
        score = self.scoring.score(task, wall)
        deadline = None if task.times is None else task.times.deadline
        if deadline is not None:
            score += decide_urgency(deadline, self.expected_s(task), wall)
        return score

    def place(self, task: LiveTask, wall: float) -> Place:
        """By what candidates are compared: the greatest starts first."""
        if task.times is None:
            return False, self.scoring.score(task, wall), -task.seq
        if task.is_fixed:
            return True, -(task.times.start_at or 0.0), -task.seq
        return False, self.score(task, wall), -task.seq

    def arm_tokens(self, at_awake: float) -> None:
        """Look at all pools again when tokens will have come; one timer is enough."""
        if self.tokens_at is None or at_awake < self.tokens_at:
            self.tokens_at = at_awake
            self.timers.arm_awake(at_awake, Due.TOKENS, 0)

    def decide_waiting(self, task: LiveTask, now: Now) -> Status:
        """Where a task that does not run belongs: blocked, scheduled, retrying or ready."""
        if task.held or task.open_edges or task.gathering or task.gathered_by is not None:
            return BLOCKED
        if task.due_at is not None and task.due_at > now.wall:
            return SCHEDULED if task.due_at == task.not_before else RETRYING
        return READY

    def settle(self, task: LiveTask, now: Now) -> None:
        """Do what belongs to the waiting status a task has just got: lane, timer, reason."""
        if task.status is READY:
            self._settle_ready(task, now)
        elif task.status is BLOCKED:
            task.reason = "held" if task.held else "dependencies" if task.open_edges else self._gather(task, now)
        elif task.status is SCHEDULED and task.due_at is not None:
            task.reason = "scheduled"
            self.timers.arm_wall(task.due_at, Due.START, task.id)
        elif task.status is RETRYING and task.due_at is not None:
            task.reason = task.message
            task.due_awake = now.awake + max(0.0, task.due_at - now.wall)
            self.timers.arm_awake(task.due_awake, Due.BACKOFF, task.id)

    def _gather(self, task: LiveTask, now: Now) -> str:
        """Let a task wait for the others of its group, or for the task that runs for them; returns its reason."""
        if not task.gathering:
            return f"gathered into {task.gathered_by}"
        if task.ready_at is None:
            task.ready_at = now.wall
        gathering = self.gatherings.setdefault(task.gathering, Gathering())
        gathering.join(task.id, task.ready_at)
        self.judge_gathering(task.gathering, gathering)
        return "gathering"

    def judge_gathering(self, name: str, gathering: Gathering) -> None:
        """A full group goes at once, another when it is due; one that is configured no more waits to be so again."""
        template = self.groups.get(name)
        if template is None:
            return
        if len(gathering.members) >= template.max_size:
            self.prune_gathering(name, gathering)
        due_at = gathering.due_at(template)
        if len(gathering.members) >= template.max_size:
            self.full_gatherings[name] = None
        elif gathering.members and (gathering.armed_at is None or due_at < gathering.armed_at):
            gathering.armed_at = due_at
            self.timers.arm_wall(due_at, Due.GATHER, 0)

    def prune_gathering(self, name: str, gathering: Gathering) -> None:
        """Drop those that wait with their group no more: ended, held, or edited since they joined."""
        gathering.drop([task_id for task_id in gathering.members if not self._gathers(task_id, name)])

    def _gathers(self, task_id: int, name: str) -> bool:
        task = self.tasks.get(task_id)
        if task is None or task.gathering != name or task.status is not BLOCKED:
            return False
        return not (task.held or task.open_edges)

    def _settle_ready(self, task: LiveTask, now: Now) -> None:
        pool = self.pools[task.pool]
        if task.ready_at is None:
            task.ready_at = now.wall
            pool.arrivals += 1
        task.due_at = task.due_awake = task.reason = None
        if task.times is not None and task.times.start_at is not None and task.attempt == 0:
            self.timers.arm_wall(task.times.start_at + task.times.tolerance_s, Due.MISS, task.id)
        if not self.fits(task, pool):
            task.reason = "cannot fit"
            task.entry = None
            pool.unfit[task.id] = task
            return
        pool.lanes.push(task)
        self.wake_for_ready(pool)

    def wake_for_ready(self, pool: LivePool) -> None:
        """Something has become ready in a pool: it may start, go before a lease, or be given ahead."""
        if pool.leased:
            pool.contested = True
        if pool.leased or self.leases != "never" or pool.wanting or not pool.is_simple or pool.busy < pool.workers:
            self.woken[pool.name] = None

    def fold(self, task: LiveTask) -> None:
        """Let a task that has been settled, and that nobody will change on the way, be of a run where it can."""
        if task.status is READY and task.entry is not None:
            self.pools[task.pool].lanes.fold(task)

    def fits(self, task: LiveTask, pool: LivePool) -> bool:
        """Whether what it wants is there at all, as pools and resources are sized now."""
        if not pool.fits_now(task) or (self.total is not None and task.slots > self.total.workers):
            return False
        return task.demand is None or not self.resources.list_impossible(task.demand.uses)

    def recall(self, task: LiveTask) -> None:
        """Ask the runner for a leased order back, once."""
        if not task.recalled:
            task.recalled = self.pools[task.pool].recalling = True
            self.effects.actions.append(Revoke(task.id, task.attempt + 1))

    def drop_lease(self, task: LiveTask) -> LivePool:
        """A task is given ahead no more; its pool. What else became of it is to be written with its own row."""
        pool = self.pools[task.pool]
        if pool.leased.pop(task.id, None) is not None:
            self.effects.leasing.add(pool.name)
        return pool

    def free(self, task: LiveTask) -> None:
        """The process tree of a task is gone: its slots and resources are free for others."""
        name = task.pool
        self.pools[name].give_back(task)
        self.woken[name] = None
        if task.units is not None:
            self.resources.give_back(task.units)
            task.units = None
            self.wake_all()
        elif self.total is not None:
            self.wake_all()
        if task.batch is not None and task.batch.record.limit is not None:
            self.wake_all()
            for pool in self.pools.values():
                pool.contested = True  # another of the array may start

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
        if task.facts is None or "members" not in task.facts:
            if not self.graph.has_dependents(task.id):
                self._leave(task, now)
                return
        ended = [task]
        while ended:
            one = ended.pop()
            self._leave(one, now)
            if one.facts is not None and "members" in one.facts:
                ended += self._end_members(one, now)
            for edge in self.graph.list_dependents(one.id):
                skipped = self._resolve(edge, one, now)
                if skipped is not None:
                    ended.append(skipped)

    def _end_members(self, task: LiveTask, now: Now) -> list[LiveTask]:
        """The members of a group end as the task that ran for them did."""
        members = [self.tasks.get(task_id) for task_id in (task.facts or {})["members"]]
        ended = [member for member in members if member is not None and member.gathered_by == task.id]
        for member in ended:
            member.exit_code, member.signal, member.message = task.exit_code, task.signal, task.message
            member.started_at = task.started_at
            member.reason = f"with {task.id}"
            self.move(member, Trigger.GATHERED, task.status, now)
        return ended

    def _leave(self, task: LiveTask, now: Now) -> None:
        task.finished_at = now.wall
        task.due_at = task.due_awake = None
        self.effects.ended.append(task.id)
        occurs = task.is_occurrence
        if occurs:
            self.over.append(task)
        if task.key is not None and self.keys.get(task.key) == task.id:
            del self.keys[task.key]
        pool = self.pools[task.pool]
        pool.totals[task.status._value_] += 1
        pool.forget_waiting(task)
        if task.open_edges:
            self.forget_edges(task)
        if task.batch is not None:
            self._count_failure(task.batch, task)
        if occurs or self.incidents.by_pool:
            self._note(note_end, task, now)
        if task.gathered_by is not None:
            self.deserted.add(task.gathered_by)
        if not task.leaving:
            self._drop(task)

    def _drop(self, task: LiveTask) -> None:
        """Keep a task no more, nor its batch when it was the last of it."""
        self.tasks.pop(task.id, None)
        if task.batch is not None:
            task.batch.kept -= 1
            if task.batch.kept == 0:
                self.batches.pop(task.batch.record.first, None)

    def note_start(self, task: LiveTask, now: Now) -> None:
        """A task started: hooks and pings may be told of it."""
        if task.attempt == 1 and (self.incidents.by_pool or task.is_occurrence):
            self._note(note_start, task, now)
        if task.facts is not None and "recurring" in task.facts:
            one = self.schedules.by_name.get(task.facts["recurring"])
            if one is not None and one.leave_ahead([task.id]):  # started before its time
                self.effects.schedules[one.name] = one.schedule

    def _note(self, note: Note, task: LiveTask, now: Now) -> None:
        """Occurrences that a person started tell nothing: who did is looking."""
        facts = task.facts or {}
        if "manual" not in facts:
            one = self.schedules.by_name.get(facts.get("recurring", ""))
            note(self.incidents, task, None if one is None else one.spec, now)

    def _count_failure(self, batch: LiveBatch, task: LiveTask) -> None:
        if task.status in (Status.FAILED, Status.DEAD_LETTERED):
            batch.record.failed += 1
            self.effects.batches[batch.record.first] = batch.record
            if batch.record.max_fails is not None and batch.record.failed > batch.record.max_fails:
                self.overfailed.add(batch.record.first)

    def _resolve(self, edge: Edge, target: LiveTask, now: Now) -> LiveTask | None:
        """Close or keep one edge of a target that has ended; the dependent, if this skips it."""
        dependent = self.tasks[edge.task]
        met = decide_edge(edge.condition, target.status, leaving=target.leaving)
        if met is None or dependent.status is not BLOCKED:
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
        if target is not BLOCKED:
            self.move(dependent, Trigger.EDGES_MET, target, now, "")
            self.settle(dependent, now)
        elif dependent.gathering and not dependent.open_edges:
            self.settle(dependent, now)
            self.touch(dependent, now)

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
        self._drop(task)
        self.touch(task, now)
        for edge in self.graph.list_dependents(task.id):
            self._resolve(edge, task, now)

    def add_batch(self, record: Batch) -> LiveBatch:
        """Keep a batch as long as members of it are kept."""
        batch = self.batches[record.first] = LiveBatch(record)
        return batch


def describe_unmet(target: int, final: Status) -> str:
    """Why a task is skipped: what became of the one it waited for."""
    return f"{target} {final.value.replace('_', '-')}"
