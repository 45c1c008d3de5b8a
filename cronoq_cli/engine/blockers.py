"""What keeps a waiting task from starting now: every reason, the most decisive first.

Looks only; the decisions are those of `admission` and `dispatch`. Scores and estimates are in `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cronoq_cli.engine.admission import find_hold, find_lacks
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.task import Condition, Edge

NAMED_MOST = 5
"""Tasks named in one reason; of more the number is told."""

_ASKS = {
    Condition.SUCCESS: "has to succeed",
    Condition.ANY: "has to end",
    Condition.FAIL: "has to fail",
    Condition.GONE: "has to be gone with its processes",
}


class Blocker(NamedTuple):
    """One reason: `what` in a word or two, `detail` with its numbers, `brief` as listings tell it of a ready task."""

    what: str
    detail: str
    brief: str = ""


def list_blockers(state: State, task: LiveTask, now: Now, ahead: int) -> list[Blocker]:
    """Why a task does not start now, the first blocker first; none for one that runs or may start at this moment.

    `ahead`: how many tasks of its pool that stand before it want the same workers or resources.
    """
    return list(_iter_blockers(state, task, now, ahead)) if task.is_waiting else []


def tell_briefly(state: State, task: LiveTask, now: Now) -> str | None:
    """Why a waiting task waits, in a few words: the first blocker of a ready one, else what it waits for by itself."""
    if task.status is not Status.READY:
        edges = state.graph.list_open(task.id) if task.open_edges and not task.held else []
        return _name_targets(edges) if edges else task.reason
    first = next(_iter_blockers(state, task, now, 0), None)
    return _slots_briefly(task) if first is None else first.brief or first.what


def _iter_blockers(state: State, task: LiveTask, now: Now, ahead: int) -> Iterator[Blocker]:
    pool = state.pools[task.pool]
    yield from _list_own(state, task, now)
    yield from _list_closed(state, pool)
    if task.leased:
        yield Blocker("handed to the runner", _describe_lease(pool, task))
        return
    unfit = list(_list_unfit(state, pool, task))
    yield from unfit
    if task.status is Status.READY and not unfit:
        yield from _list_lacking(state, pool, task, now)
        if ahead:
            yield Blocker("better-placed tasks", f"{ahead} in pool {pool.name} want the same and go first")


def _name_targets(edges: Sequence[Edge]) -> str:
    names = [str(edge.target) if edge.target is not None else f"key {edge.awaited}" for edge in edges[:3]]
    more = f" and {len(edges) - 3} more" if len(edges) > 3 else ""
    return f"after {', '.join(names)}{more}"


def _slots_briefly(task: LiveTask) -> str:
    return "waits for a slot" if task.slots == 1 else f"waits for {task.slots} slots"


# -- its own waiting -----------------------------------------------------------------------------------------------


def _list_own(state: State, task: LiveTask, now: Now) -> Iterator[Blocker]:
    if task.held:
        yield Blocker("held", f"until: cronoq release {task.id}")
    for edge in state.graph.list_open(task.id):
        yield Blocker("dependency", _describe_edge(state, edge))
    if task.gathered_by is not None:
        yield Blocker("gathered", f"task {task.gathered_by} runs for it")
    elif task.gathering and not task.held and not task.open_edges:
        yield Blocker("gathering", _describe_gathering(state, task.gathering))
    if task.due_at is not None and task.due_at > now.wall and task.status is not Status.READY:
        fixed = task.is_fixed and task.due_at == task.when.start_at
        what = "fixed start" if fixed else "start time" if task.due_at == task.not_before else "backoff"
        yield Blocker(what, f"{'at' if fixed else 'not before'} {format_utc(task.due_at)}{_describe_attempts(task)}")


def _describe_attempts(task: LiveTask) -> str:
    if task.status is not Status.RETRYING:
        return ""
    return f", attempt {task.attempt + 1} of {task.max_attempts}"


def _describe_edge(state: State, edge: Edge) -> str:
    if edge.target is None:
        until = "" if edge.awaited_until is None else f", waited for until {format_utc(edge.awaited_until)}"
        return f"no task has the key {edge.awaited} yet{until}"
    target = state.tasks.look(edge.target)
    status = "" if target is None else f" ({target.status.value.replace('_', ' ')})"
    return f"task {edge.target}{status} {_ASKS[edge.condition]}"


def _describe_gathering(state: State, name: str) -> str:
    gathering, template = state.gatherings.get(name), state.groups.get(name)
    if gathering is None or template is None:
        return f"group {name}"
    count = f"{len(gathering.members)} of {template.max_size} are there"
    return f"group {name}: {count}; it goes at {format_utc(gathering.due_at(template))} if nothing more comes"


# -- the pool ------------------------------------------------------------------------------------------------------


def _list_closed(state: State, pool: LivePool) -> Iterator[Blocker]:
    """What keeps everything in the pool from starting."""
    if not state.compared:
        trouble = state.runner_trouble
        known = trouble or "it has to say first what it runs"
        yield Blocker("waiting for the runner", known, trouble or "waits for the runner")
    if state.stopping:
        yield Blocker("stopping", "the daemon stops", "the daemon stops")
    elif state.draining:
        yield Blocker("draining", "the daemon starts nothing more", "the daemon is draining")
    if pool.paused:
        yield Blocker("pool paused", f"until: cronoq pool resume {pool.name}", f"pool {pool.name} is paused")
    if pool.capped is not None:
        yield Blocker("machine", pool.capped, pool.capped)


def _describe_lease(pool: LivePool, task: LiveTask) -> str:
    before = sum(other.seq < task.seq for other in pool.leased.values())
    return f"it starts there when a slot is free, {before} given before it"


def _list_unfit(state: State, pool: LivePool, task: LiveTask) -> Iterator[Blocker]:
    """What is not there at all, however long one waits."""
    sets = pool.list_sets(task)
    if not sets:
        yield Blocker("lacks label", f"no workers of pool {pool.name} have {_describe_labels(task)}")
    elif not pool.fits_now(task):
        most = max(pool.sets[number].workers for number in sets)
        yield Blocker("cannot fit", f"needs {_slots(task.slots)}, pool {pool.name} has {most}{_with_labels(task)}")
    if task.demand is not None:
        amounts = dict(task.demand.uses)
        for name in state.resources.list_impossible(task.demand.uses):
            known = state.resources.known.get(name)
            there = "there is no such resource" if known is None else f"there are {known.capacity:g} in all"
            yield Blocker("cannot fit", f"needs {amounts[name]:g} of {name}, {there}")


def _slots(count: int) -> str:
    return f"{count} slot{'s' if count > 1 else ''}"


def _describe_labels(task: LiveTask) -> str:
    return ", ".join(f"{k}={v}" for k, v in task.demand.labels) if task.demand is not None else ""


def _with_labels(task: LiveTask) -> str:
    labels = _describe_labels(task)
    return f" with {labels}" if labels else ""


# -- what is taken by others ---------------------------------------------------------------------------------------


def _list_lacking(state: State, pool: LivePool, task: LiveTask, now: Now) -> Iterator[Blocker]:
    batch = task.batch
    if batch is not None and batch.is_full:
        limit = batch.record.limit
        detail = f"{batch.running} run of its array, at most {limit} at once"
        yield Blocker("array limit", detail, f"{limit} of its array run")
    lacking = [] if task.demand is None else state.resources.lacks(task.demand.uses, now.awake)
    for name in lacking:
        detail = _describe_resource(state, task, name, now)
        yield Blocker(f"resource {name}", detail, f"waits for {', '.join(lacking)}")
    free = max(pool.sets[number].free for number in pool.list_sets(task))
    if free < task.slots:
        workers = sum(pool.sets[number].workers for number in pool.list_sets(task))
        of = f"{max(free, 0)} of {workers}{_with_labels(task)} free in pool {pool.name}"
        yield Blocker("slots", f"needs {task.slots}, {of}", _slots_briefly(task))
    if state.total is not None and state.total.free(state.pools) < task.slots:
        shared = max(state.total.free(state.pools), 0)
        detail = f"needs {task.slots}, {shared} of {state.total.workers} of all pools free"
        yield Blocker("shared workers", detail, _slots_briefly(task))
    if not lacking and free >= task.slots:
        yield from _list_kept(state, pool, task, now)


def _list_kept(state: State, pool: LivePool, task: LiveTask, now: Now) -> Iterator[Blocker]:
    """What is there, but kept for others: for a fixed start, or for better-placed tasks of other pools."""
    lacks, workers = find_lacks(state, pool, task, set(), now)
    for name in sorted(lack for lack in lacks if isinstance(lack, str)):
        yield Blocker(f"resource {name}", "better-placed tasks of other pools wait for it", f"waits for {name}")
    if workers is None and not any(isinstance(lack, str) for lack in lacks):
        fixed = _find_fixed(state, pool, task, now)
        if fixed is not None:
            at = format_utc(fixed.when.start_at or now.wall)
            detail = f"a worker is kept for task {fixed.id}, which starts at {at}"
            yield Blocker("fixed start", detail, f"a worker is kept for {fixed.id}")


def _find_fixed(state: State, pool: LivePool, task: LiveTask, now: Now) -> LiveTask | None:
    """The fixed start that would be late if the task started now."""
    held = (find_hold(state, pool, number, task, now) for number in pool.list_sets(task))
    return next((state.tasks.look(task_id) for task_id in held if task_id is not None), None)


def _describe_resource(state: State, task: LiveTask, name: str, now: Now) -> str:
    amount = dict(task.demand.uses)[name] if task.demand is not None else 0.0
    known = state.resources.known.get(name)
    if isinstance(known, Bucket):
        ready_in_s = known.ready_in_s(amount, now.awake)
        when = "" if ready_in_s is None else f", enough in {ready_in_s:.3g} s"
        return f"needs {amount:g}, has {known.level(now.awake):.3g}, {known.rate:g} a second come{when}"
    if isinstance(known, Semaphore):
        holders = [other.id for pool in state.pools.values() for other in pool.running.values() if _has(other, name)]
        return f"needs {amount:g}, has {max(known.free, 0)} of {known.permits} free{_describe_holders(holders)}"
    return f"needs {amount:g}, there is none"


def _has(task: LiveTask, name: str) -> bool:
    return task.units is not None and name in task.units


def _describe_holders(holders: list[int]) -> str:
    if not holders:
        return ""
    more = f" and {len(holders) - NAMED_MOST} more" if len(holders) > NAMED_MOST else ""
    return f", held by {', '.join(map(str, sorted(holders)[:NAMED_MOST]))}{more}"


def list_rivals(pool: LivePool, task: LiveTask) -> Callable[[LiveTask], bool]:
    """Whether another task of the pool wants workers or resources that this one wants."""
    if pool.is_simple:
        return lambda other: True
    sets = set(pool.list_sets(task))
    names = set() if task.demand is None else set(task.demand.names)

    def is_rival(other: LiveTask) -> bool:
        wanted = () if other.demand is None else other.demand.names
        return not sets.isdisjoint(pool.list_sets(other)) or not names.isdisjoint(wanted)

    return is_rival
