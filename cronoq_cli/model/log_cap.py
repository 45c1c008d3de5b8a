"""The figures of a capped log that several rooms go by. Standard library only: the runner imports this module."""

from __future__ import annotations

from typing import Final

HEAD_KEPT: Final = 1024 * 1024
"""Bytes from the beginning of a log that a cap never cuts: a hole before them is the task's own doing."""

LEAST_CAP: Final = 2 * HEAD_KEPT
"""Bytes; a smaller cap would leave next to nothing of the newest part."""
