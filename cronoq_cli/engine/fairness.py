"""Whose turn it is: tenants within a class of a pool, and pools that compete for `daemon.total_workers`.

Only the choice lives here; what may start at all is decided in dispatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

DEFAULT_WEIGHT = 1.0


class Shares:
    """Running slots, weight and last turn of each of those who share, by name (a tenant or a pool).

    A task without a tenant is of the tenant "" (specification section 4).
    `take` is a turn: the counter that orders turns is no clock, so equal moments do not tie.
    """

    __slots__ = ("_last", "_running", "_turns", "_weights")

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = dict(weights or {})
        self._running: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._turns = 0

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Other weights, all above 0; who is not named weighs 1."""
        self._weights = dict(weights)

    def weight(self, name: str) -> float:
        """The weight of one of them."""
        return self._weights.get(name, DEFAULT_WEIGHT)

    def running(self, name: str) -> int:
        """The slots that one of them has running."""
        return self._running.get(name, 0)

    def take(self, name: str, slots: int) -> None:
        """A task of this one has started."""
        self._turns += 1
        self._last[name] = self._turns
        self._running[name] = self._running.get(name, 0) + slots

    def give_back(self, name: str, slots: int) -> None:
        """The slots of a task of this one are free."""
        left = self._running.get(name, 0) - slots
        if left > 0:
            self._running[name] = left
        else:
            self._running.pop(name, None)

    def load(self, name: str) -> float:
        """Running slots per weight."""
        return self._running.get(name, 0) / self._weights.get(name, DEFAULT_WEIGHT)

    def choose(self, names: Iterable[str]) -> str:
        """The one with the fewest running slots per weight, ties to the least recently served (specification 4 and 5).

        Of those never served the first named: the caller names them in its own order. Raises ValueError when none is.
        """
        return min(names, key=self._rank)

    def _rank(self, name: str) -> tuple[float, int]:
        return self.load(name), self._last.get(name, 0)

    def choose_strictly(self, names: Iterable[str]) -> str:
        """The one of the highest weight (`share = "strict"`, specification section 5), ties as in `choose`."""
        return min(names, key=lambda name: (-self.weight(name), *self._rank(name)))
