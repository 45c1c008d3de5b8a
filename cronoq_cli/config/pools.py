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
    Bound,
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
    """Never fewer workers."""
    start: Count | None = None
    """Workers at the start; min without it. Example: 2"""
    max: Count
    """Never more workers. Example: 8"""

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
    """How often the size is judged."""
    target_utilization: PositiveFraction = 0.8
    """The share of the workers that should be busy, more than 0 and at most 1."""
    drain_time_s: PositiveSeconds = msgspec.field(default=60, name="drain_time")
    """Within what time the waiting work should be done."""
    cooldown_s: Seconds = msgspec.field(default=30, name="cooldown")
    """How long after a change of size it does not shrink."""
    stabilization_window_s: Seconds = msgspec.field(default=60, name="stabilization_window")
    """It shrinks to the largest size that was wanted within this time."""
    max_step_up_ratio: Amount = 1.0
    """How much it grows at once, as a share of its size; this or max_step_up_abs, whichever is more."""
    max_step_up_abs: PositiveCount = 4
    """How many workers it grows by at once; this or max_step_up_ratio, whichever is more."""
    max_step_down: PositiveCount = 1
    """How many workers it shrinks by at once."""
    slo_s: Slo = msgspec.field(default_factory=dict, name="slo")
    """Within what time waiting work of a class should start; a class that is not named has no such aim.
    Example: { high = "10s", normal = "2m" }"""
    reservation_horizon_s: Seconds = msgspec.field(default=300, name="reservation_horizon")
    """Fixed starts within this time count as work that is there."""
    ewma_alpha: PositiveFraction = 0.3
    """The weight of the newest measurement of arrivals and run times, more than 0 and at most 1."""
    cost_per_worker_second: Amount = 0.0
    """What a worker costs in a second, for the cost that is shown; in any currency."""


class LimitSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME.limits]`: the machine's own limits, beyond which nothing new starts; None: off."""

    max_load: PositiveAmount | None = None
    """Load of one minute, for each CPU. Example: 1.5"""
    min_free_memory: Bytes | None = None
    """Memory that stays available. Example: "1GiB\""""
    max_memory_pressure: Percent | None = None
    """Percent of the last ten seconds in which some work stood still for want of memory (PSI). Example: 20"""

    @property
    def are_set(self) -> bool:
        """Whether any of them is on."""
        return self != LimitSettings()


class GroupSettings(Table, frozen=True, kw_only=True):
    """`[[pools.NAME.groups]]`: workers with labels, extra to those of the pool."""

    labels: Labels
    """What these workers are: `submit --on NAME=VALUE` runs only there. Example: { gpu = "yes" }"""
    workers: Count
    """How many there are. Example: 2"""
    shared: bool = False
    """Whether tasks without `--on` may run there too."""

    def check(self) -> None:
        """Workers without a label are the pool's own."""
        if not self.labels:
            raise UsageError("labels: there is none", hint='write it like labels = { gpu = "yes" }')


class PoolSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME]`: how many at once, and what its tasks have unless they say otherwise (None: nothing)."""

    workers: Count | WorkerRange = msgspec.field(default_factory=count_cpus)
    """How many tasks run at once; the number of CPUs without it. A range scales itself with the work, from start (min
    without it) on. Example: { min = 1, start = 2, max = 8 }"""
    weight: PositiveAmount = 1.0
    """Its weight among pools that compete for daemon.total_workers."""
    max_pending: Bound = 100_000
    """Waiting tasks of the pool at most; with "none" only daemon.max_pending bounds them."""
    overflow: Overflow = "wait"
    """What happens to a submission beyond that: wait for room, reject, or shed-lowest or shed-oldest a waiting task."""
    reservable_fraction: Fraction = 0.5
    """The share of the largest size that fixed starts (`--start-at`) may reserve for one moment."""
    max_hold_s: Seconds = msgspec.field(default=300, name="max_hold")
    """How early workers that become free are kept for a fixed start."""
    default_duration_s: PositiveSeconds = msgspec.field(default=60, name="default_duration")
    """How long a task is expected to run of whose kind nothing is known."""
    fair_share: bool = False
    """Whether within a class the tenant with the fewest running slots for its weight goes first."""
    tenant_weights: Weights = msgspec.field(default_factory=dict)
    """Weights of tenants; one that is not named has 1. Example: { alice = 2 }"""
    autoscale: AutoscaleSettings = AutoscaleSettings()
    """How a pool with a range of workers follows its work."""
    limits: LimitSettings = LimitSettings()
    """The machine's limits, beyond which nothing new starts here; what runs goes on. All are off by default."""
    groups: list[GroupSettings] = msgspec.field(default_factory=list)
    """Workers with labels, extra to those of the pool."""
    shell: str | None = None
    """The shell of shell lines; /bin/sh without it. Example: "/bin/bash\""""
    backoff: Backoff | None = None
    """The delay before a retry, for tasks that do not say: exponential:10s..10m, fixed:D, linear:D..D or polynomial.
    Example: "exponential:10s..10m\""""
    retries: Count | None = None
    """How often a task that does not say is tried again; 0 without it. Example: 3"""
    timeout_s: PositiveSeconds | None = msgspec.field(default=None, name="timeout")
    """The time limit of an attempt, for tasks that do not say; none without it. Example: "2h\""""
    heartbeat_s: PositiveSeconds | None = msgspec.field(default=None, name="heartbeat")
    """An attempt that says nothing for so long is stopped; off without it. Example: "10m\""""
    on_lost: OnLost | None = None
    """When machine or runner died: count the attempt (without it), requeue, or hold. Example: "requeue\""""
    leftovers: Literal["leave", "kill"] = "leave"
    """What becomes of processes that a task leaves behind: leave them alone, or kill them with it."""
    await_deps_s: Seconds | None = msgspec.field(default=None, name="await_deps")
    """How long a task waits for a key that does not exist yet; without it such a key is refused. Example: "1m\""""
    keep_s: Seconds | None = msgspec.field(default=None, name="keep")
    """How long its finished tasks are remembered; without it [retention] says. Example: "7d\""""
    rlimits: Rlimits = msgspec.field(default_factory=dict)
    """Limits of the kernel for its tasks: as, core, cpu, data, fsize, memlock, nofile, nproc, stack; a number, a size
    or "unlimited". Example: { nofile = 1024 }"""
    hooks: HookSettings = HookSettings()
    """Commands that are told what became of its tasks; what is not said here is as in [hooks]."""

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
