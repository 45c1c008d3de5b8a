"""Python's garbage collector kept from where thousands of objects come into being that all stay alive."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Rows and records in the thousands are no garbage: looking for some as they grow takes longer than they do."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
