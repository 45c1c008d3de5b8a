"""Another spec for a waiting task, or another place in the queue.

Refusals that need more than the engine knows (fields, references) are the caller's.
"""

from __future__ import annotations

from math import ulp

from cronoq_cli.engine.demand import read_demand, read_times
from cronoq_cli.engine.edges import find_target, open_edges
from cronoq_cli.engine.fixed import arm_expiry, move_reservation
from cronoq_cli.engine.graph import describe_cycle
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Edited, Moved, WantedEdge
from cronoq_cli.engine.state import State
from cronoq_cli.engine.submissions import answer_waiting_for_key, check_fits
from cronoq_cli.engine.timers import Due
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.task import Condition, TaskSpec

ROOM = 1024.0
"""By how much the tasks before a place are moved away when the numbers between two neighbours are used up."""


# -- edit ------------------------------------------------------------------------------------------------------------


def apply_edited(state: State, event: Edited, now: Now) -> list[int]:
    """Give a waiting task another spec, and other dependencies when `edges` is given.

    Raises ConflictError when it does not wait or the key is taken, InvalidError for an unknown pool, too many slots or
    a cycle."""
    task = state.tasks.get(event.id)
    if task is None or not task.is_waiting or task.leased or task.gathered_by is not None:
        raise ConflictError(f"task {event.id} is not waiting", hint="only waiting tasks can be edited")
    spec = event.spec
    wants = (spec.pool, spec.slots, read_demand(spec))
    if spec.group or wants != (task.pool, task.slots, task.demand):
        check_fits(state, spec)
    if spec.key is not None and spec.key != task.key and spec.key in state.keys:
        raise ConflictError(f"key {spec.key!r} is taken by task {state.keys[spec.key]}", code="exists")
    _check_no_cycle(state, task, event)
    move_reservation(state, task, spec, now)
    unmeetable = _respec(state, task, event, now)
    _resettle(state, task, now, stays_blocked=unmeetable is not None)
    if unmeetable is not None:
        state.skip(task, unmeetable, now)
    return [task.id]


def _check_no_cycle(state: State, task: LiveTask, event: Edited) -> None:
    """Raises InvalidError when the new edges, or edges that wait for the new key, would close a cycle."""
    if event.edges is None:
        targets = [edge.target for edge in state.graph.list_open(task.id) if edge.target is not None]
    else:
        targets = [find_target(state, edge) or 0 for edge in event.edges]
        targets += [task.id for edge in event.edges if edge.awaited is not None and edge.awaited == event.spec.key]
    answered = {edge.task: [task.id] for edge in state.graph.list_awaiting(event.spec.key or "")}
    cycle = state.graph.find_cycle(task.id, targets, answered)
    if cycle is not None:
        raise InvalidError("dependency cycle: " + describe_cycle(cycle, {}), code="cycle")


def _respec(state: State, task: LiveTask, event: Edited, now: Now) -> str | None:
    """Take the new spec over; why the task must be skipped, when a new edge can never be met."""
    spec = event.spec
    state.effects.edited[task.id] = spec
    _change_pool(state, task, spec)
    uncounted = task.max_attempts - 1 - task.policy.retries
    task.policy = state.policy_of(spec)
    task.max_attempts = 1 + task.policy.retries + max(0, uncounted)
    _change_times(state, task, spec)
    task.gathering = spec.group or ""
    _change_key(state, task, spec.key)
    return None if event.edges is None else _change_edges(state, task, event.edges, spec.await_deps_s, now)


def _change_pool(state: State, task: LiveTask, spec: TaskSpec) -> None:
    old, new = state.pools[task.pool], state.pools[spec.pool]
    had_uses = task.demand is not None and bool(task.demand.uses)
    old.unfit.pop(task.id, None)
    old.leave_status(task)
    demand, times = read_demand(spec), read_times(spec)
    if (spec.pool, spec.priority, demand, times) != (task.pool, task.priority, task.demand, task.times):
        task.entry = None
    task.pool, task.priority, task.slots = spec.pool, spec.priority, spec.slots
    task.demand, task.times = demand, times
    task.wants = task.read_wants()
    state.intern(task)
    new.enter_status(task)
    state.wake(old.name)
    if had_uses:
        state.wake_all()


def _change_times(state: State, task: LiveTask, spec: TaskSpec) -> None:
    not_before = spec.not_before if spec.start_at is None else spec.start_at
    if not_before != task.not_before:
        backs_off = task.due_at is not None and task.due_at != task.not_before
        task.due_at = max(task.due_at or 0.0, not_before or 0.0) if backs_off else not_before
        task.not_before = not_before
    arm_expiry(state, task)
    task.kill_at = spec.kill_at
    if spec.kill_at is not None:
        state.timers.arm_wall(spec.kill_at, Due.KILL_AT, task.id)


def _change_key(state: State, task: LiveTask, key: str | None) -> None:
    if key == task.key:
        return
    if task.key is not None:
        del state.keys[task.key]
    task.key = key
    if key is not None:
        state.keys[key] = task.id
        answer_waiting_for_key(state, task)


def _change_edges(state: State, task: LiveTask, edges: list[WantedEdge], await_s: float | None, now: Now) -> str | None:
    """Other edges than before; what the task replaces must be gone all the same."""
    gone = [edge for edge in state.graph.list_open(task.id) if edge.condition is Condition.GONE]
    state.forget_edges(task)
    for edge in gone:
        state.open_edge(edge)
    return open_edges(state, task, edges, await_s, now)


def _resettle(state: State, task: LiveTask, now: Now, *, stays_blocked: bool) -> None:
    """Put a changed task where it belongs now. One that backs off goes on doing so, whatever its start time is."""
    target = Status.BLOCKED if stays_blocked else state.decide_waiting(task, now)
    if task.status is target or (task.status is Status.RETRYING and target is not Status.BLOCKED):
        state.tell(task, Trigger.EDITED.value, now)
    else:
        state.move(task, Trigger.EDITED, target, now)
    state.settle(task, now)
    state.touch(task, now)


# -- move ------------------------------------------------------------------------------------------------------------


def apply_moved(state: State, event: Moved, now: Now) -> list[int]:
    """Change the place of waiting tasks within their class, keeping their order among themselves.

    Raises ConflictError when the task to stand before does not wait."""
    found = [state.tasks.get(task_id) for task_id in dict.fromkeys(event.ids) if task_id != event.before]
    tasks = [task for task in found if task is not None and task.is_waiting and not task.leased]
    tasks.sort(key=lambda task: task.seq)
    for task, seq in zip(tasks, _choose_seqs(state, tasks, event, now), strict=True):
        _place(state, task, seq, now)
        state.tell(task, "moved", now)
    return [task.id for task in tasks]


def _place(state: State, task: LiveTask, seq: float, now: Now) -> None:
    task.seq = seq
    task.entry = None
    state.touch(task, now)
    if task.status is Status.READY and not task.leased:
        state.settle(task, now)


def _choose_seqs(state: State, tasks: list[LiveTask], event: Moved, now: Now) -> list[float]:
    count = len(tasks)
    if event.before is not None:
        low, high = _find_gap(state, event.before, {task.id for task in tasks}, now)
        step = (high - low) / (count + 1)
        return [low + step * place for place in range(1, count + 1)]
    if event.first:
        state.first_seq -= count
        return [state.first_seq + place for place in range(count)]
    first = float(int(state.last_seq) + 1)
    state.last_seq = first + count - 1 if count else state.last_seq
    return [first + place for place in range(count)]


def _find_gap(state: State, before: int, moving: set[int], now: Now) -> tuple[float, float]:
    """The gap in front of a waiting task, made wide when the numbers in it are used up. Looks at every live task."""
    target = state.tasks.get(before)
    if target is None or not target.is_waiting:
        raise ConflictError(f"task {before} is not waiting", hint="--before names a waiting task")
    ahead = [task for task in state.tasks.values() if task.seq < target.seq and task.id not in moving]
    low = max((task.seq for task in ahead), default=target.seq - len(moving) - 1)
    state.first_seq = min(state.first_seq, low)
    if target.seq - low < 8 * (len(moving) + 1) * max(ulp(target.seq), ulp(low)):
        state.first_seq -= ROOM
        for task in ahead:
            _place(state, task, task.seq - ROOM, now)
        low -= ROOM
    return low, target.seq
