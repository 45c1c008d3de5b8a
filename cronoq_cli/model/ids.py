"""Runs of task ids as text: `101-110,7`. What else a selector can name lives with the commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cronoq_cli.errors import UsageError

HIGHEST_ID = (1 << 63) - 1
"""The largest integer the store can hold."""

_RUN = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")


def format_ids(ids: Iterable[int]) -> str:
    """The ids in their order, each unbroken ascending run as `first-last`: `101-110,7`."""
    parts: list[str] = []
    first = last = None
    for number in ids:
        if first is None or last is None:
            first = last = number
        elif number == last + 1:
            last = number
        else:
            parts.append(_format_run(first, last))
            first = last = number
    if first is not None and last is not None:
        parts.append(_format_run(first, last))
    return ",".join(parts)


def _format_run(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def parse_ids(text: str) -> tuple[range, ...]:
    """The ranges of `101-110,7`, in the order written, not expanded: a run of a million ids costs nothing.

    Raises UsageError where a part is not an id or a run from a smaller id to a larger one. Ids start at 1.
    """
    return tuple(_parse_run(part.strip(), text) for part in text.split(","))


def find_run(text: str) -> range | None:
    """The range of one `7` or `3-8`, or None when the text has not the form of an id or run (a key has not).

    Raises UsageError when it has the form and is wrong, as `8-3` or `0`.
    """
    return _parse_run(text, text) if _RUN.fullmatch(text) else None


def _parse_run(part: str, text: str) -> range:
    match = _RUN.fullmatch(part)
    where = "" if part == text.strip() else f" in {text!r}"
    if match is None:
        raise UsageError(f"{part!r}{where} is not a task id", hint="write ids like 7, 3-8 or 3-8,11")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if last < first:
        raise UsageError(f"{part!r}{where} runs backwards", hint=f"write {last}-{first}")
    if first < 1 or last > HIGHEST_ID:
        raise UsageError(f"{part!r}{where} is not a task id", hint=f"ids are 1 to {HIGHEST_ID}")
    return range(first, last + 1)


def describe_missing(first: int, last: int) -> str:
    """The message where no task has such an id."""
    return f"no task {first}" if first == last else f"no task in {first}-{last}"


def hint_for_id(first: int, newest: int) -> str:
    """The hint behind it. `newest`: the highest id that was ever given, 0 for none."""
    if not newest:
        return "there is no task yet"
    if first > newest:
        return f"the newest is {newest}"
    return "it was removed, or forgotten by [retention]; cronoq ls --limit all shows what there is"
