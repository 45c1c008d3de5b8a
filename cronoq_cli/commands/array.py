"""The indices of `--array`: `0-99`, lists `1,5,9`, steps `0-10/2`, and `%4` for at most 4 at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cronoq_cli.errors import UsageError

MOST_MEMBERS = 1_000_000
HINT = "write it like 0-99, 1,5,9, 0-10/2 or 0-99%4"

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?:/([0-9]{1,9}))?)?")


@dataclass(frozen=True, slots=True)
class Array:
    """The indices in the order written, each once, and how many may run at once (None: no limit of its own)."""

    indices: list[int]
    limit: int | None


def parse_array(text: str) -> Array:
    """The array that `text` describes. Raises UsageError saying which part is wrong."""
    body, percent, limit_text = text.strip().partition("%")
    limit = None
    if percent:
        if not (limit_text.isascii() and limit_text.isdigit() and 0 < len(limit_text) < 10 and int(limit_text)):
            raise UsageError(f"--array: {limit_text!r} after % is not how many may run at once", hint=HINT)
        limit = int(limit_text)
    ranges = [_parse_part(part.strip()) for part in body.split(",")]
    if sum(map(len, ranges)) > MOST_MEMBERS:
        raise UsageError(f"--array: more than {MOST_MEMBERS:,} members", hint="split it into several arrays")
    indices = [index for run in ranges for index in run]
    if len(set(indices)) != len(indices):
        raise UsageError(f"--array: {text!r} names an index twice", hint=HINT)
    return Array(indices, limit)


def _parse_part(part: str) -> range:
    match = _PART.fullmatch(part)
    if match is None:
        raise UsageError(f"--array: {part!r} is not an index or a range", hint=HINT)
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if last < first:
        raise UsageError(f"--array: {part!r} runs backwards", hint=f"write {last}-{first}")
    if step < 1:
        raise UsageError(f"--array: {part!r} has a step of zero", hint=HINT)
    return range(first, last + 1, step)
