"""What the looks of `lines` are on a terminal: its own sixteen colours and attributes, so that dark and light both fit.

Without colours the attributes say the same. Lines become strips of Textual here.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from cronoq_cli.client.dashboard.lines import Line

_ATTRIBUTES = {
    "": Style(),
    "bold": Style(bold=True),
    "dim": Style(dim=True),
    "rule": Style(dim=True),
    "title": Style(bold=True),
    "focus": Style(bold=True, reverse=True),
    "head": Style(bold=True, underline=True),
    "key": Style(bold=True),
    "alarm": Style(bold=True, reverse=True),
}
_COLOURED = {
    **_ATTRIBUTES,
    **{name: Style(color=name) for name in ("red", "green", "yellow", "blue", "magenta", "cyan")},
    "alarm": Style(bold=True, color="red", reverse=True),
    "key": Style(bold=True, color="cyan"),
}
_CURSOR = Style(reverse=True)


@lru_cache(maxsize=4096)
def to_strip(line: Line, colour: bool, cursor: bool) -> Strip:
    """The strip of a line; that of the cursor is reversed as a whole, its colours left out to stay readable."""
    if cursor:
        return Strip([Segment("".join(text for text, _ in line), _CURSOR)])
    looks = _COLOURED if colour else _ATTRIBUTES
    return Strip([Segment(text, looks.get(look, _ATTRIBUTES[""])) for text, look in line if text])
