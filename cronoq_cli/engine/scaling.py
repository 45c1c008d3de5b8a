"""Autoscaling in motion: when a pool is looked at, what the rule sees of it, and carrying the decision out.

The rule itself is pure and stands in `autoscale` (specification section 5).
"""

from __future__ import annotations

from cronoq_cli.engine.autoscale import DemandInputs, MachineSeen, decide_machine_cap, decide_target
from cronoq_cli.engine.dispatch import resize
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due


def arm_all(state: State, now: Now) -> None:
    """Arm a look at each autoscaled pool where something goes on and none is armed: a resting pool needs no timer."""
    for number, pool in enumerate(state.pools.values()):
        if pool.plan.autoscale is not None and pool.scale_seen_at is None and not is_at_rest(pool):
            pool.scale_seen_at = now.awake
            state.timers.arm_awake(now.awake + pool.plan.autoscale.interval_s, Due.SCALE, number)


def is_at_rest(pool: LivePool) -> bool:
    """Nothing runs, waits or arrived, and it is as small as it may be."""
    least = pool.plan.least or 0
    return not (pool.arrivals or pool.running or sum(pool.ready) or pool.workers > least)


def look(state: State, number: int, now: Now) -> None:
    """Decide and carry out the target of one pool, and arm the next look while it is not at rest."""
    pool = list(state.pools.values())[number]
    settings = pool.plan.autoscale
    if settings is None:
        return
    seen_at = now.awake - settings.interval_s if pool.scale_seen_at is None else pool.scale_seen_at
    pool.scale.learn_arrivals(pool.arrivals, now.awake - seen_at, settings)
    pool.arrivals = 0
    decision = decide_target(settings, _read_inputs(state, pool, now), pool.scale, now.awake)
    pool.scale.record(decision, pool.workers, now.awake, settings)
    pool.scale_reason = decision.reason
    if decision.target != pool.workers:
        resize(state, pool, decision.target, now)
        state.effects.resized = True
    pool.scale_seen_at = None
    arm_all(state, now)


def _read_inputs(state: State, pool: LivePool, now: Now) -> DemandInputs:
    settings = pool.plan.autoscale
    assert settings is not None
    service_s = state.run_times.mean_s(pool.name, pool.plan.default_duration_s)
    low, normal, high, critical = (count * service_s for count in pool.ready)
    return DemandInputs(
        arrival_rate=pool.scale.arrival_rate,
        service_s=service_s,
        backlog=sum(pool.ready),
        waiting_work_s=(low, normal, high, critical),
        reserved=pool.reservations.count_slots(now.wall, settings.reservation_horizon_s),
        current=pool.workers,
        least=pool.plan.least or 0,
        most=pool.plan.most if pool.plan.most is not None else pool.configured,
    )


def apply_machine_seen(state: State, seen: MachineSeen, now: Now) -> list[str]:
    """Cap the pools whose limits the machine's state breaks, and open them again; the pools where that changed."""
    changed = []
    for pool in state.pools.values():
        if pool.plan.limits is None:
            continue
        cap = decide_machine_cap(pool.plan.limits, seen)
        if (cap is None) != (pool.capped is None):
            changed.append(pool.name)
            state.wake(pool.name)
        pool.capped = cap
    return changed
