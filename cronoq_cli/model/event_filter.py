"""Which events of the history somebody wants, by what stands in them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import msgspec

from cronoq_cli.model.task import Transition


class EventFilter(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All that is given holds together, of a list any one. `types`: patterns, `failed-*`. `since`: unix seconds."""

    pools: list[str] = []
    statuses: list[str] = []
    types: list[str] = []
    since: float | None = None

    def wants(self, event: Transition) -> bool:
        """Whether an event is one of those wanted."""
        return (
            (not self.pools or event.pool in self.pools)
            and (not self.statuses or event.status in self.statuses)
            and (not self.types or any(fnmatchcase(event.type, pattern) for pattern in self.types))
            and (self.since is None or event.at >= self.since)
        )
