"""A window of the tasks for a live view: bounded work however many tasks there are. Listings are in `reads`."""

from __future__ import annotations

from typing import Any

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.pools import describe_live
from cronoq_cli.daemon.handlers.reads import ALL_STATUSES, QUEUED, list_next, list_running, summarize
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.store.contract import Filter
from cronoq_cli.wire.requests import Reply, ShowWindow

MOST = 1000
"""Rows of the waiting and of the ended that can be reached by going on; a filter or a search leads to the others."""
MOST_FOUND = 500
"""Tasks that a search finds, the newest ones."""


def show_window(desk: Desk, request: ShowWindow) -> Reply:
    """The tasks of the window with the pools, the counts, and the last stored transition."""
    statuses = frozenset(desk.selecting.read_statuses(request.select)) or ALL_STATUSES
    pools = request.select.pools
    if request.text:
        ids = _search(desk, request.text, pools, statuses)
        more = 0
    else:
        ids, more = _list(desk, pools, statuses, MOST if request.brief is None else request.brief)
    shown = ids[request.offset : request.offset + request.limit]
    engine = desk.scheduler.engine
    document: dict[str, Any] = {
        "tasks": [desk.describe(record) for record in desk.scheduler.list_records(shown)],
        "offset": request.offset,
        "total": len(ids),
        "more": more,
        "summary": summarize(desk),
        "pools": [describe_live(desk, pool) for pool in engine.state.pools.values()],
        "seq": desk.scheduler.store.last_transition_seq(),
    }
    return Reply(doc=document)


def _list(desk: Desk, pools: list[str], statuses: frozenset[Status], most: int) -> tuple[list[int], int]:
    """The ids in order, and how many that wait are not among them."""
    running = list_running(desk, pools) if Status.RUNNING in statuses else []
    queued = statuses & frozenset(QUEUED)
    ahead = desk.selecting.list_ahead() if statuses == ALL_STATUSES else []
    waiting = list_next(desk, most, pools, queued, but=[task.id for task in ahead]) if queued else []
    ended = _list_ended(desk, statuses & FINAL, pools, most)
    counted = desk.scheduler.list_counts().items()
    total = sum(counts[one] for name, counts in counted if not pools or name in pools for one in queued)
    total -= sum(not pools or task.pool in pools for task in ahead)
    return [*running, *waiting, *ended], max(0, total - len(waiting))


def _list_ended(desk: Desk, statuses: frozenset[Status], pools: list[str], most: int) -> list[int]:
    if not statuses:
        return []
    words = sorted(status.value for status in statuses)
    wanted = Filter(statuses=words, pools=pools or None, by_end=True, newest_first=True, limit=most)
    return desk.scheduler.store.list_ids(wanted)


def _search(desk: Desk, text: str, pools: list[str], statuses: frozenset[Status]) -> list[int]:
    """Tasks that have the text, in the order of every window; one whose id it is comes before all others."""
    words = None if statuses == ALL_STATUSES else sorted(status.value for status in statuses)
    wanted = Filter(statuses=words, pools=pools or None, text=text, newest_first=True, limit=MOST_FOUND)
    found = {record.id: record for record in desk.scheduler.store.list_where(wanted)}
    live = {task_id for task_id, record in found.items() if record.status not in FINAL}
    queued = statuses & frozenset(QUEUED)
    places = [*list_running(desk), *(list_next(desk, MOST, pools, queued) if live and queued else ())]
    ordered = [task_id for task_id in places if task_id in live]
    ordered += sorted(live.difference(ordered))
    ordered += sorted(found.keys() - live, key=lambda task_id: (-_ended_at(found[task_id]), -task_id))
    named = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
    if named and desk.selecting.exists(named):
        ordered = [named, *(task_id for task_id in ordered if task_id != named)]
    return ordered


def _ended_at(record: TaskRecord) -> float:
    return record.finished_at or 0.0
