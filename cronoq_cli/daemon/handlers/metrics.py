"""What monitoring wants to know: all of it is at hand in the engine, nothing is searched for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from cronoq_cli import __version__
from cronoq_cli.daemon.service import Service
from cronoq_cli.engine.history import BOUNDS_S, Histogram
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.recurrence import is_paused
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import FINAL, LIVE
from cronoq_cli.model.metrics import (
    OLDEST_READY,
    OLDEST_READY_HELP,
    TASKS,
    TASKS_HELP,
    UP,
    UP_HELP,
    Family,
    counter,
    describe_families,
    gauge,
    histogram,
)
from cronoq_cli.wire.requests import Metrics, Reply

_PAGE = os.sysconf("SC_PAGE_SIZE")


def show_metrics(daemon: Service, request: Metrics) -> Reply:
    """All metrics as families of samples."""
    state, now = daemon.desk.scheduler.engine.state, daemon.desk.now()
    families = [*_of_daemon(daemon), *_of_pools(list(state.pools.values()), now), *_of_resources(state, now)]
    families += _of_schedules(state, now)
    return Reply(doc={"metrics": describe_families(families)})


def _of_daemon(daemon: Service) -> Iterator[Family]:
    yield gauge(UP, UP_HELP, [({}, 1)])
    yield gauge("cronoq_build_info", "The version that runs.", [({"version": __version__}, 1)])
    yield gauge(
        "cronoq_daemon_start_time_seconds", "When the daemon began, unix time.", [({}, daemon.started_at)], "seconds"
    )
    yield gauge("cronoq_daemon_epoch", "How often the store changed its leader.", [({}, daemon.epoch)])
    yield gauge("cronoq_daemon_memory_bytes", "Resident memory of the daemon.", [({}, _read_memory())], "bytes")
    yield counter("cronoq_daemon_commits", "Transactions of the store.", [({}, daemon.desk.scheduler.commits)])
    refusing = daemon.desk.scheduler.refusing is not None
    yield gauge("cronoq_daemon_refusing", "Whether the store refuses to write.", [({}, int(refusing))])


def _read_memory() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE


def _of_pools(pools: list[LivePool], now: Now) -> Iterator[Family]:
    def each(value: Callable[[LivePool], float]) -> Iterator[tuple[dict[str, str], float]]:
        return (({"pool": pool.name}, value(pool)) for pool in pools)

    yield gauge(TASKS, TASKS_HELP, _list_live(pools))
    yield counter("cronoq_tasks_ended", "Tasks that came to their end, by status.", _list_ended(pools))
    yield counter("cronoq_tasks_started", "Attempts that were started.", each(lambda pool: pool.totals["started"]))
    yield counter(
        "cronoq_tasks_retried", "Attempts after which another comes.", each(lambda pool: pool.totals["retried"])
    )
    yield gauge(OLDEST_READY, OLDEST_READY_HELP, each(lambda pool: _oldest_ready_s(pool, now)), "seconds")
    yield gauge("cronoq_slots_busy", "Slots in use.", each(lambda pool: pool.busy))
    yield gauge("cronoq_slots_target", "Slots there are to be now.", each(lambda pool: pool.workers))
    yield gauge("cronoq_slots_max", "The most slots a pool may have.", each(lambda pool: pool.most))
    yield gauge("cronoq_pool_paused", "Whether a pool is paused.", each(lambda pool: int(pool.paused)))
    yield counter(
        "cronoq_worker_offered_seconds",
        "Worker time that was there.",
        each(lambda pool: pool.meter.count_offered_s(now.awake)),
        "seconds",
    )
    yield counter(
        "cronoq_worker_busy_seconds", "Worker time that was used.", each(lambda pool: pool.count_busy_s(now)), "seconds"
    )
    waits = {pool.name: _classes(pool.times.waits) for pool in pools}
    yield histogram("cronoq_task_wait_seconds", "From ready to the first start.", BOUNDS_S, waits)
    runs = {pool.name: _classes(pool.times.runs) for pool in pools}
    yield histogram("cronoq_task_run_seconds", "Run times of attempts.", BOUNDS_S, runs)


def _list_live(pools: list[LivePool]) -> Iterator[tuple[dict[str, str], float]]:
    for pool in pools:
        for status in sorted(LIVE):
            yield {"pool": pool.name, "status": status.value}, pool.counts[status]


def _list_ended(pools: list[LivePool]) -> Iterator[tuple[dict[str, str], float]]:
    for pool in pools:
        for status in sorted(FINAL):
            yield {"pool": pool.name, "status": status.value}, pool.totals[status.value]


def _oldest_ready_s(pool: LivePool, now: Now) -> float:
    oldest = min((task.ready_at or now.wall for task in pool.lanes.heads()), default=now.wall)
    return max(now.wall - oldest, 0.0)


def _classes(times: Histogram) -> tuple[list[int], float]:
    return times.counts, times.sum_s


def _of_schedules(state: State, now: Now) -> Iterator[Family]:
    schedules = list(state.schedules.by_name.values())
    paused = [({"schedule": one.name}, int(is_paused(one.state, now.wall))) for one in schedules]
    yield gauge("cronoq_schedule_paused", "Whether a recurring schedule is paused.", paused)
    due = [({"schedule": one.name}, one.state.next_at) for one in schedules if one.state.next_at is not None]
    yield gauge("cronoq_schedule_next_time_seconds", "When it is due next, unix time.", due, "seconds")
    runs = [({"schedule": one.name}, one.state.runs) for one in schedules]
    yield counter("cronoq_schedule_runs", "Occurrences there were.", runs)


def _of_resources(state: State, now: Now) -> Iterator[Family]:
    known = state.resources.known
    free = []
    for name, resource in known.items():
        if isinstance(resource, Semaphore):
            free.append(({"resource": name}, float(max(resource.free, 0))))
        elif isinstance(resource, Bucket):
            free.append(({"resource": name}, resource.level(now.awake)))
    yield gauge("cronoq_resource_free", "What of a resource is free: permits, or tokens.", free)
    capacities = [({"resource": name}, float(resource.capacity)) for name, resource in known.items()]
    yield gauge("cronoq_resource_capacity", "How much of a resource there is in all.", capacities)
