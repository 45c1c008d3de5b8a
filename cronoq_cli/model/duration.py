"""Lengths of time as text: `1h30m` and the like, to seconds and back. Points in time live in `moment`."""

from __future__ import annotations

import re

from cronoq_cli.errors import UsageError

UNITS_S = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
"""Seconds of each unit, the largest first: the order in which parts must stand."""

LONGEST_S = 1e10
"""About 317 years. Above it a sum with the present leaves the calendar; nobody means such a length."""

HINT = "write it like 90s, 1h30m, 2d, 500ms, or as plain seconds"

_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([^\s0-9.]*)")


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `90s`, `1h30m`, `2d`, `500ms`, `0.5`; zero is allowed.

    Raises UsageError for anything else: a sign, an unknown or repeated unit, a part without unit, NaN.
    """
    stripped = text.strip()
    if not stripped:
        raise UsageError("a duration is empty", hint=HINT)
    if stripped[0] in "+-":
        raise UsageError(f"{text!r} is not a duration: it has a sign", hint=HINT)
    seconds = float(stripped) if _PLAIN.fullmatch(stripped) else _sum_of_parts(stripped)
    if seconds > LONGEST_S:
        raise UsageError(f"{text!r} is longer than 300 years", hint=HINT)
    return seconds


def parse_positive_duration(text: str) -> float:
    """As `parse_duration`, but zero is refused: for limits, where zero could only mean none or at once."""
    seconds = parse_duration(text)
    if seconds == 0:
        raise UsageError(f"{text!r} is no length of time", hint="it must be more than zero")
    return seconds


def _sum_of_parts(text: str) -> float:
    order = list(UNITS_S)
    seconds, position, lowest = 0.0, 0, -1
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise UsageError(f"{text!r} is not a duration", hint=HINT)
        number, unit = part.groups()
        if unit not in UNITS_S:
            raise UsageError(f"{text!r} is not a duration: {_unit_trouble(unit)}", hint=HINT)
        if order.index(unit) <= lowest:
            raise UsageError(f"{text!r} is not a duration: each unit once, the largest first", hint=HINT)
        lowest = order.index(unit)
        seconds += float(number) * UNITS_S[unit]
        position = part.end()
    return seconds


def _unit_trouble(unit: str) -> str:
    if not unit:
        return "a unit is missing"
    return f"unknown unit {unit!r}"


def format_duration(seconds: float) -> str:
    """A short text that parses back to the same number of milliseconds: `1h30m`, `45s`, `1.25s`, `500ms`."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    millis = round(seconds * 1000)
    if millis < 1000:
        return _format_below_a_second(seconds, millis)
    whole, rest = divmod(millis, 1000)
    days, whole = divmod(whole, 86_400)
    hours, whole = divmod(whole, 3_600)
    minutes, whole = divmod(whole, 60)
    parts = [f"{number}{unit}" for number, unit in ((days, "d"), (hours, "h"), (minutes, "m")) if number]
    if whole or rest:
        fraction = f".{rest:03d}".rstrip("0") if rest else ""
        parts.append(f"{whole}{fraction}s")
    return "".join(parts)


def _format_below_a_second(seconds: float, millis: int) -> str:
    if millis:
        return f"{millis}ms"
    if seconds >= 0.000_001:
        return f"{seconds * 1000:.3f}".rstrip("0").rstrip(".") + "ms"
    return "0s"
