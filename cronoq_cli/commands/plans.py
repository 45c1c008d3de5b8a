"""From the configuration, and what was changed of it by command, to what the engine goes by. No I/O.

Used from two sides: the daemon runs such an engine, `simulate` runs one forward.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cronoq_cli.config.live import override_pool, override_resource
from cronoq_cli.config.pools import AutoscaleSettings, PoolSettings
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.settings import PrioritySettings, Settings
from cronoq_cli.engine import autoscale
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    Event,
    GroupsReplanned,
    NoticesReplanned,
    ResourcesReplanned,
    RulesReplanned,
    TotalsReplanned,
)
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Resource, Semaphore
from cronoq_cli.engine.state import PolicyOf
from cronoq_cli.errors import CronoqError, InvalidError
from cronoq_cli.model.notice import Told
from cronoq_cli.model.policy import Policy
from cronoq_cli.model.task import Backoff, OnLost, TaskSpec
from cronoq_cli.store.contract import LiveState

_NO_POOL = PoolSettings(workers=0)


def build_engine(settings: Settings, kept: LiveState, now: Now) -> Engine:
    """An engine with the configured pools and resources, and the run times learned so far; no task is in it yet."""
    plans = dict(plan_pools(settings, kept.pools))
    engine = Engine(make_policies(settings), plans, next_id=kept.next_id, scoring=decide_scoring(settings.priorities))
    engine.state.incidents.open.update(kept.incidents)
    for event in plan_shared(settings, kept.resources, now):
        engine.handle(event, now)
    for (pool, kind), numbers in kept.run_times.items():
        with contextlib.suppress(InvalidError):  # what cannot be read is learned anew
            engine.state.run_times.load(pool, kind, numbers)
    return engine


MOST_USUAL = 1000
"""So many combinations of what specs usually say are remembered with their policy."""


def plan_pools(settings: Settings, stored: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, PoolPlan]]:
    """The plan of every configured pool, what was set by command laid over it."""
    for name, pool in settings.pools.items():
        yield name, plan_pool(override_if_fitting(pool, stored.get(name, {}).get("set")))


def override_if_fitting(pool: PoolSettings, changes: object) -> PoolSettings:
    """The pool with stored changes; those that fit the configuration no more are passed over."""
    if not isinstance(changes, Mapping):
        return pool
    try:
        return override_pool(pool, changes)
    except CronoqError:
        return pool


def plan_pool(pool: PoolSettings) -> PoolPlan:
    """What the engine goes by for one pool. A pool with a range of workers is autoscaled."""
    size = pool.size
    scales = size.min < size.max
    return PoolPlan(
        workers=size.start,
        least=size.min,
        most=size.max,
        weight=pool.weight,
        max_pending=pool.max_pending,
        overflow=pool.overflow,
        reservable_fraction=pool.reservable_fraction,
        max_hold_s=pool.max_hold_s,
        default_duration_s=pool.default_duration_s,
        fair_share=pool.fair_share,
        tenant_weights=dict(pool.tenant_weights),
        autoscale=_plan_autoscale(pool.autoscale) if scales else None,
        limits=autoscale.MachineLimits(**msgspec.structs.asdict(pool.limits)) if pool.limits.are_set else None,
        groups=tuple(GroupPlan(dict(group.labels), group.workers, group.shared) for group in pool.groups),
        cost_per_worker_second=pool.autoscale.cost_per_worker_second,
    )


def _plan_autoscale(scale: AutoscaleSettings) -> autoscale.AutoscaleSettings:
    """The engine's part of the table: its fields have the same names there."""
    values = msgspec.structs.asdict(scale)
    return autoscale.AutoscaleSettings(**{name: values[name] for name in autoscale.AutoscaleSettings.__struct_fields__})


def plan_shared(settings: Settings, stored: Mapping[str, Mapping[str, Any]], now: Now) -> Iterator[Event]:
    """What all pools share, as events: resources (`stored`: changed by command), groups, bounds."""
    resources = {
        name: make_resource(override_resource(resource, stored.get(name, {})), now)
        for name, resource in settings.resources.items()
    }
    yield ResourcesReplanned(resources)
    yield GroupsReplanned({name: make_template(name, group) for name, group in settings.groups.items()})
    yield plan_totals(settings)
    yield NoticesReplanned(plan_notices(settings))


def plan_rules(settings: Settings) -> RulesReplanned:
    """What a spec means and how tasks are scored."""
    return RulesReplanned(make_policies(settings), decide_scoring(settings.priorities))


def plan_notices(settings: Settings) -> dict[str, frozenset[Told]]:
    """Which notices somebody wants of the tasks of each pool; pools of whose tasks nobody wants any are left out."""
    wanted = {name: settings.find_hooks(name).told for name in settings.pools}
    return {name: told for name, told in wanted.items() if told}


def plan_totals(settings: Settings) -> TotalsReplanned:
    """What bounds all pools together."""
    daemon = settings.daemon
    return TotalsReplanned(daemon.total_workers, daemon.share == "strict", daemon.max_pending, daemon.leases)


def make_resource(resource: ResourceSettings, now: Now) -> Resource:
    """The engine's resource: a semaphore, or a bucket that starts full."""
    if resource.rate_s is not None:
        return Bucket(resource.rate_s, resource.capacity, now.awake)
    return Semaphore(resource.permits or 0)


def make_template(name: str, group: GatherSettings) -> GroupTemplate:
    """What a gathered group runs, as a spec; it runs in `/` with an empty environment but the task's own variables."""
    command = group.command
    spec = TaskSpec(
        name=name,
        command=None if isinstance(command, str) else list(command),
        shell_line=command if isinstance(command, str) else None,
        pool=group.pool,
        kind=f"group {name}",
    )
    return GroupTemplate(spec, group.grace_s, group.max_delay_s, group.max_size)


def decide_scoring(priorities: PrioritySettings) -> Scoring:
    """The score's numbers as configured."""
    bases = (priorities.low, priorities.normal, priorities.high, priorities.critical)
    return Scoring(bases=bases, rate=priorities.rate, cap=priorities.cap)


def make_policies(settings: Settings) -> PolicyOf:
    """What a spec means to the engine, its pool's defaults filled in; equal ones are one object."""
    known: dict[Policy, Policy] = {}
    usual: dict[tuple[object, ...], Policy] = {}

    def policy_of(spec: TaskSpec) -> Policy:
        said = (spec.pool, spec.kind, spec.retries, spec.on_lost, spec.stop_signal, spec.grace_s)
        rare = spec.backoff or spec.retry_on or spec.no_retry_on or spec.success_codes
        policy = None if rare else usual.get(said)
        if policy is None:
            policy = decide_policy(spec, settings.pools.get(spec.pool, _NO_POOL))
            policy = known.setdefault(policy, policy)
            if not rare and len(usual) < MOST_USUAL:
                usual[said] = policy  # found by what the spec says, a policy need not be built to be compared
        return policy

    return policy_of


def decide_policy(spec: TaskSpec, pool: PoolSettings) -> Policy:
    """The policy of one task: what it says itself, else what its pool says."""
    return Policy(
        kind=spec.kind,
        retries=spec.retries if spec.retries is not None else pool.retries or 0,
        backoff=spec.backoff or pool.backoff or Backoff(),
        retry_on=frozenset(spec.retry_on or ()),
        no_retry_on=frozenset(spec.no_retry_on or ()),
        success_codes=frozenset(spec.success_codes or ()),
        on_lost=OnLost(spec.on_lost or pool.on_lost or OnLost.COUNT),
        stop_signal=spec.stop_signal,
        grace_s=spec.grace_s,
    )
