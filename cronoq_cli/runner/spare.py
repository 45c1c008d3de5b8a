"""Descriptors kept back for what must work when all others are taken: to look at processes, to read a report."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Final

_KEPT: Final = 2
"""As many as a look at one process needs at once: one that holds it, one to read what it is."""


class Spare:
    """Within it, as `with spare:`, its descriptors are free for others; it may be entered again within.

    Its owner must be the only thread, and hand back what it opened before it leaves."""

    __slots__ = ("_depth", "_kept")

    def __init__(self) -> None:
        self._depth = 0
        self._kept: list[int] = []
        self._fill()

    def __enter__(self) -> None:
        self._depth += 1
        while self._kept:
            os.close(self._kept.pop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._fill()

    def _fill(self) -> None:
        """Take them back; what the machine does not give now is taken the next time."""
        try:
            while len(self._kept) < _KEPT:
                self._kept.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return
