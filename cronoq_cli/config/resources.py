"""`[resources.NAME]` and `[groups.NAME]`: what all pools share, and tasks that are gathered into one.

How the file is read lives in `loading`, the kinds of values in `values`.
"""

from __future__ import annotations

import msgspec

from cronoq_cli.config.pools import DEFAULT_POOL
from cronoq_cli.config.values import CommandWords, Count, PositiveAmount, PositiveCount, PositiveSeconds, Rate, Table
from cronoq_cli.errors import UsageError


class ResourceSettings(Table, frozen=True, kw_only=True):
    """A semaphore (`permits`), or a token bucket (`rate`, units a second, and `burst`, which it starts with)."""

    permits: Count | None = None
    rate_s: Rate | None = msgspec.field(default=None, name="rate")
    burst: PositiveAmount | None = None

    def check(self) -> None:
        """It is exactly one kind."""
        if (self.permits is None) == (self.rate_s is None):
            what = "it has both permits and a rate" if self.permits is not None else "it has neither permits nor a rate"
            raise UsageError(what, hint='write permits = 2, or rate = "10/s" with burst = 20')
        if self.burst is not None and self.rate_s is None:
            raise UsageError("burst without a rate", hint='write rate = "10/s" with burst = 20')

    @property
    def is_bucket(self) -> bool:
        """Whether it is a token bucket."""
        return self.rate_s is not None

    @property
    def capacity(self) -> float:
        """The most that one task can have of it. A bucket without `burst` holds what a second brings, at least 1."""
        if self.permits is not None:
            return float(self.permits)
        return self.burst if self.burst is not None else max(1.0, self.rate_s or 0.0)


class GatherSettings(Table, frozen=True, kw_only=True):
    """`[groups.NAME]`: what is run for the tasks gathered with `--group NAME`, and when (specification section 5)."""

    command: CommandWords
    grace_s: PositiveSeconds = msgspec.field(default=60, name="grace")
    max_delay_s: PositiveSeconds = msgspec.field(default=600, name="max_delay")
    max_size: PositiveCount = 100
    pool: str = DEFAULT_POOL
