"""`cronoq pool`: see pools, pause and resume them, change their size and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.pools import print_pool, print_pools
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.config.live import POOL_KEYS, parse_pool_changes
from cronoq_cli.errors import UsageError
from cronoq_cli.model.history import add_figures
from cronoq_cli.wire.requests import PausePool, Pools, ResetPool, ResumePool, ScalePool, SetPool, Stats

MOST_WORKERS = 1_000_000_000

All = Annotated[bool, option("--all", "-a", help="All pools.")]
Names = Annotated[list[str] | None, argument("[POOL]...", help="Names of pools.")]
Name = Annotated[str, argument("POOL", help="Name of the pool.")]


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    pool = group(app, "pool", help="See pools, pause, resume and change them.", panel="Pools and daemon")
    verb(pool, "ls", aliases=("list",), examples=("cronoq pool ls",))(ls)
    verb(pool, "show", examples=("cronoq pool show default",))(show)
    verb(pool, "pause", examples=("cronoq pool pause batch", "cronoq pool pause --all"))(pause)
    verb(pool, "resume", examples=("cronoq pool resume batch",))(resume)
    verb(pool, "scale", examples=("cronoq pool scale batch 4", "cronoq pool scale batch --min 1 --max 8"))(scale)
    verb(pool, "set", examples=("cronoq pool set batch max_pending=1000 overflow=reject",))(set_)
    verb(pool, "reset", examples=("cronoq pool reset batch",))(reset)


def ls(context: Context, json: Json = False) -> int | None:
    """List the pools: workers, what runs and waits in them, what has ended."""
    return _answer(context, Pools(), json)


def show(context: Context, name: Name, json: Json = False) -> int | None:
    """Show one pool. Exit status 7 when there is none of that name."""
    return _answer(context, Pools(name=name), json)


def pause(context: Context, names: Names = None, all_: All = False, json: Json = False) -> int | None:
    """Start nothing more in these pools; what runs there goes on."""
    return _change(context, PausePool, names, all_, "paused", json)


def resume(context: Context, names: Names = None, all_: All = False, json: Json = False) -> int | None:
    """Start tasks in these pools again."""
    return _change(context, ResumePool, names, all_, "resumed", json)


def scale(
    context: Context,
    name: Name,
    workers: Annotated[str | None, argument("[WORKERS]", help="How many workers.")] = None,
    least: Annotated[str | None, option("--min", help="Never fewer than this.", metavar="N")] = None,
    most: Annotated[str | None, option("--max", help="Never more than this.", metavar="N")] = None,
    json: Json = False,
) -> int | None:
    """Change how many workers a pool has: a fixed number, or within which bounds it scales itself.

    It holds until the pool is reset or the configuration is read anew. Lowered: what runs goes on.
    """
    request = ScalePool(
        name=name,
        workers=find_named("WORKERS", workers, _parse_workers),
        min=find_named("--min", least, _parse_workers),
        max=find_named("--max", most, _parse_workers),
    )
    if (workers is None) == (least is None and most is None):
        raise UsageError("pool scale needs a number or bounds", hint="cronoq pool scale POOL N, or --min N --max N")
    if request.min is not None and request.max is not None and request.min > request.max:
        raise UsageError("--min is more than --max", hint="give the smaller one to --min")
    return _done(context, request, f"scaled {name}", json)


def _parse_workers(text: str) -> int:
    return parse_count(text, least=0, most=MOST_WORKERS)


def set_(
    context: Context,
    name: Name,
    settings: Annotated[list[str] | None, argument("KEY=VALUE...", help="What to change.")] = None,
    json: Json = False,
) -> int | None:
    """Change settings of a pool until it is reset or the configuration is read anew.

    Keys: workers, max_pending, overflow, fair_share, weight, max_hold, reservable_fraction, default_duration, with
    values as in the configuration; max_pending=none takes the bound away, workers=1..8 is a range.
    """
    if not settings:
        raise UsageError("nothing to change", hint="write KEY=VALUE; keys are " + ", ".join(POOL_KEYS))
    return _done(context, SetPool(name=name, changes=parse_pool_changes(settings)), f"changed {name}", json)


def reset(context: Context, names: Names = None, all_: All = False, json: Json = False) -> int | None:
    """Go back to what the configuration says of these pools; a pause ends too."""
    return _change(context, ResetPool, names, all_, "reset", json)


def _done(context: Context, request: ScalePool | SetPool, done: str, json: bool) -> int:
    reply = ask(context, request, json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_line(context, done)
    return reply.exit


def _answer(context: Context, request: Pools, json: bool) -> int:
    reply = ask(context, request, json=json)
    if json or request.name is not None:
        found = [reply.doc["pool"]] if "pool" in reply.doc else reply.doc["pools"]
        add_figures(found, ask(context, Stats(pool=request.name)).doc["stats"])
    if json:
        print_json(context, reply.doc)
    elif request.name is not None:
        print_pool(context, reply.doc)
    else:
        print_pools(context, reply.doc)
    return reply.exit


def _change(
    context: Context,
    request: Callable[..., PausePool | ResumePool | ResetPool],
    names: list[str] | None,
    every: bool,
    done: str,
    json: bool,
) -> int:
    chosen = [part.strip() for name in names or () for part in name.split(",")]
    if bool(chosen) == every:
        raise UsageError("name pools or use --all", hint="cronoq pool ls lists them")
    reply = ask(context, request(names=chosen), json=json)
    if json:
        print_json(context, reply.doc)
    else:
        context.out.write(f"{done} {', '.join(chosen) if chosen else 'all pools'}\n")
    return reply.exit
