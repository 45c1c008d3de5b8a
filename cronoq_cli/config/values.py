"""The kinds of values that can stand in the configuration file, and how each is read from what TOML gives.

`Seconds`, `Bytes` and the like are plain numbers that are written as durations, sizes and so on. Which keys there
are stands in `settings`, `pools` and `resources`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Any

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.backoff import parse_backoff
from cronoq_cli.model.duration import parse_duration, parse_positive_duration
from cronoq_cli.model.resource import MOST, RATE_HINT, parse_rate
from cronoq_cli.model.task import Backoff, Priority
from cronoq_cli.model.words import hint_for, parse_size

RLIMITS = ("as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "stack")
UNLIMITED = -1
"""The number of `unlimited`, as the kernel and `resource.RLIM_INFINITY` have it."""
PRIORITY_WORDS = tuple(priority.word for priority in reversed(Priority))
NO_BOUND = "none"
WANTED_DURATION = 'a duration such as "90s" or "1h30m"'

Seconds = Annotated[float, msgspec.Meta(title="seconds")]
"""A length of time: `90s`, `1h30m` or a number of seconds; zero is allowed."""
PositiveSeconds = Annotated[float, msgspec.Meta(title="positive seconds")]
"""A length of time that is not zero: a limit."""
Bytes = Annotated[int, msgspec.Meta(title="bytes")]
"""A size: `256MiB` or a number of bytes."""
Points = Annotated[float, msgspec.Meta(title="points")]
"""A number of points of the score: finite and not negative."""
Amount = Annotated[float, msgspec.Meta(title="amount")]
"""A finite number that is not negative."""
PositiveAmount = Annotated[float, msgspec.Meta(title="positive amount")]
"""A finite number more than zero."""
Fraction = Annotated[float, msgspec.Meta(title="fraction")]
"""A share of a whole, 0 to 1."""
PositiveFraction = Annotated[float, msgspec.Meta(title="positive fraction")]
"""A share of a whole, more than 0 and at most 1."""
Percent = Annotated[float, msgspec.Meta(title="percent")]
"""A share of a whole, more than 0 and at most 100."""
Rate = Annotated[float, msgspec.Meta(title="rate")]
"""Units a second, written as `10/s`, `5/m` or `100/h`."""
Rlimits = Annotated[dict[str, int], msgspec.Meta(title="rlimits")]
"""Limits of the kernel by name (`nofile`, `as`, ...); -1 is unlimited."""
Labels = Annotated[dict[str, str], msgspec.Meta(title="labels")]
"""What workers are, as text by name."""
Weights = Annotated[dict[str, float], msgspec.Meta(title="weights")]
"""Weights more than zero by name."""
Slo = Annotated[dict[str, float], msgspec.Meta(title="slo")]
"""For classes by their word the seconds within which their work should start."""
CommandWords = Annotated[list[str] | str, msgspec.Meta(title="command")]
"""A list of words, executed as given; a text is a shell line."""
Bound = Annotated[int | None, msgspec.Meta(title="bound")]
"""A whole number from 1 on; `"none"` is no bound."""
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
PositiveCount = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the file."""

    def check(self) -> None:
        """Raises UsageError where values contradict each other; called once the table is read."""


def count_cpus() -> int:
    """The CPUs this process may use, at least one."""
    return len(os.sched_getaffinity(0)) or 1


def format_value(value: Any) -> str:
    """A value of the file as it could stand there, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _read_seconds(value: Any) -> float:
    return parse_duration(_duration_text(value))


def _read_positive_seconds(value: Any) -> float:
    return parse_positive_duration(_duration_text(value))


def _duration_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{_read_number(value, WANTED_DURATION):.6f}".rstrip("0").rstrip(".")


def _read_points(value: Any) -> float:
    return _read_number(value, "a number of points")


def _read_amount(value: Any) -> float:
    return _read_number(value, "a number from 0 on")


def _read_number(value: Any, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e15:
        raise _unfit(value, wanted)
    return float(value)


def _between(least: float, most: float, wanted: str) -> Callable[[Any], float]:
    """Reads a number more than `least` and at most `most`; a `least` below zero lets zero in."""

    def read(value: Any) -> float:
        number = not isinstance(value, bool) and isinstance(value, int | float) and isfinite(value)
        if not number or not least < value <= most:
            raise _unfit(value, wanted)
        return float(value)

    return read


_read_weight = _between(0, MOST, "a number more than 0")


def _unfit(value: Any, wanted: str) -> UsageError:
    return UsageError(f"{format_value(value)} does not fit here", hint=f"write {wanted}")


def _read_bound(value: Any) -> int | None:
    if value == NO_BOUND:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000_000:
        raise _unfit(value, 'a whole number from 1 on, or "none"')
    return value


def _read_size(value: Any) -> int:
    if isinstance(value, str):
        return parse_size(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise UsageError(f"{format_value(value)} is not a size", hint='write it like "256MiB", or as bytes')
    return value


def _read_rate(value: Any) -> float:
    if not isinstance(value, str):
        raise UsageError(f"{format_value(value)} is not a rate", hint=RATE_HINT)
    return parse_rate(value)


def _items_of(value: Any, wanted: str, example: str) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{format_value(value)} is not a table of {wanted}", hint=f"write it like {example}")
    return list(value.items())


def _read_rlimits(value: Any) -> dict[str, int]:
    limits: dict[str, int] = {}
    for name, limit in _items_of(value, "limits", "{ nofile = 1024 }"):
        if name not in RLIMITS:
            raise UsageError(f"unknown limit {name!r}", hint=hint_for(name, RLIMITS))
        limits[name] = UNLIMITED if limit == "unlimited" else _read_size(limit)
    return limits


def _read_labels(value: Any) -> dict[str, str]:
    labels: dict[str, str] = {}
    for name, text in _items_of(value, "labels", '{ gpu = "yes" }'):
        if not name or name != name.strip() or "=" in name:
            raise UsageError(f"{name!r} is not a name for a label", hint="it can be written as NAME=VALUE")
        if not isinstance(text, str):
            raise UsageError(f"{name}: {format_value(text)} does not fit here", hint="write a text in quotes")
        labels[name] = text
    return labels


def _read_weights(value: Any) -> dict[str, float]:
    weights: dict[str, float] = {}
    for name, weight in _items_of(value, "weights", "{ alice = 2 }"):
        try:
            weights[name] = _read_weight(weight)
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", hint=error.hint) from error
    return weights


def _read_slo(value: Any) -> dict[str, float]:
    times: dict[str, float] = {}
    for word, time in _items_of(value, "times", '{ high = "10s" }'):
        if word not in PRIORITY_WORDS:
            raise UsageError(f"unknown priority {word!r}", hint=hint_for(word, PRIORITY_WORDS))
        try:
            times[word] = _read_positive_seconds(time)
        except UsageError as error:
            raise UsageError(f"{word}: {error.message}", hint=error.hint) from error
    return times


def _read_command(value: Any) -> list[str] | str:
    words = value if isinstance(value, list) else [value]
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0].strip():
        raise UsageError(
            f"{format_value(value)} is not a command", hint='write it like ["send-all", "-v"], or as a shell line'
        )
    return list(value) if isinstance(value, list) else str(value)


def _read_backoff(value: Any) -> Backoff:
    if not isinstance(value, str):
        raise UsageError(f"{format_value(value)} is not a backoff", hint='write it like "fixed:30s"')
    return parse_backoff(value)


READERS: dict[Any, Callable[[Any], Any]] = {
    Seconds: _read_seconds,
    PositiveSeconds: _read_positive_seconds,
    Points: _read_points,
    Amount: _read_amount,
    PositiveAmount: _read_weight,
    Fraction: _between(-1e-300, 1, "a number from 0 to 1"),
    PositiveFraction: _between(0, 1, "a number more than 0, at most 1"),
    Percent: _between(0, 100, "a percentage more than 0, at most 100"),
    Bound: _read_bound,
    Bytes: _read_size,
    Rate: _read_rate,
    Rlimits: _read_rlimits,
    Labels: _read_labels,
    Weights: _read_weights,
    Slo: _read_slo,
    CommandWords: _read_command,
    Backoff: _read_backoff,
}
"""How a value of these types is read from what TOML gave; each raises UsageError."""

WANTED: dict[Any, str] = {
    bool: "true or false",
    Count: "a whole number from 0 on",
    PositiveCount: "a whole number from 1 on",
    str: "a text in quotes",
}
"""What would be right for the types that TOML has itself."""
