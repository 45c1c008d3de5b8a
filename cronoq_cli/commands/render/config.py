"""The configuration in force as lines of TOML, each with where its value comes from."""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import paint, wants_colour
from cronoq_cli.commands.render.text import escape_for_terminal
from cronoq_cli.config.effective import COMMAND, DEFAULT, Value
from cronoq_cli.config.written import format_toml

_WIDTH = 40
_SOURCES = {COMMAND: "changed by command"}


def print_config(context: Context, values: Iterable[Value]) -> None:
    """Write the values below the headers of their tables; one that is not set stands there as a comment."""
    colour = wants_colour(context)
    table = None
    for value in values:
        if value.table != table:
            context.out.write(("" if table is None else "\n") + escape_for_terminal(f"[{value.table}]") + "\n")
            table = value.table
        text = f"# {value.key} is not set" if value.value is None else f"{value.key} = {format_toml(value.value)}"
        source = _SOURCES.get(value.source, value.source)
        line = escape_for_terminal(text).ljust(_WIDTH) + f"  # {source}"
        context.out.write((paint(line, "dim") if colour and value.source == DEFAULT else line) + "\n")
