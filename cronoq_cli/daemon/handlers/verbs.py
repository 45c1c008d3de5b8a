"""What people do to tasks: cancel, hold, release, retry, start now, move, edit, signal.

Each handler selects, refuses what its verb cannot act on before anything changes, and gives the engine one event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.submit import resolve_dependencies
from cronoq_cli.daemon.parked import Unsettled
from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    EditedTogether,
    Event,
    Held,
    Moved,
    Released,
    Retried,
    Revival,
    Signalled,
    StartedNow,
    WantedEdge,
)
from cronoq_cli.errors import ConflictError, InvalidError, NotFoundError
from cronoq_cli.model.lifecycle import FINAL, LIVE, WAITING, Status
from cronoq_cli.model.task import Batch, TaskRecord
from cronoq_cli.wire.requests import (
    Cancel,
    Edit,
    EditEach,
    Hold,
    Move,
    Release,
    Reply,
    Retry,
    Selector,
    Signal,
    StartNow,
    TaskChanges,
)

_ABLE = {"waiting": WAITING, "waiting and running": LIVE, "ended": FINAL, "held": {Status.BLOCKED}}
"""What statuses are together called by people."""
NEVER_RAN = frozenset({Status.SKIPPED})


def cancel(desk: Desk, request: Cancel) -> Reply:
    """Cancel live tasks, or put them among the dead letters."""
    desk.scheduler.check_writable()
    leaving = _list_leaving(desk, request)
    ids = leaving or _select(desk, request.select, LIVE, "cancelled")
    return _apply(desk, Cancelled(ids, dead=request.dead, grace_s=request.grace_s))


def _list_leaving(desk: Desk, request: Cancel) -> list[int]:
    """The named tasks, when all of them are cancelled already and their processes still go: they can be hurried."""
    if request.grace_s is None or not request.select.refs:
        return []
    ids = desk.selecting.select(request.select, LIVE).ids
    tasks = [desk.scheduler.find_live(task_id) for task_id in ids]
    return ids if all(task is not None and task.leaving for task in tasks) else []


def hold(desk: Desk, request: Hold) -> Reply:
    """Hold waiting tasks."""
    ids = _select(desk, request.select, WAITING, "held")
    _settle(desk, ids)
    return _apply(desk, Held(ids))


def release(desk: Desk, request: Release) -> Reply:
    """Release held tasks."""
    ids = _select(desk, request.select, {Status.BLOCKED}, "released")
    held = [task_id for task_id in ids if _is_held(desk, task_id)]
    if not held:
        raise ConflictError("none of these is held", hint="cronoq ls shows what waits and why")
    return _apply(desk, Released(held))


def _is_held(desk: Desk, task_id: int) -> bool:
    task = desk.scheduler.find_live(task_id)
    return task is not None and task.held


def start_now(desk: Desk, request: StartNow) -> Reply:
    """Skip the waiting time of scheduled and retrying tasks."""
    return _apply(desk, StartedNow(_select(desk, request.select, {Status.SCHEDULED, Status.RETRYING}, "started now")))


def signal(desk: Desk, request: Signal) -> Reply:
    """Send a signal to the process trees of running tasks."""
    return _apply(desk, Signalled(_select(desk, request.select, {Status.RUNNING}, "signalled"), request.signal))


def move(desk: Desk, request: Move) -> Reply:
    """Change the place of waiting tasks, or their pool."""
    ids = _select(desk, request.select, WAITING, "moved")
    before = _resolve_one(desk, request.before) if request.before is not None else None
    _settle(desk, ids if before is None else [*ids, before])
    if request.pool is not None:
        desk.scheduler.engine.state.get_pool(request.pool)
        return _apply(desk, EditedTogether([_build_edit(desk, one, TaskChanges(pool=request.pool)) for one in ids]))
    if before is not None and before in ids:
        raise ConflictError(f"task {before} cannot stand before itself", hint="name another waiting task")
    return _apply(desk, Moved(ids, first=request.first, before=before))


def _resolve_one(desk: Desk, ref: str) -> int:
    ids = desk.selecting.resolve(ref)
    if len(ids) != 1:
        raise InvalidError(f"{ref!r} means {len(ids)} tasks", hint="--before names one waiting task")
    return ids[0]


# -- edit ------------------------------------------------------------------------------------------------------------


def edit(desk: Desk, request: Edit) -> Reply:
    """Change waiting tasks."""
    return edit_each(desk, EditEach([request]))


def edit_each(desk: Desk, request: EditEach) -> Reply:
    """Change waiting tasks, each in its own way. Raises InvalidError where two changes are of the same task."""
    chosen = [(_select(desk, one.select, WAITING, "edited"), one.changes) for one in request.edits]
    ids = [task_id for found, _ in chosen for task_id in found]
    twice = next((task_id for task_id, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise InvalidError(f"task {twice} would be changed twice", hint="name it in one of the changes")
    _settle(desk, ids)
    edits = [_build_edit(desk, task_id, given) for found, given in chosen for task_id in found]
    return _apply(desk, EditedTogether(edits))


def _build_edit(desk: Desk, task_id: int, changes: TaskChanges) -> Edited:
    record = desk.get_record(task_id)
    given: dict[str, Any] = {
        name: value for name in changes.__struct_fields__ if (value := getattr(changes, name)) is not msgspec.UNSET
    }
    if "env_changes" in given:
        given["env_changes"] = {**record.spec.env_changes, **given["env_changes"]}
    spec = msgspec.structs.replace(record.spec, **given)
    if "command" in given:
        spec.shell_line = None
    elif "shell_line" in given:
        spec.command = None
    edges: list[WantedEdge] | None = None
    if "after" in given:
        edges = resolve_dependencies(desk, spec, {})
    return Edited(task_id, spec, edges)


# -- retry -----------------------------------------------------------------------------------------------------------


def retry(desk: Desk, request: Retry) -> Reply:
    """Run final tasks again under their ids; with those skipped because of them, or a note how many there are."""
    desk.scheduler.check_writable()
    usual = {Status.FAILED, Status.DEAD_LETTERED}
    ids = _select(desk, request.select, FINAL, "retried", usual=usual)
    records = {task_id: desk.get_record(task_id) for task_id in ids}
    skipped = _list_skipped(desk, records)
    notes = []
    if skipped and request.with_dependents:
        records.update({record.id: record for record in skipped})
    elif skipped:
        notes.append(f"{len(skipped)} skipped because of these stay skipped: --with-dependents revives them too")
    revivals = [
        Revival(record, _edges_of_revived(desk, record, records), batch=_find_batch(desk, record))
        for record in records.values()
    ]
    revived = desk.scheduler.apply(Retried(revivals))
    desk.scheduler.must_commit()
    reply = _answer(desk, revived)
    reply.notes = notes
    return reply


def _find_batch(desk: Desk, record: TaskRecord) -> Batch | None:
    """The batch a task is of, also when its last change is not committed yet."""
    if record.batch is None:
        return None
    pending = desk.scheduler.engine.state.effects.batches.get(record.batch)
    return desk.scheduler.store.find_batch(record.batch) if pending is None else msgspec.structs.replace(pending)


def _list_skipped(desk: Desk, records: dict[int, TaskRecord]) -> list[TaskRecord]:
    """Tasks skipped because of these, and so on down the graph."""
    found: dict[int, TaskRecord] = {}
    frontier = list(records)
    while frontier:
        for edge in desk.scheduler.store.list_dependents(frontier.pop(), closed=True):
            if edge.task in found or edge.task in records:
                continue
            record = desk.scheduler.find_record(edge.task)
            if record is not None and record.status in NEVER_RAN:
                found[edge.task] = record
                frontier.append(edge.task)
    return list(found.values())


def _edges_of_revived(desk: Desk, record: TaskRecord, revived: dict[int, TaskRecord]) -> list[WantedEdge]:
    """A revived task waits again for what is live or revived with it; what ended before counts no more."""
    edges = []
    for edge in desk.scheduler.store.list_edges(record.id, closed=True):
        live = edge.target is not None and desk.scheduler.find_live(edge.target) is not None
        if edge.target is not None and (live or edge.target in revived):
            edges.append(WantedEdge(edge.condition, target=edge.target))
    return edges


# -- what the verbs share ----------------------------------------------------------------------------------------------


def _select(
    desk: Desk, selector: Selector, able: Iterable[Status], done: str, *, usual: Iterable[Status] | None = None
) -> list[int]:
    """The ids a verb acts on. Named tasks it cannot act on are refused; of filtered ones the able are taken."""
    desk.scheduler.check_writable()
    wanted = frozenset(able)
    selection = desk.selecting.select(selector, wanted if usual is None else usual)
    able_ids = [task_id for task_id in selection.ids if desk.find_status(task_id) in wanted]
    if selection.explicit and len(able_ids) < len(selection.ids):
        refused = next(task_id for task_id in selection.ids if task_id not in set(able_ids))
        status = desk.find_status(refused)
        word = "gone" if status is None else str(status).replace("_", "-")
        message = f"task {refused} cannot be {done}: it is {_already(status)}{word}"
        raise ConflictError(message, hint=f"only {_tell_able(wanted)} tasks can be")
    if not able_ids:
        raise NotFoundError("nothing matched", hint="cronoq ls --limit all shows what there is")
    return able_ids


def _tell_able(able: frozenset[Status]) -> str:
    """Those tasks that a verb can act on, in a word or two."""
    for word, statuses in _ABLE.items():
        if able == frozenset(statuses):
            return word
    return " or ".join(sorted(able))


def _already(status: Status | None) -> str:
    return "already " if status in FINAL else ""


def _settle(desk: Desk, ids: Iterable[int]) -> None:
    """Have leased ones come back from the runner first; the request is run again then."""
    tasks = map(desk.scheduler.find_live, ids)
    leased = [task.id for task in tasks if task is not None and task.leased and not task.leaving]
    if leased:
        raise Unsettled(leased)


def _apply(desk: Desk, event: Event) -> Reply:
    changed: list[int] = desk.scheduler.apply(event)
    desk.scheduler.must_commit()
    return _answer(desk, changed)


def _answer(desk: Desk, ids: list[int]) -> Reply:
    describe: Callable[[TaskRecord], dict[str, object]] = desk.describe
    return Reply(doc={"tasks": [describe(record) for record in desk.scheduler.list_records(ids)]})
