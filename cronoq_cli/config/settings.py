"""What the configuration file can say, with its defaults and rules. How the file is read lives in `loading`.

A field's name in the file is its name here without `_s`. `Seconds` and `Bytes` are plain numbers that are
written as durations and sizes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.backoff import parse_backoff
from cronoq_cli.model.duration import parse_duration, parse_positive_duration
from cronoq_cli.model.task import Backoff, OnLost
from cronoq_cli.model.words import hint_for, parse_size

DEFAULT_POOL = "default"
POOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
RLIMITS = ("as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "stack")
UNLIMITED = -1
"""The number of `unlimited`, as the kernel and `resource.RLIM_INFINITY` have it."""

MOST_URGENCY = 8000
"""What a soft deadline can add to a score at most: 5000 up to it, 3000 after it (specification section 4)."""

DAY_S = 86_400.0
WANTED_DURATION = 'a duration such as "90s" or "1h30m"'


Seconds = Annotated[float, msgspec.Meta(title="seconds")]
"""A length of time: `90s`, `1h30m` or a number of seconds; zero is allowed."""
PositiveSeconds = Annotated[float, msgspec.Meta(title="positive seconds")]
"""A length of time that is not zero: a limit."""
Bytes = Annotated[int, msgspec.Meta(title="bytes")]
"""A size: `256MiB` or a number of bytes."""
Points = Annotated[float, msgspec.Meta(title="points")]
"""A number of points of the score: finite and not negative."""
Rlimits = Annotated[dict[str, int], msgspec.Meta(title="rlimits")]
"""Limits of the kernel by name (`nofile`, `as`, ...); -1 is unlimited."""
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


def count_cpus() -> int:
    """The CPUs this process may use, at least one."""
    return len(os.sched_getaffinity(0)) or 1


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the file."""

    def check(self) -> None:
        """Raises UsageError where values contradict each other; called once the table is read."""


class DaemonSettings(Table, frozen=True, kw_only=True):
    """`[daemon]`"""

    autostart: bool = True
    auto_upgrade: bool = True
    stop_timeout_s: Seconds = msgspec.field(default=30, name="stop_timeout")
    synchronous: Literal["full", "normal"] = "full"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class PoolSettings(Table, frozen=True, kw_only=True):
    """`[pools.NAME]`: how many at once, and what its tasks have unless they say otherwise (None: nothing)."""

    workers: Count = msgspec.field(default_factory=count_cpus)
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

    def check(self) -> None:
        """A shell is named by an absolute path: tasks run in many directories."""
        if self.shell is not None and (not self.shell.startswith("/") or "\0" in self.shell):
            raise UsageError(f"shell: {self.shell!r} is not an absolute path", hint="write it like /bin/bash")


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
    retention: RetentionSettings = RetentionSettings()
    logs: LogSettings = LogSettings()
    priorities: PrioritySettings = PrioritySettings()

    def __post_init__(self) -> None:
        """Adds the default pool where the file has none."""
        if DEFAULT_POOL not in self.pools:
            self.pools[DEFAULT_POOL] = PoolSettings()

    def check(self) -> None:
        """A pool's name can be written on a command line."""
        for name in self.pools:
            if not POOL_NAME.fullmatch(name):
                raise UsageError(
                    f"pools: {name!r} is not a name for a pool",
                    hint="it starts with a letter or _ and goes on with letters, digits and _ . -",
                )


def _read_seconds(value: Any) -> float:
    return parse_duration(_duration_text(value))


def _read_positive_seconds(value: Any) -> float:
    return parse_positive_duration(_duration_text(value))


def _duration_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{_read_number(value, WANTED_DURATION):.6f}".rstrip("0").rstrip(".")


def _read_points(value: Any) -> float:
    return _read_number(value, "a number of points")


def _read_number(value: Any, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e15:
        raise UsageError(f"{format_value(value)} does not fit here", hint=f"write {wanted}")
    return float(value)


def _read_size(value: Any) -> int:
    if isinstance(value, str):
        return parse_size(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise UsageError(f"{format_value(value)} is not a size", hint='write it like "256MiB", or as bytes')
    return value


def _read_rlimits(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise UsageError(
            f"{format_value(value)} is not a table of limits", hint="write it like { nofile = 1024 }"
        )
    limits: dict[str, int] = {}
    for name, limit in value.items():
        if name not in RLIMITS:
            raise UsageError(f"unknown limit {name!r}", hint=hint_for(name, RLIMITS))
        limits[name] = UNLIMITED if limit == "unlimited" else _read_size(limit)
    return limits


def _read_backoff(value: Any) -> Backoff:
    if not isinstance(value, str):
        raise UsageError(f"{format_value(value)} is not a backoff", hint='write it like "fixed:30s"')
    return parse_backoff(value)


READERS: dict[Any, Callable[[Any], Any]] = {
    Seconds: _read_seconds,
    PositiveSeconds: _read_positive_seconds,
    Points: _read_points,
    Bytes: _read_size,
    Rlimits: _read_rlimits,
    Backoff: _read_backoff,
}
"""How a value of these types is read from what TOML gave; each raises UsageError."""


def format_value(value: Any) -> str:
    """A value of the file as it could stand there, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
