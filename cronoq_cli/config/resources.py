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
    """Units of a semaphore; a task gives its units back at the end of each attempt. Example: 2"""
    rate_s: Rate | None = msgspec.field(default=None, name="rate")
    """What comes into a token bucket: 10/s, 5/m, 100/h. Example: "10/s\""""
    burst: PositiveAmount | None = None
    """The most that gathers in the bucket; what a second brings, at least 1, without it. Example: 20"""

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
    """What is run for the members: a list of words, or a shell line. Example: ["send-all"]"""
    grace_s: PositiveSeconds = msgspec.field(default=60, name="grace")
    """It runs when nothing came for so long,"""
    max_delay_s: PositiveSeconds = msgspec.field(default=600, name="max_delay")
    """or when its oldest member has waited for so long,"""
    max_size: PositiveCount = 100
    """or when it has so many members."""
    pool: str = DEFAULT_POOL
    """The pool in which it runs."""
