"""The table of `resource ls`: how much there is of each, what is free, who holds it, how many wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.style import style_of
from cronoq_cli.commands.render.words import Document
from cronoq_cli.model.ids import format_ids
from cronoq_cli.model.resource import format_amount


def print_resources(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table for a document `{"resources": [...]}`, or for `{"resource": {...}}`."""
    resources = [doc["resource"]] if "resource" in doc else list(doc["resources"])
    if not resources:
        print_notes(context, ["no resources"])
        return
    columns = [
        Column("RESOURCE", [resource["name"] for resource in resources], least=8),
        Column("SIZE", [describe_size(resource) for resource in resources]),
        Column("FREE", [_amount(resource["free"]) for resource in resources], right=True),
        Column("WAITING", [_count(resource["waiting"]) for resource in resources], right=True),
        Column("HELD BY", [_holders(resource) for resource in resources], least=8, usual="-"),
        Column("NOTE", ["changed" if resource["changed"] else "-" for resource in resources], usual="-"),
    ]
    context.out.write("\n".join(layout_table(columns, style_of(context))) + "\n")


def describe_size(resource: Document) -> str:
    """`2 permits`, or `10/s, burst 20`."""
    if resource["permits"] is not None:
        return f"{resource['permits']} permit{'' if resource['permits'] == 1 else 's'}"
    return f"{resource['rate']}, burst {_amount(resource['burst'])}"


def _amount(amount: float | None) -> str:
    return "-" if amount is None else format_amount(round(amount, 3))


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)


def _holders(resource: Document) -> str:
    ids = resource["held_by"]
    return format_ids(ids) if ids else "-"
