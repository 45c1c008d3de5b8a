"""Lengths of time, moments near now and amounts as short text for tables; exact ones are in the JSON."""

from __future__ import annotations

_UNITS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s"))
_TIGHT_S = 10
_TINY_S = 0.0995


def short_span(seconds: float | None) -> str:
    """A length of time in at most two units: `20ms`, `0.25s`, `42s`, `3m12s`, `2h`, `3d04h`; `-` for None."""
    if seconds is None:
        return "-"
    if 0 < seconds < _TINY_S:
        return f"{seconds * 1000:.1f}ms" if seconds < 0.001 else f"{seconds * 1000:.0f}ms"
    if seconds < _TIGHT_S:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    whole = int(seconds)
    for size, unit, small, small_unit in _UNITS:
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size}{unit}{rest:02d}{small_unit}" if rest else f"{whole // size}{unit}"
    return f"{whole}s"


def near_now(at: float, now: float) -> str:
    """How far a moment is from now: `in 5m`, `12s ago`, `now` within a second."""
    distance = at - now
    if abs(distance) < 1:
        return "now"
    text = short_span(float(int(abs(distance))))
    return f"in {text}" if distance > 0 else f"{text} ago"
