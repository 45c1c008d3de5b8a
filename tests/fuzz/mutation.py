"""Inputs made from known ones by small changes, drawn from a seed: bytes flipped, cut, doubled, known words put in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LONGEST = 4096
"""Bytes; what matters shows in short inputs, and many of them can be tried."""

INTERESTING = (
    b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\n", b"\r", b"\x1b[2J", b"-1", b"0", b"1e999", b"NaN", b"9" * 25,
    b"2147483648", b"9223372036854775808", b"null", b"true", b'""', b"[]", b"{}", b"[" * 60, b'{"a":' * 60, b"=", b",",
    b"%", b"*", b"..", b"\\", b"'", b'"', "ſ²٣".encode(), b" ", b"\t", b"\xf0\x9f\x92\xa9", b"\\ud800", b"1e-400",
)  # fmt: skip


def mutate(draw: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """One input: one of the seeds, changed one to six times."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.randint(1, 6)):
        draw.choice(_CHANGES)(draw, data, (seeds, words))
    return bytes(data[:LONGEST])


_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1.5, -0.0, 1e308, float("inf"), float("-inf"), float("nan"), 10**30, -(10**30),
    "", "0", "x", "1e999", "\0", "\ud800", "\udcff", "s:1:1", "9" * 4301, "a\nb", [], [None], [[]], ["a"], [1, 2], {},
    {"a": None}, {"": ""}, {"type": "x"}, [["a", "b"]], [{}], "NaN",
)  # fmt: skip


def mutate_json(draw: Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds, lines of JSON, with one to three of its values replaced, doubled or taken away."""
    lines = [json.loads(line) for line in draw.choice(seeds).splitlines()]
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(lines))
        lines[place] = _change(draw, lines[place])
    return b"\n".join(json.dumps(line).encode("ascii") for line in lines)


def _change(draw: Random, value: Any) -> Any:
    """The value, with something in it changed."""
    if draw.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return draw.choice(_ODD)
    if isinstance(value, list):
        place = draw.randrange(len(value))
        return [*value[:place], _change(draw, value[place]), *value[place + draw.choice([0, 1]) :]]
    key = draw.choice(list(value))
    if draw.random() < 0.1:
        return {name: kept for name, kept in value.items() if name != key}
    return value | {key: _change(draw, value[key])}


Known = tuple[Sequence[bytes], Sequence[bytes]]


def _flip(draw: Random, data: bytearray, _known: Known) -> None:
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _set(draw: Random, data: bytearray, _known: Known) -> None:
    if data:
        data[draw.randrange(len(data))] = draw.randrange(256)


def _cut(draw: Random, data: bytearray, _known: Known) -> None:
    if data:
        at = draw.randrange(len(data))
        del data[at : at + draw.choice([1, 2, 4, 16, 10_000])]


def _double(draw: Random, data: bytearray, _known: Known) -> None:
    if data:
        at = draw.randrange(len(data))
        data[at:at] = data[at : at + draw.randint(1, 24)] * draw.choice([1, 1, 2, 30])


def _insert(draw: Random, data: bytearray, known: Known) -> None:
    at = draw.randint(0, len(data))
    data[at:at] = draw.choice(draw.choice([INTERESTING, known[1] or INTERESTING]))


def _replace(draw: Random, data: bytearray, known: Known) -> None:
    at = draw.randint(0, len(data))
    data[at : at + draw.randint(1, 8)] = draw.choice(draw.choice([INTERESTING, known[1] or INTERESTING]))


def _splice(draw: Random, data: bytearray, known: Known) -> None:
    other = draw.choice(known[0])
    at = draw.randint(0, len(data))
    data[at:] = other[draw.randint(0, len(other)) :]


_CHANGES: tuple[Callable[[Random, bytearray, Known], None], ...] = (
    _flip, _set, _cut, _double, _insert, _insert, _replace, _replace, _splice,
)  # fmt: skip
