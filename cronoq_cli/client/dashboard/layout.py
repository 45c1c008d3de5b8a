"""Where the panels stand on a screen of some size. Pure."""

from __future__ import annotations

from typing import NamedTuple

WIDE = 110
"""From so many columns on the chart stands beside the pools, not below them."""
_MOST_POOLS = 6
_LEAST_HEIGHT = 12
"""On a lower screen there is no chart and one line of pools; below that no lower part either."""


class Area(NamedTuple):
    """A rectangle in cells; without height it is not shown."""

    x: int
    y: int
    width: int
    height: int


NOWHERE = Area(0, 0, 0, 0)


class Layout(NamedTuple):
    """An area for each panel."""

    title: Area
    pools: Area
    chart: Area
    tasks: Area
    pane: Area
    footer: Area


def decide_layout(width: int, height: int, pools: int, *, zoomed: bool = False) -> Layout:
    """The areas for a screen with so many pools; `zoomed`: the lower part has it all."""
    title, footer = Area(0, 0, width, 1), Area(0, max(height - 1, 0), width, 1)
    inside = max(height - 2, 0)
    if zoomed:
        return Layout(title, NOWHERE, NOWHERE, NOWHERE, Area(0, 1, width, inside), footer)
    if height < _LEAST_HEIGHT:
        return Layout(title, NOWHERE, NOWHERE, Area(0, 1, width, inside), NOWHERE, footer)
    rows = max(1, min(pools, _MOST_POOLS, height // 8))
    top, left_pools, chart = _top(width, rows, height)
    left = inside - top
    pane = max(left * 2 // 5, 4) if left >= 9 else 0
    tasks = Area(0, 1 + top, width, left - pane)
    return Layout(title, left_pools, chart, tasks, Area(0, 1 + top + tasks.height, width, pane), footer)


def _top(width: int, rows: int, height: int) -> tuple[int, Area, Area]:
    """How many lines the upper part has, and the areas of pools and chart in it."""
    if width >= WIDE:
        lines = max(rows + 1, 4)
        half = width // 2
        return lines, Area(0, 1, half - 1, lines), Area(half + 1, 1, width - half - 1, lines)
    charts = 4 if height >= 34 else 3
    return rows + 1 + charts, Area(0, 1, width, rows + 1), Area(0, 2 + rows, width, charts)
