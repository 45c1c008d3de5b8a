"""The engine from the store: at the start, and again after a commit that the disk refused."""

from __future__ import annotations

import logging

from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import PrioritySettings, Settings
from cronoq_cli.daemon.plans import configure, plan_pools
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.recovery import restore
from cronoq_cli.engine.state import PolicyOf
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.policy import Policy
from cronoq_cli.model.task import Backoff, OnLost, TaskSpec
from cronoq_cli.store.contract import Store

log = logging.getLogger(__name__)

_NO_POOL = PoolSettings(workers=0)


def load_engine(store: Store, settings: Settings, now: Now, set_aside: dict[int, str]) -> Engine:
    """An engine that stands where the store says; tasks that could not be read go into `set_aside` with the reason.

    Raises StoreError."""
    kept = store.load_live()
    plans = dict(plan_pools(settings, kept.pools))
    engine = Engine(make_policies(settings), plans, next_id=kept.next_id, scoring=decide_scoring(settings.priorities))
    configure(engine, settings, kept.resources, now)
    for (pool, kind), numbers in kept.run_times.items():
        _load_run_time(engine, pool, kind, numbers)
    for task_id, reason in kept.damaged.items():
        log.error("task %d could not be read and is set aside as failed: %s", task_id, reason)
    set_aside.update(kept.damaged)
    orphans = restore(engine, kept, now)
    if orphans:
        log.warning("%d tasks wait in pools that are configured no more", len(orphans))
    return engine


def _load_run_time(engine: Engine, pool: str, kind: str, numbers: list[float]) -> None:
    try:
        engine.state.run_times.load(pool, kind, numbers)
    except InvalidError as error:
        log.warning("the learned run time of %s in pool %s is forgotten: %s", kind, pool, error.message)


def decide_scoring(priorities: PrioritySettings) -> Scoring:
    """The score's numbers as configured."""
    bases = (priorities.low, priorities.normal, priorities.high, priorities.critical)
    return Scoring(bases=bases, rate=priorities.rate, cap=priorities.cap)


def make_policies(settings: Settings) -> PolicyOf:
    """What a spec means to the engine, its pool's defaults filled in; equal ones are one object."""
    known: dict[Policy, Policy] = {}

    def policy_of(spec: TaskSpec) -> Policy:
        policy = decide_policy(spec, settings.pools.get(spec.pool, _NO_POOL))
        return known.setdefault(policy, policy)

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
