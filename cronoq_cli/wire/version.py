"""Which version of the client protocol this is, and how versions of cronoq compare.

The runner's own wire version lives in `runner`; what a mismatch leads to is decided by server and connection.
"""

from __future__ import annotations

from functools import lru_cache

from cronoq_cli import __version__

PROTOCOL = 1
"""Raised when a peer of the version before could not understand us."""

LINE_MARK = b"cronoq-a1"
"""Opens a forwarded command line; its number is the version of that frame's layout."""

VERSION = __version__


@lru_cache(maxsize=64)
def parse_version(text: str) -> tuple[int, ...] | None:
    """The leading numbers of a version (`0.10.2rc1` is 0, 10, 2), or None when it begins with none."""
    numbers: list[int] = []
    for part in text.split(".")[:8]:
        digits = part[: next((i for i, c in enumerate(part) if c not in "0123456789"), len(part))]
        if not digits or len(digits) > 9:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()  # 1.0 and 1.0.0 are the same version
    return tuple(numbers) if numbers or text[:1] == "0" else None


def is_newer(left: str, right: str) -> bool:
    """Whether version `left` is newer than `right`; what cannot be compared is not newer."""
    newer, older = parse_version(left), parse_version(right)
    return newer is not None and older is not None and newer > older
