"""`[pools.NAME]`: how many workers, how work is bounded, shared, reserved and scaled, and what its tasks have.

How the file is read lives in `loading`, the kinds of values in `values`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from cronoq_cli.config.hooks import HookSettings
from cronoq_cli.config.values import (
    Amount,
    Bytes,
    Count,
    Fraction,
    Labels,
    Percent,
    PositiveAmount,
    PositiveCount,
    PositiveFraction,
    PositiveSeconds,
    Rlimits,
    Seconds,
    Slo,
    Table,
    Weights,
    count_cpus,
)
from cronoq_cli.errors import UsageError
from cronoq_cli.model.task import Backoff, OnLost

DEFAULT_POOL = "default"
POOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

Overflow = Literal["wait", "reject", "shed-lowest", "shed-oldest"]


class Size(NamedTuple):
    """The workers of a pool: never below `min`, never above `max`, `start` of them at first."""

    min: int
    start: int
    max: int


class WorkerRange(Table, frozen=True, kw_only=True):
    """`workers = { min = 1, start = 2, max = 8 }`; without `start` the pool begins with `min`."""

    min: Count = 0
    start: Count | None = None
    max: Count

    def check(self) -> None:
        """The three stand in order."""
        if not self.min <= (self.min if self.start is None else self.start) <= self.max:
            raise UsageError("min, start and max must rise", hint="write it like { min = 1, start = 2, max = 8 }")

    @property
    def size(self) -> Size:
        """The range with its start filled in."""
        return Size(self.min, self.min if self.start is None else self.start, self.max)


class AutoscaleSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME.autoscale]`: how a pool with a range of workers follows its work (specification section 5)."""

    interval_s: PositiveSeconds = msgspec.field(default=5, name="interval")
    target_utilization: PositiveFraction = 0.8
    drain_time_s: PositiveSeconds = msgspec.field(default=60, name="drain_time")
    cooldown_s: Seconds = msgspec.field(default=30, name="cooldown")
    stabilization_window_s: Seconds = msgspec.field(default=60, name="stabilization_window")
    max_step_up_ratio: Amount = 1.0
    max_step_up_abs: PositiveCount = 4
    max_step_down: PositiveCount = 1
    slo_s: Slo = msgspec.field(default_factory=dict, name="slo")
    """By priority word; a class without one has none."""
    reservation_horizon_s: Seconds = msgspec.field(default=300, name="reservation_horizon")
    ewma_alpha: PositiveFraction = 0.3
    cost_per_worker_second: Amount = 0.0


class LimitSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME.limits]`: the machine's own limits, beyond which nothing new starts; None: off."""

    max_load: PositiveAmount | None = None
    """Load of one minute, for each CPU."""
    min_free_memory: Bytes | None = None
    max_memory_pressure: Percent | None = None
    """Percent of the last ten seconds in which some work stood still for want of memory."""

    @property
    def are_set(self) -> bool:
        """Whether any of them is on."""
        return self != LimitSettings()


class GroupSettings(Table, frozen=True, kw_only=True):
    """`[[pools.NAME.groups]]`: workers with labels, extra to those of the pool."""

    labels: Labels
    workers: Count
    shared: bool = False
    """Whether tasks without `--on` may run there too."""

    def check(self) -> None:
        """Workers without a label are the pool's own."""
        if not self.labels:
            raise UsageError("labels: there is none", hint='write it like labels = { gpu = "yes" }')


class PoolSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME]`: how many at once, and what its tasks have unless they say otherwise (None: nothing)."""

    workers: Count | WorkerRange = msgspec.field(default_factory=count_cpus)
    weight: PositiveAmount = 1.0
    """Among pools that compete for `daemon.total_workers`."""
    max_pending: PositiveCount | None = None
    """Waiting tasks of the pool at most; None: only `daemon.max_pending` bounds them."""
    overflow: Overflow = "wait"
    reservable_fraction: Fraction = 0.5
    max_hold_s: Seconds = msgspec.field(default=300, name="max_hold")
    default_duration_s: PositiveSeconds = msgspec.field(default=60, name="default_duration")
    fair_share: bool = False
    tenant_weights: Weights = msgspec.field(default_factory=dict)
    autoscale: AutoscaleSettings = AutoscaleSettings()
    limits: LimitSettings = LimitSettings()
    groups: list[GroupSettings] = msgspec.field(default_factory=list)
    shell: str | None = None
    backoff: Backoff | None = None
    retries: Count | None = None
    timeout_s: PositiveSeconds | None = msgspec.field(default=None, name="timeout")
    heartbeat_s: PositiveSeconds | None = msgspec.field(default=None, name="heartbeat")
    on_lost: OnLost | None = None
    leftovers: Literal["leave", "kill"] = "leave"
    await_deps_s: Seconds | None = msgspec.field(default=None, name="await_deps")
    keep_s: Seconds | None = msgspec.field(default=None, name="keep")
    rlimits: Rlimits = msgspec.field(default_factory=dict)
    hooks: HookSettings = HookSettings()

    def check(self) -> None:
        """A shell is named by an absolute path: tasks run in many directories."""
        if self.shell is not None and (not self.shell.startswith("/") or "\0" in self.shell):
            raise UsageError(f"shell: {self.shell!r} is not an absolute path", hint="write it like /bin/bash")

    @property
    def size(self) -> Size:
        """Its own workers, without those of its groups; a plain number never changes by itself."""
        if isinstance(self.workers, WorkerRange):
            return self.workers.size
        return Size(self.workers, self.workers, self.workers)
