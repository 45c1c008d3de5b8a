"""`cronoq stats`: waits, run times, success and how busy the pools were over a window. Summing up is the store's."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.stats import print_stats
from cronoq_cli.commands.spec_options import find_named
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.history import add_workers
from cronoq_cli.wire.requests import Pools, Reply, Stats

EXAMPLES = ("cronoq stats", "cronoq stats --window 1h --pool batch", "cronoq stats --kind make --json")
USUAL_WINDOW_S = 86_400.0
LEAST_WINDOW_S = 1.0


class StatsOptions(msgspec.Struct):
    """Which stretch of the history, and of what."""

    window: Annotated[str | None, option("--window", help="The last so long; 24h.", metavar="DUR")] = None
    pool: Annotated[str | None, option("--pool", "-p", help="Only this pool.", metavar="POOL")] = None
    kind: Annotated[str | None, option("--kind", help="Only tasks of this kind.", metavar="KIND")] = None


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "stats", examples=EXAMPLES, panel="See tasks")(stats)


def stats(context: Context, which: StatsOptions, json: Json = False) -> int | None:
    """Show figures over a window: counts, success, waits, run times, and how busy the pools were.

    By pool, and by kind in each pool. WAIT is from ready to the first start, RUN an attempt; P90 is what nine in ten do
    not exceed. USED is the share of the workers' time that was used, WORK the time itself. DEADLINE and ON TIME are the
    shares of soft deadlines and of fixed starts that were kept. What has not ended yet counts as started only.
    """
    window_s = find_named("--window", which.window, parse_duration)
    if window_s is not None and window_s < LEAST_WINDOW_S:
        raise UsageError("--window: shorter than a second", hint="write a length of time, such as 90s, 1h or 7d")
    request = Stats(window_s=USUAL_WINDOW_S if window_s is None else window_s, pool=which.pool, kind=which.kind)
    reply = read_stats(context, request, json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_stats(context, reply.doc)
    return reply.exit


def read_stats(context: Context, request: Stats, *, json: bool) -> Reply:
    """The figures of a window, with how busy the pools were by the workers they have now."""
    reply = ask(context, request, json=json)
    if request.kind is None:
        found = ask(context, Pools(name=request.pool), json=json).doc
        documents: list[dict[str, Any]] = [found["pool"]] if "pool" in found else found["pools"]
        add_workers(reply.doc["stats"], {pool["name"]: pool["workers"] for pool in documents})
    return reply
