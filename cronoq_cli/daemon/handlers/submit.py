"""Submissions: references resolved, duplicates found, then one event. Also `rerun`, which submits copies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import msgspec

from cronoq_cli.daemon.collector import rest_collector
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.parked import AwaitRoom
from cronoq_cli.engine.bounds import NoRoomError
from cronoq_cli.engine.messages import Accepted, Newcomer, Submitted, WantedEdge
from cronoq_cli.engine.resources import CATCH_UP
from cronoq_cli.errors import InvalidError, NotFoundError, TryLaterError
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.task import Dependency, TaskRecord, TaskSpec
from cronoq_cli.model.words import RESERVED_KEY, hint_for, is_key
from cronoq_cli.wire.requests import Reply, Rerun, Submit

MOST_DESCRIBED = 1000
"""Documents of a submission's tasks in its answer; of a larger one the ids tell."""


Keys = dict[str | None, int]
"""Index of the spec that has a key, of one submission."""


def submit(desk: Desk, request: Submit) -> Reply | Callable[[], Reply]:
    """Queue tasks, all or none; the answer has their documents, or those that stood there already.

    It is put together when they are committed and ordered from the runner: nothing waits for words about them."""
    check_accepting(desk)
    if len(request.specs) > MOST_DESCRIBED:
        rest_collector()
    newcomers = _build_newcomers(desk, request)
    if request.dry_run:
        return Reply(doc={"tasks": [], "dry_run": True, "count": len(newcomers)})
    members = len(newcomers) if request.members is None else request.members
    event = Submitted(newcomers, request.batch, members, request.limit, request.max_fails)
    try:
        accepted: Accepted = desk.scheduler.apply(event)
    except NoRoomError as full:
        if full.waits and not request.no_wait:
            raise AwaitRoom(full.pool) from full
        raise
    desk.scheduler.must_commit()
    _keep_belongings(desk, request, accepted)
    return _answer(desk, accepted, members, brief=request.brief)


def check_accepting(desk: Desk) -> None:
    """Raises TryLaterError while nothing new is taken: the store refuses, the daemon drains, the disk is full."""
    desk.scheduler.check_writable()
    if desk.scheduler.engine.state.draining or desk.scheduler.engine.state.stopping:
        raise TryLaterError("the daemon is draining or stopping", hint="try again when it runs again", code="draining")
    desk.check_space()


def _build_newcomers(desk: Desk, request: Submit) -> list[Newcomer]:
    keys: Keys = {spec.key: index for index, spec in enumerate(request.specs) if spec.key is not None}
    newcomers = []
    pools = desk.scheduler.engine.state.pools
    for index, spec in enumerate(request.specs):
        if spec.key is None and spec.unique_s is None and not spec.after and spec.pool in pools:
            newcomers.append(Newcomer(spec))
            continue
        try:
            newcomers.append(_build_newcomer(desk, spec, keys))
        except (InvalidError, NotFoundError) as error:
            if request.lines is None or index >= len(request.lines):
                raise
            raise InvalidError(
                f"line {request.lines[index]}: {error.message}", hint=error.hint, code=error.code
            ) from error
    return newcomers


def _build_newcomer(desk: Desk, spec: TaskSpec, keys: Keys) -> Newcomer:
    _check_pool(desk, spec.pool)
    fingerprint = None if spec.unique_s is None else decide_fingerprint(spec)
    existing = _find_existing(desk, spec, fingerprint)
    edges = resolve_dependencies(desk, spec, keys)
    final = None if existing is None else _find_final(desk, existing)
    return Newcomer(spec, edges, existing, fingerprint, existing_final=final)


def _check_pool(desk: Desk, name: str) -> None:
    known = desk.scheduler.engine.state.pools
    if name not in known:
        raise InvalidError(f"unknown pool {name!r}", hint=hint_for(name, list(known)), code="unknown-pool")


def decide_fingerprint(spec: TaskSpec) -> str:
    """What `--unique` compares: command, directory and pool."""
    import hashlib

    what = [spec.command, spec.shell_line, spec.shell, spec.cwd, spec.pool]
    return hashlib.sha256(json.dumps(what).encode("ascii")).hexdigest()[:32]


def _find_existing(desk: Desk, spec: TaskSpec, fingerprint: str | None) -> int | None:
    """A task outside the engine that stands for this one: the same key remembered (`--once`), or the same command."""
    if spec.key is not None and spec.once and spec.if_exists != "replace":
        found = desk.selecting.find_key(spec.key)
        if found is not None:
            return found
    if fingerprint is None:
        return None
    since = desk.now().wall - (spec.unique_s or 0.0)
    pending = desk.scheduler.engine.state.effects.touched.values()
    fresh = [task.id for task in pending if task.facts and task.facts.get("fingerprint") == fingerprint]
    if fresh:
        return max(fresh)
    record = desk.scheduler.store.find_newest_with_fingerprint(fingerprint, since)
    return None if record is None else record.id


def resolve_dependencies(desk: Desk, spec: TaskSpec, keys: Keys) -> list[WantedEdge]:
    """The edges of a spec, whose dependencies know from now on what a key meant, and have an id for `last`."""
    edges: list[WantedEdge] = []
    after: list[Dependency] = []
    for dependency in spec.after:
        found = _resolve_dependency(desk, dependency, spec, keys)
        edges += found
        after.append(_settle(dependency, found))
    spec.after = after
    return edges


def _settle(asked: Dependency, found: list[WantedEdge]) -> Dependency:
    if asked.ref == RESERVED_KEY:
        return Dependency(str(found[0].target), asked.condition)
    if is_key(asked.ref):
        return Dependency(asked.ref, asked.condition, found[0].target)
    return asked


def _resolve_dependency(desk: Desk, dependency: Dependency, spec: TaskSpec, keys: Keys) -> list[WantedEdge]:
    """The edges of one reference: a member of the same submission (`#N`, or its key), tasks, or a key to come."""
    ref, condition = dependency.ref, dependency.condition
    if ref.startswith("#") and ref[1:].isdecimal():
        return [WantedEdge(condition, index=int(ref[1:]))]
    if ref in keys:
        return [WantedEdge(condition, index=keys[ref])]
    await_s = spec.await_deps_s if spec.await_deps_s is not None else desk.pool_settings(spec.pool).await_deps_s
    try:
        ids = desk.selecting.resolve(ref)
    except NotFoundError as error:
        if await_s is not None and is_key(ref):
            spec.await_deps_s = await_s
            return [WantedEdge(condition, awaited=ref)]
        hint = f"{error.hint}; --await-deps waits for a key to come" if is_key(ref) else error.hint
        raise InvalidError(f"unknown dependency: {error.message}", hint=hint, code="unknown-dependency") from error
    return [_want(desk, task_id, dependency) for task_id in ids]


def _want(desk: Desk, task_id: int, dependency: Dependency) -> WantedEdge:
    if desk.scheduler.find_live(task_id) is not None:
        return WantedEdge(dependency.condition, target=task_id)
    return WantedEdge(dependency.condition, target=task_id, final=_find_final(desk, task_id))


def _find_final(desk: Desk, task_id: int) -> Status | None:
    """The end of a task that has ended, else None."""
    status = desk.find_status(task_id)
    return status if status in FINAL else None


def _keep_belongings(desk: Desk, request: Submit, accepted: Accepted) -> None:
    if request.envs:
        desk.scheduler.add_rows(envs=request.envs)
    stdins = {accepted.ids[i]: blob for i, blob in request.stdins.items() if accepted.ids[i] not in accepted.duplicates}
    if stdins:
        desk.scheduler.add_rows(stdins=stdins)


def _answer(desk: Desk, accepted: Accepted, members: int, *, brief: bool = False) -> Callable[[], Reply]:
    """The answer, to be put together later of what stands now."""
    shown = accepted.ids[:members]
    records = None if brief or len(shown) > MOST_DESCRIBED else desk.scheduler.list_records(shown)
    return lambda: _describe(desk, accepted, shown, records)


def _describe(desk: Desk, accepted: Accepted, shown: list[int], records: list[TaskRecord] | None) -> Reply:
    notes = [f"task {task_id} is there already: nothing new was queued" for task_id in sorted(accepted.duplicates)]
    doc: dict[str, Any] = {"ids": shown, "batch": None}
    fresh = [task_id for task_id in shown if task_id not in accepted.duplicates]
    if accepted.batch is not None and fresh:
        doc["batch"] = f"{fresh[0]}-{fresh[-1]}" if len(fresh) > 1 else str(fresh[0])
    if records is not None:
        with desk.scheduler.looking():
            doc["tasks"] = [desk.describe(record, duplicate=record.id in accepted.duplicates) for record in records]
    return Reply(doc=doc, notes=notes)


def rerun(desk: Desk, request: Rerun) -> Callable[[], Reply]:
    """Submit copies of tasks under new ids: the same spec, no key while its holder is live, no dependencies."""
    check_accepting(desk)
    ids = desk.selecting.select(request.select, FINAL).ids
    newcomers = []
    stdins = {}
    for index, task_id in enumerate(ids):
        record = desk.get_record(task_id)
        spec = msgspec.structs.replace(
            record.spec,
            after=[],
            key=None,
            once=False,
            unique_s=None,
            hold=False,
            recurring="",
            slot=None,
            uses={name: amount for name, amount in record.spec.uses.items() if name != CATCH_UP},
            **dict.fromkeys(("not_before", "start_at", "deadline", "expires_at", "kill_at")),
        )
        newcomers.append(Newcomer(spec))
        if spec.stdin_kept:
            stdins[index] = desk.scheduler.store.find_stdin(task_id) or b""
    accepted: Accepted = desk.scheduler.apply(Submitted(newcomers))
    desk.scheduler.must_commit()
    _keep_belongings(desk, Submit(specs=[], stdins=stdins), accepted)
    return _answer(desk, accepted, len(ids))


def remove_kept_stdin(stdin_dir: str, task_id: int) -> None:
    """Drop the file that kept input was laid out in, if there is one."""
    try:
        os.unlink(os.path.join(stdin_dir, str(task_id)))
    except OSError:
        return
