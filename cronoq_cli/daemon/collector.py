"""Python's garbage collector, kept from large requests: nothing of them is cyclic, and all of it goes soon.

What keeps it out of single steps that make thousands of objects is in `store/collector`.
"""

from __future__ import annotations

import asyncio
import gc

LARGE = 64 * 1024
"""Bytes of a request from which it is large."""
REST_S = 1.0
"""So long it rests: until then a large request is stored and forgotten, and its objects are not counted any more."""


class _Rest:
    """Whether the collector rests already."""

    handle: asyncio.TimerHandle | None = None


def rest_collector() -> None:
    """Let the collector rest for a moment; it never rests longer without a look between."""
    if _Rest.handle is None and gc.isenabled():
        gc.disable()
        _Rest.handle = asyncio.get_running_loop().call_later(REST_S, _wake)


def _wake() -> None:
    _Rest.handle = None
    gc.enable()
