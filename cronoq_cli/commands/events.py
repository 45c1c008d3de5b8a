"""`cronoq events`: every transition of every task, stored ones and, with -f, those to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.events import print_event, print_events
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.selectors import Selection, find_selector
from cronoq_cli.commands.spec_options import find_named, parse_number
from cronoq_cli.wire.requests import Events, Selector, Watch

EXAMPLES = ("cronoq events -n 20", "cronoq events -f --pool batch", "cronoq events --json --after-seq 1200")
USUAL_COUNT = 100


@dataclass(slots=True)
class EventOptions:
    """Which stretch of the history."""

    follow: Annotated[bool, option("--follow", "-f", help="Go on with the events to come.")] = False
    after_seq: Annotated[str | None, option("--after-seq", help="Only events after this number.", metavar="SEQ")] = None
    count: Annotated[
        str | None, option("-n", help="How many: the last ones, or the first after --after-seq; 100.", metavar="N")
    ] = None


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "events", examples=EXAMPLES, panel="See tasks")(events)


def events(context: Context, select: Selection, stretch: EventOptions, json: Json = False) -> int | None:
    """Show what happened, oldest first: every transition of every task, or of the selected ones.

    With -f alone only what is still to come; -n and --after-seq put stored events in front. With --json and -f one
    document a line.
    """
    context.json = json
    selector = find_selector(select)
    found = None if selector.is_empty() or selector == Selector(all=True) else selector
    after = find_named("--after-seq", stretch.after_seq, parse_number)
    count = find_named("-n", stretch.count, parse_number)
    if stretch.follow:
        return _follow(context, found, after, count)
    reply = ask(context, Events(after_seq=after, limit=USUAL_COUNT if count is None else count, select=found))
    if json:
        print_json(context, reply.doc)
    else:
        print_events(context, reply.doc)
    return reply.exit


def _follow(context: Context, selector: Selector | None, after: int | None, count: int | None) -> int:
    streams = context.need_streams()
    if count is not None:
        reply = ask(context, Events(after_seq=after, limit=count, select=selector))
        for event in reply.doc["events"]:
            _show(context, event)
            after = event["seq"]
    for message in streams.watch(Watch(after_seq=after, select=selector)):
        if "event" in message:
            _show(context, message["event"])
    return 0


def _show(context: Context, event: Mapping[str, Any]) -> None:
    if context.json:
        print_json(context, event, stream=True)
    else:
        print_event(context, event)
