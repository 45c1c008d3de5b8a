"""All keys, once: the main screen goes by this table, help and footer are drawn from it, docs/dashboard.md has it.

`names` are Textual's, `shown` is what stands on keyboards.
"""

from __future__ import annotations

from typing import NamedTuple

from cronoq_cli.client.dashboard.board import Panel


class Key(NamedTuple):
    """One thing to do: `action` of the main screen, with `argument` unless that is None. `changes`: it changes tasks or
    pools, so that it is not offered where that is not wanted."""

    names: str
    shown: str
    action: str
    argument: int | str | None
    does: str
    short: str = ""
    changes: bool = False


MOVING = (
    Key("up,k", "Up k", "move", -1, "one row up"),
    Key("down,j", "Down j", "move", 1, "one row down"),
    Key("pageup,ctrl+b", "PgUp", "page", -1, "one page up"),
    Key("pagedown,ctrl+f", "PgDn", "page", 1, "one page down"),
    Key("home,g", "Home g", "edge", -1, "to the first row"),
    Key("end,G", "End G", "edge", 1, "to the last row; in a log: follow it"),
    Key("tab", "Tab", "turn", 1, "to the next panel", "panel"),
    Key("shift+tab", "Shift-Tab", "turn", -1, "to the panel before"),
    Key("1", "1", "panel", "pools", "to the pools"),
    Key("2", "2", "panel", "tasks", "to the tasks"),
    Key("3", "3", "panel", "recurring", "to the recurring jobs, in the place of the tasks"),
    Key("4", "4", "panel", "pane", "to the lower part"),
)
LOOKING = (
    Key("l", "l", "pane", "log", "log of the selected task; again: its other stream, where they are apart", "log"),
    Key("d", "d", "pane", "details", "details of the selected task", "details"),
    Key("e", "e", "pane", "explain", "explanation: what it waits for, its score, when it should start", "explain"),
    Key("enter,z", "Enter z", "zoom", None, "lower part over the whole screen, or back"),
    Key("slash", "/", "search", None, "search in id, name, key and command, in the whole queue", "search"),
    Key("f", "f", "filter_status", None, "filter by status", "filter"),
    Key("F", "F", "filter_pool", None, "filter by pool"),
    Key("escape", "Esc", "reset", None, "back: zoom, marks, search and filter"),
    Key("t", "t", "span", None, "chart: the last 5 minutes, half hour, hour, 6 hours"),
)
CHANGING = (
    Key("space", "Space", "mark", None, "mark a task, or no more: keys act on all that are marked"),
    Key("c,delete", "c Del", "change", "cancel", "cancel", "cancel", changes=True),
    Key(
        "r", "r", "change", "retry", "run again, under the same id; a recurring job: run it now", "retry", changes=True
    ),
    Key("h", "h", "change", "hold", "hold, or release what is held", "hold", changes=True),
    Key("plus,equals_sign", "+", "change", "raise", "one priority class up", changes=True),
    Key("minus", "-", "change", "lower", "one priority class down", changes=True),
    Key("s", "s", "change", "start", "start now: skip the waiting time", changes=True),
    Key("p", "p", "pause", None, "pause the pool, or the recurring job, or resume it", "pause", changes=True),
    Key("w", "w", "scale", None, "workers: scale the pool", "workers", changes=True),
)
OTHERWISE = (
    Key("question_mark,f1", "? F1", "help", None, "this help", "help"),
    Key("ctrl+z", "Ctrl-Z", "suspend", None, "to the shell; fg comes back"),
    Key("ctrl+l", "Ctrl-L", "repaint", None, "draw everything anew"),
    Key("q,ctrl+c,f10", "q", "leave", None, "quit; tasks go on", "quit"),
)
GROUPS: tuple[tuple[str, tuple[Key, ...]], ...] = (
    ("Move", MOVING),
    ("Look", LOOKING),
    ("Change", CHANGING),
    ("Other", OTHERWISE),
)
_IN_FOOTER = ("help", "quit", "search", "filter", "log", "details", "explain", "cancel", "retry", "hold", "panel")
_FOR_POOLS = ("help", "quit", "pause", "workers", "panel")
_FOR_RECURRING = ("help", "quit", "pause", "panel")


def list_keys(*, read_only: bool) -> list[tuple[str, list[Key]]]:
    """The groups with the keys that are offered."""
    groups = [(name, [key for key in keys if not (read_only and key.changes)]) for name, keys in GROUPS]
    return [(name, keys) for name, keys in groups if keys]


def footer_keys(panel: Panel, *, read_only: bool) -> list[tuple[str, str]]:
    """Key and label of what the footer offers, the most useful first."""
    known = {key.short: key for _, keys in list_keys(read_only=read_only) for key in keys if key.short}
    wanted = {Panel.POOLS: _FOR_POOLS, Panel.RECURRING: _FOR_RECURRING}.get(panel, _IN_FOOTER)
    return [(known[word].shown.split()[0], word) for word in wanted if word in known]


def find_key(*names: str | None) -> Key | None:
    """The key that has one of these names."""
    return next((_BY_NAME[name] for name in names if name in _BY_NAME), None)


_BY_NAME: dict[str | None, Key] = {name: key for _, keys in GROUPS for key in keys for name in key.names.split(",")}
