"""Lengths of time, moments near now and amounts as short text for tables; exact ones are in the JSON."""

from __future__ import annotations

_UNITS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s"))
_TIGHT_S = 10


def short_span(seconds: float | None) -> str:
    """A length of time in at most two units: `0.25s`, `42s`, `3m12s`, `2h05m`, `3d04h`; `-` for None."""
    if seconds is None:
        return "-"
    if seconds < _TIGHT_S:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    whole = int(seconds)
    for size, unit, small, small_unit in _UNITS:
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // small:02d}{small_unit}"
    return f"{whole}s"


def near_now(at: float, now: float) -> str:
    """How far a moment is from now: `in 5m00s`, `12s ago`, `now` within a second."""
    distance = at - now
    if abs(distance) < 1:
        return "now"
    text = short_span(float(int(abs(distance))))
    return f"in {text}" if distance > 0 else f"{text} ago"


def plural(count: int, noun: str) -> str:
    """The count with its noun: `1 task`, `3 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
