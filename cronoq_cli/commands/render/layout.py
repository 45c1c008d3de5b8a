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
    """One column. `least`: the width it may be cut down to on a terminal, None: never cut by choice.

    `usual`: a value that need not be shown: where space is short and every cell has it, the column goes.
    `colours`: the colour of a cell by its row, None for none.
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    least: int | None = None
    usual: str | None = None
    colours: Sequence[str | None] | None = None


@dataclass(slots=True)
class _Fitted:
    column: Column
    cells: list[str]
    title: str
    width: int


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
    return _Fitted(column, cells, column.title, max(width, display_width(column.title)))


def _total(fitted: Sequence[_Fitted]) -> int:
    return sum(item.width for item in fitted) + len(GAP) * (len(fitted) - 1)


def _fit(fitted: list[_Fitted], columns: int, mark: str) -> list[_Fitted]:
    """Make the table narrow enough: columns that say nothing go, long ones are cut, the last ones go."""
    for item in list(fitted):
        if _total(fitted) > columns and item.column.usual is not None and {item.column.usual}.issuperset(item.cells):
            fitted.remove(item)
    excess = _total(fitted) - columns
    if excess > 0:
        _shrink(fitted, excess)
    while len(fitted) > 1 and _total(fitted) > columns:
        _narrow_last(fitted, columns)
    if _total(fitted) > columns:
        fitted[0].width = columns
    for item in fitted:
        _cut(item, mark)
    return fitted


def _shrink(fitted: list[_Fitted], excess: int) -> None:
    """Take the excess from the columns that may be cut, always the widest one, down to the least of each."""
    elastic = [item for item in fitted if item.column.least is not None]
    while excess > 0:
        loose = [item for item in elastic if item.width > (item.column.least or 0)]
        if not loose:
            return
        widest = max(loose, key=lambda item: item.width)
        others = [item.width for item in loose if item is not widest]
        floor = max(widest.column.least or 0, max(others, default=0) - 1)
        step = max(1, min(excess, widest.width - floor))
        widest.width -= step
        excess -= step


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
