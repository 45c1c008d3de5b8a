"""What changes nothing: listings, documents, waiting, the event history."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.parked import NotYet
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.errors import WaitTimeoutError
from cronoq_cli.model.lifecycle import FINAL, LIVE, Status
from cronoq_cli.model.places import describe_cap
from cronoq_cli.model.snapshot import describe_transition
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.store.contract import Filter, iter_env
from cronoq_cli.wire.requests import Events, ListTasks, Reply, Selector, ShowTasks, WaitTasks

LAST_ENDED = 10
MOST_SORTED = 2000
"""Of scheduled, retrying and blocked tasks more than this are listed as they come, not by their due time."""
ALL_STATUSES = frozenset(Status)
QUEUED = (Status.READY, Status.SCHEDULED, Status.RETRYING, Status.BLOCKED)


# -- ls --------------------------------------------------------------------------------------------------------------


def list_tasks(desk: Desk, request: ListTasks) -> Reply:
    """What runs, the next waiting in their order, the last ended; or the selected; or a page of the history."""
    if request.finished:
        return _list_finished(desk, request)
    if not request.select.is_empty():
        return _list_selected(desk, request)
    running = list_running(desk)
    summary = summarize(desk)
    total = sum(summary.get(status.value, 0) for status in QUEUED)
    most = sys.maxsize if request.limit is None else request.limit
    waiting = list_next(desk, most, but=[task.id for task in desk.selecting.list_ahead()])
    ended = desk.scheduler.store.list_where(
        Filter(statuses=_FINALS, by_end=True, newest_first=True, limit=None if request.limit is None else LAST_ENDED)
    )
    records = desk.scheduler.list_records([*running, *waiting])
    documents = [desk.describe(record) for record in [*records, *reversed(ended)]]
    return Reply(doc={"tasks": documents, "more": max(0, total - len(waiting)), "summary": summary})


_FINALS = sorted(status.value for status in FINAL)


def summarize(desk: Desk) -> dict[str, int]:
    """How many live tasks stand where, without occurrences whose start is reserved and has not come."""
    counts: dict[str, int] = {}
    for pool in desk.scheduler.list_counts().values():
        for status, count in pool.items():
            counts[status.value] = counts.get(status.value, 0) + count
    for task in desk.selecting.list_ahead():
        counts[task.status.value] -= 1
    return counts


def list_running(desk: Desk, pools: Collection[str] = ()) -> list[int]:
    """The tasks that run, of all pools or of `pools`, those first that started first."""
    if desk.scheduler.only_committed:
        stored = desk.scheduler.store.list_where(Filter(statuses=[Status.RUNNING.value], pools=list(pools) or None))
        return [record.id for record in sorted(stored, key=lambda record: (record.started_at or 0.0, record.id))]
    chosen = [pool for name, pool in desk.scheduler.engine.state.pools.items() if not pools or name in pools]
    running = [task for pool in chosen for task in pool.running.values() if task.status is Status.RUNNING]
    return [task.id for task in sorted(running, key=lambda task: (task.started_at or 0.0, task.id))]


def list_next(
    desk: Desk,
    most: int,
    pools: Collection[str] = (),
    statuses: frozenset[Status] = frozenset(QUEUED),
    but: Collection[int] = (),
) -> list[int]:
    """Up to `most` waiting tasks in the order in which they are expected: ready by score, those of paused pools behind
    the others, then by due time.

    Of all pools, or of `pools`; of these statuses; without those in `but`, which are not ready."""
    chosen = [pool for name, pool in desk.scheduler.engine.state.pools.items() if not pools or name in pools]
    ids = _list_ready(desk, chosen, most) if Status.READY in statuses else []
    if len(ids) < most:
        left_out = frozenset(but)
        later = _later(desk, chosen, statuses - {Status.READY})
        ids += islice((task_id for task_id in later if task_id not in left_out), most - len(ids))
    if desk.scheduler.only_committed:
        wanted = Filter(statuses=sorted(status.value for status in statuses), pools=list(pools) or None, limit=most)
        return _keep_committed(desk, ids, wanted, but)[:most]
    return ids[:most]


def _keep_committed(desk: Desk, ids: list[int], wanted: Filter, but: Collection[int]) -> list[int]:
    """Of tasks in the engine's order those that are committed as wanted; behind them those that only the store has so,
    since their next change waits for its commit, without those in `but`."""
    store = desk.scheduler.store
    changing = [task_id for task_id in ids if desk.scheduler.is_uncommitted(task_id)]
    stored = {record.id for record in store.list_tasks(changing) if record.status.value in (wanted.statuses or ())}
    others = set(changing) - stored
    kept = dict.fromkeys(task_id for task_id in ids if task_id not in others)
    if wanted.limit is None or len(kept) < wanted.limit:
        left_out = frozenset(but)
        kept.update((task_id, None) for task_id in store.list_ids(wanted) if task_id not in left_out)
    return list(kept)


def _list_ready(desk: Desk, pools: list[LivePool], most: int) -> list[int]:
    state, wall = desk.scheduler.engine.state, desk.now().wall
    lines = [pool.lanes.first(most, lambda task: state.place(task, wall)) for pool in pools]
    ready = [task for pool in pools for task in pool.leased.values()]
    paused = {pool.name for pool in pools if pool.paused}
    ready += merge(*lines, key=lambda task: (task.pool in paused, -state.score(task, wall), task.seq))
    ids = list(dict.fromkeys(task.id for task in ready))[:most]
    return ids + [task.id for pool in pools for task in islice(pool.unfit.values(), most)]


def _later(desk: Desk, pools: list[LivePool], later: frozenset[Status]) -> Iterator[int]:
    names = frozenset(pool.name for pool in pools)
    count = sum(pool.counts[status] for pool in pools for status in later)
    tasks = desk.scheduler.engine.state.tasks.made()
    found = islice((task for task in tasks if task.status in later and task.pool in names), count)
    if count > MOST_SORTED:
        return (task.id for task in found)
    far = float("inf")
    return (task.id for task in sorted(found, key=lambda task: (task.due_at or far, task.seq)))


def _list_selected(desk: Desk, request: ListTasks) -> Reply:
    ids = desk.selecting.select(request.select, ALL_STATUSES).ids
    most = len(ids) if request.limit is None else request.limit
    live = set(filter(desk.scheduler.is_unended, ids))
    rank = {task_id: place for place, task_id in enumerate([*list_running(desk), *list_next(desk, most)])}
    ids.sort(key=lambda task_id: (task_id not in live, rank.get(task_id, len(rank)) if task_id in live else 0))
    shown = ids if len(ids) <= most else (ids[:most] if live else ids[-most:])
    documents = [desk.describe(record) for record in desk.scheduler.list_records(shown)]
    return Reply(doc={"tasks": documents, "more": len(ids) - len(shown)})


def _list_finished(desk: Desk, request: ListTasks) -> Reply:
    select = request.select
    named = desk.selecting.select(select, FINAL).ids if select.refs else None
    wanted = Filter(
        ids=None if named is None else [(task_id, task_id) for task_id in named],
        statuses=[word for word in _FINALS if not select.statuses or word in select.statuses],
        pools=select.pools or None,
        tags=select.tags or None,
        name_glob=select.name_glob,
        after_id=request.after_id,
        limit=None if request.limit is None else request.limit + 1,
    )
    records = desk.scheduler.store.list_where(wanted)
    shown = records if request.limit is None else records[: request.limit]
    more = len(records) - len(shown)
    return Reply(doc={"tasks": [desk.describe(record) for record in shown], "more": more})


# -- show, wait ------------------------------------------------------------------------------------------------------


def show_tasks(desk: Desk, request: ShowTasks) -> Reply:
    """Whole documents with attempts and the names in the environment, or with its values when asked."""
    ids = desk.selecting.select(request.select, ALL_STATUSES).ids
    documents = [describe_whole(desk, record, env=request.env) for record in desk.scheduler.list_records(ids)]
    return Reply(doc=_one_or_many(documents))


def describe_whole(desk: Desk, record: TaskRecord, *, env: bool = False) -> dict[str, Any]:
    """The document of `show`."""
    store = desk.scheduler.store
    facts: dict[str, Any] = {"attempts": store.list_attempts(record.id)}
    variables = dict(iter_env(store.find_env(record.spec.env) or b""))
    values = {os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()}
    for name, changed in record.spec.env_changes.items():
        if changed is not None:
            values[name] = changed
        else:
            values.pop(name, None)
    facts["env" if env else "env_names"] = values if env else sorted(values)
    cap = describe_cap(record.spec, desk.settings.logs.cap, holes=desk.can_cut_logs())
    return desk.describe(record, **facts) | cap


def _one_or_many(documents: list[dict[str, Any]]) -> dict[str, Any]:
    return {"task": documents[0]} if len(documents) == 1 else {"tasks": documents}


def wait_tasks(desk: Desk, request: WaitTasks) -> Reply:
    """The documents of the selected tasks when all (or any) are final; until then the request waits."""
    ids = desk.selecting.select(request.select, LIVE).ids
    # Run again, it is about the same tasks: filters would find other ones by then.
    request.select = Selector(refs=[str(task_id) for task_id in ids])
    waiting = [task_id for task_id in ids if desk.scheduler.is_unended(task_id)]
    if waiting and (len(waiting) == len(ids) or not request.any):
        if request.now:
            raise WaitTimeoutError("the time to wait is over", hint="the tasks go on: cronoq ls shows how far they are")
        raise NotYet(waiting, every=not request.any)
    ended = [task_id for task_id in ids if task_id not in set(waiting)] if request.any else ids
    records = desk.scheduler.list_records(ended)
    if len(records) == 1:
        return Reply(doc={"tasks": [desk.describe(records[0], attempts=desk.scheduler.store.list_attempts(ended[0]))]})
    return Reply(doc={"tasks": [_tell_end(desk, record, brief=request.brief) for record in records]})


def _tell_end(desk: Desk, record: TaskRecord, *, brief: bool) -> dict[str, Any]:
    if brief and record.status is Status.SUCCEEDED:
        return {"id": record.id, "status": record.status.value}
    return desk.describe(record)


# -- events ----------------------------------------------------------------------------------------------------------


def list_events(desk: Desk, request: Events) -> Reply:
    """Stored transitions, oldest first."""
    store = desk.scheduler.store
    ids = None if request.select is None else desk.selecting.select(request.select, ALL_STATUSES).ids
    limit = 1_000_000 if request.limit is None else request.limit
    last_seq = store.last_transition_seq()
    if request.after_seq is None:
        found = store.list_transitions_before(last_seq + 1, limit, ids)
        found.reverse()
    else:
        found = store.list_transitions(request.after_seq, limit, ids)
    return Reply(doc={"events": [describe_transition(transition) for transition in found], "last_seq": last_seq})
