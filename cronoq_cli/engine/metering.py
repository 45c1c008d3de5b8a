"""What a pool has offered and what of it was used, in slot seconds: the base of its utilisation and its cost.

Offered slots are counted on the awake clock while a daemon runs, used ones by the run times that the runner measured.
Both are kept with the pool's stored state, so that they go on after a restart (`worker_s`, specification section 8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

KEEP_S = 60.0
"""So often, while something happens, the meters are written down: a crash costs them no more."""
CHANGES_KEPT = 10
"""So many changes of a pool's target are kept at hand; all of them are in the event history."""


class Scaled(NamedTuple):
    """A change of a pool's target: when (unix seconds), from how many workers to how many, and why."""

    at: float
    before: int
    after: int
    reason: str


class Meter:
    """The slot seconds of one pool, and the last changes of its target.

    `busy_s` holds the runs that have ended; whoever reads it adds those that go on."""

    __slots__ = ("_busy_then", "_seen_at", "_slots", "busy_s", "changes", "offered_s")

    def __init__(self) -> None:
        self.busy_s = 0.0
        self.offered_s = 0.0
        self._busy_then = 0.0
        """What was used when offered slots were last counted: only the two together are kept."""
        self.changes: deque[Scaled] = deque(maxlen=CHANGES_KEPT)
        self._seen_at: float | None = None
        self._slots = 0

    def look(self, slots: int, now_awake: float) -> None:
        """Count what was offered up to now; so many slots are offered from here on."""
        self.offered_s = self.count_offered_s(now_awake)
        self._seen_at, self._slots, self._busy_then = now_awake, slots, self.busy_s

    def count_offered_s(self, now_awake: float) -> float:
        """Worker seconds offered up to now."""
        since = 0.0 if self._seen_at is None else max(0.0, now_awake - self._seen_at)
        return self.offered_s + since * self._slots

    def store(self) -> dict[str, float] | None:
        """What is kept over a restart; None when there is nothing yet."""
        if not (self.offered_s or self._busy_then):
            return None
        return {"worker_s": round(self.offered_s, 3), "busy_s": round(self._busy_then, 3)}

    def restore(self, stored: object) -> None:
        """Go on from what `store` gave; what cannot be read counts as nothing."""
        if not isinstance(stored, Mapping):
            return
        offered_s, busy_s = stored.get("worker_s"), stored.get("busy_s")
        if isinstance(offered_s, int | float) and isinstance(busy_s, int | float):
            self.offered_s += offered_s
            self.busy_s += busy_s
            self._busy_then += busy_s


def decide_utilisation(busy_s: float, offered_s: float) -> float | None:
    """The share of the offered time that was used; None when none was offered.

    Tasks that an earlier daemon began, and workers taken away while they work, can use more than was offered."""
    return min(1.0, busy_s / offered_s) if offered_s > 0 else None
