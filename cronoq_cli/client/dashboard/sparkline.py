"""Numbers as one line of bars. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.:-=+*#"
UNKNOWN = " "


def draw_bars(values: Sequence[float | None], *, unicode: bool) -> str:
    """A bar for each value, the highest one full; the lowest bar is 0 alone, a blank is not known."""
    bars = _BARS if unicode else _ASCII_BARS
    top = max((value for value in values if value is not None), default=0.0)
    return "".join(_bar(value, top, bars) for value in values)


def _bar(value: float | None, top: float, bars: str) -> str:
    if value is None:
        return UNKNOWN
    if value <= 0 or top <= 0:
        return bars[0]
    return bars[min(1 + int(value / top * (len(bars) - 1)), len(bars) - 1)]


def draw_gauge(share: float, width: int, *, unicode: bool) -> str:
    """How full something is, as a bar of `width` columns; more than nothing is never empty."""
    full, empty = ("█", "░") if unicode else ("#", ".")
    share = min(max(share, 0.0), 1.0)
    count = round(share * width)
    if share > 0:
        count = max(count, 1)
    if share < 1:
        count = min(count, width - 1)
    return full * count + empty * (width - count)
