"""`cronoq pool`: see pools, pause and resume them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.pools import print_pools
from cronoq_cli.errors import UsageError
from cronoq_cli.wire.requests import PausePool, Pools, ResumePool

All = Annotated[bool, option("--all", "-a", help="All pools.")]
Names = Annotated[list[str] | None, argument("[POOL]...", help="Names of pools.")]


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    pool = group(app, "pool", help="See pools, pause and resume them.", panel="Pools and daemon")
    verb(pool, "ls", aliases=("list",), examples=("cronoq pool ls",))(ls)
    verb(pool, "show", examples=("cronoq pool show default",))(show)
    verb(pool, "pause", examples=("cronoq pool pause batch", "cronoq pool pause --all"))(pause)
    verb(pool, "resume", examples=("cronoq pool resume batch",))(resume)


def ls(context: Context, json: Json = False) -> int | None:
    """List the pools: workers, what runs and waits in them, what has ended."""
    return _answer(context, Pools(), json)


def show(
    context: Context, name: Annotated[str, argument("POOL", help="Name of the pool.")], json: Json = False
) -> int | None:
    """Show one pool. Exit status 7 when there is none of that name."""
    return _answer(context, Pools(name=name), json)


def pause(context: Context, names: Names = None, all_: All = False, json: Json = False) -> int | None:
    """Start nothing more in these pools; what runs there goes on."""
    return _change(context, PausePool, names, all_, "paused", json)


def resume(context: Context, names: Names = None, all_: All = False, json: Json = False) -> int | None:
    """Start tasks in these pools again."""
    return _change(context, ResumePool, names, all_, "resumed", json)


def _answer(context: Context, request: Pools, json: bool) -> int:
    reply = ask(context, request, json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_pools(context, reply.doc)
    return reply.exit


def _change(
    context: Context,
    request: Callable[..., PausePool | ResumePool],
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
