"""What is learned of run times: count, mean, median and 90th percentile by (pool, kind), in constant memory.

How long they are kept and where is the store's; what follows from them is in pools, lanes and reservations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cronoq_cli.errors import InvalidError

EXACT = 20
"""Up to so many samples are kept as they are; then two sets of five markers take the same room."""
THIN_FROM = 1000
"""Above so many samples, about one in eight moves the markers: more would cost the engine time and teach little."""

MEDIAN, P90 = 0.5, 0.9
SAMPLES_FOR_MEDIAN = 3
SAMPLES_FOR_AHEAD = 3
STORED_SHARE, STORED_MOST = 0.05, 1000
"""A kind is stored again with so many more runs, as a share of those stored, or as a number."""
RECENT_WEIGHT = 0.2

_GOLDEN = 0x9E3779B1
_MASK = 0xFFFFFFFF


def find_quantile(ordered: Sequence[float], share: float) -> float:
    """The exact quantile of sorted, non-empty samples: between two of them it is interpolated linearly."""
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


class Markers:
    """One quantile of a stream by the P² algorithm (Jain & Chlamtac, Communications of the ACM 28(10), 1985).

    Five markers stand at the least sample, halfway to the quantile, at it, halfway to the top, and at the greatest.
    Each has a height (a value) and a place (how many samples are not above it). A sample shifts the places behind
    it by one; a marker a whole place away from where its share of all samples would put it moves one place, its
    height following the parabola through its neighbours, or the straight line where that would break the order.
    The paper begins with five samples; these begin with more, which spares the upper quantiles their poor start.
    """

    __slots__ = ("heights", "places", "share")

    def __init__(self, share: float, heights: list[float], places: list[float]) -> None:
        self.share = share
        self.heights = heights
        self.places = places

    @classmethod
    def from_samples(cls, share: float, ordered: Sequence[float]) -> Markers:
        """Markers at the samples nearest to where they should stand; at least 20 samples keep them apart."""
        last = len(ordered) - 1
        at = [0, round(last * share / 2), round(last * share), round(last * (1 + share) / 2), last]
        return cls(share, [ordered[place] for place in at], [place + 1.0 for place in at])

    def add(self, value: float) -> None:
        """Take one more sample into account."""
        heights, places, share = self.heights, self.places, self.share
        if value < heights[2]:
            places[2] += 1.0
            places[3] += 1.0
            if value < heights[1]:
                places[1] += 1.0
                if value < heights[0]:
                    heights[0] = value
        elif value < heights[3]:
            places[3] += 1.0
        elif value > heights[4]:
            heights[4] = value
        places[4] += 1.0
        span = places[4] - 1.0
        self._settle(1, 1.0 + span * share * 0.5)
        self._settle(2, 1.0 + span * share)
        self._settle(3, 1.0 + span * (1.0 + share) * 0.5)

    def _settle(self, i: int, wanted: float) -> None:
        places = self.places
        away = wanted - places[i]
        if away >= 1.0 and places[i + 1] - places[i] > 1.0:
            self._move(i, 1)
        elif away <= -1.0 and places[i] - places[i - 1] > 1.0:
            self._move(i, -1)

    def _move(self, i: int, step: int) -> None:
        heights, places = self.heights, self.places
        below, here, above = heights[i - 1 : i + 2]
        left, right = places[i] - places[i - 1], places[i + 1] - places[i]
        rise = (left + step) * (above - here) / right + (right - step) * (here - below) / left
        height = here + step * rise / (left + right)
        if not below < height < above:
            height = here + (above - here) / right if step > 0 else here - (here - below) / left
        heights[i] = height
        places[i] += step


class RunTime:
    """The run times of one kind of task in one pool, seconds.

    `mean_s` weighs all runs alike, `recent_s` the newest most: it follows a command that has changed.
    """

    __slots__ = ("_median", "_p90", "_samples", "count", "mean_s", "recent_s", "stored")

    def __init__(self) -> None:
        self.count = 0
        self.stored = 0
        """How many runs it had taken in when it was last stored."""
        self.mean_s = 0.0
        self.recent_s = 0.0
        self._samples: list[float] = []
        self._median: Markers | None = None
        self._p90: Markers | None = None

    def learn(self, run_s: float) -> None:
        """Take one run into account."""
        self.count += 1
        self.mean_s += (run_s - self.mean_s) / self.count
        self.recent_s += (run_s - self.recent_s) * (RECENT_WEIGHT if self.count > 1 else 1.0)
        if self._median is None or self._p90 is None:
            self._keep(run_s)
        elif self.count <= THIN_FROM or self.count * _GOLDEN & _MASK < _MASK >> 3:
            # Steps of the golden ratio meet every period of the work alike; each eighth run might meet one phase only.
            self._median.add(run_s)
            self._p90.add(run_s)

    def _keep(self, run_s: float) -> None:
        self._samples.append(run_s)
        self._samples.sort()
        if len(self._samples) == EXACT:
            self._median = Markers.from_samples(MEDIAN, self._samples)
            self._p90 = Markers.from_samples(P90, self._samples)

    @property
    def median_s(self) -> float:
        """The median; exact up to 20 runs, 0 before the first."""
        return self._read(self._median, MEDIAN)

    @property
    def p90_s(self) -> float:
        """The 90th percentile; exact up to 20 runs, 0 before the first."""
        return self._read(self._p90, P90)

    def _read(self, markers: Markers | None, share: float) -> float:
        if markers is not None and self.count > EXACT:
            return markers.heights[2]
        return find_quantile(self._samples, share) if self._samples else 0.0

    @property
    def expected_s(self) -> float:
        """The median from three runs on, the mean before (specification section 4)."""
        return self.median_s if self.count >= SAMPLES_FOR_MEDIAN else self.mean_s

    def to_floats(self) -> list[float]:
        """At most 23 numbers for the store: count, mean, recent mean, then the samples or the two sets of markers."""
        head = [float(self.count), self.mean_s, self.recent_s]
        if self._median is None or self._p90 is None or self.count <= EXACT:
            return head + self._samples
        return head + [x for markers in (self._median, self._p90) for x in markers.heights + markers.places]

    @classmethod
    def from_floats(cls, floats: Sequence[float]) -> RunTime:
        """What `to_floats` was made of. Raises InvalidError when the numbers cannot be that."""
        count = int(floats[0]) if floats else 0
        if count < 1 or len(floats) != 3 + min(count, EXACT):
            raise InvalidError(f"{len(floats)} numbers are no learned run time", hint="forget it: it is learned anew")
        known = cls()
        if count <= EXACT:
            for sample in floats[3:]:
                known._keep(sample)
        else:
            known._median = Markers(MEDIAN, list(floats[3:8]), list(floats[8:13]))
            known._p90 = Markers(P90, list(floats[13:18]), list(floats[18:23]))
        known.count, known.mean_s, known.recent_s = count, floats[1], floats[2]
        known.stored = count
        return known


class RunTimes:
    """Learned run times by (pool, kind)."""

    __slots__ = ("_changed", "_known")

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], RunTime] = {}
        self._changed: set[tuple[str, str]] = set()

    def __iter__(self) -> Iterator[tuple[tuple[str, str], RunTime]]:
        """Everything known, as ((pool, kind), run time)."""
        return iter(self._known.items())

    def load(self, pool: str, kind: str, floats: Sequence[float]) -> None:
        """Take over what an earlier daemon has stored. Raises InvalidError when the numbers cannot be a run time."""
        self._known[pool, kind] = RunTime.from_floats(floats)

    def learn(self, pool: str, kind: str, run_s: float) -> None:
        """Take one run into account."""
        key = (pool, kind)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = RunTime()
        known.learn(run_s)
        self._changed.add(key)

    def take_news(self) -> dict[tuple[str, str], list[float]]:
        """What is to be stored of what was learned since the last call.

        Of a kind with few runs each, of one with many only now and then: they say little more than those before."""
        news = {}
        for key in self._changed:
            known = self._known[key]
            if known.count - known.stored >= min(known.stored * STORED_SHARE, STORED_MOST):
                known.stored = known.count
                news[key] = known.to_floats()
        self._changed.clear()
        return news

    def find_run_time(self, pool: str, kind: str) -> RunTime | None:
        """All that is known of this kind, or None before its first end."""
        return self._known.get((pool, kind))

    def find(self, pool: str, kind: str) -> float | None:
        """The recent mean run time in seconds once there are three runs: how far ahead to give orders."""
        known = self._known.get((pool, kind))
        return known.recent_s if known is not None and known.count >= SAMPLES_FOR_AHEAD else None

    def mean_s(self, pool: str, default_s: float) -> float:
        """The recent mean run time of a pool, its kinds weighted by how often they ran, seconds; else the default."""
        found = [known for (name, _), known in self._known.items() if name == pool]
        count = sum(known.count for known in found)
        return sum(known.recent_s * known.count for known in found) / count if count else default_s

    def expected_s(self, pool: str, kind: str, estimate_s: float | None, default_s: float) -> float:
        """The expected run time, seconds (specification section 4).

        The estimate given with the task; else the learned median from three runs on, their mean before; else the
        pool's `default_duration`.
        """
        if estimate_s is not None:
            return estimate_s
        known = self._known.get((pool, kind))
        return known.expected_s if known is not None else default_s
