"""`cronoq simulate`: the engine run forward in virtual time, on the queue as it is or on a scenario.

Runs in the client alone. What is run stands in `simulation`, how the result is drawn in render/simulation and gantt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.gantt import print_gantt
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.simulation import print_simulation
from cronoq_cli.commands.selectors import parse_refs
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_positive_duration

EXAMPLES = (
    "cronoq simulate",
    "cronoq simulate --workers 16 --gantt",
    "cronoq simulate --workers batch=4 --without 17 --resource gpu=2",
    "cronoq simulate plan.jsonl --json",
)
SHOWN = 50
"""Rows of the table unless --limit says otherwise."""
MOST_WORKERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Differences:
    """What is to be different: workers by pool (None: every pool), tasks left out, amounts by resource."""

    workers: Mapping[str | None, int]
    without: Sequence[str]
    resources: Mapping[str, float]


@dataclass(slots=True)
class WhatIf:
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


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "simulate", examples=EXAMPLES, panel="See tasks")(simulate)


def simulate(
    context: Context,
    what_if: WhatIf,
    file: Annotated[str | None, argument("[FILE|-]", help="A scenario in JSON lines; else the queue.")] = None,
    horizon: Annotated[str | None, option("--horizon", help="Stop after so much virtual time.", metavar="DUR")] = None,
    gantt: Annotated[bool, option("--gantt", help="Draw when each task waits and runs.")] = False,
    limit: Annotated[str | None, option("--limit", help="Tasks to show; 50.", metavar="N|all")] = None,
    json: Json = False,
) -> int | None:
    """Foretell when each task starts and ends: the real scheduling engine, run forward in virtual time.

    Without FILE the queue as it is now; run times are those estimated or learned. A scenario has one task a line, with
    the fields of a batch line and run_s, submit_at_s (seconds from the beginning) and exit_code. Nothing is changed.
    """
    streams = context.need_streams()
    context.json = json
    horizon_s = find_named("--horizon", horizon, parse_positive_duration)
    shown = _parse_limit(limit)
    if json and gantt:
        raise UsageError("--json with --gantt", hint="use one of them")
    wanted = what_if.read()
    from cronoq_cli.commands.simulation import run_simulation  # the engine is loaded by those alone who run it

    doc = {"simulation": run_simulation(context, streams.load_queue(), wanted, file, horizon_s)}
    if json:
        print_json(context, doc)
    elif gantt:
        print_gantt(context, doc, shown)
    else:
        print_simulation(context, doc, shown)
    return 0


def _parse_limit(text: str | None) -> int | None:
    if text == "all":
        return None
    return SHOWN if text is None else find_named("--limit", text, lambda word: parse_count(word, least=0, most=10**9))


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
