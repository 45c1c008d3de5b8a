"""In which line of a TOML file a key stands: the parser does not say. Good for people; nothing is decided by it."""

from __future__ import annotations

import re
from collections import Counter

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_NAME})\s*\]")
_KEY = re.compile(rf"\s*({_NAME})\s*=")
_PLACE = re.compile(r"(.+?): ")
_ENTRY = ", entry "


def find_line(text: str, message: str) -> int | None:
    """The line, from 1, of the key with which a message begins (`pools.batch.workers: ...`), or of the nearest thing
    around it that can be found; None where nothing can."""
    found = _PLACE.match(message)
    return None if found is None else _find_nearest(text, found[1])


def _find_nearest(text: str, place: str) -> int | None:
    best: tuple[int, int] | None = None
    table = ""
    entries: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _plain(header[2])
            if header[1] == "[[":
                entries[table] += 1
                table += f"{_ENTRY}{entries[table]}"
            here = table
        elif key := _KEY.match(line):
            here = ".".join(filter(None, (table, _plain(key[1]))))
        else:
            continue
        if (place == here or place.startswith((f"{here}.", f"{here},"))) and (best is None or len(here) > best[0]):
            best = len(here), number
    return None if best is None else best[1]


def _plain(name: str) -> str:
    return ".".join(part.strip("\"'") for part in re.findall(_PART, name))
