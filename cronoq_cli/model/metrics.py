"""Metrics as values: families of samples, as monitoring takes them in. Their text is made in commands/render/metrics.

Names, units and suffixes are those of OpenMetrics 1.0; only types that the older Prometheus text format knows are used,
since the node exporter reads files in that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

UP, UP_HELP = "cronoq_up", "Whether a daemon runs."
TASKS, TASKS_HELP = "cronoq_tasks", "Live tasks by status."
OLDEST_READY = "cronoq_queue_oldest_ready_seconds"
OLDEST_READY_HELP = "How long the oldest ready task of a pool has waited; 0 where none waits."
"""The families that there are with and without a daemon."""

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"


class Sample(msgspec.Struct, frozen=True):
    """One number of a family: `suffix` is what its name has behind the family's (`_total`, `_bucket`)."""

    value: float
    labels: dict[str, str] = {}
    suffix: str = ""


class Family(msgspec.Struct, kw_only=True):
    """Metrics of one name. `unit`, where there is one, is the last part of the name."""

    name: str
    help: str
    type: str = GAUGE
    unit: str | None = None
    samples: list[Sample] = []


def gauge(
    name: str, help_text: str, values: Iterable[tuple[Mapping[str, str], float]], unit: str | None = None
) -> Family:
    """A family of present values, by their labels."""
    return Family(
        name=name, help=help_text, unit=unit, samples=[Sample(value, dict(labels)) for labels, value in values]
    )


def counter(
    name: str, help_text: str, values: Iterable[tuple[Mapping[str, str], float]], unit: str | None = None
) -> Family:
    """A family of numbers that only grow, until the daemon begins anew."""
    samples = [Sample(value, dict(labels), "_total") for labels, value in values]
    return Family(name=name, help=help_text, type=COUNTER, unit=unit, samples=samples)


def histogram(
    name: str, help_text: str, bounds: Sequence[float], of: Mapping[str, tuple[Sequence[int], float]]
) -> Family:
    """A family of times by pool, seconds: for each the counts of the classes up to each bound and above; the sum."""
    samples: list[Sample] = []
    for pool, (counts, sum_s) in of.items():
        running = list(accumulate(counts))
        for bound, count in zip((*map(format_bound, bounds), "+Inf"), running, strict=True):
            samples.append(Sample(count, {"pool": pool, "le": bound}, "_bucket"))
        samples += [Sample(running[-1], {"pool": pool}, "_count"), Sample(sum_s, {"pool": pool}, "_sum")]
    return Family(name=name, help=help_text, type=HISTOGRAM, unit="seconds", samples=samples)


def format_bound(value: float) -> str:
    """A bound as OpenMetrics writes it, always with a point: `0.5`, `60.0`."""
    return repr(float(value))


def describe_families(families: Iterable[Family]) -> list[dict[str, Any]]:
    """The families as documents; those without a number are left out."""
    return [msgspec.to_builtins(family) for family in families if family.samples]
