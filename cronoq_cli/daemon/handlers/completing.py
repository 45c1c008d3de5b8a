"""Words for a shell that completes one."""

from __future__ import annotations

from cronoq_cli.commands.candidates import Source, find_candidates
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.wire.requests import Complete, Reply


def complete(desk: Desk, request: Complete) -> Reply:
    """The words, as they are committed."""
    source = Source(desk.settings, desk.scheduler.store.list_where)
    return Reply(doc={"words": find_candidates(request.kinds, request.prefix, source)})
