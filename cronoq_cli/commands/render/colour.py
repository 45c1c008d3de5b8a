"""Whether to colour, and the few ANSI colours used. A colour only repeats what a word or sign says.

Nothing else in the package writes an escape character.
"""

from __future__ import annotations

from collections.abc import Mapping

from cronoq_cli.commands.context import Context

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_RESET = "\x1b[0m"

STATUS_COLOURS = {
    "running": "blue",
    "ready": "cyan",
    "scheduled": "cyan",
    "blocked": "yellow",
    "held": "yellow",
    "retrying": "yellow",
    "succeeded": "green",
    "failed": "red",
    "dead_lettered": "red",
    "cancelled": "dim",
    "skipped": "dim",
    "missed": "magenta",
    "shed": "magenta",
}


def paint(text: str, colour: str | None) -> str:
    """The text in a colour, or as it is for None or for blanks."""
    return f"\x1b[{_CODES[colour]}m{text}{_RESET}" if colour and text else text


def wants_colour(context: Context) -> bool:
    """Whether standard output of this command line is to be coloured.

    `--color always|never` decides; then NO_COLOR, TERM=dumb, FORCE_COLOR (0 means no); else a terminal.
    """
    choice = str(context.extras.get("color") or "auto")
    if choice in ("always", "never"):
        return choice == "always"
    return _environment_wants(context.env, context.stdout_tty)


def _environment_wants(env: Mapping[str, str], terminal: bool) -> bool:
    if env.get("NO_COLOR") or env.get("TERM") == "dumb":
        return False
    forced = env.get("FORCE_COLOR")
    if forced:
        return forced.lower() not in ("0", "false", "no")
    return terminal
