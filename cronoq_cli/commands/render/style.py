"""How one command line's output looks: terminal or pipe, width, colour, signs, and the caller's clock.

Taken from the context once for each answer, so that no table asks for the environment or the clock itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import paint, wants_colour
from cronoq_cli.model.moment import format_local

_SIGNS = {
    "running": "▸>",
    "ready": "•.",
    "scheduled": "◦@",
    "blocked": "‖|",
    "held": "‖|",
    "retrying": "↻~",
    "succeeded": "✓+",
    "failed": "✗x",
    "dead_lettered": "✗X",
    "cancelled": "–-",
    "skipped": "»/",
    "missed": "!!",
    "shed": "▾v",
}
"""For each status a sign, and its stand-in where the caller's locale is not UTF-8."""

_SHORT = {"dead_lettered": "dead"}
"""What is too long for a terminal; a pipe has the full word."""

_LEAST_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class Style:
    """`columns` is None for anything that is not a terminal: there nothing is cut and no sign is drawn."""

    columns: int | None
    colour: bool
    unicode: bool
    now: float
    zone: tzinfo

    @property
    def mark(self) -> str:
        """What stands where text was cut."""
        return "…" if self.unicode else "~"

    def paint(self, text: str, colour: str | None) -> str:
        """The text in a colour, where colours are wanted."""
        return paint(text, colour) if self.colour else text

    def word(self, status: str) -> str:
        """A status as people read it: its word, on a terminal with its sign before it."""
        if self.columns is None:
            return status
        sign = _SIGNS.get(status, "??")[0 if self.unicode else 1]
        return f"{sign} {_SHORT.get(status, status)}"

    def local(self, text: str | None) -> str:
        """A moment of a document (RFC 3339) in the caller's zone, or `-`."""
        return "-" if text is None else self.local_moment(moment_of(text))

    def local_moment(self, at: float) -> str:
        """A moment in the caller's zone."""
        return format_local(at, self.zone, now=self.now)

    @property
    def zone_name(self) -> str:
        """The short name of the zone as of now, for headers: `CET`, `UTC`, `+0330`."""
        name = datetime.fromtimestamp(self.now, self.zone).tzname() or "UTC"
        return f"UTC{name}" if name[0] in "+-" else name


def style_of(context: Context) -> Style:
    """The style that the streams, options and environment of a command line ask for."""
    columns = max(context.columns or 80, _LEAST_COLUMNS) if context.stdout_tty else None
    return Style(columns, wants_colour(context), _is_utf8(context.env), context.now(), context.zone())


def moment_of(text: str) -> float:
    """Unix seconds of a moment in a document."""
    return datetime.fromisoformat(text).timestamp()


def _is_utf8(env: Mapping[str, str]) -> bool:
    """Whether the caller's locale can draw signs, by the order of POSIX: LC_ALL, LC_CTYPE, LANG."""
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    return "utf-8" in locale.lower() or "utf8" in locale.lower()
