"""Pairs of measurements in alternation, and what is said of them. No row knows here what it measures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Seconds = Callable[[], float]


@dataclass(slots=True)
class Figure:
    """One line of the table: a ratio (or a plain value) against its target.

    `value` is judged against `target` by `sense` (`<=` or `>=`); `low`, `high` are the quartiles of the single pairs.
    `ours`, `peer` are medians in `unit`. Without a target nothing is judged. `curve`: values at more and more tasks.
    """

    name: str
    value: float
    target: float | None = None
    sense: str = "<="
    ours: float | None = None
    peer: float | None = None
    unit: str = "ms"
    low: float | None = None
    high: float | None = None
    note: str = ""
    curve: list[tuple[float, float]] = field(default_factory=list)
    curve_title: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.sense == "<=" else self.value >= self.target

    def to_dict(self) -> dict[str, Any]:
        """The figure as JSON, with the judgement."""
        return asdict(self) | {"reached": self.reached}


class Skipped(Exception):
    """A row that cannot be measured here; the text says why."""


def time_call(call: Callable[[], object]) -> float:
    """Seconds of the wall clock that a call took."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def compare(name: str, ours: Seconds, peer: Seconds, *, times: int, target: float, sense: str = "<=") -> Figure:
    """Measure both in alternation, the order changing with each pair, so that what wanders meets both alike.

    For `<=` the ratio is ours to the peer's time, for `>=` the peer's to ours (how many times faster we are).
    """
    pairs: list[tuple[float, float]] = []
    for number in range(times):
        if number % 2:
            theirs = peer()
            pairs.append((ours(), theirs))
        else:
            mine = ours()
            pairs.append((mine, peer()))
    faster = sense == ">="
    ratios = sorted(b / a if faster else a / b for a, b in pairs)
    mine, theirs = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    low, high = quartiles(ratios)
    value = theirs / mine if faster else mine / theirs
    return Figure(name, value, target, sense, mine * 1e3, theirs * 1e3, low=low, high=high)


def quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """The first and third quartile of ordered values."""
    if len(ordered) < 4:
        return ordered[0], ordered[-1]
    first, _, third = statistics.quantiles(ordered, n=4)
    return first, third


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share (0 to 1) of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
