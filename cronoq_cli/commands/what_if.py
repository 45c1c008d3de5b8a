"""What `simulate` is to take as different from how it is: other workers, other amounts, tasks left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from cronoq_cli.commands.declare import option
from cronoq_cli.commands.selectors import parse_refs
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.errors import UsageError

MOST_WORKERS = 1_000_000


class Differences(msgspec.Struct, frozen=True):
    """What is to be different: workers by pool (None: every pool), tasks left out, amounts by resource."""

    workers: Mapping[str | None, int]
    without: Sequence[str]
    resources: Mapping[str, float]


class WhatIf(msgspec.Struct):
    """What is to be different from how it is."""

    workers: Annotated[
        list[str] | None, option("--workers", help="So many workers, in every pool or in one.", metavar="N|POOL=N")
    ] = None
    without: Annotated[
        list[str] | None, option("--without", help="As if these tasks were cancelled.", metavar="TASK[,TASK]")
    ] = None
    resource: Annotated[
        list[str] | None,
        option("--resource", help="So many permits, or tokens a second, of a resource.", metavar="NAME=N"),
    ] = None

    def read(self) -> Differences:
        """The same as values. Raises UsageError."""
        return Differences(
            _parse_workers(self.workers or []), parse_refs(self.without or []), _parse_amounts(self.resource or [])
        )


def _parse_workers(words: list[str]) -> dict[str | None, int]:
    """Numbers of workers by pool; None is every pool."""
    found: dict[str | None, int] = {}
    for word in words:
        name, _, text = word.rpartition("=")
        count = find_named("--workers", text, lambda number: parse_count(number, least=0, most=MOST_WORKERS))
        found[name or None] = count or 0
    return found


def _parse_amounts(words: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in words:
        name, _, text = word.rpartition("=")
        if not name:
            raise UsageError(f"--resource: {word!r} sets nothing", hint="write it like gpu=2")
        try:
            amount = float(text)
        except ValueError:
            amount = -1.0
        if not 0 <= amount < 1e12:
            raise UsageError(f"--resource: {text!r} is no amount", hint="write it like gpu=2 or api=0.5")
        found[name] = amount
    return found
