"""How much of a file system must stay free, and how much is (specification section 6, the free-space guard)."""

from __future__ import annotations

import os

LEAST_FREE = 256 * 1024 * 1024
LEAST_SHARE = 0.05


def decide_guard(min_free: int | None, total: int) -> int:
    """Bytes that must stay free of `total`: as configured, else 256 MiB or 5 %, the smaller."""
    return min(LEAST_FREE, int(total * LEAST_SHARE)) if min_free is None else min_free


def read_space(directory: str) -> tuple[int, int]:
    """Bytes free for this user, and in all, on the file system of a directory. Raises OSError."""
    space = os.statvfs(directory)
    return space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
