"""Small pictures in one line: how a number went over time, and how far something is."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

_LEVELS = "▁▂▃▄▅▆▇█"
_PLAIN_LEVELS = ".:-=+*#@"
_DONE, _LIKELY, _LEFT = "█#", "▒~", "░."
"""What a bar is drawn with, and its stand-in where the caller's locale is not UTF-8."""


def draw_sparkline(values: Sequence[float | None], width: int, *, unicode: bool) -> str:
    """The values as columns of heights up to the greatest; a blank where there is none. No wider than `width`.

    Where there are more values than columns each column shows the greatest of some neighbours.
    """
    shown = _squeeze(values, max(width, 1))
    levels = _LEVELS if unicode else _PLAIN_LEVELS
    most = max((value for value in shown if value is not None), default=0.0)
    return "".join(" " if value is None else _level(value, most, levels) for value in shown).rstrip()


def _level(value: float, most: float, levels: str) -> str:
    """The lowest level for 0 alone, so that little is told from nothing."""
    if value <= 0 or most <= 0:
        return levels[0]
    return levels[max(ceil(value / most * (len(levels) - 1)), 1)]


def _squeeze(values: Sequence[float | None], width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    step = ceil(len(values) / width)
    parts = (values[at : at + step] for at in range(0, len(values), step))
    return [max((value for value in part if value is not None), default=None) for part in parts]


def draw_bar(share: float, width: int, *, unicode: bool, estimated: bool = False) -> str:
    """A bar of `width` columns, `share` (0 to 1) of it filled; full only at its end; an estimate is drawn lighter."""
    full = (_LIKELY if estimated else _DONE)[0 if unicode else 1]
    filled = width if share >= 1 else min(round(max(share, 0.0) * width), width - 1)
    return full * filled + _LEFT[0 if unicode else 1] * (width - filled)
