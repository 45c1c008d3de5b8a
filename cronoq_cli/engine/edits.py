"""Another spec for a waiting task, or another place in the queue.

Refusals that need more than the engine knows (fields, references) are the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ulp

from cronoq_cli.engine.demand import read_demand, read_times
from cronoq_cli.engine.edges import find_target, open_edges
from cronoq_cli.engine.fixed import arm_expiry, move_reservations
from cronoq_cli.engine.graph import CYCLE_HINT, describe_cycle
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Edited, EditedTogether, Moved, WantedEdge
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

    Raises ConflictError when it does not wait, the key is taken or its fixed start cannot be reserved, InvalidError for
    an unknown pool, too many slots or a cycle."""
    return apply_edited_together(state, EditedTogether([event]), now)


def apply_edited_together(state: State, event: EditedTogether, now: Now) -> list[int]:
    """Edit each of the tasks: everything that is refused is refused before the first of them changes. Raises alike."""
    tasks = [_judge(state, edit) for edit in event.edits]
    _check_keys(state, tasks, event.edits)
    _check_no_cycle(state, event.edits)
    move_reservations(state, [(task, edit.spec) for task, edit in zip(tasks, event.edits, strict=True)], now)
    for task, edit in zip(tasks, event.edits, strict=True):
        if task.is_waiting:  # the edit before may have made that it is skipped
            _apply(state, task, edit, now)
    return [task.id for task in tasks]


def _judge(state: State, edit: Edited) -> LiveTask:
    """The task to edit. Raises where its new spec alone shows that it cannot be."""
    task, spec = state.tasks.get(edit.id), edit.spec
    if task is None or not task.is_waiting or task.leased or task.gathered_by is not None:
        raise ConflictError(f"task {edit.id} is not waiting", hint="only waiting tasks can be edited")
    wants = (spec.pool, spec.slots, read_demand(spec))
    if spec.group or wants != (task.pool, task.slots, task.demand):
        check_fits(state, spec)
    return task


def _check_keys(state: State, tasks: list[LiveTask], edits: list[Edited]) -> None:
    """Raises ConflictError when a new key is another task's, or is given to two."""
    given: dict[str, int] = {}
    for task, edit in zip(tasks, edits, strict=True):
        key = edit.spec.key
        if key is None or key == task.key:
            continue
        holder = state.keys.get(key) or given.setdefault(key, task.id)
        if holder != task.id:
            raise ConflictError(f"key {key!r} is taken by task {holder}", hint="choose another key", code="exists")


def _check_no_cycle(state: State, edits: list[Edited]) -> None:
    """Raises InvalidError when the new edges, or edges that wait for a new key, would close a cycle."""
    keys = {edit.spec.key: edit.id for edit in edits if edit.spec.key is not None}
    wanted = {edit.id: _list_targets(state, edit, keys) for edit in edits}
    further = {task_id: list(targets) for task_id, targets in wanted.items()}
    for key, task_id in keys.items():
        for edge in state.graph.list_awaiting(key or ""):
            further.setdefault(edge.task, []).append(task_id)
    for task_id, targets in wanted.items():
        cycle = state.graph.find_cycle(task_id, targets, further)
        if cycle is not None:
            raise InvalidError("dependency cycle: " + describe_cycle(cycle, {}), hint=CYCLE_HINT, code="cycle")


def _list_targets(state: State, edit: Edited, keys: Mapping[str, int]) -> list[int]:
    """What a task waits for with this edit, as ids."""
    if edit.edges is None:
        return [edge.target for edge in state.graph.list_open(edit.id) if edge.target is not None]
    return [keys.get(edge.awaited or "") or find_target(state, edge) or 0 for edge in edit.edges]


def _apply(state: State, task: LiveTask, edit: Edited, now: Now) -> None:
    unmeetable = _respec(state, task, edit, now)
    _resettle(state, task, now, stays_blocked=unmeetable is not None)
    if unmeetable is not None:
        state.skip(task, unmeetable, now)


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
    ahead = [task.seq for task in state.tasks.made() if task.seq < target.seq and task.id not in moving]
    ahead += [seq for run in state.tasks.runs() if (seq := run.last_before(target.seq)) is not None]
    low = max(ahead, default=target.seq - len(moving) - 1)
    state.first_seq = min(state.first_seq, low)
    if target.seq - low < 8 * (len(moving) + 1) * max(ulp(target.seq), ulp(low)):
        state.first_seq -= ROOM
        for task in list(state.tasks.values()):
            if task.seq < target.seq and task.id not in moving:
                _place(state, task, task.seq - ROOM, now)
        low -= ROOM
    return low, target.seq
