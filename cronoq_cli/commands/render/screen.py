"""A listing that stays on the screen: the escapes that draw it over itself without flicker, and what of it fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from cronoq_cli.model.lifecycle import FINAL, WAITING

_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h\x1b[H", "\x1b[J\x1b[?2026l"
"""Around a frame: terminals that know it show the whole at once; others are drawn line over line all the same."""
_REST_OF_LINE = "\x1b[K"

_FINAL = frozenset(map(str, FINAL))
_WAITING = frozenset(map(str, WAITING))


class Screen:
    """The terminal's other screen while it is used; what was there before comes back at the end."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._shown: list[str] | None = None

    def __enter__(self) -> Screen:
        self._write(_ENTER)
        return self

    def __exit__(self, *about: object) -> None:
        self._write(_LEAVE)

    def forget(self) -> None:
        """The terminal has another size: what was drawn is no more as it was."""
        self._shown = None

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines instead of those shown; nothing is written where nothing changed."""
        if list(lines) == self._shown:
            return
        self._shown = list(lines)
        self._write(_BEGIN + "\r\n".join(line + _REST_OF_LINE for line in lines) + _END)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def fit_tasks(doc: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """As much of a listing as fits into so many rows below its header: what runs, then what waits, then the last ends.

    What runs or waits and is left out is counted in `more`, which takes a row itself."""
    tasks, more = doc["tasks"], doc.get("more") or 0
    ended = [task for task in tasks if task["status"] in _FINAL]
    live = [task for task in tasks if task["status"] not in _FINAL]
    room = max(rows, 1)
    kept_ends = min(len(ended), max(room - len(live) - bool(more), room // 4))
    for_live = room - kept_ends
    if more or len(live) > for_live:
        shown = live[: max(for_live - 1, 1 if not kept_ends else 0)]
        more += sum(task["status"] in _WAITING for task in live) - sum(task["status"] in _WAITING for task in shown)
    else:
        shown = live
    hidden_running = sum(task["status"] not in _WAITING for task in live[len(shown) :])
    return {**doc, "tasks": [*shown, *ended[len(ended) - kept_ends :]], "more": more + hidden_running}
