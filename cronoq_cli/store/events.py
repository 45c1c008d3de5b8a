"""Finding events in a stored history, step by step: no more of it is in memory than what is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.task import Transition
from cronoq_cli.store.contract import StoreReader

STEP = 1000


def find_events(
    reader: StoreReader,
    wanted: EventFilter,
    *,
    after_seq: int | None,
    up_to_seq: int,
    limit: int | None,
    task_ids: Sequence[int] | None = None,
) -> list[Transition]:
    """Wanted events up to `up_to_seq`, oldest first: the first `limit` behind `after_seq`; for None the last ones."""
    if after_seq is not None:
        behind = takewhile(lambda event: event.seq <= up_to_seq, _forwards(reader, after_seq, task_ids))
        return list(islice(filter(wanted.wants, behind), limit))
    found = list(islice(filter(wanted.wants, _backwards(reader, up_to_seq + 1, wanted.since, task_ids)), limit))
    found.reverse()
    return found


def _forwards(reader: StoreReader, after: int, task_ids: Sequence[int] | None) -> Iterator[Transition]:
    while found := reader.list_transitions(after, STEP, task_ids):
        yield from found
        after = found[-1].seq


def _backwards(
    reader: StoreReader, before: int, since: float | None, task_ids: Sequence[int] | None
) -> Iterator[Transition]:
    """The newest first, no further back than `since` (a clock that was set back may hide what is before that)."""
    while found := reader.list_transitions_before(before, STEP, task_ids):
        for event in found:
            if since is not None and event.at < since:
                return
            yield event
        before = found[-1].seq
