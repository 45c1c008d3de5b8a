"""`cronoq resource`: see what all pools share, and change how much there is of it."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.resources import describe_size, print_resources
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.errors import UsageError
from cronoq_cli.model.resource import parse_amount, parse_rate
from cronoq_cli.wire.requests import Resources, SetResource

MOST_PERMITS = 1_000_000_000

Name = Annotated[str, argument("RESOURCE", help="Name of the resource.")]


class SizeOptions(msgspec.Struct):
    """How much there is: of a semaphore its permits, of a token bucket its rate and burst."""

    permits: Annotated[str | None, option("--permits", help="Units of a semaphore.", metavar="N")] = None
    rate: Annotated[str | None, option("--rate", help="What comes in: 10/s, 5/m, 100/h.", metavar="RATE")] = None
    burst: Annotated[str | None, option("--burst", help="The most that gathers.", metavar="AMOUNT")] = None

    def build(self, name: str) -> SetResource:
        """The request. Raises UsageError for nothing, and for both kinds at once."""
        bucket = self.rate is not None or self.burst is not None
        if self.permits is None and not bucket:
            raise UsageError("nothing to change", hint="use --permits, or --rate and --burst")
        if self.permits is not None and bucket:
            raise UsageError("--permits with --rate or --burst", hint="permits are of a semaphore, rates of a bucket")
        return SetResource(
            name=name,
            permits=find_named("--permits", self.permits, lambda text: parse_count(text, least=0, most=MOST_PERMITS)),
            rate_s=find_named("--rate", self.rate, parse_rate),
            burst=find_named("--burst", self.burst, parse_amount),
        )


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    resource = group(app, "resource", help="See and change what all pools share.", panel="Pools and daemon")
    verb(resource, "ls", aliases=("list",), examples=("cronoq resource ls",))(ls)
    verb(resource, "show", examples=("cronoq resource show gpu",))(show)
    examples = ("cronoq resource set gpu --permits 1", "cronoq resource set api --rate 5/s --burst 10")
    verb(resource, "set", examples=examples)(set_)


def ls(context: Context, json: Json = False) -> int | None:
    """List the resources: how much there is, what is free, who waits."""
    return _answer(context, Resources(), json)


def show(context: Context, name: Name, json: Json = False) -> int | None:
    """Show one resource. Exit status 7 when there is none of that name."""
    return _answer(context, Resources(name=name), json)


def _answer(context: Context, request: Resources, json: bool) -> int:
    reply = ask(context, request, json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_resources(context, reply.doc)
    return reply.exit


def set_(context: Context, name: Name, size: SizeOptions, json: Json = False) -> int | None:
    """Change how much there is of a resource, until the configuration is read anew.

    What tasks hold now they keep; with less than that nothing new gets any until enough came back.
    """
    context.json = json
    reply = ask(context, size.build(name), json=json)
    if json:
        print_json(context, reply.doc)
    else:
        print_line(context, f"{name}: {describe_size(reply.doc['resource'])}")
    return reply.exit
