"""Tables of aligned columns as plain text: never cut in a pipe, fitted to the width on a terminal.

Cells are escaped here, once for all tables. What the columns mean lives with each table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import (
    cut_to_width,
    display_width,
    escape_for_terminal,
    pad_left_aligned,
    pad_right_aligned,
)

GAP = "  "
_LEAST_LEFT = 4


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `least`: the width it may be cut down to on a terminal, None: never cut by choice. `modest`: the
    width it keeps until all others are down to theirs, where that is more than the least.

    `usual`: a value that need not be shown: where space is short and every cell has it, the column goes. `spare`: it
    goes too where all are at their least and the table is still too wide; the highest first.
    `colours`: the colour of a cell by its row, None for none.
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    least: int | None = None
    usual: str | None = None
    spare: int = 0
    modest: int | None = None
    colours: Sequence[str | None] | None = None


@dataclass(slots=True)
class _Fitted:
    column: Column
    cells: list[str]
    title: str
    width: int
    full: int
    """The width of the widest cell."""

    @property
    def least(self) -> int:
        return self.column.least or 0

    @property
    def modest(self) -> int:
        return max(self.column.modest or 0, self.least)


def layout_table(columns: Sequence[Column], style: Style) -> list[str]:
    """The lines of a table, header first. On a terminal no line is wider than it, down to a few columns."""
    fitted = [_measure(column) for column in columns]
    if style.columns is not None:
        fitted = _fit(fitted, style.columns, style.mark)
    drawn = [_draw(item, style, is_last=item is fitted[-1]) for item in fitted]
    return [GAP.join(row).rstrip() for row in zip(*drawn, strict=True)]


def _measure(column: Column) -> _Fitted:
    cells = [cell or "-" for cell in column.cells]
    if not "".join(cells).isprintable():
        cells = [escape_for_terminal(cell) for cell in cells]
    if "".join(cells).isascii():
        width = max(map(len, cells), default=0)
    else:
        width = max(map(display_width, cells))
    full = max(width, display_width(column.title))
    return _Fitted(column, cells, column.title, full, full)


def _total(fitted: Sequence[_Fitted]) -> int:
    return sum(item.width for item in fitted) + len(GAP) * (len(fitted) - 1)


def _fit(fitted: list[_Fitted], columns: int, mark: str) -> list[_Fitted]:
    """Make the table narrow enough: columns that say nothing go, long ones are cut, the last ones go."""
    for item in list(fitted):
        if _total(fitted) > columns and item.column.usual is not None and {item.column.usual}.issuperset(item.cells):
            fitted.remove(item)
    elastic = [item for item in fitted if item.column.least is not None]
    excess = _shrink(elastic, [item.modest for item in elastic], _total(fitted) - columns)
    _shrink(elastic, [item.least for item in elastic], excess)
    for item in sorted((item for item in fitted if item.column.spare), key=lambda item: -item.column.spare):
        if len(fitted) > 1 and _total(fitted) > columns:
            fitted.remove(item)
    while len(fitted) > 1 and _total(fitted) > columns:
        _narrow_last(fitted, columns)
    if _total(fitted) > columns:
        fitted[0].width = columns
    _grow(fitted, columns - _total(fitted))
    for item in fitted:
        _cut(item, mark)
    return fitted


def _shrink(elastic: Sequence[_Fitted], floors: Sequence[int], excess: int) -> int:
    """Take the excess from these columns, always the widest one, down to the floor of each; what is left of it."""
    while excess > 0:
        loose = [(item, floor) for item, floor in zip(elastic, floors, strict=True) if item.width > floor]
        if not loose:
            return excess
        widest, floor = max(loose, key=lambda pair: pair[0].width)
        others = max((item.width for item, _ in loose if item is not widest), default=0)
        step = max(1, min(excess, widest.width - max(floor, others - 1)))
        widest.width -= step
        excess -= step
    return 0


def _grow(fitted: Sequence[_Fitted], room: int) -> None:
    """Give what the columns that went have left to those that were cut, a column of text at a time to the narrowest."""
    while room > 0:
        cut = [item for item in fitted if item.width < item.full]
        if not cut:
            return
        min(cut, key=lambda item: item.width).width += 1
        room -= 1


def _narrow_last(fitted: list[_Fitted], columns: int) -> None:
    """Last resort of a narrow terminal: the rightmost column takes what is left, or goes; half a number lies."""
    last = fitted[-1]
    left = columns - _total(fitted[:-1]) - len(GAP)
    if left >= _LEAST_LEFT and last.column.least is not None:
        last.width = left
    else:
        fitted.pop()


def _cut(item: _Fitted, mark: str) -> None:
    item.title = cut_to_width(item.title, item.width, mark)
    item.cells = [
        cell if len(cell) <= item.width and cell.isascii() else cut_to_width(cell, item.width, mark)
        for cell in item.cells
    ]


def _draw(item: _Fitted, style: Style, *, is_last: bool) -> list[str]:
    width = item.width
    if item.column.right:
        cells = [pad_right_aligned(cell, width) for cell in (item.title, *item.cells)]
    elif is_last:
        cells = [item.title, *item.cells]
    else:
        cells = [pad_left_aligned(cell, width) for cell in (item.title, *item.cells)]
    if not style.colour:
        return cells
    title, colours = style.paint(cells[0], "bold"), item.column.colours
    if colours is None:
        return [title, *cells[1:]]
    return [title, *map(style.paint, cells[1:], colours)]
