"""Pools, resources and limits as the configuration or a command has them now, while work goes on."""

from __future__ import annotations

from cronoq_cli.engine.dispatch import describe_stored, recall_leases, resize
from cronoq_cli.engine.fairness import Shares
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    MachineLooked,
    NoticesReplanned,
    PoolReplanned,
    ResourceChanged,
    ResourcesReplanned,
    RulesReplanned,
    TotalsReplanned,
)
from cronoq_cli.engine.overload import SHEDDING, Victims
from cronoq_cli.engine.pools import LivePool, PoolPlan, WorkerSet, tenant_of
from cronoq_cli.engine.resources import CATCH_UP, Bucket
from cronoq_cli.engine.scaling import apply_machine_seen
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State


def apply_pool_replanned(state: State, event: PoolReplanned, now: Now) -> None:
    """Go by another plan from now on; a pool that was not there is added. What runs goes on."""
    pool = state.pools.get(event.pool)
    if pool is None:
        pool = state.pools[event.pool] = LivePool(event.pool, event.plan, state.tasks)
    old = pool.plan
    pool.follow_plan(event.plan)
    pool.configured = event.plan.workers
    pool.changes = event.changes
    pool.capped = None if event.plan.limits is None else pool.capped
    _replan_groups(pool, event.plan)
    _count_anew(state, pool)
    recall_leases(state, pool)
    state.note_plans()
    keeps_size = old.workers == event.plan.workers and event.plan.autoscale is not None
    reason = "by command" if event.changes else "by configuration"
    resize(state, pool, pool.workers if keeps_size else event.plan.workers, now, reason)
    state.effects.resized = True
    state.effects.pools[pool.name] = describe_stored(pool)


def _count_anew(state: State, pool: LivePool) -> None:
    """Who may be shed and what each tenant has running are only counted where the plan asks for it."""
    pool.victims, pool.shares = Victims(), Shares(pool.plan.tenant_weights)
    for task in pool.running.values():
        if pool.plan.fair_share:
            pool.shares.take(tenant_of(task), task.slots)
    if pool.plan.overflow in SHEDDING:
        for task in state.tasks.made():
            if task.pool == pool.name:
                pool.enter_victims(task)
        for run in state.tasks.runs():
            if run.sample.pool == pool.name:
                pool.enter_all_victims(run)


def _replan_groups(pool: LivePool, plan: PoolPlan) -> None:
    """Sets keep their numbers, by which running tasks know them: a group that is gone stays, with no workers."""
    planned = {tuple(sorted(group.labels.items())): group for group in plan.groups}
    for one in pool.sets[1:]:
        group = planned.pop(tuple(sorted(one.labels.items())), None)
        one.workers = 0 if group is None else group.workers
        one.shared = one.shared if group is None else group.shared
    pool.add_sets(WorkerSet(group.workers, group.labels, shared=group.shared) for group in planned.values())


def apply_totals_replanned(state: State, event: TotalsReplanned, now: Now) -> None:
    """Other bounds for all pools together; what runs goes on."""
    state.max_pending = event.max_pending
    state.leases = event.leases
    state.note_plans()
    state.total = None if event.workers is None else TotalWorkers(event.workers, strict=event.strict)
    for pool in state.pools.values():
        recall_leases(state, pool)
    _fit_anew(state, now)


def apply_notices_replanned(state: State, event: NoticesReplanned, now: Now) -> None:
    """Hooks want other notices from now on."""
    state.incidents.by_pool = event.by_pool


def apply_resources_replanned(state: State, event: ResourcesReplanned, now: Now) -> None:
    """Other resources; of those that stay, what is out stays out."""
    for name in set(state.resources.known) - set(event.resources) - {CATCH_UP}:
        state.resources.remove(name)
    for name, resource in event.resources.items():
        state.resources.configure(name, resource)
    _fit_anew(state, now)


def apply_rules_replanned(state: State, event: RulesReplanned, now: Now) -> None:
    """Other defaults of pools for what is submitted or edited from now on, and other numbers in the scores."""
    state.policy_of, state.scoring = event.policy_of, event.scoring
    state.wake_all()


def _fit_anew(state: State, now: Now) -> None:
    """Sort out in every pool what can fit now."""
    for pool in state.pools.values():
        resize(state, pool, pool.workers, now)


def apply_resource_changed(state: State, event: ResourceChanged, now: Now) -> None:
    """Other numbers for a resource. Raises InvalidError for an unknown one or one of the other kind."""
    if event.permits is not None:
        state.resources.resize(event.name, event.permits)
    if event.rate is not None:
        known = state.resources.get(event.name)
        burst = event.burst if event.burst is not None else known.burst if isinstance(known, Bucket) else event.rate
        state.resources.set_rate(event.name, event.rate, burst, now.awake)
    _fit_anew(state, now)


def apply_machine_looked(state: State, event: MachineLooked, now: Now) -> list[str]:
    """The machine's limits cap the pools that have such; the pools where that changed."""
    return apply_machine_seen(state, event.seen, now)
