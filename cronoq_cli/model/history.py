"""Statistics of a window of time, put together from sums over the ends that happened in it. Pure.

What of an end is kept stands in model/task (`Ended`); stores sum up, figures are drawn in commands/render.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import msgspec

from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.task import Ended

BUCKETS = 48
"""Into so many stretches a window is cut for its history."""
AGAIN = ("failed", "lost", "not-counted")
"""Outcomes of an attempt behind which, where its task goes on, another one comes."""
RAN = ("succeeded", "failed")
"""Outcomes whose run times are typical: nobody cut them short."""
WORKED = ("succeeded", "failed", "dead_lettered")
"""Final statuses of tasks whose work was done or has failed: what a chart counts."""
FINALS = ("succeeded", "failed", "dead_lettered", "cancelled", "skipped", "missed", "shed")


class Window(msgspec.Struct, frozen=True):
    """A stretch of time, unix seconds."""

    since: float
    until: float

    @property
    def length_s(self) -> float:
        """How long it is; never 0."""
        return max(self.until - self.since, 0.001)

    @property
    def bucket_s(self) -> float:
        """How long each stretch of its history is."""
        return self.length_s / BUCKETS


class Bucket(NamedTuple):
    """What is summed up of one stretch: tasks that ended, and the waits of attempts that did."""

    ended: int = 0
    wait_s: float = 0.0
    waits: int = 0


class Step(NamedTuple):
    """What is summed up of a short stretch for a chart: tasks that succeeded or failed in it, those of them that
    failed, and the waits (seconds) of tasks whose first attempt started in it."""

    ended: int = 0
    failed: int = 0
    waits: int = 0
    wait_s: float = 0.0

    def plus(self, other: Step) -> Step:
        """Both together."""
        return Step(
            self.ended + other.ended, self.failed + other.failed, self.waits + other.waits, self.wait_s + other.wait_s
        )


class EndSums(msgspec.Struct):
    """Sums over the ends of one kind of task in one pool, or over several such sums.

    `counts`: by final status, and `started`, `retried`. `kept`: `deadline` and `start`, how many were kept of how many
    there were. `waits`, `runs`: every time, seconds, in order. `buckets`: those with anything in them, by number.
    """

    pool: str = ""
    kind: str = ""
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    kept: dict[str, tuple[int, int]] = {}
    worker_s: float = 0.0
    cost: float | None = None
    waits: list[float] = []
    runs: list[float] = []
    buckets: dict[int, Bucket] = {}

    def add(self, at: float, ended: Ended, window: Window) -> None:
        """Take one end into account."""
        within_s = at - window.since
        number = find_bucket(within_s, window)
        bucket = self.buckets.get(number, Bucket())
        if ended.final is not None:
            self.counts[ended.final] += 1
            bucket = bucket._replace(ended=bucket.ended + 1)
        elif ended.outcome in AGAIN:
            self.counts["retried"] += 1
        if ended.wait_s is not None:
            self.waits.append(ended.wait_s)
            bucket = bucket._replace(wait_s=bucket.wait_s + ended.wait_s, waits=bucket.waits + 1)
        if ended.run_s is not None:
            self.counts["started"] += ended.run_s <= within_s
            self.worker_s += min(ended.run_s, within_s) * ended.slots
            if ended.outcome in RAN:
                self.runs.append(ended.run_s)
        self.buckets[number] = bucket
        for what, was_kept in (("deadline", ended.in_time), ("start", ended.on_time)):
            if was_kept is not None:
                kept, whole = self.kept.get(what, (0, 0))
                self.kept[what] = kept + was_kept, whole + 1

    def include(self, other: EndSums) -> None:
        """Take other sums into account; the times are put in order by `describe`."""
        self.counts.update(other.counts)
        self.worker_s += other.worker_s
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost
        self.waits += other.waits
        self.runs += other.runs
        for what, (kept, whole) in other.kept.items():
            mine, all_mine = self.kept.get(what, (0, 0))
            self.kept[what] = mine + kept, all_mine + whole
        for number, bucket in other.buckets.items():
            known = self.buckets.get(number, Bucket())
            self.buckets[number] = Bucket(
                known.ended + bucket.ended, known.wait_s + bucket.wait_s, known.waits + bucket.waits
            )

    def describe(self) -> dict[str, Any]:
        """The figures and the history as a document; utilisation, which ends do not tell, is null."""
        counts = self.counts
        failed = counts["failed"] + counts["dead_lettered"]
        return {
            "started": counts["started"],
            "succeeded": counts["succeeded"],
            "failed": failed,
            "retried": counts["retried"],
            **{word: counts[word] for word in FINALS[3:]},
            "success_rate": _share(counts["succeeded"], counts["succeeded"] + failed),
            "wait_s": describe_times(self.waits),
            "run_s": describe_times(self.runs),
            "deadline_hit_rate": _share(*self.kept.get("deadline", (0, 0))),
            "fixed_start_hit_rate": _share(*self.kept.get("start", (0, 0))),
            "worker_s": round(self.worker_s, 3),
            "utilisation": None,
            "cost": None if self.cost is None else round(self.cost, 6),
            "history": self._describe_history(),
        }

    def _describe_history(self) -> dict[str, list[Any]]:
        """How many ended, and how long the mean wait was, in each stretch of the window, oldest first."""
        stretches = [self.buckets.get(number, Bucket()) for number in range(BUCKETS)]
        return {
            "ended": [one.ended for one in stretches],
            "wait_s": [round(one.wait_s / one.waits, 6) if one.waits else None for one in stretches],
        }


class Running(NamedTuple):
    """A task that runs now: it counts as started, and for how busy its pool was."""

    pool: str
    kind: str
    started_at: float
    slots: int


def find_bucket(within_s: float, window: Window) -> int:
    """The number of the stretch that lies so far behind the beginning of the window."""
    return min(max(int(within_s / window.bucket_s), 0), BUCKETS - 1)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def describe_times(seconds: Sequence[float]) -> dict[str, float] | None:
    """Mean and percentiles of times in seconds, None of none; a percentile is the time that so many do not exceed."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    found = {"mean": sum(ordered) / len(ordered)}
    for percent in (50, 90, 99):
        found[f"p{percent}"] = ordered[max(ceil(len(ordered) * percent / 100) - 1, 0)]
    return {name: round(value, 6) for name, value in found.items()}


def describe_stats(
    sums: Iterable[EndSums], running: Iterable[Running], window: Window, rates: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The document of `stats`: the window, the figures in total, by pool, and by kind within each pool.

    `rates`: what a used worker second costs in the pools where it costs anything."""
    kinds = {(one.pool, one.kind): one for one in sums}
    for task in running:
        found = kinds.setdefault((task.pool, task.kind), EndSums(task.pool, task.kind))
        found.counts["started"] += task.started_at >= window.since
        found.worker_s += max(window.until - max(task.started_at, window.since), 0.0) * task.slots
    for one in kinds.values():
        rate = (rates or {}).get(one.pool)
        one.cost = one.worker_s * rate if rate else None
    total, pools = EndSums(), {pool: EndSums(pool) for pool, _ in sorted(kinds)}
    for one in kinds.values():
        pools[one.pool].include(one)
    for one in pools.values():
        total.include(one)
    return {
        "since": format_utc(window.since),
        "until": format_utc(window.until),
        "window_s": round(window.length_s, 3),
        "bucket_s": round(window.bucket_s, 6),
        "total": total.describe(),
        "pools": [{"pool": one.pool, **one.describe()} for one in pools.values()],
        "kinds": [{"pool": one.pool, "kind": one.kind, **one.describe()} for _, one in sorted(kinds.items())],
    }


def add_workers(stats: Mapping[str, Any], workers: Mapping[str, int]) -> None:
    """Fill the utilisation into the figures of the pools and the total, by how many workers there are now."""
    for figures in stats["pools"]:
        figures["utilisation"] = _utilisation(figures["worker_s"], workers.get(figures["pool"]), stats["window_s"])
    known = sum(workers.values())
    stats["total"]["utilisation"] = _utilisation(stats["total"]["worker_s"], known, stats["window_s"])


def _utilisation(worker_s: float, workers: int | None, window_s: float) -> float | None:
    """The share of the workers' time that was used; never above 1, though a pool may have been larger before."""
    return round(min(worker_s / (workers * window_s), 1.0), 4) if workers else None


_OF_POOL = (
    *("started", "succeeded", "failed", "retried", "wait_s", "run_s"),
    *("deadline_hit_rate", "fixed_start_hit_rate"),
)
_METERED = ("utilisation", "worker_s", "cost")
"""Fields that the document of a pool has in common with its figures; what its daemon meters itself goes by that."""


def add_figures(pools: Iterable[dict[str, Any]], stats: Mapping[str, Any]) -> None:
    """Fill what the documents of pools say of the past, from the document of `stats` of a window."""
    documents = {pool["name"]: pool for pool in pools}
    add_workers(stats, {name: pool["workers"] for name, pool in documents.items()})
    known = {figures["pool"]: figures for figures in stats["pools"]}
    for name, pool in documents.items():
        figures = known.get(name) or EndSums(name).describe()
        pool.update({field: figures[field] for field in _OF_POOL})
        pool.update({field: figures[field] for field in _METERED if pool[field] is None})
