"""Events as lines: a table for a stored stretch, one aligned line each for a stream."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.layout import GAP, Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.text import cut_to_width, escape_for_terminal, pad_left_aligned
from cronoq_cli.commands.render.words import Document

_MINUTE_OF_TIME = "%Y-%m-%d %H:%M:%S"


def print_events(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table for a document `{"events": [...]}`, oldest first."""
    events = list(doc["events"])
    if not events:
        print_notes(context, ["no events"])
        return
    style = style_of(context)
    statuses = [event["status"] or "-" for event in events]
    columns = [
        Column(f"AT ({style.zone_name})", [_at(event, style) for event in events]),
        Column("ID", [_text(event["id"]) for event in events], right=True),
        Column("EVENT", [event["type"] for event in events]),
        Column("STATUS", statuses, colours=[STATUS_COLOURS.get(status) for status in statuses]),
        Column("TRY", [_text(event["attempt"]) for event in events], right=True),
        Column("POOL", [_text(event["pool"]) for event in events], usual="default", least=8),
        Column("MESSAGE", [_text(event["message"]) for event in events], usual="-", least=8),
    ]
    context.out.write("\n".join(layout_table(columns, style)) + "\n")


def print_event(context: Context, event: Document) -> None:
    """Write one event of a stream as a line, and flush it: `2026-03-08 07:00:00  12  started  ...`."""
    style = style_of(context)
    fixed = (
        (_at(event, style), 19),
        (_text(event["id"]).rjust(5), 5),
        (_text(event["type"]), 12),
        (_text(event["status"]), 13),
    )
    cells = [pad_left_aligned(escape_for_terminal(text), width) for text, width in fixed]
    rest = "  ".join(escape_for_terminal(text) for text in (event["pool"], event["message"]) if text)
    line = GAP.join([*cells, rest]).rstrip()
    if style.columns is not None:
        line = cut_to_width(line, style.columns, style.mark)
    status = event["status"]
    if style.colour and status and cells[3] in line:
        line = line.replace(cells[3], style.paint(cells[3], STATUS_COLOURS.get(status)), 1)
    context.out.write(line + "\n")
    context.out.flush()


def _at(event: Document, style: Style) -> str:
    """Date and time to the second in the caller's zone: a log of events spans days."""
    return datetime.fromtimestamp(moment_of(event["at"]), style.zone).strftime(_MINUTE_OF_TIME)


def _text(value: object) -> str:
    return "-" if value is None else str(value)
