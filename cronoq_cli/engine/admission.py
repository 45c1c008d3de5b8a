"""Which of the candidates of a pool may start now, with which workers and resources.

The rule is specification section 4: the best-placed first; what lacks something lets those pass that want nothing of
what it lacks; a wide task waiting for slots keeps the freed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli.engine.lanes import Place
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.pools import LivePool, WorkerSet, set_of, tenant_of
from cronoq_cli.engine.reservations import Candidate, Reservation, decide_hold
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import Status

Wanted = str | WorkerSet
"""A thing that can be lacking: a resource by name, or workers."""


def choose(state: State, pool: LivePool, now: Now, lacking: set[Wanted] | None = None) -> tuple[LiveTask, int] | None:
    """The task that starts next and the set of workers it gets, or None when nothing can start now.

    What candidates lack is added to `lacking`: those who come later have no claim on it."""
    heads = pool.lanes.heads()
    if not heads:
        return None
    if not pool.wanting and pool.is_simple and not pool.plan.fair_share and not _may_hold(state, pool):
        return _choose_alike(state, pool, heads, now)
    lacking = set() if lacking is None else lacking
    for _, task in order_candidates(state, pool, add_stand_ins(state, pool, heads, now), now):
        lacks, workers = find_lacks(state, pool, task, lacking, now)
        if workers is not None:
            return task, workers
        lacking |= lacks
    return None


def _choose_alike(state: State, pool: LivePool, heads: list[LiveTask], now: Now) -> tuple[LiveTask, int] | None:
    """The same where all want nothing but slots of the same workers: when the first lacks them, so do all."""
    task = heads[0] if len(heads) == 1 else max(heads, key=lambda head: state.place(head, now.wall))
    workers = pool.sets[0]
    return (task, 0) if task.slots <= workers.workers - workers.busy else None


def choose_jointly(state: State, pools: list[LivePool], now: Now) -> tuple[LivePool, LiveTask, int] | None:
    """The same for pools whose candidates want resources, which all pools share: the best-placed of all goes first."""
    if not any(pool.has_room for pool in pools):
        return None
    lacking: set[Wanted] = set()
    orders = []
    for pool in pools:
        candidates = add_stand_ins(state, pool, pool.lanes.heads(), now)
        orders.append(list(order_candidates(state, pool, candidates, now)))
    for _, task in _merge(orders):
        pool = state.pools[task.pool]
        lacks, workers = find_lacks(state, pool, task, lacking, now)
        if workers is not None:
            return pool, task, workers
        lacking |= lacks
    return None


# -- order -----------------------------------------------------------------------------------------------------------

Placed = tuple[Place, LiveTask]


def order_candidates(state: State, pool: LivePool, heads: list[LiveTask], now: Now) -> Iterator[Placed]:
    """The candidates, best-placed first. With fair sharing, within a class the tenant with the least share leads."""
    wall = now.wall
    placed = [(state.place(task, wall), task) for task in heads]
    if not pool.plan.fair_share:
        placed.sort(key=_place_of, reverse=True)
        return iter(placed)
    ranks = {tenant: pool.shares.rank(tenant) for tenant in set(map(tenant_of, heads))}
    classes: dict[int, list[Placed]] = {}
    for one in placed:
        classes.setdefault(one[1].priority, []).append(one)
    return _merge([_order_fairly(members, ranks) for members in classes.values()])


def _place_of(placed: Placed) -> Place:
    return placed[0]


def _order_fairly(members: list[Placed], ranks: dict[str, tuple[float, int]]) -> list[Placed]:
    """One class: due fixed starts, then tenant by tenant by share, each one's candidates by place."""
    if len(members) > 1:
        members.sort(key=_place_of, reverse=True)
        members.sort(key=lambda placed: (not placed[0][0], ranks[tenant_of(placed[1])]))
    return members


def _merge(queues: list[list[Placed]]) -> Iterator[Placed]:
    """Several orders as one: again and again the one whose next candidate has the best place."""
    left = [queue[::-1] for queue in queues if queue]
    while len(left) > 1:
        best = max(left, key=_next_place)
        yield best.pop()
        if not best:
            left.remove(best)
    for queue in left:
        yield from reversed(queue)


def _next_place(queue: list[Placed]) -> Place:
    return queue[-1][0]


# -- behind a head that is held back ---------------------------------------------------------------------------------

BEHIND_MOST = 64
"""So many places of a lane, its head included, are looked through for a task that harms no fixed start."""


def _may_hold(state: State, pool: LivePool) -> bool:
    """Whether a fixed start is reserved for that may keep a task of this pool from starting."""
    return pool.reserves or (state.total is not None and any(one.reserves for one in state.pools.values()))


def add_stand_ins(state: State, pool: LivePool, heads: list[LiveTask], now: Now) -> list[LiveTask]:
    """The heads, and behind each that is held back for a fixed start alone the first that need not be.

    What such a head lacks is time before that start, and who needs less of it does not lack it: it is a candidate too
    (specification section 4: those behind are not blocked that need none of what it lacks)."""
    if not _may_hold(state, pool):
        return heads
    found = (_find_stand_in(state, pool, head, now) for head in heads if _is_only_held(state, pool, head, now))
    return heads + [task for task in found if task is not None]


def _is_only_held(state: State, pool: LivePool, task: LiveTask, now: Now) -> bool:
    if task.is_fixed or (task.demand is not None and state.resources.lacks(task.demand.uses, now.awake)):
        return False
    roomy = [number for number in pool.list_sets(task) if task.slots <= pool.sets[number].free]
    return bool(roomy) and all(find_hold(state, pool, number, task, now) is not None for number in roomy)


def _find_stand_in(state: State, pool: LivePool, head: LiveTask, now: Now) -> LiveTask | None:
    """The first behind the head that harms no fixed start; none behind one that lacks what they all want."""
    held = [(head.slots, state.expected_s(head))]
    for task in pool.lanes.first_of_lane(head, BEHIND_MOST)[1:]:
        expected_s = state.expected_s(task)
        if task.leased or any(task.slots >= slots and expected_s >= run_s for slots, run_s in held):
            continue
        lacks, workers = find_lacks(state, pool, task, set(), now)
        if workers is not None:
            return task
        if lacks:
            return None
        held.append((task.slots, expected_s))
    return None


# -- what is lacking -------------------------------------------------------------------------------------------------


def find_lacks(
    state: State, pool: LivePool, task: LiveTask, lacking: set[Wanted], now: Now
) -> tuple[set[Wanted], int | None]:
    """What a candidate lacks, those before it having first claim on what they lack; and its workers if it can start."""
    demand = task.demand
    if demand is not None and demand.uses:
        lacks = set[Wanted](state.resources.lacks(demand.uses, now.awake))
        lacks.update(name for name in demand.names if name in lacking)
        if lacks:
            _wait_for_tokens(state, task, now)
            return lacks, None
    return _find_workers(state, pool, task, lacking, now)


def _find_workers(
    state: State, pool: LivePool, task: LiveTask, lacking: set[Wanted], now: Now
) -> tuple[set[Wanted], int | None]:
    """The first set of workers with room for a task; else the sets without room, which it waits for.

    A worker held for a fixed start is not to be had, but nobody else is kept waiting for that."""
    full: set[Wanted] = set()
    for number in (0,) if pool.is_simple else pool.list_sets(task):
        workers = pool.sets[number]
        if workers in lacking or task.slots > workers.workers - workers.busy:
            full.add(workers)
        elif find_hold(state, pool, number, task, now) is None:
            return set(), number
    return full, None


def find_hold(state: State, pool: LivePool, number: int, task: LiveTask, now: Now) -> int | None:
    """The fixed start that would be late if this task started now in this set of workers, or None.

    From start - max_hold on, freed workers are kept (specification section 5), of the set and of those that all pools
    share; once the moment has come the fixed start is itself the best-placed candidate, and needs no holding."""
    if task.is_fixed or not _may_hold(state, pool):
        return None
    candidate = Candidate(task.slots, now.wall + state.expected_s(task))
    upcoming = list_upcoming(state, pool, number, now, pool.plan.max_hold_s)
    if upcoming:
        running = (other for other in pool.running.values() if set_of(other) == number)
        held = decide_hold(pool.sets[number].free, _list_ends(state, running, now), candidate, upcoming)
        if held is not None:
            return held
    return None if state.total is None else _find_hold_of_all(state, state.total, candidate, now)


def _find_hold_of_all(state: State, total: TotalWorkers, candidate: Candidate, now: Now) -> int | None:
    """The same among the workers that all pools share."""
    upcoming: list[Reservation] = []
    for pool in state.pools.values():
        for number in range(len(pool.sets)):
            upcoming += list_upcoming(state, pool, number, now, pool.plan.max_hold_s)
    if not upcoming:
        return None
    running = (other for pool in state.pools.values() for other in pool.running.values())
    return decide_hold(total.free(state.pools), _list_ends(state, running, now), candidate, sorted(upcoming))


def _list_ends(state: State, running: Iterable[LiveTask], now: Now) -> list[tuple[int, float]]:
    """Slots, and when by expected run times they are free."""
    return [(other.slots, (other.started_at or now.wall) + state.expected_s(other)) for other in running]


def list_upcoming(state: State, pool: LivePool, number: int, now: Now, within_s: float) -> list[Reservation]:
    """The fixed starts ahead in a set of workers, up to so many seconds: none of a task that is blocked or cannot fit.

    For one that waits for others nothing is held: they might need these very workers."""
    reserved = pool.sets[number].reservations.upcoming(now.wall, within_s)
    return [one for one in reserved if one.start_at > now.wall and _is_coming(state, pool, one.task_id)]


def _is_coming(state: State, pool: LivePool, task_id: int) -> bool:
    task = state.tasks.get(task_id)
    return task is not None and task.status in (Status.SCHEDULED, Status.READY) and state.fits(task, pool)


def _wait_for_tokens(state: State, task: LiveTask, now: Now) -> None:
    """Tokens come by themselves: look again when there will be enough for the best-placed who wants them."""
    assert task.demand is not None
    wait_s = state.resources.next_ready_s(task.demand.uses, now.awake)
    if wait_s is not None:
        state.arm_tokens(now.awake + wait_s)
