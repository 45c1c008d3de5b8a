"""Bounds on what waits, in a pool and in all, and the four ways when they are reached (specification section 5)."""

from __future__ import annotations

from collections import Counter

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Newcomer
from cronoq_cli.engine.overload import OVERFLOWS
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.state import State
from cronoq_cli.errors import TryLaterError
from cronoq_cli.model.lifecycle import Status, Trigger


class NoRoomError(TryLaterError):
    """Too many wait already. `waits`: the pool's way is to let the submitter wait for room."""

    code = "full"

    def __init__(self, message: str, pool: str, *, waits: bool, hint: str | None = None) -> None:
        super().__init__(message, hint="try again when some have started" if waits else hint)
        self.pool = pool
        self.waits = waits


def make_room(state: State, newcomers: list[Newcomer], now: Now) -> None:
    """Shed what the pools' ways allow for these newcomers, or refuse them all, shedding nothing. Raises NoRoomError."""
    victims: list[LiveTask] = []
    try:
        for name, count in Counter(newcomer.spec.pool for newcomer in newcomers).items():
            pool = state.pools[name]
            _check_size(pool, count)
            over = _count_over(pool.pending + count, pool.plan.max_pending)
            _choose_victims(pool, [pool], _last(newcomers, name, over), state, victims)
        pending = sum(pool.pending for pool in state.pools.values()) - len(victims)
        over = _count_over(pending + len(newcomers), state.max_pending)
        for newcomer in newcomers[len(newcomers) - over :] if over else ():
            pool = state.pools[newcomer.spec.pool]
            _choose_victims(pool, list(state.pools.values()), [newcomer], state, victims)
    except NoRoomError:
        for task in victims:
            state.pools[task.pool].enter_victims(task)
        raise
    for task in victims:
        _shed(state, task, now)


def _check_size(pool: LivePool, count: int) -> None:
    """A submission that is more than the pool may ever hold is not kept waiting for room. Raises NoRoomError."""
    most = pool.plan.max_pending
    if most is not None and count > most:
        message = f"{count} tasks at once are more than the {most} that may wait in pool {pool.name!r}"
        raise NoRoomError(message, pool.name, hint="submit fewer at once, or raise max_pending", waits=False)


def _count_over(wanted: int, most: int | None) -> int:
    return 0 if most is None else max(0, wanted - most)


def _last(newcomers: list[Newcomer], pool: str, count: int) -> list[Newcomer]:
    mine = [newcomer for newcomer in newcomers if newcomer.spec.pool == pool]
    return mine[len(mine) - count :] if count else []


def _choose_victims(
    pool: LivePool, among: list[LivePool], newcomers: list[Newcomer], state: State, victims: list[LiveTask]
) -> None:
    """One victim for each of the newcomers that are too many. Raises NoRoomError when one finds none."""
    for newcomer in newcomers:
        found = [OVERFLOWS[pool.plan.overflow](one.victims, newcomer.spec.priority) for one in among]
        tasks = [state.tasks[task_id] for task_id in found if task_id is not None]
        if not tasks:
            bound = f"pool {pool.name!r} holds {pool.plan.max_pending} waiting tasks at most"
            if len(among) > 1:
                bound = f"{state.max_pending} tasks may wait in all"
            raise NoRoomError(bound, pool.name, waits=pool.plan.overflow == "wait")
        oldest = pool.plan.overflow == "shed-oldest"
        victim = min(tasks, key=lambda task: (task.priority, task.id if oldest else -task.id))
        state.pools[victim.pool].victims.discard(victim.id, victim.priority)
        victims.append(victim)


def _shed(state: State, task: LiveTask, now: Now) -> None:
    task.reason = "shed: too many waited"
    state.move(task, Trigger.SHED, Status.SHED, now)
    state.finish(task, now)
