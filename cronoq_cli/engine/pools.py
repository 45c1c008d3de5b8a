"""The pools: how many slots there are, how many are taken, what stands ready, and what was given ahead.

Which task goes next is `lanes`; how far ahead to give is `decide_ahead`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from cronoq_cli.engine.autoscale import AutoscaleSettings, MachineLimits, ScaleState
from cronoq_cli.engine.demand import WORKERS
from cronoq_cli.engine.fairness import Shares
from cronoq_cli.engine.history import PoolTimes
from cronoq_cli.engine.lanes import Lanes
from cronoq_cli.engine.live import READY, SCHEDULED, LiveTask, Now
from cronoq_cli.engine.metering import Meter
from cronoq_cli.engine.overload import SHEDDING, Victims
from cronoq_cli.engine.reservations import Reservation, Reservations
from cronoq_cli.engine.runs import Run, Tasks
from cronoq_cli.model.lifecycle import FINAL, LIVE, WAITING, Status

Leases = Literal["auto", "never", "always"]
"""Whether orders are given ahead of need: for tasks of kinds that are known to be short, not at all, or for all."""
AHEAD_WINDOW_S = 0.25
"""How much work, by learned run times, may stand at the runner ahead of need."""
AHEAD_MOST = 64
AHEAD_SHORT_S = 0.1
"""Tasks that run longer are never given ahead: strict order costs them nothing."""


Labels = tuple[tuple[str, str], ...]


class WorkerSet:
    """Workers of one kind: the pool's own, or a group with labels; `shared`: also for tasks without `--on`."""

    __slots__ = ("busy", "labels", "reservations", "shared", "workers")

    def __init__(self, workers: int, labels: Mapping[str, str] | None = None, *, shared: bool = True) -> None:
        self.workers = workers
        self.labels = dict(labels or {})
        self.shared = shared
        self.busy = 0
        self.reservations = Reservations()

    @property
    def free(self) -> int:
        """Free slots; below zero while more run than a lowered set has."""
        return self.workers - self.busy

    def serves(self, labels: Labels) -> bool:
        """Whether a task that asks for these labels may run here."""
        return all(self.labels.get(k) == v for k, v in labels) if labels else self.shared


class GroupPlan(msgspec.Struct, frozen=True):
    """Workers with labels (`[[pools.NAME.groups]]`)."""

    labels: Mapping[str, str]
    workers: int
    shared: bool = False


class PoolPlan(msgspec.Struct, frozen=True):
    """What the configuration says of a pool, as far as the engine goes by it (specification section 5).

    `workers`: at the start; `least` and `most` differ from it only where `autoscale` moves between them."""

    workers: int
    least: int | None = None
    most: int | None = None
    weight: float = 1.0
    max_pending: int | None = None
    overflow: str = "wait"
    reservable_fraction: float = 0.5
    max_hold_s: float = 300.0
    default_duration_s: float = 60.0
    fair_share: bool = False
    tenant_weights: Mapping[str, float] = {}
    autoscale: AutoscaleSettings | None = None
    limits: MachineLimits | None = None
    groups: tuple[GroupPlan, ...] = ()
    cost_per_worker_second: float = 0.0


NO_PLAN = PoolPlan(workers=0)


class LivePool:
    """One pool as the engine keeps it. `busy` counts slots, not tasks.

    `configured`: workers by configuration; 0 for a pool that is there only for tasks left from an older one.
    `capped`: why the machine's own limits keep it from starting. `changes`: what was set by command. `arrivals`:
    tasks that became ready since the last look of autoscaling. `wanting`: ready tasks that want resources.
    `contested`: something has become ready since it was last judged whether it goes before a lease. `recalling`:
    a lease was asked back, and may be on its way still. `sheds`: whether tasks may be shed here.
    """

    __slots__ = (
        "_serving",
        "arrivals",
        "capped",
        "changes",
        "configured",
        "contested",
        "counts",
        "lanes",
        "leased",
        "meter",
        "name",
        "paused",
        "plan",
        "ready",
        "recalling",
        "running",
        "scale",
        "scale_due_at",
        "scale_reason",
        "scale_seen_at",
        "sets",
        "shares",
        "sheds",
        "times",
        "totals",
        "unfit",
        "victims",
        "wanting",
    )

    def __init__(self, name: str, plan: PoolPlan | int, tasks: Tasks) -> None:
        self.name = name
        self.follow_plan(PoolPlan(plan) if isinstance(plan, int) else plan)
        self.sets = [WorkerSet(self.plan.workers)]
        self.sets += [WorkerSet(one.workers, one.labels, shared=one.shared) for one in self.plan.groups]
        self._serving: dict[Labels, tuple[int, ...]] = {}
        self.configured = self.plan.workers
        self.ready = [0, 0, 0, 0]
        self.arrivals = 0
        self.wanting = 0
        self.shares = Shares(self.plan.tenant_weights)
        self.victims = Victims()
        self.scale = ScaleState()
        self.scale_reason: str | None = None
        self.scale_seen_at: float | None = None
        self.scale_due_at: float | None = None
        self.paused = False
        self.capped: str | None = None
        self.changes: dict[str, object] = {}
        self.running: dict[int, LiveTask] = {}
        self.leased: dict[int, LiveTask] = {}
        self.contested = False
        self.recalling = False
        self.lanes = Lanes(tasks)
        self.unfit: dict[int, LiveTask] = {}
        self.counts = dict.fromkeys(LIVE, 0)
        self.totals = {"started": 0, "retried": 0, **{status.value: 0 for status in FINAL}}
        self.times = PoolTimes()
        self.meter = Meter()

    def follow_plan(self, plan: PoolPlan) -> None:
        """Go by this plan from now on; workers and what is there already stay as they are."""
        self.plan = plan
        self.sheds = plan.overflow in SHEDDING

    def awaits_leases(self) -> bool:
        """Whether a lease was asked back of which it is not known yet what became of it."""
        self.recalling = self.recalling and any(task.recalled for task in self.leased.values())
        return self.recalling

    @property
    def most(self) -> int:
        """The most workers without labels it can have."""
        most = self.plan.most
        return max(self.workers, self.configured, 0 if most is None else most)

    @property
    def pending(self) -> int:
        """Tasks that wait, for whatever reason."""
        return sum(self.counts[status] for status in WAITING)

    def leave_status(self, task: LiveTask) -> None:
        """A task is about to leave its status, class or pool: it is counted here no more."""
        if task.status in LIVE:
            self.counts[task.status] -= 1
        if task.status is READY:
            self._count_ready(task, -1)
        self.victims.discard(task.id, task.priority)

    def enter_status(self, task: LiveTask) -> None:
        """A task has come into its status, class or pool."""
        if task.status in LIVE:
            self.counts[task.status] += 1
        if task.status is READY:
            self._count_ready(task, 1)
        self.enter_victims(task)

    def change_status(self, task: LiveTask, target: Status) -> None:
        """A task of this pool has another status from here on."""
        counts, before = self.counts, task.status
        task.status = target
        if before in counts:
            counts[before] -= 1
            if before is READY:
                self._count_ready(task, -1)
        if target in counts:
            counts[target] += 1
            if target is READY:
                self._count_ready(task, 1)
        if self.sheds:
            self.victims.discard(task.id, task.priority)
            self.enter_victims(task)

    def _count_ready(self, task: LiveTask, by: int) -> None:
        self.ready[task.priority] += by
        if task.demand is not None and task.demand.uses:
            self.wanting += by

    def enter_victims(self, task: LiveTask) -> None:
        """Let a task be one that may be shed, where this pool sheds: it waits, not blocked, not at the runner, with no
        fixed start."""
        if self.sheds and task.status in (READY, SCHEDULED):
            if not task.leased and not task.is_fixed:
                self.victims.add(task.id, task.priority)

    def enter_run(self, run: Run) -> None:
        """The tasks of a run have come."""
        sample, count = run.sample, len(run)
        self.counts[READY] += count
        self._count_ready(sample, count)
        self.enter_all_victims(run)

    def enter_all_victims(self, run: Run) -> None:
        """Let all tasks of a run be such that may be shed, where this pool sheds."""
        if self.sheds:
            for task_id in run:
                self.victims.add(task_id, run.sample.priority)

    def forget_waiting(self, task: LiveTask) -> None:
        """A task waits no more here: it has started, or ended, or gone to another pool."""
        if self.unfit:
            self.unfit.pop(task.id, None)
        if task.times is not None:
            self.remove_reservation(task.id)

    def remove_reservation(self, task_id: int) -> None:
        """Slots are reserved for this task no more, if they were."""
        for one in self.sets:
            one.reservations.remove(task_id)

    def find_reservation(self, task_id: int) -> Reservation | None:
        """What is reserved for a task, or None."""
        found = (one.reservations.find(task_id) for one in self.sets)
        return next((one for one in found if one is not None), None)

    @property
    def reserved(self) -> int:
        """How many fixed starts have slots reserved."""
        return sum(len(one.reservations) for one in self.sets)

    @property
    def reserves(self) -> bool:
        """Whether slots are reserved here for any fixed start."""
        sets = self.sets
        return bool(sets[0].reservations.planned) or (len(sets) > 1 and any(one.reservations.planned for one in sets))

    @property
    def workers(self) -> int:
        """The workers without labels."""
        return self.sets[0].workers

    @workers.setter
    def workers(self, count: int) -> None:
        self.sets[0].workers = count

    @property
    def busy(self) -> int:
        """Slots taken, in all sets."""
        return self.sets[0].busy if len(self.sets) == 1 else sum(one.busy for one in self.sets)

    @property
    def free(self) -> int:
        """Free slots among the workers without labels."""
        return self.sets[0].free

    @property
    def capacity(self) -> int:
        """Slots in all sets."""
        return sum(one.workers for one in self.sets)

    @property
    def is_simple(self) -> bool:
        """Whether all its workers are alike."""
        return len(self.sets) == 1

    @property
    def has_room(self) -> bool:
        """Whether any of its workers is free."""
        first = self.sets[0]
        return first.workers > first.busy or any(one.workers > one.busy for one in self.sets)

    def list_sets(self, task: LiveTask) -> tuple[int, ...]:
        """The sets of workers that may run a task, by number."""
        labels = task.demand.labels if task.demand is not None else ()
        found = self._serving.get(labels)
        if found is None:
            found = tuple(number for number, one in enumerate(self.sets) if one.serves(labels))
            self._serving[labels] = found
        return found

    def add_sets(self, sets: Iterable[WorkerSet]) -> None:
        """More sets of workers, or none, while others may have changed whom they serve."""
        self.sets += sets
        self._serving.clear()

    def find_home(self, slots: int, labels: Labels) -> int:
        """The first set of workers that serves and may ever hold a task of so many slots; else the pool's own."""
        for number, one in enumerate(self.sets):
            if one.serves(labels) and slots <= (one.workers if number else self.most):
                return number
        return 0

    def can_ever_fit(self, slots: int, labels: Labels = ()) -> bool:
        """Whether so many slots are there in one set, or are there by configuration."""
        sizes = [self.most if n == 0 else one.workers for n, one in enumerate(self.sets) if one.serves(labels)]
        return bool(sizes) and slots <= max(sizes)

    def fits_now(self, task: LiveTask) -> bool:
        """Whether a set is large enough as the pool is sized now, or as autoscaling may size it."""
        sets = self.sets
        if task.demand is None and task.slots <= sets[0].workers and sets[0].shared:
            return True
        if len(sets) == 1 and task.demand is None:
            return task.slots <= self._reach
        return any(task.slots <= (self.sets[n].workers if n else self._reach) for n in self.list_sets(task))

    @property
    def _reach(self) -> int:
        most = self.plan.most if self.plan.autoscale is not None else None
        return max(self.workers, 0 if most is None else most)

    def count_busy_s(self, now: Now) -> float:
        """Slot seconds used so far, those of what runs included."""
        running = ((task.slots, task.started_at) for task in self.running.values())
        ahead = sum(slots * max(0.0, now.wall - (now.wall if at is None else at)) for slots, at in running)
        return self.meter.busy_s + ahead

    def take(self, task: LiveTask) -> None:
        """Give a task its slots, in the set that its units name."""
        self.sets[set_of(task)].busy += task.slots
        self.running[task.id] = task
        if self.plan.fair_share:
            self.shares.take(tenant_of(task), task.slots)
        if task.batch is not None:
            task.batch.running += 1

    def give_back(self, task: LiveTask) -> None:
        """Free the slots of a task whose process tree is gone."""
        if self.running.pop(task.id, None) is not None:
            self.sets[set_of(task)].busy -= task.slots
            if self.plan.fair_share:
                self.shares.give_back(tenant_of(task), task.slots)
            if task.batch is not None:
                task.batch.running -= 1


def tenant_of(task: LiveTask) -> str:
    """Whose a task is; nobody's belongs to the tenant without a name."""
    return "" if task.demand is None else task.demand.tenant


def set_of(task: LiveTask) -> int:
    """The number of the set of workers that a running task is in."""
    return 0 if task.units is None else task.units.get(WORKERS, _FIRST)[0]


_FIRST = [0]


def may_go_ahead(task: LiveTask) -> bool:
    """Whether nothing but the order of its pool decides of a task's start."""
    if task.slots != 1 or task.kill_at is not None or task.wants is not None or task.times is not None:
        return False
    if task.batch is not None and task.batch.record.max_fails is not None:
        return False  # what fails before it may end it
    return not (task.facts and "members" in task.facts)  # of a group's task it is decided at its start who they are


def decide_ahead(workers: int, run_s: float | None, leases: Leases) -> int:
    """How many tasks of a kind with this learned run time may stand at the runner ahead of need; 0: none of them."""
    if leases == "always":
        return AHEAD_MOST
    if run_s is None or run_s > AHEAD_SHORT_S or leases == "never":
        return 0
    return min(AHEAD_MOST, max(1, int(workers * AHEAD_WINDOW_S / max(run_s, 0.001))))
