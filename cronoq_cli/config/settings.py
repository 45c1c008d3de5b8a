"""What the configuration file can say, with its defaults and rules. How the file is read lives in `loading`.

A field's name in the file is its name here without `_s`. The text below a field is what `config init`, the manual and
`show` say of the key (`declared` reads it): one or more sentences for users, `Example: VALUE` last where the default
says too little. Pools stand in `pools`, resources and gathering in `resources`, the kinds of values in `values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from cronoq_cli.config.hooks import HookSettings
from cronoq_cli.config.pools import DEFAULT_POOL, POOL_NAME, PoolSettings
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.values import Bound, Bytes, Count, Points, PositiveCount, PositiveSeconds, Seconds, Table
from cronoq_cli.errors import UsageError
from cronoq_cli.model.log_cap import LEAST_CAP
from cronoq_cli.model.resource import NAME_HINT, RESOURCE_NAME, variable_of
from cronoq_cli.model.words import format_size, hint_for

MOST_URGENCY = 8000
"""What a soft deadline can add to a score at most: 5000 up to it, 3000 after it (specification section 4)."""

DAY_S = 86_400.0
MIB = 1024 * 1024


class DaemonSettings(Table, frozen=True, kw_only=True):
    """`[daemon]`"""

    autostart: bool = True
    """Whether a verb that needs a daemon starts one where none runs."""
    auto_upgrade: bool = True
    """Whether a newer client restarts an older daemon, tasks going on; else it only says so."""
    stop_timeout_s: Seconds = msgspec.field(default=30, name="stop_timeout")
    """How long `daemon stop` waits for tasks to end after their stop signal, before KILL."""
    synchronous: Literal["full", "normal"] = "full"
    """How surely a commit is on the disk: full, or normal (faster; the last moment may be lost with the power)."""
    commit: Literal["auto", "loop", "thread"] = "auto"
    """Where commits are made: loop costs least where the disk is fast, thread keeps answers quick where it is slow,
    auto goes by how long they take."""
    leases: Literal["auto", "never", "always"] = "auto"
    """Whether the runner gets tasks before a slot is free for them: of kinds that are known to be short, never, or
    always. What goes before them calls them back. never costs throughput of tasks below 100 ms."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much the daemon writes to its log: debug, info, warning or error."""
    total_workers: PositiveCount | None = None
    """Running slots of all pools together at most; without it only the pools bound them. Example: 16"""
    share: Literal["weighted", "strict"] = "weighted"
    """Which pool goes first where total_workers is short: weighted is the fewest running slots for its weight, strict
    the highest weight."""
    max_pending: Bound = 1_000_000
    """Waiting tasks of all pools together at most; "none" takes the bound away."""


class RetentionSettings(Table, frozen=True, kw_only=True):
    """`[retention]`: how long finished tasks are remembered, by their end, and how many at most."""

    succeeded_s: Seconds = msgspec.field(default=7 * DAY_S, name="succeeded")
    """How long a task that succeeded is remembered, with its logs."""
    failed_s: Seconds = msgspec.field(default=30 * DAY_S, name="failed")
    """The same for every end that is neither a success nor a dead letter."""
    dead_lettered_s: Seconds = msgspec.field(default=90 * DAY_S, name="dead_lettered")
    """The same for dead letters."""
    max_finished: Count = 100_000
    """Finished tasks kept at most; the oldest go first."""


class LogSettings(Table, frozen=True, kw_only=True):
    """`[logs]`"""

    cap: Bytes = 64 * MIB
    """What is kept of one attempt's log: the first MiB and the newest part; 0: everything."""
    quota: Bytes = 2048 * MIB
    """What all logs together may take; beyond it those of the tasks that ended first go. 0: no bound."""
    keep_s: PositiveSeconds | None = msgspec.field(default=None, name="keep")
    """How long after its last change a log is kept at most; without it as long as its task is remembered.
    Example: "30d\""""
    min_free: Bytes | None = None
    """Free space below which nothing new is taken; without it 256 MiB, or 5 % of the file system where that is smaller.
    Example: "256MiB\""""

    def check(self) -> None:
        """A cap leaves room for the first part and for the newest."""
        if 0 < self.cap < LEAST_CAP:
            raise UsageError(
                f"cap: {format_size(self.cap)} is too small", hint="at least 2MiB, or 0 to keep everything"
            )


class PrioritySettings(Table, frozen=True, kw_only=True):
    """`[priorities]`: score = base + min(rate × seconds waited, cap) (specification section 4)."""

    low: Points = 10
    """Where a task of this class begins; the four must rise."""
    normal: Points = 100
    """Where a task of this class begins."""
    high: Points = 1000
    """Where a task of this class begins."""
    critical: Points = 10_000
    """Where a task of this class begins: so high that nothing below it ever passes."""
    rate: Points = 2
    """Points a task gains for each second it has waited."""
    cap: Points = 800
    """Points that waiting can bring at most."""

    def check(self) -> None:
        """Nothing below critical passes a fresh critical, however long it waited, whatever its deadline."""
        if not self.low < self.normal < self.high:
            raise UsageError("the bases must rise", hint="low < normal < high < critical")
        highest = self.high + self.cap + MOST_URGENCY
        if highest >= self.critical:
            raise UsageError(
                f"a waiting high task could pass a fresh critical one: it can reach {highest:g}",
                hint=f"critical must be more than high + cap + {MOST_URGENCY}",
            )


class Settings(Table, frozen=True, kw_only=True):
    """The whole file. The pool `default` is always there."""

    daemon: DaemonSettings = DaemonSettings()
    """The daemon itself."""
    pools: dict[str, PoolSettings] = msgspec.field(default_factory=dict)
    """Sets of workers: `submit --pool NAME`. The pool named default is always there; each pool is a table of its own.
    Example: default"""
    resources: dict[str, ResourceSettings] = msgspec.field(default_factory=dict)
    """What the tasks of all pools share: `submit --use NAME=AMOUNT`. A semaphore has permits, a token bucket a rate.
    Example: gpu"""
    groups: dict[str, GatherSettings] = msgspec.field(default_factory=dict)
    """Gathering: tasks submitted with `--group NAME` are run together, by one command that gets a JSON line for each.
    Example: mail"""
    retention: RetentionSettings = RetentionSettings()
    """How long finished tasks are remembered."""
    logs: LogSettings = LogSettings()
    """The logs of the tasks, and the space they lie in."""
    priorities: PrioritySettings = PrioritySettings()
    """The order of tasks: score = base of the class + min(rate × seconds waited, cap)."""
    hooks: HookSettings = HookSettings()
    """Commands that are told what became of tasks and schedules, with JSON on their stdin (see docs/notices.md)."""

    def __post_init__(self) -> None:
        """Adds the default pool where the file has none."""
        if DEFAULT_POOL not in self.pools:
            self.pools[DEFAULT_POOL] = PoolSettings()

    def find_hooks(self, pool: str) -> HookSettings:
        """What a pool's tasks tell: its own hooks over those for all."""
        own = self.pools.get(pool)
        return self.hooks if own is None else own.hooks.over(self.hooks)

    def check(self) -> None:
        """Names can be written on a command line, what one table names the others have."""
        for name in self.pools:
            if not POOL_NAME.fullmatch(name):
                raise UsageError(f"pools: {name!r} is not a name for a pool", hint=NAME_HINT)
        _check_resources(self.resources)
        for name, group in self.groups.items():
            if not RESOURCE_NAME.fullmatch(name):
                raise UsageError(f"groups: {name!r} is not a name for a group", hint=NAME_HINT)
            if group.pool not in self.pools:
                raise UsageError(
                    f"groups.{name}.pool: unknown pool {group.pool!r}", hint=hint_for(group.pool, self.pools)
                )


def _check_resources(resources: Mapping[str, ResourceSettings]) -> None:
    """No two resources share the variable that names their units (`CRONOQ_RESOURCE_GPU`)."""
    variables: dict[str, str] = {}
    for name in resources:
        if not RESOURCE_NAME.fullmatch(name):
            raise UsageError(f"resources: {name!r} is not a name for a resource", hint=NAME_HINT)
        other = variables.setdefault(variable_of(name), name)
        if other != name:
            raise UsageError(
                f"resources.{name}: {other} and {name} would both be {variable_of(name)} in a task's environment",
                hint="rename one of them",
            )
