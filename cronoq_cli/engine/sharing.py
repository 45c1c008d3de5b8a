"""The workers that all pools share (`daemon.total_workers`): how many are free, and which pool comes first.

What may start in a pool is `admission`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cronoq_cli.engine.pools import LivePool


class TotalWorkers:
    """A bound on the running slots of all pools together; `strict`: the highest weight always goes first."""

    __slots__ = ("_last", "_turns", "strict", "workers")

    def __init__(self, workers: int, *, strict: bool = False) -> None:
        self.workers = workers
        self.strict = strict
        self._turns = 0
        self._last: dict[str, int] = {}

    def free(self, pools: Mapping[str, LivePool]) -> int:
        """Slots that may still be taken, by all pools together."""
        return self.workers - sum(pool.busy for pool in pools.values())

    def order(self, pools: Iterable[LivePool]) -> list[LivePool]:
        """The pools as they are served: by running slots per weight, or strictly by weight; ties to the longest ago."""
        if self.strict:
            return sorted(pools, key=lambda pool: (-pool.plan.weight, *self._load(pool)))
        return sorted(pools, key=self._load)

    def _load(self, pool: LivePool) -> tuple[float, int]:
        return pool.busy / pool.plan.weight, self._last.get(pool.name, 0)

    def serve(self, pool: LivePool) -> None:
        """Note that a pool had its turn."""
        self._turns += 1
        self._last[pool.name] = self._turns
