"""What `daemon status` shows: state, role, epoch, versions, and what the last start recovered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.spans import near_now
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.words import Document

_STATE_COLOURS = {"running": "green", "starting": "yellow", "stopping": "yellow", "draining": "yellow"}
_LEADING = ("state", "role", "pid", "leader_pid", "since", "started_at", "epoch", "version", "protocol")
_LABELS = 13


def print_status(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the facts of a document `{"daemon": {...}}`; the well-known first, then whatever else it has.

    A moment (a name that ends in `_at`, or `since`) is shown in the caller's zone, a mapping as its parts.
    """
    style = style_of(context)
    daemon = doc.get("daemon", doc)
    lines = layout_facts(_facts(daemon, style), style, _width(daemon))
    context.out.write("\n".join(lines) + "\n")


def _width(daemon: Document) -> int:
    return max(_LABELS, *(len(name) for name in daemon)) if daemon else _LABELS


def _facts(daemon: Document, style: Style) -> Iterator[Fact]:
    names = [name for name in _LEADING if name in daemon]
    names += [name for name in daemon if name not in _LEADING]
    for name in names:
        value = daemon[name]
        colour = _STATE_COLOURS.get(str(value)) if name == "state" else None
        yield Fact(_label(name), _value(name, value, style), colour)


def _label(name: str) -> str:
    return name.removesuffix("_at").replace("_", " ")


def _value(name: str, value: object, style: Style) -> str | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {_label(part)}" for part, count in value.items() if count) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and (name == "since" or name.endswith("_at")):
        return f"{style.local(value)} {style.zone_name}, {near_now(moment_of(value), style.now)}"
    return str(value)
