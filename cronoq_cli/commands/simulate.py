"""`cronoq simulate`: the engine run forward in virtual time, on the queue as it is or on a scenario.

Runs in the client alone. What is run stands in `simulation`, how the result is drawn in render/simulation and gantt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.render.gantt import print_gantt
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.simulation import print_simulation
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.commands.what_if import Differences, WhatIf
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_positive_duration
from cronoq_cli.model.moment import parse_moment

if TYPE_CHECKING:
    from cronoq_cli.commands.planning import QueueSnapshot

EXAMPLES = (
    "cronoq simulate",
    "cronoq simulate --workers 16 --gantt",
    "cronoq simulate --workers batch=4 --without 17 --resource gpu=2",
    "cronoq simulate plan.jsonl --json",
    "cronoq simulate --recurring --from tomorrow --for 24h",
    "cronoq simulate --recurring /etc/crontab --system --workers 2",
)
SHOWN = 50
"""Rows of the table unless --limit says otherwise."""
USUAL_DAY_S = 86_400.0


class DayOptions(msgspec.Struct):
    """A stretch of time with all schedules, in place of the queue."""

    recurring: Annotated[
        bool, option("--recurring", help="Run the schedules, or those of a crontab or export, instead of the queue.")
    ] = False
    from_: Annotated[str | None, option("--from", help="With --recurring: begin then; now.", metavar="TIME")] = None
    for_: Annotated[str | None, option("--for", help="With --recurring: for so long; 24h.", metavar="DUR")] = None
    system: Annotated[bool, option("--system", help="FILE has a column with the user, as /etc/crontab.")] = False

    def check(self, horizon: str | None, wanted: Differences) -> None:
        """Refuse what contradicts itself."""
        given = {"--from": self.from_ is not None, "--for": self.for_ is not None, "--system": self.system}
        for name, is_given in given.items():
            if is_given and not self.recurring:
                raise UsageError(f"{name} without --recurring", hint="it belongs to a run of schedules")
        if self.recurring and horizon is not None:
            raise UsageError("--horizon with --recurring", hint="use --for")
        if self.recurring and wanted.without:
            raise UsageError("--without with --recurring", hint="the tasks of schedules have no ids yet")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "simulate", examples=EXAMPLES, panel="See tasks")(simulate)


def simulate(
    context: Context,
    what_if: WhatIf,
    day: DayOptions,
    file: Annotated[str | None, argument("[FILE|-]", help="A scenario in JSON lines; else the queue.")] = None,
    horizon: Annotated[str | None, option("--horizon", help="Stop after so much virtual time.", metavar="DUR")] = None,
    gantt: Annotated[bool, option("--gantt", help="Draw when each task waits and runs.")] = False,
    limit: Annotated[str | None, option("--limit", help="Tasks to show; 50.", metavar="N|all")] = None,
    json: Json = False,
) -> int | None:
    """Foretell when each task starts and ends: the real scheduling engine, run forward in virtual time.

    Without FILE the queue as it is now; run times are those estimated or learned. A scenario has one task a line, with
    the fields of a batch line and run_s, submit_at_s (seconds from the beginning) and exit_code. With --recurring a day
    of the schedules, or of those in a crontab or an export. Nothing is changed.
    """
    streams = context.need_streams()
    context.json = json
    horizon_s = find_named("--horizon", horizon, parse_positive_duration)
    shown = _parse_limit(limit)
    if json and gantt:
        raise UsageError("--json with --gantt", hint="use one of them")
    wanted = what_if.read()
    day.check(horizon, wanted)
    snapshot = streams.load_queue()
    if day.recurring:
        doc = {"simulation": _simulate_day(context, snapshot, wanted, day, file)}
    else:
        from cronoq_cli.commands.simulation import run_simulation  # the engine is loaded by those alone who run it

        doc = {"simulation": run_simulation(context, snapshot, wanted, file, horizon_s)}
    if json:
        print_json(context, doc)
    elif gantt:
        print_gantt(context, doc, shown)
    else:
        print_simulation(context, doc, shown)
    return 0


def _simulate_day(
    context: Context, snapshot: QueueSnapshot, wanted: Differences, day: DayOptions, file: str | None
) -> dict[str, Any]:
    from cronoq_cli.commands.schedule_days import list_schedules
    from cronoq_cli.commands.simulation import simulate_schedules

    begin = find_named("--from", day.from_, lambda text: parse_moment(text, now=context.now(), zone=context.zone()))
    from_at = context.now() if begin is None else begin
    for_s = find_named("--for", day.for_, parse_positive_duration) or USUAL_DAY_S
    schedules = list_schedules(context, snapshot, from_at, file, system=day.system)
    return simulate_schedules(schedules, snapshot, wanted, from_at, for_s)


def _parse_limit(text: str | None) -> int | None:
    if text == "all":
        return None
    return SHOWN if text is None else find_named("--limit", text, lambda word: parse_count(word, least=0, most=10**9))
