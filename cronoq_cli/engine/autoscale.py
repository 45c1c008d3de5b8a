"""How many workers a pool should have: by demand (the written rule of specification section 5), and when the machine
itself says no. Reading the machine and acting on the answer is the daemon's.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import NamedTuple

import msgspec

from cronoq_cli.model.task import Priority

LEAST_DEMAND = 0.01
"""Slots below which nothing is asked for: a smoothed rate never quite reaches 0."""
EVEN = 1e-9
"""So much above a whole number of slots is the noise of floating point, not one more slot."""


class AutoscaleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[pools.NAME.autoscale]` (specification section 5); `slo_s` by the word of the class."""

    interval_s: float = 5.0
    target_utilization: float = 0.8
    drain_time_s: float = 60.0
    cooldown_s: float = 30.0
    stabilization_window_s: float = 60.0
    max_step_up_ratio: float = 1.0
    max_step_up_abs: int = 4
    max_step_down: int = 1
    slo_s: dict[str, float] = {}
    reservation_horizon_s: float = 300.0
    ewma_alpha: float = 0.3


class MachineLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`[pools.NAME.limits]`: load per CPU, bytes, and percent of time stalled for memory; None: no limit."""

    max_load: float | None = None
    min_free_memory: int | None = None
    max_memory_pressure: float | None = None


class MachineSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of the machine, in the units of the limits; None: this machine does not tell."""

    load_per_cpu: float | None = None
    free_memory: int | None = None
    memory_pressure: float | None = None


class DemandInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the rule looks at. Work is counted in slot-seconds, so a task of 2 slots weighs twice.

    `arrival_rate`: tasks a second, smoothed; `service_s`: mean slot-seconds of a task; `backlog`: waiting tasks that
    could start; `waiting_work_s`: their expected slot-seconds by class, low first; `reserved`: slots of fixed starts
    within the horizon; `current`: the target now; `least`, `most`: the pool's bounds.
    """

    arrival_rate: float = 0.0
    service_s: float = 0.0
    backlog: int = 0
    waiting_work_s: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    reserved: int = 0
    current: int
    least: int
    most: int


class ScaleDecision(NamedTuple):
    """The new target and why. `wanted`: what demand alone asks for within the bounds; `demand`: the same unrounded."""

    target: int
    reason: str
    wanted: int
    demand: float


class ScaleState:
    """What the rule remembers of one pool between two looks. Moments are of the awake clock."""

    __slots__ = ("_wanted", "arrival_rate", "last_down_at", "last_up_at")

    def __init__(self) -> None:
        self.arrival_rate = 0.0
        self.last_up_at: float | None = None
        self.last_down_at: float | None = None
        self._wanted: deque[tuple[float, int]] = deque()

    def learn_arrivals(self, arrivals: int, elapsed_s: float, settings: AutoscaleSettings) -> float:
        """The smoothed arrival rate after so many arrivals in so many seconds.

        An exponentially weighted mean with weight `ewma_alpha` an interval; a look that comes late weighs as much as
        the looks it stands for.
        """
        if elapsed_s > 0:
            weight = 1.0 - (1.0 - settings.ewma_alpha) ** (elapsed_s / settings.interval_s)
            self.arrival_rate += weight * (arrivals / elapsed_s - self.arrival_rate)
        return self.arrival_rate

    def record(self, decision: ScaleDecision, current: int, now: float, settings: AutoscaleSettings) -> None:
        """Remember a decision that has been carried out."""
        wanted = self._wanted
        while wanted and wanted[-1][1] <= decision.wanted:
            wanted.pop()
        wanted.append((now, decision.wanted))
        while wanted[0][0] < now - settings.stabilization_window_s:
            wanted.popleft()
        if decision.target > current:
            self.last_up_at = now
        elif decision.target < current:
            self.last_down_at = now

    def cooling_s(self, now: float, cooldown_s: float) -> float:
        """Seconds of the cooldown still to go since the last change in either direction; 0 when over."""
        changes = [at for at in (self.last_up_at, self.last_down_at) if at is not None]
        return max(0.0, max(changes) + cooldown_s - now) if changes else 0.0

    def highest_wanted(self, since: float) -> int:
        """The highest target wanted since then, 0 when nothing is remembered."""
        return max((wanted for at, wanted in self._wanted if at >= since), default=0)


def decide_demand(settings: AutoscaleSettings, inputs: DemandInputs) -> tuple[float, str]:
    """The slots that are needed, unrounded, and what they are needed for (specification section 5).

    The greatest of arrival rate × service ÷ utilization; arrival rate × service + backlog × service ÷ drain time;
    for each class with an SLO, the waiting work of that class and above ÷ its SLO. Reservations come on top.
    """
    arriving = inputs.arrival_rate * inputs.service_s
    reasons = [
        (arriving / settings.target_utilization, "arrivals"),
        (arriving + inputs.backlog * inputs.service_s / settings.drain_time_s, "backlog"),
    ]
    for word, slo_s in settings.slo_s.items():
        work_s = sum(inputs.waiting_work_s[Priority[word.upper()] :])
        reasons.append((work_s / slo_s, f"SLO of {word}"))
    demand, reason = max(reasons, key=lambda pair: pair[0])
    if inputs.reserved:
        reason = f"{reason}, fixed starts" if demand >= LEAST_DEMAND else "fixed starts"
    return demand + inputs.reserved, reason


def decide_target(settings: AutoscaleSettings, inputs: DemandInputs, state: ScaleState, now: float) -> ScaleDecision:
    """The pool's target now and why; `state` is not changed (see `ScaleState.record`).

    Demand below 0.01 slot is 0, else rounded up, clamped to the pool's bounds. Up-steps are limited by the larger of
    ratio and absolute step; down-steps wait for the cooldown since the last change, go no lower than the highest
    target wanted within the stabilization window, and remove at most `max_step_down`. Bounds win over steps.
    """
    demand, source = decide_demand(settings, inputs)
    slots = 0 if demand < LEAST_DEMAND else ceil(demand - EVEN)
    wanted = min(max(slots, inputs.least), inputs.most)
    current = min(max(inputs.current, inputs.least), inputs.most)
    reason = f"demand {demand:.2f} ({source})" if slots else "no demand"
    if slots != wanted:
        reason += f"; {'at least' if wanted > slots else 'at most'} {wanted}"
    if wanted > current:
        target, limit = _step_up(settings, current, wanted)
    elif wanted < current:
        target, limit = _step_down(settings, state, current, wanted, now)
    else:
        target, limit = current, ""
    return ScaleDecision(target, reason + limit, wanted, demand)


def _step_up(settings: AutoscaleSettings, current: int, wanted: int) -> tuple[int, str]:
    step = max(int(current * settings.max_step_up_ratio), settings.max_step_up_abs)
    if wanted - current > step:
        return current + step, f"; {wanted} wanted, {step} more at a time"
    return wanted, ""


def _step_down(
    settings: AutoscaleSettings, state: ScaleState, current: int, wanted: int, now: float
) -> tuple[int, str]:
    cooling_s = state.cooling_s(now, settings.cooldown_s)
    if cooling_s > 0:
        return current, f"; {wanted} wanted, cooling down for {cooling_s:.0f} s"
    window_s = settings.stabilization_window_s
    settled = max(wanted, state.highest_wanted(now - window_s))
    if settled >= current:
        return current, f"; {wanted} wanted, {settled} within the last {window_s:g} s"
    target = max(settled, current - settings.max_step_down)
    return target, f"; {wanted} wanted, {current - target} fewer at a time" if target > wanted else ""


def decide_machine_cap(limits: MachineLimits, seen: MachineSeen) -> str | None:
    """Why the machine allows no new start now, or None (specification section 5). What it does not tell is no limit."""
    if limits.max_load is not None and seen.load_per_cpu is not None and seen.load_per_cpu > limits.max_load:
        return f"load {seen.load_per_cpu:.2f} per CPU is above max_load {limits.max_load:g}"
    least = limits.min_free_memory
    if least is not None and seen.free_memory is not None and seen.free_memory < least:
        return f"{seen.free_memory >> 20} MiB of memory free, below min_free_memory {least >> 20} MiB"
    most = limits.max_memory_pressure
    if most is not None and seen.memory_pressure is not None and seen.memory_pressure > most:
        return f"memory pressure {seen.memory_pressure:.1f} % is above max_memory_pressure {most:g} %"
    return None
