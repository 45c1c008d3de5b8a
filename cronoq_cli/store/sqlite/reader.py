"""Reads of a store, on the writer's connection or on one of their own; they see what is committed. No writes here."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.notice import Incident, Notice
from cronoq_cli.model.recurring import PassedSlots, Schedule
from cronoq_cli.model.task import AttemptRecord, Batch, Edge, TaskRecord, TaskSpec, Transition
from cronoq_cli.store.contract import Filter, Leadership, LiveState
from cronoq_cli.store.selection import matches_tags, matches_text, name_pattern
from cronoq_cli.store.sqlite import prune, queries, rows
from cronoq_cli.store.sqlite.faults import damaged, translate_fault

if TYPE_CHECKING:
    from cronoq_cli.model.history import EndSums, Step, Window

_CHUNK = 500
_RANGES_AT_ONCE = 100
_FEW = frozenset({Status.RUNNING, Status.RETRYING})
"""Live statuses that few tasks are in."""
_PLAIN_WORDS = re.compile(r"[A-Za-z0-9./:@+=,-]+")
"""What stands in JSON as it is, and means nothing to LIKE."""


class SqliteReader:
    """A `StoreReader` over one connection; from one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._db = connection
        self._path = path
        self._closed = False

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[rows.Row]:
        """All rows; a text that is no UTF-8 comes with its bad bytes escaped. Raises StoreError."""
        try:
            return self._fetch(sql, parameters)
        except UnicodeEncodeError:
            return self._rows(sql, rows.bound_row(parameters))
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise translate_fault(error, self._path) from error
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error
        self._db.text_factory = _lenient
        try:
            return self._fetch(sql, parameters)
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error
        finally:
            self._db.text_factory = str

    def _fetch(self, sql: str, parameters: Sequence[object]) -> list[rows.Row]:
        return self._db.execute(sql, parameters).fetchall()

    def _row(self, sql: str, parameters: Sequence[object] = ()) -> rows.Row | None:
        found = self._rows(sql, parameters)
        return found[0] if found else None

    def _value(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        found = self._rows(sql, parameters)
        return found[0][0] if found else None

    def _tasks(self, sql: str, parameters: Sequence[object] = ()) -> list[TaskRecord]:
        return [_decode(row) for row in self._rows(sql, parameters)]

    def store_id(self) -> str:
        """The random name the store got when it was made."""
        found = self._value(queries.GET_META, ("store_id",))
        if not isinstance(found, str):
            raise damaged(self._path, "it has no store id")
        return found

    def schema_version(self) -> int:
        """The number of the last migration."""
        return int(self._value("PRAGMA user_version"))

    def leadership(self) -> Leadership:
        """The epoch, and who holds it."""
        found = self._row(queries.LEADERSHIP)
        if found is None:
            raise damaged(self._path, "it has no epoch")
        return Leadership(epoch=found[0], holder=rows.plain_text(found[1]), since=found[2])

    def find_task(self, task_id: int) -> TaskRecord | None:
        """The task with that id; one that cannot be decoded appears as failed with the reason."""
        found = self._rows(queries.TASK, (task_id,))
        return _decode(found[0]) if found else None

    def find_newest_with_key(self, key: str) -> TaskRecord | None:
        """The task with the highest id among those with the key."""
        found = self._tasks(queries.NEWEST_WITH_KEY, (key,))
        return found[0] if found else None

    def find_newest_with_fingerprint(self, fingerprint: str, since: float) -> TaskRecord | None:
        """The newest task with the fingerprint submitted at or after `since` (unix seconds)."""
        for row in self._rows(queries.WITH_FINGERPRINT, (fingerprint,)):
            task = _decode(row)
            if task.submitted_at >= since:
                return task
        return None

    def list_tasks(self, ids: Iterable[int]) -> list[TaskRecord]:
        """The tasks with these ids that exist, each once, in id order."""
        return [
            record
            for chunk in _chunks(sorted(set(ids)))
            for record in self._tasks(queries.TASKS.format(marks=queries.marks(len(chunk))), chunk)
        ]

    def list_where(self, wanted: Filter) -> list[TaskRecord]:
        """The tasks the filter wants, in its order."""
        return [_decode(row[2:]) for row in self._list_rows(f"finished_at, id, {queries.TASK_COLUMNS}", wanted)]

    def list_ids(self, wanted: Filter) -> list[int]:
        """The ids of the tasks the filter wants, in its order."""
        return [row[1] for row in self._list_rows("finished_at, id", wanted)]

    def _list_rows(self, columns: str, wanted: Filter) -> list[rows.Row]:
        """These columns, the end and the id first, of the tasks the filter wants, in its order."""
        found: list[rows.Row] = []
        parts = _parts(wanted)
        for part in parts:
            found += self._rows(*self._select(columns, wanted, part, _room(wanted, len(found))))
        if wanted.by_end and len(parts) > 1:
            found.sort(key=lambda row: (row[0] or 0.0, row[1]), reverse=wanted.newest_first)
        return found[: wanted.limit]

    def _select(
        self, columns: str, wanted: Filter, spans: list[tuple[int, int]] | None, limit: int | None
    ) -> tuple[str, list[Any]]:
        """The statement that reads these columns of what the filter wants, and its values."""
        source, conditions, values = _conditions(wanted, spans)
        if wanted.name_glob is not None or wanted.tags is not None:
            self._teach(wanted)
            conditions.append("cronoq_wants(CAST(name AS BLOB), CAST(tags AS BLOB))")
        if wanted.text is not None:
            self._db.create_function("cronoq_has", 1, _text_test(wanted.text))
            # What SQLite can tell by itself first: calling back for each of a hundred thousand rows takes a second.
            if word := max(_PLAIN_WORDS.findall(wanted.text), key=len, default=""):
                conditions.append("CAST(spec AS TEXT) LIKE ?")
                values.append(f"%{word}%")
            conditions.append("cronoq_has(CAST(spec AS BLOB))")
        down = "DESC" if wanted.newest_first else "ASC"
        order = f"finished_at {down}, id {down}" if wanted.by_end else f"id {down}"
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        values.append(-1 if limit is None else limit)
        return f"SELECT {columns} FROM {source} {where} ORDER BY {order} LIMIT ?", values

    def _teach(self, wanted: Filter) -> None:
        """Give SQLite the judgement of names and tags that it cannot make: fnmatch, and lone surrogates."""
        pattern = name_pattern(wanted.name_glob)
        tags = wanted.tags

        def wants(name: Any, stored: Any) -> bool:
            if pattern is not None and pattern(rows.plain_text(name)) is None:
                return False
            return tags is None or matches_tags(rows.decode_tags(stored), tags)

        self._db.create_function("cronoq_wants", 2, wants)

    def count_by_status(self, pool: str | None = None) -> dict[str, int]:
        """How many tasks stand in each status that has any, of one pool or of all."""
        condition, values = ("", ()) if pool is None else ("AND pool = ?", (pool,))
        counts: dict[str, int] = {}
        for sql in (queries.COUNT_LIVE, queries.COUNT_FINAL):
            counts.update(self._rows(sql.format(pool=condition), values))
        return counts

    def list_attempts(self, task_id: int) -> list[AttemptRecord]:
        """The attempts of a task, first to last."""
        return [rows.decode_attempt(row) for row in self._rows(queries.ATTEMPTS, (task_id,))]

    def list_edges(self, task_id: int, *, closed: bool = False) -> list[Edge]:
        """The open dependencies of a task; with `closed` also those that were closed or forgotten."""
        return [rows.decode_edge(row) for row in self._rows(queries.EDGES, (task_id, 0 if closed else 1))]

    def list_dependents(self, target_id: int, *, closed: bool = False) -> list[Edge]:
        """The open dependencies on a task; with `closed` also those that were closed or forgotten."""
        found = self._rows(queries.DEPENDENTS, (target_id, 0 if closed else 1))
        return [rows.decode_edge(row) for row in found]

    def list_transitions(self, after_seq: int, limit: int, task_ids: Iterable[int] | None = None) -> list[Transition]:
        """Up to `limit` transitions behind `after_seq` in order, of some tasks or of all."""
        found = self._event_rows((queries.EVENTS, queries.EVENTS_OF), after_seq, limit, task_ids)
        return [rows.decode_event(row) for row in sorted(found)[:limit]]

    def list_transitions_before(
        self, before_seq: int, limit: int, task_ids: Iterable[int] | None = None
    ) -> list[Transition]:
        """Up to `limit` transitions before `before_seq`, the newest first, of some tasks or of all."""
        found = self._event_rows((queries.EVENTS_BEFORE, queries.EVENTS_BEFORE_OF), before_seq, limit, task_ids)
        return [rows.decode_event(row) for row in sorted(found, reverse=True)[:limit]]

    def _event_rows(self, sql: tuple[str, str], seq: int, limit: int, task_ids: Iterable[int] | None) -> list[rows.Row]:
        """The rows that one of two statements finds: of all events, or of some tasks'."""
        if task_ids is None:
            return self._rows(sql[0], (seq, limit))
        return [
            row
            for chunk in _chunks(sorted(set(task_ids)))
            for row in self._rows(sql[1].format(marks=queries.marks(len(chunk))), (seq, *chunk, limit))
        ]

    def last_transition_seq(self) -> int:
        """The seq of the newest transition, 0 before the first."""
        return self._value(queries.LAST_SEQ) or 0

    def sum_ends(self, window: Window, *, pool: str | None = None) -> list[EndSums]:
        """The sums over the ends in the window, by pool and kind, of one pool or of all."""
        from cronoq_cli.store.sqlite import ends  # only who looks at statistics needs it

        try:
            return ends.sum_ends(self._db, window, pool)
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error

    def sum_steps(self, window: Window, step_s: float, up_to_seq: int) -> dict[int, Step]:
        """The ends in the window up to an event, in steps of `step_s` seconds: step N begins at N * step_s."""
        from cronoq_cli.store.sqlite import ends

        try:
            return ends.sum_steps(self._db, window, step_s, up_to_seq)
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error

    def first_transition_at(self) -> float | None:
        """When the oldest transition still kept happened, unix seconds."""
        found = self._rows(queries.FIRST_EVENT)
        return rows.decode_event(found[0]).at if found else None

    def find_env(self, env_id: str) -> bytes | None:
        """The stored environment: NUL-separated K=V."""
        found: bytes | None = self._value(queries.ENV, (env_id,))
        return found

    def find_stdin(self, task_id: int) -> bytes | None:
        """The standard input kept with the task."""
        found: bytes | None = self._value(queries.STDIN, (task_id,))
        return found

    def find_batch(self, first: int) -> Batch | None:
        """The batch that begins with that id."""
        found = self._row(queries.BATCH, (first,))
        return rows.decode_batch(found) if found else None

    def load_run_times(self) -> dict[tuple[str, str], list[float]]:
        """What was learned of run times, by (pool, kind); what cannot be read is left out: it is learned anew."""
        found: dict[tuple[str, str], list[float]] = {}
        for pool, kind, data in self._rows(queries.RUN_TIMES):
            with contextlib.suppress(rows.DamagedRowError):
                found[rows.plain_text(pool), rows.plain_text(kind)] = rows.decode_json(data, list[float])
        return found

    def load_resources(self) -> dict[str, dict[str, object]]:
        """The stored state of resources changed by command, by name; what cannot be read is left out."""
        found: dict[str, dict[str, object]] = {}
        for name, data in self._rows(queries.RESOURCES):
            with contextlib.suppress(rows.DamagedRowError):
                found[rows.plain_text(name)] = rows.decode_json(data, dict[str, object])
        return found

    def list_notices(self) -> list[Notice]:
        """The notices whose hooks are still to run, oldest first; what cannot be read is left out."""
        found: list[Notice] = []
        for (data,) in self._rows(queries.NOTICES):
            with contextlib.suppress(rows.DamagedRowError):
                found.append(rows.decode_json(data, Notice))
        return found

    def list_schedules(self) -> list[Schedule]:
        """All schedules that can be decoded, by name."""
        return self._read_schedules()[0]

    def _read_schedules(self) -> tuple[list[Schedule], dict[str, str]]:
        """The schedules by name, and the names of those that cannot be decoded, with the reason."""
        found, damaged_rows = [], {}
        for row in self._rows(queries.SCHEDULES):
            try:
                found.append(rows.decode_schedule(row))
            except rows.DamagedRowError as error:
                damaged_rows[rows.plain_text(row[0])] = str(error)
        return found, damaged_rows

    def list_occurrences(self, name: str, limit: int, before: float | None = None) -> list[TaskRecord]:
        """The newest tasks of a schedule with a slot before `before`, newest first."""
        return self._tasks(queries.OCCURRENCES, (name, float("inf") if before is None else before, limit))

    def list_passed(self, name: str, limit: int, before: float | None = None) -> list[PassedSlots]:
        """The newest slots of a schedule that became no task, with the first before `before`, newest first."""
        found = self._rows(queries.PASSED, (name, float("inf") if before is None else before, limit))
        return [rows.decode_passed(row) for row in found]

    def read_live(self) -> LiveState:
        """What recovery reads, at one moment, with nothing set aside: damaged rows are left out and named."""
        tasks: list[TaskRecord] = []
        damaged_rows: dict[int, str] = {}
        self._db.execute("BEGIN")
        try:
            for row in self._rows(queries.LIVE_TASKS):
                try:
                    tasks.append(rows.decode_task(row))
                except rows.DamagedRowError as error:
                    damaged_rows[row[0]] = str(error)
            schedules, damaged_schedules = self._read_schedules()
            return LiveState(
                tasks=sorted(tasks, key=lambda task: task.seq),
                edges=[rows.decode_edge(row) for row in self._rows(queries.OPEN_EDGES)],
                batches=self._live_batches(tasks),
                pools=self.load_pools(),
                next_id=self.next_id(),
                run_times=self.load_run_times(),
                resources=self.load_resources(),
                incidents=self._incidents(),
                damaged=damaged_rows,
                schedules=schedules,
                damaged_schedules=damaged_schedules,
            )
        finally:
            self._db.execute("COMMIT")

    @contextlib.contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Within, all reads see what was committed at the first of them. Not within a transaction of one's own."""
        self._rows("BEGIN")
        try:
            yield
        finally:
            self._rows("COMMIT")

    def _live_batches(self, live: Iterable[TaskRecord]) -> list[Batch]:
        """Those with a live member."""
        firsts = {record.batch for record in live}
        return [batch for batch in map(rows.decode_batch, self._rows(queries.BATCHES)) if batch.first in firsts]

    def load_pools(self) -> dict[str, dict[str, object]]:
        """The stored state of pools changed by command, by name."""
        return {
            rows.plain_text(name): rows.decode_json(state, dict[str, object])
            for name, state in self._rows(queries.POOLS)
        }

    def _incidents(self) -> dict[str, Incident]:
        found: dict[str, Incident] = {}
        for subject, data in self._rows(queries.INCIDENTS):
            with contextlib.suppress(rows.DamagedRowError):
                found[rows.plain_text(subject)] = rows.decode_json(data, Incident)
        return found

    def next_id(self) -> int:
        """The smallest id that was never given to a task."""
        used = self._value(queries.GET_META, (prune.HIGHEST_ID,)) or 0
        return max(used, self._value(queries.LAST_ID) or 0) + 1

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        if not self._closed:
            self._closed = True
            self._db.close()


def _decode(row: rows.Row) -> TaskRecord:
    try:
        return rows.decode_task(row)
    except rows.DamagedRowError as error:
        return rows.salvage_task(row, str(error))


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _chunks(ids: list[int]) -> Iterator[list[int]]:
    return (ids[at : at + _CHUNK] for at in range(0, len(ids), _CHUNK))


def _room(wanted: Filter, found: int) -> int | None:
    """How many rows of a part are needed: in the order of ends the parts are merged, so as many of each as of all."""
    return wanted.limit if wanted.limit is None or wanted.by_end else wanted.limit - found


def _text_test(text: str) -> Callable[[bytes], bool]:
    """A test of stored specs for the text."""

    def has(spec: bytes) -> bool:
        try:
            return matches_text(rows.decode_json(spec, TaskSpec), text)
        except rows.DamagedRowError:
            return False

    return has


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges sorted, those that touch made one, empty ones dropped."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if first > last:
            continue
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _parts(wanted: Filter) -> list[list[tuple[int, int]] | None]:
    """The ranges of ids a filter wants, in as many statements as they need, in its order; None is any id."""
    if [] in (wanted.ids, wanted.statuses, wanted.pools):
        return []
    if wanted.ids is None:
        return [None]
    spans = _merged(wanted.ids)
    parts = [spans[at : at + _RANGES_AT_ONCE] for at in range(0, max(1, len(spans)), _RANGES_AT_ONCE)]
    return [*reversed(parts)] if wanted.newest_first else [*parts]


def _conditions(wanted: Filter, spans: list[tuple[int, int]] | None) -> tuple[str, list[str], list[object]]:
    """Where to look, the conditions, and their values: all of a filter but names, texts and tags.

    The index is named where the planner, without statistics, might walk over a million waiting tasks."""
    conditions: list[str] = []
    values: list[object] = []
    source = "tasks"
    statuses = FINAL if wanted.statuses is None else frozenset(wanted.statuses)
    ended = wanted.by_end or wanted.finished_before is not None
    if wanted.statuses is not None:
        conditions.append(f"status IN ({queries.marks(len(wanted.statuses))})")
        values += wanted.statuses
    if ended:
        conditions += ["finished_at IS NOT NULL", queries.FINAL]
    if wanted.key is None and ended:
        source = "tasks INDEXED BY tasks_ended"
    elif wanted.key is None and wanted.statuses is not None and statuses <= FINAL:
        source = "tasks INDEXED BY tasks_final"
        conditions.append(queries.FINAL)
    elif wanted.key is None and statuses <= _FEW:
        source = "tasks INDEXED BY tasks_live"
        conditions.append(queries.LIVE)
    if spans is not None:
        conditions.append(f"({' OR '.join(['id BETWEEN ? AND ?'] * len(spans)) or '0'})")
        values += [bound for span in spans for bound in span]
    if wanted.pools is not None:
        conditions.append(f"pool IN ({queries.marks(len(wanted.pools))})")
        values += wanted.pools
    for condition, value in (
        ("key = ?", wanted.key),
        ("id > ?", wanted.after_id),
        ("id < ?", wanted.before_id),
        ("finished_at < ?", wanted.finished_before),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return source, conditions, values
