"""`cronoq events`: every transition of every task, stored ones and, with -f, those to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.events import print_event, print_events
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.selectors import Selection, find_selector, parse_statuses, split_words
from cronoq_cli.commands.spec_options import find_named, parse_number, parse_since
from cronoq_cli.model.clock import JumpKind
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.lifecycle import Trigger
from cronoq_cli.model.words import suggest
from cronoq_cli.wire.requests import Events, Selector, Watch

EXAMPLES = (
    "cronoq events -n 20",
    "cronoq events -f --pool batch",
    "cronoq events --since 1h --type 'failed-*,lost'",
    "cronoq events -f --json --after-seq 1200",
)
USUAL_COUNT = 100
_TYPES = (*map(str, Trigger), "submitted", "moved", "late", "pool-scaled", *map(str, JumpKind))
"""What events are called, but for those of schedules."""


class EventOptions(Selection):
    """Which events of the history; pool and status are those of the event, not of its task now."""

    pool: Annotated[list[str] | None, option("--pool", "-p", help="Events in this pool.", metavar="POOL")] = None
    status: Annotated[
        list[str] | None,
        option(
            "--status", "-s", help="Events that led to this status (a comma list is any of them).", metavar="STATUS"
        ),
    ] = None
    type: Annotated[
        list[str] | None,
        option("--type", "-T", help="Events of this type, such as started or 'failed-*'.", metavar="TYPE"),
    ] = None
    since: Annotated[
        str | None, option("--since", help="Events since this time, or since so long ago.", metavar="TIME|DUR")
    ] = None
    follow: Annotated[bool, option("--follow", "-f", help="Go on with the events to come.")] = False
    after_seq: Annotated[str | None, option("--after-seq", help="Only events after this number.", metavar="SEQ")] = None
    count: Annotated[
        str | None, option("-n", help="How many: the last ones, or the first after --after-seq; 100.", metavar="N")
    ] = None

    def selector(self) -> Selector | None:
        """The tasks whose events are wanted, None for all: of those there are now, also when events are followed."""
        found = find_selector(self)
        found.pools, found.statuses = [], []
        return None if found.is_empty() or found == Selector(all=True) else found

    def filter(self, context: Context) -> EventFilter | None:
        """What must stand in an event, None where nothing was said."""
        since = None if self.since is None else parse_since(self.since, context)
        found = EventFilter(
            pools=split_words(self.pool),
            statuses=parse_statuses(self.status),
            types=split_words(self.type),
            since=since,
        )
        return None if found == EventFilter() else found


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "events", examples=EXAMPLES, panel="See tasks")(events)


def events(context: Context, wanted: EventOptions, json: Json = False) -> int | None:
    """Show what happened, oldest first: every transition of every task, or of the selected ones.

    With -f alone only what is still to come; -n, --since and --after-seq put stored events in front. Each event has a
    number: --after-seq goes on behind it without a gap, and -f does so by itself when the daemon is restarted. With
    --json and -f one document a line.
    """
    context.json = json
    _note_types(context, split_words(wanted.type))
    after = find_named("--after-seq", wanted.after_seq, parse_number)
    count = find_named("-n", wanted.count, parse_number)
    usual = None if wanted.since is not None else USUAL_COUNT
    request = Events(
        after_seq=after,
        limit=usual if count is None else count,
        select=wanted.selector(),
        filter=wanted.filter(context),
    )
    if wanted.follow:
        return _follow(context, request, stored=count is not None or wanted.since is not None or after is not None)
    reply = ask(context, request)
    if json:
        print_json(context, reply.doc)
    else:
        print_events(context, reply.doc)
    return reply.exit


def _note_types(context: Context, types: list[str]) -> None:
    """Say of a mistyped type which one may be meant; patterns and types of newer versions are taken as they are."""
    for word in types:
        near = None if word in _TYPES else suggest(word, _TYPES)
        if near is not None and word.isascii() and not set("*?[") & set(word) and not word.startswith("recurring-"):
            print_notes(context, [f"--type: no event is called {word!r} (did you mean {near}?)"])


def _follow(context: Context, request: Events, *, stored: bool) -> int:
    """Print the stored events that were asked for, and go on behind them; what came meanwhile is not missed."""
    streams = context.need_streams()
    after = None
    if stored:
        if request.after_seq is not None and request.limit == USUAL_COUNT:
            request.limit = None  # to be resumed without a gap
        request.filter = request.filter or EventFilter()  # read from the store: it may be much
        reply = ask(context, request)
        for event in reply.doc["events"]:
            _show(context, event)
        after = reply.doc["last_seq"]
    for message in streams.watch(Watch(after_seq=after, select=request.select, filter=request.filter)):
        if "event" in message:
            _show(context, message["event"])
    return 0


def _show(context: Context, event: Mapping[str, Any]) -> None:
    if context.json:
        print_json(context, event, stream=True)
    else:
        print_event(context, event)
