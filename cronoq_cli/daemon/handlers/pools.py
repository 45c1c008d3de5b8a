"""The pools: documents, pause and resume, and what is changed of them by command."""

from __future__ import annotations

from typing import Any

from cronoq_cli.commands.plans import plan_pool
from cronoq_cli.config.live import override_pool
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.selection import check_pool_names
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import PoolPaused, PoolReplanned, PoolResumed
from cronoq_cli.engine.metering import decide_utilisation
from cronoq_cli.engine.pools import LivePool, PoolPlan
from cronoq_cli.errors import UsageError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.snapshot import describe_pool
from cronoq_cli.model.task import Priority
from cronoq_cli.wire.requests import PausePool, Pools, Reply, ResetPool, ResumePool, ScalePool, SetPool


def show_pools(desk: Desk, request: Pools) -> Reply:
    """The documents of all pools, or of one."""
    names = check_pool_names(desk.scheduler, [] if request.name is None else [request.name])
    documents = [describe_live(desk, desk.scheduler.engine.state.pools[name]) for name in names]
    return Reply(doc={"pools": documents} if request.name is None else {"pool": documents[0]})


def describe_live(desk: Desk, pool: LivePool) -> dict[str, Any]:
    """The document of a pool as it stands."""
    now = desk.now()
    wall = now.wall
    oldest = min((task.ready_at or wall for task in pool.lanes.heads()), default=None)
    return describe_pool(
        pool.name,
        workers=pool.workers,
        min=pool.plan.least,
        max=pool.most,
        target=pool.workers,
        busy=pool.busy,
        held=sum(
            reserved.slots for one in pool.sets for reserved in one.reservations.upcoming(wall, pool.plan.max_hold_s)
        ),
        paused=pool.paused,
        reason="paused" if pool.paused else pool.capped or pool.scale_reason,
        waiting={Priority(priority).word: count for priority, count in enumerate(pool.ready)},
        reservations=sum(len(one.reservations) for one in pool.sets),
        groups=[
            {"labels": one.labels, "workers": one.workers, "busy": one.busy, "shared": one.shared}
            for one in pool.sets[1:]
        ],
        blocked=pool.counts[Status.BLOCKED],
        scheduled=pool.counts[Status.SCHEDULED],
        retrying=pool.counts[Status.RETRYING],
        running=pool.counts[Status.RUNNING],
        oldest_ready_at=oldest,
        now=wall,
        started=pool.totals["started"],
        succeeded=pool.totals["succeeded"],
        failed=pool.totals["failed"] + pool.totals["dead_lettered"],
        retried=pool.totals["retried"],
        **describe_use(pool, now),
    )


def describe_use(pool: LivePool, now: Now) -> dict[str, Any]:
    """Worker seconds and what they cost, the share of them that was used, and the last changes of the target."""
    offered_s = pool.meter.count_offered_s(now.awake)
    rate = pool.plan.cost_per_worker_second
    return {
        "worker_s": offered_s,
        "cost": offered_s * rate if rate else None,
        "utilisation": decide_utilisation(pool.count_busy_s(now), offered_s),
        "scalings": pool.meter.changes,
    }


def scale_pool(desk: Desk, request: ScalePool) -> Reply:
    """Another size of a pool: a number of workers, or a range in which it scales itself."""
    size = desk.get_pool_settings(request.name).size
    if request.workers is not None:
        return _change(desk, request.name, {"workers": request.workers})
    least = size.min if request.min is None else request.min
    most = size.max if request.max is None else request.max
    if least > most:
        raise UsageError(f"min {least} is more than max {most}", hint="give both --min and --max")
    return _change(desk, request.name, {"workers": {"min": least, "max": most}})


def set_pool(desk: Desk, request: SetPool) -> Reply:
    """Change settings of a pool until they are reset or the configuration is read anew."""
    return _change(desk, request.name, request.changes)


def _change(desk: Desk, name: str, changes: dict[str, Any]) -> Reply:
    desk.scheduler.check_writable()
    (name,) = check_pool_names(desk.scheduler, [name])
    pool = desk.scheduler.engine.state.pools[name]
    merged = {**pool.changes, **changes}
    plan = plan_pool(override_pool(desk.get_pool_settings(name), merged))
    return _replan(desk, [(name, plan, merged)])


def reset_pools(desk: Desk, request: ResetPool) -> Reply:
    """Back to what the configuration says."""
    desk.scheduler.check_writable()
    names = check_pool_names(desk.scheduler, request.names)
    return _replan(desk, [(name, plan_pool(desk.get_pool_settings(name)), {}) for name in names])


def _replan(desk: Desk, plans: list[tuple[str, PoolPlan, dict[str, Any]]]) -> Reply:
    for name, plan, changes in plans:
        desk.scheduler.apply(PoolReplanned(name, plan, changes))
    desk.scheduler.must_commit()
    pools = desk.scheduler.engine.state.pools
    return Reply(doc={"pools": [describe_live(desk, pools[name]) for name, _, _ in plans]})


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
    return Reply(doc={"pools": [describe_live(desk, desk.scheduler.engine.state.pools[name]) for name in chosen]})
