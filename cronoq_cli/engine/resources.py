"""Resources shared by all pools: semaphores with numbered units, token buckets with fractional rates.

What a task lacks and what it is given; who goes first among tasks that want the same is decided in dispatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import ulp

from cronoq_cli.engine.demand import WORKERS
from cronoq_cli.errors import InvalidError, TryLaterError
from cronoq_cli.model.words import hint_for

Uses = Sequence[tuple[str, float]]
"""What a task wants: (name, amount), each name once."""
Units = dict[str, list[int]]
"""What a task was given of semaphores: the numbers of its units by name."""

CATCH_UP, MOST_CATCHING_UP = "@catch-up", 4
"""The semaphore that occurrences caught up hold, so that a machine that wakes is not flooded (specification section 7).
No configuration can name it."""
EVEN = 1e-9
"""Tokens within which an amount counts as there: sums of fractions are not exact."""


class Semaphore:
    """Permits that are numbered from 0, lowest first, each out to one task at a time (specification section 5)."""

    __slots__ = ("_back", "_never_out", "_out", "configured", "permits")

    def __init__(self, permits: int) -> None:
        self.permits = permits
        self.configured = permits
        self._out: set[int] = set()
        self._back: list[int] = []
        self._never_out = 0

    @property
    def free(self) -> int:
        """Permits that may be given now; below zero while more are out than a lowered semaphore has."""
        return self.permits - len(self._out)

    @property
    def capacity(self) -> float:
        """The most that one task can ever be given."""
        return self.permits

    @property
    def units_out(self) -> list[int]:
        """The numbers of the units that are out, in order."""
        return sorted(self._out)

    def holds(self, amount: float, now_awake: float) -> bool:
        """Whether so many permits are free; the moment does not matter."""
        return self.permits - len(self._out) >= amount

    def take(self, amount: int) -> list[int]:
        """The lowest free units, now out. The caller has seen that there are enough."""
        units: list[int] = []
        while len(units) < amount:
            unit = heappop(self._back) if self._back else self._open()
            if unit not in self._out:
                self._out.add(unit)
                units.append(unit)
        return units

    def _open(self) -> int:
        self._never_out += 1
        return self._never_out - 1

    def give_back(self, units: Iterable[int]) -> None:
        """Units are free again; one that is not out is passed over. Those above lowered permits never go out again.

        The units given are always the lowest that are not out, and at least `free` of these are below `permits`:
        so resizing needs no sorting out of units.
        """
        for unit in units:
            if unit in self._out:
                self._out.remove(unit)
                if unit < self._never_out:
                    heappush(self._back, unit)

    def restore(self, units: Iterable[int]) -> None:
        """Units that a task of an earlier daemon still holds are out."""
        self._out.update(units)


class Bucket:
    """Tokens that come in at `rate` a second up to `burst`; it starts full. Moments are of the awake clock.

    In any window of w seconds at most burst + rate × w tokens go out.
    """

    __slots__ = ("_at", "_level", "burst", "configured", "rate")

    def __init__(self, rate: float, burst: float, now_awake: float) -> None:
        self.rate = rate
        self.burst = burst
        self.configured = burst
        self._level = burst
        self._at = now_awake

    @property
    def capacity(self) -> float:
        """The most that one task can ever be given."""
        return self.burst

    def level(self, now_awake: float) -> float:
        """Tokens in the bucket now."""
        level = self._level
        if now_awake > self._at:
            level += self.rate * (now_awake - self._at)
        return level if level < self.burst else self.burst

    def holds(self, amount: float, now_awake: float) -> bool:
        """Whether so many tokens are there, as exactly as the clock can tell."""
        level = self.level(now_awake)
        return level >= amount or level >= amount - EVEN - 2 * self.rate * ulp(now_awake)

    def take(self, amount: float, now_awake: float) -> None:
        """Tokens go out and do not come back. The caller has seen that there are enough."""
        self._level = self.level(now_awake) - amount
        self._at = max(self._at, now_awake)

    def ready_in_s(self, amount: float, now_awake: float) -> float | None:
        """Seconds until so many tokens are there, 0 when they are; None when they never come."""
        if self.holds(amount, now_awake):
            return 0.0
        if amount > self.burst or self.rate <= 0:
            return None
        return (amount - self.level(now_awake)) / self.rate

    def set_rate(self, rate: float, burst: float, now_awake: float) -> None:
        """Another rate and burst from now on; tokens above the new burst are lost."""
        self._level = min(self.level(now_awake), burst)
        self._at = max(self._at, now_awake)
        self.rate = rate
        self.burst = burst


Resource = Semaphore | Bucket


class Resources:
    """All resources by name."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Resource] = {}

    @property
    def known(self) -> Mapping[str, Resource]:
        """All of them, to be read."""
        return self._known

    def configure(self, name: str, resource: Resource) -> None:
        """Add a resource, or take over the numbers of a configured one; of the same kind, what is out stays out.

        Raises InvalidError for the one name that means workers."""
        if name == WORKERS:
            raise InvalidError(f"no resource can be named {name!r}", hint="choose another name", code="bad-name")
        old = self._known.get(name)
        if isinstance(old, Semaphore) and isinstance(resource, Semaphore):
            old.permits = old.configured = resource.permits
        elif isinstance(old, Bucket) and isinstance(resource, Bucket):
            old.set_rate(resource.rate, resource.burst, resource._at)
            old.configured = resource.burst
        else:
            self._known[name] = resource

    def remove(self, name: str) -> None:
        """Forget a resource; what tasks hold of it needs no giving back."""
        self._known.pop(name, None)

    def get(self, name: str) -> Resource:
        """The resource of this name. Raises InvalidError `unknown-resource` with the nearest name as hint."""
        known = self._known.get(name)
        if known is None:
            known_names = [one for one in self._known if not one.startswith("@")]  # those are the engine's own
            hint = hint_for(name, known_names) if known_names else f"[resources.{name}] in the configuration adds it"
            raise InvalidError(f"no resource is named {name!r}", hint=hint, code="unknown-resource")
        return known

    def resize(self, name: str, permits: int) -> None:
        """Another number of permits; what is out above them is not given again. Raises InvalidError."""
        known = self.get(name)
        if not isinstance(known, Semaphore):
            raise InvalidError(f"{name} has a rate, not permits", hint="set its rate", code="not-a-semaphore")
        known.permits = permits

    def set_rate(self, name: str, rate: float, burst: float, now_awake: float) -> None:
        """Another rate and burst. Raises InvalidError."""
        known = self.get(name)
        if not isinstance(known, Bucket):
            raise InvalidError(f"{name} has permits, not a rate", hint="set its permits", code="not-a-bucket")
        known.set_rate(rate, burst, now_awake)

    def check_possible(self, uses: Uses) -> None:
        """Refuses what could never be given (specification section 2). Raises InvalidError.

        Codes: `unknown-resource`, `beyond-capacity` (above what is there now and by configuration), `bad-amount`.
        """
        for name, amount in uses:
            known = self.get(name)
            if not amount > 0:
                raise InvalidError(f"{name}: {amount:g} is no amount", hint="it is above 0", code="bad-amount")
            most = max(known.capacity, known.configured)
            if amount > most:
                raise InvalidError(
                    f"{name}: {amount:g} is more than there is", hint=f"at most {most:g}", code="beyond-capacity"
                )
            if isinstance(known, Semaphore) and amount != int(amount):
                raise InvalidError(
                    f"{name}: {amount:g} is no number of permits", hint="permits are whole", code="bad-amount"
                )

    def list_impossible(self, uses: Uses) -> list[str]:
        """The names of which a task asks more than there is at all now (`cannot fit`)."""
        known = self._known
        return [name for name, amount in uses if name not in known or amount > known[name].capacity]

    def lacks(self, uses: Uses, now_awake: float) -> list[str]:
        """The names of which there is not enough now."""
        known = self._known
        return [name for name, amount in uses if name not in known or not known[name].holds(amount, now_awake)]

    def take(self, uses: Uses, now_awake: float) -> Units:
        """All of it at once; the units given, by name of the semaphore. Raises TryLaterError, then nothing is taken."""
        lacking = self.lacks(uses, now_awake)
        if lacking:
            raise TryLaterError(f"not enough of {', '.join(lacking)} now", code="lacks-resource")
        units: Units = {}
        for name, amount in uses:
            known = self._known[name]
            if isinstance(known, Semaphore):
                units[name] = known.take(int(amount))
            else:
                known.take(amount, now_awake)
        return units

    def give_back(self, units: Mapping[str, Iterable[int]]) -> None:
        """The units of an attempt that has ended are free; tokens are spent."""
        for name, known in self._semaphores_of(units):
            known.give_back(units[name])

    def restore(self, units: Mapping[str, Iterable[int]]) -> None:
        """After a restart: what a task that still runs was given is out."""
        for name, known in self._semaphores_of(units):
            known.restore(units[name])

    def _semaphores_of(self, units: Mapping[str, Iterable[int]]) -> list[tuple[str, Semaphore]]:
        """A resource may have gone, or become a bucket, while a task held units of it."""
        found = ((name, self._known.get(name)) for name in units)
        return [(name, known) for name, known in found if isinstance(known, Semaphore)]

    def next_ready_s(self, uses: Uses, now_awake: float) -> float | None:
        """Seconds until every bucket named holds enough; None when no timer helps.

        A semaphore is not waited for with a timer: the end of an attempt tells.
        """
        waits = [
            known.ready_in_s(amount, now_awake)
            for name, amount in uses
            if isinstance(known := self._known.get(name), Bucket)
        ]
        lasting = [wait_s for wait_s in waits if wait_s is not None]
        if len(lasting) < len(waits) or not any(lasting):
            return None
        return max(lasting)
