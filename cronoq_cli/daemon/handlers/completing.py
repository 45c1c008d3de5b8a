"""Words for a shell that completes one."""

from __future__ import annotations

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.wire.requests import Complete, Reply


def complete(desk: Desk, request: Complete) -> Reply:
    """The words, as they are committed."""
    from cronoq_cli.commands.candidates import Source, find_candidates, name_schedules

    store = desk.scheduler.store
    source = Source(desk.settings, store.list_where, lambda: name_schedules(store.list_schedules()))
    return Reply(doc={"words": find_candidates(request.kinds, request.prefix, source)})
