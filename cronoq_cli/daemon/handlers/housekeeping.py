"""Forgetting finished tasks: `rm` and `prune`, with their logs and kept input."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cronoq_cli.config.settings import RetentionSettings
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.submit import remove_kept_stdin
from cronoq_cli.engine.messages import Cancelled
from cronoq_cli.errors import ConflictError, UsageError
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.places import FILES_A_DIRECTORY
from cronoq_cli.wire.requests import Prune, Remove, Reply


def remove(desk: Desk, request: Remove) -> Reply:
    """Forget finished tasks. One that others wait for is refused, or (`cascade`) these are cancelled first."""
    desk.scheduler.check_writable()
    selection = desk.selecting.select(request.select, FINAL)
    ids = [task_id for task_id in selection.ids if desk.find_status(task_id) in FINAL]
    if selection.explicit and len(ids) < len(selection.ids):
        return _remove_live(desk, request, selection.ids)
    _check_gone(desk, ids)
    return _forget(desk, ids)


def _remove_live(desk: Desk, request: Remove, ids: list[int]) -> Reply:
    live = [task_id for task_id in ids if desk.find_status(task_id) not in FINAL]
    graph = desk.scheduler.engine.state.graph
    waiting = sorted({edge.task for task_id in live for edge in graph.list_dependents(task_id)} - set(ids))
    first = live[0]
    if waiting and not request.cascade:
        raise ConflictError(f"task {waiting[0]} waits for task {first}", hint="--cascade cancels what waits for it")
    if not request.cascade:
        raise ConflictError(f"task {first} has not ended", hint=f"cronoq cancel {first}")
    desk.scheduler.apply(Cancelled([*waiting, *live], reason="removed"))
    desk.scheduler.must_commit()
    gone = [task_id for task_id in ids if desk.scheduler.find_live(task_id) is None]
    reply = _forget(desk, gone)
    if len(gone) < len(ids):
        reply.notes.append("the running ones are being stopped; remove them when they are gone")
    return reply


def _check_gone(desk: Desk, ids: list[int]) -> None:
    for task_id in ids:
        if desk.scheduler.find_live(task_id) is not None:
            raise ConflictError(f"task {task_id} still ends: its processes are not gone", hint="try again in a moment")


def _forget(desk: Desk, ids: list[int]) -> Reply:
    documents = [desk.describe(record) for record in desk.scheduler.list_records(ids)]
    desk.scheduler.add_rows(removed=ids)
    desk.scheduler.must_commit()
    remove_files_of(desk, ids)
    return Reply(doc={"tasks": documents})


def remove_files_of(desk: Desk, ids: Iterable[int]) -> None:
    """Drop the logs and the kept input of forgotten tasks; what is not there need not go."""
    for task_id in ids:
        _remove_files(desk, task_id)


def _remove_files(desk: Desk, task_id: int) -> None:
    remove_kept_stdin(desk.paths.stdin_dir, task_id)
    directory = os.path.join(desk.paths.logs_dir, str(task_id // FILES_A_DIRECTORY))
    mark = f"{task_id}."
    try:
        names = [name for name in os.listdir(directory) if name.startswith(mark)]
    except OSError:
        return
    for name in names:
        try:
            os.unlink(os.path.join(directory, name))
        except OSError:
            continue


def prune(desk: Desk, request: Prune) -> Reply:
    """Forget finished tasks older than asked; the count, and with dry_run only that."""
    desk.scheduler.check_writable()
    known = [status.value for status in FINAL]
    statuses = [word.replace("-", "_") for word in request.statuses] or known
    for word in statuses:
        if word not in known:
            raise UsageError(f"no final status {word!r}", hint=", ".join(sorted(known)))
    moment = desk.now().wall - request.older_than_s
    older = dict.fromkeys(statuses, moment)
    dry_run = request.dry_run
    ids: list[int] = desk.scheduler.write(lambda store: store.prune(older, 2**62, 2**62, dry_run=dry_run))
    if not dry_run:
        remove_files_of(desk, ids)
    return Reply(doc={"pruned": len(ids), "dry_run": dry_run})


def decide_retention(retention: RetentionSettings, wall: float) -> dict[str, float]:
    """For each final status the moment before which its tasks are forgotten."""
    kept_s = {Status.SUCCEEDED: retention.succeeded_s, Status.DEAD_LETTERED: retention.dead_lettered_s}
    return {status.value: wall - kept_s.get(status, retention.failed_s) for status in FINAL}
