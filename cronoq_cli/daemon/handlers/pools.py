"""The pools: documents, pause and resume."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.selection import check_pool_names
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import PoolPaused, PoolResumed
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.snapshot import describe_pool
from cronoq_cli.model.task import Priority
from cronoq_cli.wire.requests import PausePool, Pools, Reply, ResumePool


def show_pools(desk: Desk, request: Pools) -> Reply:
    """The documents of all pools, or of one."""
    names = check_pool_names(desk.scheduler, [] if request.name is None else [request.name])
    documents = [_describe(desk, desk.scheduler.engine.state.pools[name]) for name in names]
    return Reply(doc={"pools": documents} if request.name is None else {"pool": documents[0]})


def _describe(desk: Desk, pool: LivePool) -> dict[str, Any]:
    ready = _list_ready(desk, pool)
    return describe_pool(
        pool.name,
        workers=pool.workers,
        busy=pool.busy,
        paused=pool.paused,
        reason="paused" if pool.paused else None,
        waiting={Priority(priority).word: n for priority, n in Counter(task.priority for task in ready).items()},
        blocked=pool.counts[Status.BLOCKED],
        scheduled=pool.counts[Status.SCHEDULED],
        retrying=pool.counts[Status.RETRYING],
        running=pool.counts[Status.RUNNING],
        oldest_ready_at=min((task.ready_at for task in ready if task.ready_at is not None), default=None),
        now=desk.now().wall,
        started=pool.totals["started"],
        succeeded=pool.totals["succeeded"],
        failed=pool.totals["failed"] + pool.totals["dead_lettered"],
        retried=pool.totals["retried"],
    )


def _list_ready(desk: Desk, pool: LivePool) -> list[LiveTask]:
    if not pool.counts[Status.READY]:
        return []
    tasks = desk.scheduler.engine.state.tasks.values()
    return [task for task in tasks if task.status is Status.READY and task.pool == pool.name]


def pause_pools(desk: Desk, request: PausePool) -> Reply:
    """No new starts in these pools; what runs goes on."""
    return _switch(desk, request.names, PoolPaused)


def resume_pools(desk: Desk, request: ResumePool) -> Reply:
    """Starts again in these pools."""
    return _switch(desk, request.names, PoolResumed)


def _switch(desk: Desk, names: list[str], event: type[PoolPaused] | type[PoolResumed]) -> Reply:
    desk.scheduler.check_writable()
    chosen = check_pool_names(desk.scheduler, names)
    for name in chosen:
        desk.scheduler.apply(event(name))
    desk.scheduler.must_commit()
    return Reply(doc={"pools": [_describe(desk, desk.scheduler.engine.state.pools[name]) for name in chosen]})
