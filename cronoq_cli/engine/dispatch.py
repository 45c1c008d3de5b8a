"""Starting: who goes next in a pool, what is given to the runner ahead of need, and when nothing starts at all.

The order itself is in `lanes`, how far ahead in `pools.decide_ahead`.
"""

from __future__ import annotations

from copy import deepcopy
from math import inf

from cronoq_cli.engine.admission import Wanted, choose, choose_jointly
from cronoq_cli.engine.demand import WORKERS
from cronoq_cli.engine.lanes import Place
from cronoq_cli.engine.live import READY, RUNNING, LiveTask, Now
from cronoq_cli.engine.messages import (
    DrainBegan,
    LeasesRevoked,
    LeasesSettled,
    MetersRead,
    PoolPaused,
    PoolResized,
    PoolResumed,
    Start,
    Stop,
    StopBegan,
)
from cronoq_cli.engine.metering import KEEP_S, Scaled
from cronoq_cli.engine.pools import AHEAD_MOST, LivePool, decide_ahead, may_go_ahead
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import Trigger
from cronoq_cli.model.task import AttemptRecord, Transition

HANDED_OVER = "handed to the runner"
STARTED = Trigger.STARTED
"""A plain name for the way of every task."""


def dispatch_woken(state: State, now: Now) -> None:
    """Start what may start in every pool where something has changed."""
    for name in state.woken:
        _recall_outranked(state, state.pools[name], now)
    if state.total is not None:
        _share(state, state.total, now)
        return
    while state.woken:
        name = next(iter(state.woken))
        del state.woken[name]
        pool = state.pools[name]
        if not state.is_open(pool):
            continue
        wanting = [one for one in state.pools.values() if one.wanting and state.is_open(one)] if pool.wanting else ()
        if len(wanting) > 1:
            _fill_jointly(state, list(wanting), now)
        else:
            _fill(state, pool, now)


def _fill(state: State, pool: LivePool, now: Now) -> None:
    while not pool.leased and pool.has_room:
        found = choose(state, pool, now)
        if found is None:
            break
        _start(state, pool, found, now)
    _fill_ahead(state, pool, now)


def _fill_jointly(state: State, pools: list[LivePool], now: Now) -> None:
    """Start what may start in pools whose candidates compete for resources."""
    while found := choose_jointly(state, [pool for pool in pools if not pool.leased], now):
        pool, task, workers = found
        _start(state, pool, (task, workers), now)
    for pool in pools:
        state.woken.pop(pool.name, None)
        _fill_ahead(state, pool, now)


def _fill_ahead(state: State, pool: LivePool, now: Now) -> None:
    """Give orders ahead of need, where nothing but the order of one pool decides."""
    if state.leases == "never" or state.several_runners or state.pinned:
        return
    if not pool.is_simple or pool.plan.fair_share or pool.reserves:
        return
    if pool.awaits_leases():
        return  # what comes back may go before what would be given now, and have that recalled in turn, without end
    if pool.workers > 0 and (pool.leased or pool.free <= 0):
        _give_ahead(state, pool, now)


def _share(state: State, total: TotalWorkers, now: Now) -> None:
    """Start under a bound for all pools: turn by turn, the pool whose turn it is and that has something to start."""
    while state.woken:
        state.woken.clear()
        waiting = {name: pool for name, pool in state.pools.items() if state.is_open(pool)}
        lacking: set[Wanted] = set()
        while waiting and total.free(state.pools) > 0:
            _take_turn(state, total, waiting, lacking, now)


def _take_turn(state: State, total: TotalWorkers, waiting: dict[str, LivePool], lacking: set[Wanted], now: Now) -> None:
    """Start one task of the first pool in turn that can; a pool that can start nothing waits no more.

    What a pool with an earlier turn lacks is kept for it: resources, and all free slots when it wants more of them."""
    for pool in _order_turns(total, waiting):
        found = choose(state, pool, now, lacking)
        if found is None:
            del waiting[pool.name]
        elif found[0].slots > total.free(state.pools):
            waiting.clear()
            return
        else:
            total.serve(pool)
            _start(state, pool, found, now)
            return


def _order_turns(total: TotalWorkers, waiting: dict[str, LivePool]) -> list[LivePool]:
    """The pools in turn; first those with a fixed start that has come, for which workers were kept."""
    order = total.order(waiting.values())
    due = [pool for pool in order if pool.reserves and any(head.is_fixed for head in pool.lanes.heads())]
    return due + [pool for pool in order if pool not in due] if due else order


def _start(state: State, pool: LivePool, found: tuple[LiveTask, int], now: Now) -> None:
    task, workers = found
    demand = task.demand
    units = {} if demand is None or not demand.uses else state.resources.take(demand.uses, now.awake)
    if workers:
        units[WORKERS] = [workers]
    task.units = units or None
    mark_started(state, task, now, at=now.wall)
    state.effects.attempts[task.id, task.attempt] = AttemptRecord(
        task=task.id, number=task.attempt, started_at=now.wall, reason=task.start_reason
    )
    state.effects.actions.append(Start(task.id, task.attempt, pool.name, task.slots, ahead=False))


def mark_started(state: State, task: LiveTask, now: Now, *, at: float) -> None:
    """A task runs from here on: its attempt counts, its slots are taken. The row of the attempt is the caller's."""
    task.attempt += 1
    task.leased = task.recalled = False
    task.started_at = at
    task.reason = task.exit_code = task.signal = task.message = task.pid = task.slot = None
    pool = state.pools[task.pool]
    task.entry = None
    if task.times is not None:
        task.wants = task.read_wants()
    pool.forget_waiting(task)
    pool.take(task)
    if task.batch is not None and task.batch.is_full:
        state.wake_all()  # others of it are candidates no more, for whom slots may have been kept
    pool.totals["started"] += 1
    state.move(task, STARTED, RUNNING, now)
    if task.times is not None or task.facts is not None or state.incidents.by_pool:
        if task.attempt == 1 and at > late_from(task):
            state.tell(task, "late", now, "started behind its tolerance")
        state.note_start(task, now)


def late_from(task: LiveTask) -> float:
    """The moment behind which a first start is late: of a fixed start, or of an occurrence with a tolerance."""
    late_at: float | None = None if task.facts is None else task.facts.get("late_at")
    if late_at is not None:
        return late_at
    when = task.when
    return inf if when.start_at is None else when.start_at + when.tolerance_s


def _give_ahead(state: State, pool: LivePool, now: Now) -> None:
    leased, actions = pool.leased, state.effects.actions
    policy, most = None, 0
    while len(leased) < AHEAD_MOST:
        task = _best(state, pool, now)
        if task is None or not may_go_ahead(task):
            return
        if task.policy is not policy:
            policy = task.policy
            most = decide_ahead(pool.workers, state.run_times.find(pool.name, policy.kind), state.leases)
        if len(leased) >= most:
            return
        task.leased, task.reason = True, HANDED_OVER
        leased[task.id] = task
        if pool.sheds:
            pool.victims.discard(task.id, task.priority)
        actions.append(Start(task.id, task.attempt + 1, pool.name, task.slots, ahead=True))
        state.effects.leasing.add(pool.name)


def _best(state: State, pool: LivePool, now: Now) -> LiveTask | None:
    heads = pool.lanes.heads()
    if len(heads) < 2:
        return heads[0] if heads else None
    return max(heads, key=lambda head: state.place(head, now.wall))


def _recall_outranked(state: State, pool: LivePool, now: Now) -> None:
    """Ask leases back that a waiting task goes before (specification section 3, `ready`).

    While a change waits for leases nothing is judged: what comes back for it is about to move."""
    if not pool.contested or state.pinned or not state.compared:
        return
    pool.contested = False
    if pool.leased:
        for task in list_outranked(state, pool, now):
            state.recall(task)


def list_outranked(state: State, pool: LivePool, now: Now) -> list[LiveTask]:
    """The leases that would not be given if all of them and the waiting tasks stood in their lanes.

    The order of a pool is that of its lanes' heads, not of the scores: a head with a low score hides what stands
    behind it. Comparing a newcomer with single leases would go round in circles."""
    waiting = pool.lanes.heads()
    first = {head.priority: head.seq for head in waiting if head.wants is None}
    kept: dict[int, list[LiveTask]] = {}
    outranked = []
    for task in pool.leased.values():
        if task.seq < first.get(task.priority, inf):
            kept.setdefault(task.priority, []).append(task)
        else:
            outranked.append(task)
    if not any(head.wants is not None or kept.keys() - {head.priority} for head in waiting):
        return outranked
    for lane in kept.values():
        lane.sort(key=lambda task: -task.seq)
    return outranked + _list_behind(state, kept, waiting, now.wall)


def _list_behind(state: State, kept: dict[int, list[LiveTask]], waiting: list[LiveTask], wall: float) -> list[LiveTask]:
    """Those of the leases (a lane a class, the last of each goes first) whose turn is behind that of a waiting head."""

    def place(task: LiveTask) -> Place:
        return state.place(task, wall)

    while any(kept.values()):
        ahead = max((lane[-1] for lane in kept.values() if lane), key=place)
        heads = [head for head in waiting if head.wants is not None or not kept.get(head.priority)]
        if heads and place(max(heads, key=place)) > place(ahead):
            break
        kept[ahead.priority].pop()
    return [task for lane in kept.values() for task in lane]


def take_back(state: State, task: LiveTask, now: Now) -> None:
    """A lease is over without a start: the task stands where it stood."""
    task.leased = task.recalled = False
    pool = state.drop_lease(task)
    pool.enter_victims(task)
    state.touch(task, now)
    state.settle(task, now)
    state.wake(pool.name)


def recall_leases(state: State, pool: LivePool) -> None:
    """Ask for all of a pool's leases back."""
    for task in pool.leased.values():
        state.recall(task)


def apply_leases_revoked(state: State, event: LeasesRevoked, now: Now) -> list[int]:
    """Call leases back; returns the ids of those that were leased."""
    if event.ids is None:
        names = state.pools if event.pool is None else [event.pool]
        leased = [task for name in names for task in state.get_pool(name).leased.values()]
    else:
        leased = [task for task in map(state.tasks.get, event.ids) if task is not None and task.leased]
        state.pinned.update(task.id for task in leased)
    for task in leased:
        state.recall(task)
    return [task.id for task in leased]


def apply_leases_settled(state: State, event: LeasesSettled, now: Now) -> None:
    """Orders may be given ahead again."""
    state.pinned.difference_update(event.ids)
    if not state.pinned:
        state.wake_all()


def apply_pool_paused(state: State, event: PoolPaused, now: Now) -> bool:
    """No new starts in the pool, its leases come back; whether that changed anything."""
    pool = state.get_pool(event.pool)
    changed = not pool.paused
    pool.paused = True
    recall_leases(state, pool)
    state.wake_wanting(pool)
    state.effects.pools[pool.name] = describe_stored(pool)
    return changed


def apply_pool_resumed(state: State, event: PoolResumed, now: Now) -> bool:
    """Starts again in the pool; whether that changed anything."""
    pool = state.get_pool(event.pool)
    changed = pool.paused
    pool.paused = False
    state.effects.pools[pool.name] = describe_stored(pool)
    state.wake(pool.name)
    return changed


def describe_stored(pool: LivePool) -> dict[str, object] | None:
    """What of a pool outlives a restart: what was changed of it by command, its meter, the tasks that are given ahead;
    None when there is nothing. It stays as it is now."""
    stored: dict[str, object] = {"paused": True} if pool.paused else {}
    if pool.changes:
        stored["set"] = deepcopy(pool.changes)
    if pool.leased:
        stored["leased"] = list(pool.leased)
    metered = pool.meter.store()
    if metered is not None:
        stored["meter"] = metered
    return stored or None


def keep_meters(state: State, now: Now) -> None:
    """Write down what every pool has offered and used; again in a while, when something happens."""
    state.meters_due_at = now.awake + KEEP_S
    for pool in state.pools.values():
        pool.meter.look(pool.capacity, now.awake)
        if pool.meter.store() is not None:
            state.effects.pools[pool.name] = describe_stored(pool)


def apply_meters_read(state: State, event: MetersRead, now: Now) -> None:
    """The daemon is about to end, or somebody wants them written now."""
    keep_meters(state, now)


def apply_pool_resized(state: State, event: PoolResized, now: Now) -> None:
    """Another number of workers: running tasks go on, what can never fit steps aside with the reason."""
    resize(state, state.get_pool(event.pool), event.workers, now)


def resize(state: State, pool: LivePool, workers: int, now: Now, reason: str = "by command") -> None:
    """Give a pool so many workers, and sort out anew what can fit."""
    if workers < pool.workers:
        recall_leases(state, pool)
    if workers != pool.workers:
        _tell_scaled(state, pool, workers, now, reason)
    pool.workers = workers
    pool.meter.look(pool.capacity, now.awake)
    changed = {**pool.unfit, **{task.id: task for task in _list_unfit(state, pool)}}
    pool.unfit.clear()
    for task in changed.values():
        task.entry = None
        state.settle(task, now)
        state.touch(task, now)
    state.wake(pool.name)


def _tell_scaled(state: State, pool: LivePool, workers: int, now: Now, reason: str) -> None:
    """A line in the event history, of no task, and one among the pool's last changes."""
    pool.meter.changes.append(Scaled(now.wall, pool.workers, workers, reason))
    message = f"{pool.workers} to {workers} workers: {reason}"
    state.effects.transitions.append(Transition(at=now.wall, type="pool-scaled", pool=pool.name, message=message))


def _list_unfit(state: State, pool: LivePool) -> list[LiveTask]:
    for run in list(state.tasks.runs()):
        if run.sample.pool == pool.name and not state.fits(run.sample, pool):
            state.tasks.make(run)
    return [
        task
        for task in state.tasks.made()
        if task.pool == pool.name and task.status is READY and not task.leased and not state.fits(task, pool)
    ]


def apply_stop_began(state: State, event: StopBegan, now: Now) -> int:
    """No new starts, leases back, running tasks stopped; how many run."""
    state.stopping = True
    running = 0
    for pool in state.pools.values():
        recall_leases(state, pool)
        for task in pool.running.values():
            running += 1
            _stop_for_daemon(state, task, hurry=event.hurry, now=now)
    return running


def _stop_for_daemon(state: State, task: LiveTask, *, hurry: bool, now: Now) -> None:
    grace_s = 0.0 if hurry else task.policy.grace_s
    cause = "cancelled" if task.leaving else "interrupted"
    if not task.leaving:
        task.stop_cause = cause
        state.touch(task, now)
    state.effects.actions.append(Stop(task.id, task.attempt, task.policy.stop_signal, grace_s, cause))


def apply_drain_began(state: State, event: DrainBegan, now: Now) -> int:
    """No new starts and leases back; how many run."""
    state.draining = True
    for pool in state.pools.values():
        recall_leases(state, pool)
    return sum(len(pool.running) for pool in state.pools.values())
