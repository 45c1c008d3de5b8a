"""What the configuration file can say, with its defaults and rules. How the file is read lives in `loading`.

A field's name in the file is its name here without `_s`. Pools stand in `pools`, resources and gathering in
`resources`, the kinds of values in `values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from cronoq_cli.config.hooks import HookSettings
from cronoq_cli.config.pools import DEFAULT_POOL, POOL_NAME, PoolSettings
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.values import Bytes, Count, Points, PositiveCount, Seconds, Table
from cronoq_cli.errors import UsageError
from cronoq_cli.model.resource import NAME_HINT, RESOURCE_NAME, variable_of
from cronoq_cli.model.words import hint_for

MOST_URGENCY = 8000
"""What a soft deadline can add to a score at most: 5000 up to it, 3000 after it (specification section 4)."""

DAY_S = 86_400.0


class DaemonSettings(Table, frozen=True, kw_only=True):
    """`[daemon]`"""

    autostart: bool = True
    auto_upgrade: bool = True
    stop_timeout_s: Seconds = msgspec.field(default=30, name="stop_timeout")
    synchronous: Literal["full", "normal"] = "full"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    total_workers: PositiveCount | None = None
    """Running slots of all pools together at most; None: only the pools bound them."""
    share: Literal["weighted", "strict"] = "weighted"
    """Which pool goes first where `total_workers` is short: fewest running slots per weight, or highest weight."""
    max_pending: PositiveCount | None = None
    """Waiting tasks of all pools together at most."""


class RetentionSettings(Table, frozen=True, kw_only=True):
    """`[retention]`: how long finished tasks are remembered, by their end, and how many at most."""

    succeeded_s: Seconds = msgspec.field(default=7 * DAY_S, name="succeeded")
    failed_s: Seconds = msgspec.field(default=30 * DAY_S, name="failed")
    """Every end that is neither a success nor a dead letter."""
    dead_lettered_s: Seconds = msgspec.field(default=90 * DAY_S, name="dead_lettered")
    max_finished: Count = 100_000


class LogSettings(Table, frozen=True, kw_only=True):
    """`[logs]`"""

    min_free: Bytes | None = None
    """Free bytes below which nothing new is taken; None: 256 MiB or 5 % of the file system, the smaller."""


class PrioritySettings(Table, frozen=True, kw_only=True):
    """`[priorities]`: score = base + min(rate × seconds waited, cap) (specification section 4)."""

    low: Points = 10
    normal: Points = 100
    high: Points = 1000
    critical: Points = 10_000
    rate: Points = 2
    cap: Points = 800

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
    pools: dict[str, PoolSettings] = msgspec.field(default_factory=dict)
    resources: dict[str, ResourceSettings] = msgspec.field(default_factory=dict)
    groups: dict[str, GatherSettings] = msgspec.field(default_factory=dict)
    """What gathers tasks; the groups of workers of a pool are `PoolSettings.groups`."""
    retention: RetentionSettings = RetentionSettings()
    logs: LogSettings = LogSettings()
    priorities: PrioritySettings = PrioritySettings()
    hooks: HookSettings = HookSettings()

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
