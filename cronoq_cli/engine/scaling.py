"""Autoscaling in motion: when a pool is looked at, what the rule sees of it, and carrying the decision out.

The rule itself is pure and stands in `autoscale` (specification section 5).
"""

from __future__ import annotations

from math import inf

from cronoq_cli.engine.admission import list_upcoming
from cronoq_cli.engine.autoscale import (
    AutoscaleSettings,
    DemandInputs,
    MachineSeen,
    ScaleDecision,
    decide_machine_cap,
    decide_target,
)
from cronoq_cli.engine.dispatch import recall_leases, resize
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.reservations import Reservation
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due


def arm_all(state: State, now: Now) -> None:
    """Arm the next look at each autoscaled pool, where none is armed before; a resting pool needs none."""
    for number, pool in enumerate(state.pools.values()):
        settings = pool.plan.autoscale
        if settings is None:
            continue
        wait_s = _next_look_s(state, pool, settings, now)
        if wait_s is None or (pool.scale_due_at is not None and pool.scale_due_at <= now.awake + wait_s):
            continue
        if not is_at_rest(pool) and pool.scale_seen_at is not None:
            pool.scale.learn_arrivals(0, now.awake - pool.scale_seen_at, settings)
        pool.scale_seen_at = now.awake
        pool.scale_due_at = now.awake + wait_s
        state.timers.arm_awake(pool.scale_due_at, Due.SCALE, number)


def _next_look_s(state: State, pool: LivePool, settings: AutoscaleSettings, now: Now) -> float | None:
    """Seconds until a pool is to be looked at: an interval, or at rest when a fixed start comes within the horizon."""
    if not is_at_rest(pool):
        return settings.interval_s
    first_at = min((one.start_at for one in _list_reservations(state, pool, now, inf)), default=None)
    return None if first_at is None else max(settings.interval_s, first_at - settings.reservation_horizon_s - now.wall)


def is_at_rest(pool: LivePool) -> bool:
    """Nothing runs, waits or arrived, and it has just as many workers as it must have."""
    return not (pool.arrivals or pool.running or sum(pool.ready)) and pool.workers == (pool.plan.least or 0)


def look(state: State, number: int, now: Now) -> None:
    """Decide and carry out the target of one pool; an entry that came up too early is an old one."""
    pool = list(state.pools.values())[number]
    settings, seen_at = pool.plan.autoscale, pool.scale_seen_at
    if settings is None or pool.scale_due_at is None or now.awake < pool.scale_due_at:
        return
    pool.scale_due_at = None
    pool.scale_seen_at = now.awake
    pool.scale.learn_arrivals(pool.arrivals, 0.0 if seen_at is None else now.awake - seen_at, settings)
    pool.arrivals = 0
    decision = decide_target(settings, _read_inputs(state, pool, settings, now), pool.scale, now.awake)
    if pool.capped is not None:
        decision = _shrink(pool, decision, pool.capped)
    pool.scale.record(decision, pool.workers, now.awake, settings)
    pool.scale_reason = decision.reason
    if decision.target != pool.workers:
        resize(state, pool, decision.target, now, decision.reason)
        state.effects.resized = True


def _shrink(pool: LivePool, decision: ScaleDecision, reason: str) -> ScaleDecision:
    """While the machine is needed a pool has no more workers than are at work (specification section 5)."""
    most = max(pool.sets[0].busy, pool.plan.least or 0)
    return decision._replace(target=min(decision.target, most), reason=reason)


def _list_reservations(state: State, pool: LivePool, now: Now, within_s: float) -> list[Reservation]:
    """The fixed starts ahead that want workers of the kind that scaling adds."""
    return list_upcoming(state, pool, 0, now, within_s) if pool.sets[0].reservations else []


def _read_inputs(state: State, pool: LivePool, settings: AutoscaleSettings, now: Now) -> DemandInputs:
    service_s = state.run_times.mean_s(pool.name, pool.plan.default_duration_s)
    low, normal, high, critical = (count * service_s for count in pool.ready)
    return DemandInputs(
        arrival_rate=pool.scale.arrival_rate,
        service_s=service_s,
        backlog=sum(pool.ready),
        waiting_work_s=(low, normal, high, critical),
        reserved=sum(one.slots for one in _list_reservations(state, pool, now, settings.reservation_horizon_s)),
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
            recall_leases(state, pool)
            state.wake(pool.name)
            state.wake_wanting(pool)
        pool.capped = cap
    return changed
