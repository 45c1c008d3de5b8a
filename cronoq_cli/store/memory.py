"""The store in memory: the same contract in plain dictionaries, for the simulation and for tests.

Nothing is durable.
"""

from __future__ import annotations

import contextlib
import os
import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from cronoq_cli.errors import ConflictError, FencedError, StoreError
from cronoq_cli.model.history import WORKED, EndSums, Step, Window
from cronoq_cli.model.lifecycle import FINAL, LIVE
from cronoq_cli.model.notice import Incident, Notice
from cronoq_cli.model.recurring import PassedSlots, Schedule
from cronoq_cli.model.task import AttemptRecord, Batch, Edge, TaskRecord, Transition
from cronoq_cli.store.contract import Changes, Filter, Leadership, LiveState
from cronoq_cli.store.copying import copy_record
from cronoq_cli.store.memory_edges import MemoryEdges
from cronoq_cli.store.retention import decide_oldest_seq, decide_pruned
from cronoq_cli.store.selection import matches_tags, matches_text, name_pattern


class MemoryBase:
    """What several stores over one `MemoryBase` share, as several processes share a file."""

    def __init__(self) -> None:
        self.epoch = 0
        self.holder: str | None = None
        self.since: float | None = None
        self.tasks: dict[int, TaskRecord] = {}
        self.attempts: dict[tuple[int, int], AttemptRecord] = {}
        self.edges = MemoryEdges()
        self.batches: dict[int, Batch] = {}
        self.envs: dict[str, bytes] = {}
        self.stdins: dict[int, bytes] = {}
        self.pools: dict[str, dict[str, object]] = {}
        self.run_times: dict[tuple[str, str], list[float]] = {}
        self.resources: dict[str, dict[str, object]] = {}
        self.incidents: dict[str, Incident] = {}
        self.notices: dict[str, Notice] = {}
        self.schedules: dict[str, Schedule] = {}
        self.passed: dict[tuple[str, float, str], PassedSlots] = {}
        self.events: list[Transition] = []
        self.last_seq = 0
        self.highest_id = 0


class MemoryStore:
    """A `Store` that keeps copies, so that nobody changes what is stored from outside."""

    def __init__(self, base: MemoryBase | None = None) -> None:
        self._base = base or MemoryBase()
        self._epoch: int | None = None

    def store_id(self) -> str:
        """One name for all of them: nothing outlives the process."""
        return "memory"

    def schema_version(self) -> int:
        """1: there is nothing to migrate."""
        return 1

    def leadership(self) -> Leadership:
        """The epoch, and who holds it."""
        base = self._base
        return Leadership(epoch=base.epoch, holder=base.holder, since=base.since)

    def claim(self, holder: str, now: float) -> int:
        """Raise the fencing epoch and return it."""
        base = self._base
        base.epoch, base.holder, base.since = base.epoch + 1, holder, now
        self._epoch = base.epoch
        return base.epoch

    def leads(self) -> bool:
        """Whether the epoch is still the one this object claimed."""
        return self._epoch == self._base.epoch

    def release(self) -> None:
        """Give leadership up; later writes are refused."""
        if self.leads():
            self._base.holder = self._base.since = None
        self._epoch = None

    def _check_epoch(self) -> None:
        if not self.leads():
            raise FencedError("another daemon leads this store, or none was claimed")

    def commit(self, changes: Changes) -> list[int]:
        """Write everything or nothing; the seqs of the transitions. Raises FencedError, StoreError."""
        self._check_epoch()
        base = self._base
        new = [*changes.new, *(record for bulk in changes.bulks for record in bulk.iter_records())]
        ids = [record.id for record in new]
        if len(set(ids)) < len(ids) or any(task in base.tasks for task in ids):
            raise StoreError("a new task has an id that is in use")
        self._write_tasks(changes, new)
        self._write_edges(changes)
        base.batches.update((batch.first, copy_record(batch)) for batch in changes.batches)
        base.stdins.update(changes.stdins)
        _store(base.pools, changes.pools)
        _store(base.resources, changes.resources)
        _store(base.run_times, changes.run_times)
        _store(base.incidents, changes.incidents)
        _store(base.notices, changes.notices)
        self._write_schedules(changes)
        seqs = changes.number_events(base.last_seq + 1)
        self._record(changes, seqs)
        self._delete(changes.removed)
        return seqs

    def _write_tasks(self, changes: Changes, new: list[TaskRecord]) -> None:
        base = self._base
        for env_id, content in changes.envs.items():
            base.envs.setdefault(env_id, content)
        for record in new:
            base.tasks[record.id] = copy_record(record)
            base.highest_id = max(base.highest_id, record.id)
        for record in changes.updated:
            old = base.tasks.get(record.id)
            if old is not None:
                base.tasks[record.id] = copy_record(msgspec.structs.replace(record, spec=old.spec))
        for record in changes.respecced:
            if record.id in base.tasks:
                base.tasks[record.id] = copy_record(record)
        base.attempts.update(((a.task, a.number), copy_record(a)) for a in changes.attempts)

    def _write_edges(self, changes: Changes) -> None:
        edges = self._base.edges
        for edge in changes.edges_opened:
            edges.open(edge)
        for edge in changes.edges_closed:
            edges.close(edge)
        for task in changes.forgotten_edges:
            edges.close_all(task)

    def _write_schedules(self, changes: Changes) -> None:
        base = self._base
        former = {base.schedules[name].spec.template.env for name in changes.schedules if name in base.schedules}
        for name, schedule in changes.schedules.items():
            if schedule is None:
                base.schedules.pop(name, None)
            else:
                base.schedules[name] = copy_record(schedule)
        self._drop_unused(former)
        base.passed.update(((p.schedule, p.first_at, p.status), copy_record(p)) for p in changes.passed)

    def _drop_unused(self, envs: set[str]) -> None:
        """Forget those of these environments that no task and no schedule names."""
        base = self._base
        used = {task.spec.env for task in base.tasks.values()}
        used |= {schedule.spec.template.env for schedule in base.schedules.values()}
        for env in envs - used:
            base.envs.pop(env, None)

    def _record(self, changes: Changes, seqs: list[int]) -> None:
        base = self._base
        told = [msgspec.structs.replace(event, seq=seq) for event, seq in zip(changes.transitions, seqs, strict=True)]
        told += [event for bulk in changes.bulks for event in bulk.iter_events()]
        told.sort(key=lambda event: event.seq)
        base.events += told
        base.last_seq += len(told)

    def _delete(self, ids: Iterable[int]) -> None:
        base, gone = self._base, set(ids)
        if not gone:
            return
        known = [base.tasks[task] for task in gone if task in base.tasks]
        envs = {task.spec.env for task in known}
        for task in gone:
            base.tasks.pop(task, None)
            base.stdins.pop(task, None)
            base.edges.drop(task)
        base.attempts = {key: value for key, value in base.attempts.items() if key[0] not in gone}
        self._drop_unused(envs)
        for first in {task.batch for task in known if task.batch in base.batches}:
            members = range(first, base.batches[first].last + 1)
            if not any(task in members for task in base.tasks):
                del base.batches[first]

    def load_live(self) -> LiveState:
        """What recovery needs; in memory nothing is ever damaged."""
        base = self._base
        tasks = [copy_record(t) for t in base.tasks.values() if t.status in LIVE or t.leaving]
        batches = {task.batch for task in tasks}
        return LiveState(
            tasks=sorted(tasks, key=lambda t: (t.seq, t.id)),
            edges=base.edges.list_open(),
            batches=[copy_record(batch) for first, batch in sorted(base.batches.items()) if first in batches],
            pools=self.load_pools(),
            next_id=base.highest_id + 1,
            run_times=self.load_run_times(),
            resources=self.load_resources(),
            incidents={subject: copy_record(one) for subject, one in base.incidents.items()},
            schedules=self.list_schedules(),
        )

    def read_live(self) -> LiveState:
        """The same, for those who only look."""
        return self.load_live()

    def prune(
        self,
        older_than: Mapping[str, float],
        most_finished: int,
        limit: int,
        *,
        dry_run: bool = False,
        now: float | None = None,
    ) -> list[int]:
        """Delete up to `limit` finished tasks as the contract says. Raises FencedError."""
        if not dry_run:
            self._check_epoch()
        now = time.time() if now is None else now
        ended = [t for t in self._base.tasks.values() if t.status in FINAL]
        dated = sorted((t.finished_at or 0.0, t.id) for t in ended)
        over = [
            (t.finished_at, t.id)
            for t in ended
            if t.finished_at is not None
            and (
                t.finished_at < older_than.get(t.status, float("-inf"))
                if t.spec.keep_s is None
                else t.finished_at + t.spec.keep_s <= now
            )
        ]
        excess = max(0, len(dated) - most_finished)
        chosen = decide_pruned([sorted(over), dated[:excess]], self._is_needed, limit)
        if not dry_run:
            oldest = decide_oldest_seq(self._base.last_seq, most_finished)
            old = [e for e in self._base.events[: 8 * limit] if e.seq <= oldest]
            del self._base.events[: len(old)]
            self._prune_passed(older_than, most_finished)
            self._delete(chosen)
        return chosen

    def _prune_passed(self, older_than: Mapping[str, float], most: int) -> None:
        passed = self._base.passed
        for key in [key for key, one in passed.items() if one.last_at < older_than.get(one.status, float("-inf"))]:
            del passed[key]
        for key in sorted(passed, key=lambda key: (passed[key].last_at, key))[: max(0, len(passed) - most)]:
            del passed[key]

    def _is_needed(self, task: int) -> bool:
        tasks = self._base.tasks
        if tasks[task].leaving:
            return True
        dependents = map(tasks.get, self._base.edges.list_dependents(task))
        return any(found is not None and found.status in LIVE for found in dependents)

    def open_beside(self) -> MemoryStore:
        """A store over the same dictionaries: what is committed is there at once."""
        return MemoryStore(self._base)

    def at_one_moment(self) -> contextlib.AbstractContextManager[None]:
        """Nothing else happens meanwhile anyway."""
        return contextlib.nullcontext()

    def backup(self, path: str) -> None:
        """Write the tasks as JSON to a new file. Raises ConflictError where it exists."""
        if os.path.lexists(path):
            raise ConflictError(f"{path} exists already", hint="name a new file")
        with open(path, "xb") as file:
            file.write(msgspec.json.encode([msgspec.to_builtins(t) for t in self._base.tasks.values()]))

    def find_task(self, task_id: int) -> TaskRecord | None:
        """The task with that id."""
        found = self._base.tasks.get(task_id)
        return copy_record(found) if found else None

    def find_newest_with_key(self, key: str) -> TaskRecord | None:
        """The task with the highest id among those with the key."""
        found = self.list_where(Filter(key=key, newest_first=True, limit=1))
        return found[0] if found else None

    def find_newest_with_fingerprint(self, fingerprint: str, since: float) -> TaskRecord | None:
        """The newest task with the fingerprint submitted at or after `since` (unix seconds)."""
        found = [t for t in self._base.tasks.values() if t.fingerprint == fingerprint and t.submitted_at >= since]
        return copy_record(max(found, key=lambda t: t.id)) if found else None

    def list_tasks(self, ids: Iterable[int]) -> list[TaskRecord]:
        """The tasks with these ids that exist, each once, in id order."""
        return [copy_record(self._base.tasks[task]) for task in sorted(set(ids)) if task in self._base.tasks]

    def list_where(self, wanted: Filter) -> list[TaskRecord]:
        """The tasks the filter wants, in its order."""
        found = [task for task in self._base.tasks.values() if _wants(wanted, task)]
        if wanted.by_end:
            found.sort(key=lambda t: (t.finished_at or 0.0, t.id), reverse=wanted.newest_first)
        else:
            found.sort(key=lambda t: t.id, reverse=wanted.newest_first)
        return [copy_record(task) for task in found[: wanted.limit]]

    def list_ids(self, wanted: Filter) -> list[int]:
        """The ids of the tasks the filter wants, in its order."""
        return [task.id for task in self.list_where(wanted)]

    def count_by_status(self, pool: str | None = None) -> dict[str, int]:
        """How many tasks stand in each status that has any, of one pool or of all."""
        counts: dict[str, int] = {}
        for task in self._base.tasks.values():
            if pool in (None, task.spec.pool):
                counts[task.status.value] = counts.get(task.status.value, 0) + 1
        return counts

    def list_attempts(self, task_id: int) -> list[AttemptRecord]:
        """The attempts of a task, first to last."""
        return [copy_record(a) for key, a in sorted(self._base.attempts.items()) if key[0] == task_id]

    def list_edges(self, task_id: int, *, closed: bool = False) -> list[Edge]:
        """The open dependencies of a task; with `closed` also those that were closed or forgotten."""
        return [edge for edge, is_open in self._base.edges.iter_of(task_id) if is_open or closed]

    def list_dependents(self, target_id: int, *, closed: bool = False) -> list[Edge]:
        """The open dependencies on a task; with `closed` also those that were closed or forgotten."""
        return [edge for edge, is_open in self._base.edges.iter_to(target_id) if is_open or closed]

    def list_transitions(self, after_seq: int, limit: int, task_ids: Iterable[int] | None = None) -> list[Transition]:
        """Up to `limit` transitions behind `after_seq` in order, of some tasks or of all."""
        ids = None if task_ids is None else set(task_ids)
        events = self._base.events
        later = islice(events, bisect_right(events, after_seq, key=lambda event: event.seq), None)
        found = (event for event in later if ids is None or event.id in ids)
        return [copy_record(event) for event in islice(found, limit)]

    def list_transitions_before(
        self, before_seq: int, limit: int, task_ids: Iterable[int] | None = None
    ) -> list[Transition]:
        """Up to `limit` transitions before `before_seq`, the newest first, of some tasks or of all."""
        ids = None if task_ids is None else set(task_ids)
        events = reversed(self._base.events)
        found = (e for e in events if e.seq < before_seq and (ids is None or e.id in ids))
        return [copy_record(event) for event in islice(found, limit)]

    def last_transition_seq(self) -> int:
        """The seq of the newest transition, 0 before the first."""
        return self._base.last_seq

    def first_transition_at(self) -> float | None:
        """When the oldest transition still kept happened, unix seconds."""
        return self._base.events[0].at if self._base.events else None

    def sum_ends(self, window: Window, *, pool: str | None = None) -> list[EndSums]:
        """The sums over the ends in the window, by pool and kind, of one pool or of all."""
        found: dict[tuple[str, str], EndSums] = {}
        for event in self._base.events:
            name = event.pool or ""
            if event.ended is None or pool not in (None, name) or not window.since <= event.at <= window.until:
                continue
            kind = event.ended.kind
            found.setdefault((name, kind), EndSums(name, kind)).add(event.at, event.ended, window)
        for sums in found.values():
            sums.waits.sort()
            sums.runs.sort()
        return [sums for _, sums in sorted(found.items())]

    def sum_steps(self, window: Window, step_s: float, up_to_seq: int) -> dict[int, Step]:
        """The ends in the window up to an event, in steps of `step_s` seconds: step N begins at N * step_s."""
        found: dict[int, Step] = {}
        for event in self._base.events:
            end = event.ended
            if end is None or event.seq > up_to_seq or not window.since <= event.at <= window.until:
                continue
            if end.final in WORKED:
                number = int(event.at / step_s)
                found[number] = found.get(number, Step()).plus(Step(1, end.final != "succeeded"))
            if end.wait_s is not None:
                number = int((event.at - (end.run_s or 0.0)) / step_s)
                found[number] = found.get(number, Step()).plus(Step(waits=1, wait_s=end.wait_s))
        return found

    def find_env(self, env_id: str) -> bytes | None:
        """The stored environment: NUL-separated K=V."""
        return self._base.envs.get(env_id)

    def find_stdin(self, task_id: int) -> bytes | None:
        """The standard input kept with the task."""
        return self._base.stdins.get(task_id)

    def find_batch(self, first: int) -> Batch | None:
        """The batch that begins with that id."""
        found = self._base.batches.get(first)
        return copy_record(found) if found else None

    def load_run_times(self) -> dict[tuple[str, str], list[float]]:
        """What was learned of run times, by (pool, kind)."""
        return {key: list(data) for key, data in self._base.run_times.items()}

    def load_resources(self) -> dict[str, dict[str, object]]:
        """The stored state of resources changed by command, by name."""
        return {name: dict(state) for name, state in self._base.resources.items()}

    def list_notices(self) -> list[Notice]:
        """The notices whose hooks are still to run, oldest first."""
        return [copy_record(one) for one in self._base.notices.values()]

    def list_schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return [copy_record(schedule) for _, schedule in sorted(self._base.schedules.items())]

    def list_occurrences(self, name: str, limit: int, before: float | None = None) -> list[TaskRecord]:
        """The newest tasks of a schedule with a slot before `before`, newest first."""
        bound = float("inf") if before is None else before
        found = [
            (task.spec.slot, task.id, task)
            for task in self._base.tasks.values()
            if task.spec.recurring == name and task.spec.slot is not None and task.spec.slot < bound
        ]
        return [copy_record(task) for _, _, task in sorted(found, key=lambda one: one[:2], reverse=True)[:limit]]

    def list_passed(self, name: str, limit: int, before: float | None = None) -> list[PassedSlots]:
        """The newest slots of a schedule that became no task, with the first before `before`, newest first."""
        bound = float("inf") if before is None else before
        found = [key for key in self._base.passed if key[0] == name and key[1] < bound]
        return [copy_record(self._base.passed[key]) for key in sorted(found, reverse=True)[:limit]]

    def load_pools(self) -> dict[str, dict[str, object]]:
        """The stored state of pools changed by command, by name."""
        return {name: dict(state) for name, state in self._base.pools.items()}

    def close(self) -> None:
        """Nothing to close."""


def _store(kept: dict[Any, Any], changes: Mapping[Any, Any]) -> None:
    """Take copies of the changed values over; None takes one away."""
    for key, value in changes.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = copy_record(value) if isinstance(value, msgspec.Struct) else value.copy()


def _wants(wanted: Filter, task: TaskRecord) -> bool:
    spec = task.spec
    ended = task.finished_at if task.status in FINAL else None
    pattern = name_pattern(wanted.name_glob)
    return (
        (wanted.ids is None or any(first <= task.id <= last for first, last in wanted.ids))
        and (wanted.statuses is None or task.status in wanted.statuses)
        and (wanted.pools is None or spec.pool in wanted.pools)
        and (wanted.key is None or spec.key == wanted.key)
        and (wanted.after_id is None or task.id > wanted.after_id)
        and (wanted.before_id is None or task.id < wanted.before_id)
        and (wanted.finished_before is None or (ended is not None and ended < wanted.finished_before))
        and (not wanted.by_end or ended is not None)
        and (pattern is None or pattern(spec.name) is not None)
        and (wanted.text is None or matches_text(spec, wanted.text))
        and (wanted.tags is None or matches_tags(spec.tags, wanted.tags))
    )
