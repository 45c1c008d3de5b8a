"""Which of the candidates of a pool may start now, with which workers and resources.

The rule is specification section 4: the best-placed first; what lacks something lets those pass that want nothing of
what it lacks; a wide task waiting for slots keeps the freed ones.
"""

from __future__ import annotations

from collections import deque

from cronoq_cli.engine.lanes import Place
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool, set_of, tenant_of
from cronoq_cli.engine.reservations import Candidate, decide_hold
from cronoq_cli.engine.state import State

Wanted = str | int
"""A thing that can be lacking: a resource by name, a set of workers by number."""


def choose(state: State, pool: LivePool, now: Now) -> tuple[LiveTask, int] | None:
    """The task that starts next and the set of workers it gets, or None when nothing can start now."""
    heads = pool.lanes.heads()
    if not heads:
        return None
    if len(heads) > 1:
        heads = order_candidates(state, pool, heads, now)
    lacking: set[Wanted] = set()
    for task in heads:
        lacks, workers = find_lacks(state, pool, task, lacking, now)
        if workers is not None:
            return task, workers
        lacking |= lacks
    return None


def order_candidates(state: State, pool: LivePool, heads: list[LiveTask], now: Now) -> list[LiveTask]:
    """The candidates, best-placed first. With fair sharing, within a class the tenant with the least share leads."""
    if not pool.plan.fair_share:
        return sorted(heads, key=lambda task: state.place(task, now.wall), reverse=True)
    classes: dict[int, list[LiveTask]] = {}
    for task in heads:
        classes.setdefault(task.priority, []).append(task)
    places = {task.id: state.place(task, now.wall) for task in heads}
    ordered = [_order_fairly(pool, members, places) for members in classes.values()]
    return _merge(ordered, places)


def _order_fairly(pool: LivePool, members: list[LiveTask], places: dict[int, Place]) -> list[LiveTask]:
    """One class: due fixed starts, then tenant by tenant by share, each one's candidates by place."""

    def key(task: LiveTask) -> tuple[bool, tuple[float, int], float, float]:
        fixed, score, older = places[task.id]
        return not fixed, pool.shares.rank(tenant_of(task)), -score, -older

    return sorted(members, key=key)


def _merge(classes: list[list[LiveTask]], places: dict[int, Place]) -> list[LiveTask]:
    """The classes as one order: again and again the class whose next candidate has the best place."""
    merged: list[LiveTask] = []
    queues = [deque(members) for members in classes]
    while queues:
        best = max(queues, key=lambda queue: places[queue[0].id])
        merged.append(best.popleft())
        if not best:
            queues.remove(best)
    return merged


def find_lacks(
    state: State, pool: LivePool, task: LiveTask, lacking: set[Wanted], now: Now
) -> tuple[set[Wanted], int | None]:
    """What a candidate lacks, those before it having first claim on what they lack; and its workers if it can start."""
    lacks: set[Wanted] = set()
    demand = task.demand
    if demand is not None and demand.uses:
        lacks.update(state.resources.lacks(demand.uses, now.awake))
        lacks.update(name for name in demand.names if name in lacking)
        if lacks:
            _wait_for_tokens(state, task, now)
            return lacks, None
    if pool.is_simple:
        if 0 in lacking or task.slots > pool.sets[0].free:
            return {0}, None
        return _unless_held(state, pool, task, 0, now)
    sets = pool.list_sets(task)
    for number in sets:
        if number not in lacking and task.slots <= pool.sets[number].free:
            return _unless_held(state, pool, task, number, now)
    return set(sets), None


def _unless_held(state: State, pool: LivePool, task: LiveTask, number: int, now: Now) -> tuple[set[Wanted], int | None]:
    """A worker held for a fixed start is not to be had, except by what ends before it; nobody else is kept waiting."""
    if number == 0 and not task.is_fixed and len(pool.reservations) and find_hold(state, pool, task, now) is not None:
        return set(), None
    return set(), number


def find_hold(state: State, pool: LivePool, task: LiveTask, now: Now) -> int | None:
    """The fixed start that would be late if this task started now (specification section 5), or None."""
    upcoming = pool.reservations.upcoming(now.wall, pool.plan.max_hold_s)
    if not upcoming:
        return None
    running = [
        (other.slots, (other.started_at or now.wall) + state.expected_s(other))
        for other in pool.running.values()
        if set_of(other) == 0
    ]
    candidate = Candidate(task.slots, now.wall + state.expected_s(task))
    return decide_hold(pool.sets[0].free, running, candidate, upcoming)


def _wait_for_tokens(state: State, task: LiveTask, now: Now) -> None:
    """Tokens come by themselves: look again when there will be enough for the best-placed who wants them."""
    assert task.demand is not None
    wait_s = state.resources.next_ready_s(task.demand.uses, now.awake)
    if wait_s is not None:
        state.arm_tokens(now.awake + wait_s)
