"""Facts in groups, one a line, label and value: the shape of `show` and `daemon status`.

On a terminal long values are wrapped under themselves, never cut; in a pipe each fact is one line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import escape_for_terminal, wrap_to_width

_INDENT = "  "
_LEAST_VALUE = 10


class Fact(NamedTuple):
    """One line; a value of None leaves it out. `colour` paints the value, `label_colour` the label."""

    label: str
    value: str | None
    colour: str | None = None
    label_colour: str = "dim"


def layout_facts(facts: Iterable[Fact], style: Style, label_width: int) -> list[str]:
    """The lines of the facts that are there, values aligned behind labels of `label_width` columns."""
    lines: list[str] = []
    for fact in facts:
        if fact.value is not None:
            lines += _fact_lines(fact, style, label_width)
    return lines


def _fact_lines(fact: Fact, style: Style, label_width: int) -> list[str]:
    value = escape_for_terminal(fact.value or "")
    label = style.paint(fact.label.ljust(label_width), fact.label_colour)
    room = None if style.columns is None else style.columns - len(_INDENT) - label_width - 2
    parts = [value] if room is None else wrap_to_width(value, max(room, _LEAST_VALUE))
    first = f"{_INDENT}{label}  {style.paint(parts[0], fact.colour)}".rstrip()
    margin = " " * (len(_INDENT) + label_width + 2)
    return [first, *(margin + style.paint(part, fact.colour) for part in parts[1:])]
