"""The one writer of a SQLite store: leadership, commits, recovery. Deleting what is old lives in `prune`.

Every write is one transaction that checks the fencing epoch first; an error rolls it back, and the connection serves
again as soon as the disk does.
"""

from __future__ import annotations

import contextlib
import operator
import sqlite3
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from cronoq_cli.errors import FencedError
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.model.task import TaskRecord, Transition
from cronoq_cli.store.collector import without_collector
from cronoq_cli.store.contract import Changes, KeptRun, LiveState
from cronoq_cli.store.sqlite import bulk, prune, queries, rows
from cronoq_cli.store.sqlite.database import close_unmarked, connect, copy_store, mark
from cronoq_cli.store.sqlite.faults import translate_fault
from cronoq_cli.store.sqlite.reader import SqliteReader

_ENVS_KNOWN = 4096
_BESIDE_PATIENCE_S = 2.0
_MANY = 1000
"""New tasks of one commit from which Python's collector is kept from looking through their rows."""


class SqliteStore(SqliteReader):
    """A `Store` over one connection; from one thread at a time (`backup` from any)."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        super().__init__(connection, path)
        self._epoch: int | None = None
        self._last_seq = 0
        self._env_numbers: dict[str, int] = {}
        self._beside: SqliteReader | None = None

    @contextlib.contextmanager
    def _transaction(self, *, fenced: bool = True) -> Iterator[sqlite3.Connection]:
        """One write transaction, all or nothing. Raises FencedError and the translated errors of SQLite."""
        db = self._db
        try:
            db.execute(queries.BEGIN)
            if fenced:
                self._check_epoch()
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise translate_fault(error, self._path) from error
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        self._env_numbers.clear()
        with contextlib.suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _check_epoch(self) -> None:
        if self._epoch is None:
            raise FencedError(f"this process does not lead the store {self._path}")
        epoch = self._db.execute(queries.EPOCH).fetchone()[0]
        if epoch != self._epoch:
            raise FencedError(
                f"another daemon leads the store {self._path} now (epoch {epoch}, ours was {self._epoch})"
            )

    def claim(self, holder: str, now: float) -> int:
        """Raise the fencing epoch and return it: from here on every older holder's write is refused."""
        with self._transaction(fenced=False) as db:
            db.execute(queries.CLAIM, (rows.bound_text(holder), now))
            epoch = int(db.execute(queries.EPOCH).fetchone()[0])
        self._epoch = epoch
        self._last_seq = self.last_transition_seq()
        return epoch

    def leads(self) -> bool:
        """Whether the epoch in the store is still the one this object claimed."""
        return self._epoch is not None and self._value(queries.EPOCH) == self._epoch

    def release(self) -> None:
        """Give leadership up: no holder is shown any more; this object's later writes are refused."""
        if self.leads():
            with self._transaction() as db:
                db.execute(queries.RELEASE)
        self._epoch = None

    def commit(self, changes: Changes) -> list[int]:
        """Write everything in one durable transaction, or nothing. Returns the seqs of the transitions.

        Raises FencedError, StoreBusyError, StoreFullError, StoreError."""
        seqs = changes.number_events(self._last_seq + 1)
        with self._transaction() as db:
            self._write_tasks(changes)
            self._write_edges(changes)
            self._write_belongings(changes)
            if changes.schedules:
                self._write_schedules(changes)
            if changes.passed:
                _write(db, queries.SAVE_PASSED, map(rows.encode_passed, changes.passed))
            self._write_events(changes.transitions, seqs)
            for new in changes.bulks:
                bulk.write_events(db, new)
            if changes.removed:
                prune.delete_tasks(db, changes.removed)
                self._env_numbers.clear()
        self._last_seq += len(seqs) + sum(len(new.specs) for new in changes.bulks)
        return seqs

    def _write_events(self, events: list[Transition], seqs: list[int]) -> None:
        numbered = list(zip(seqs, events, strict=True))
        ends = [rows.encode_end(seq, event) for seq, event in numbered if event.ended is not None]
        others = [rows.encode_event(seq, event) for seq, event in numbered if event.ended is None]
        _write(self._db, queries.SAVE_EVENT, others)
        _write(self._db, queries.SAVE_END, ends)

    def _write_tasks(self, changes: Changes) -> None:
        db = self._db
        for env_id, content in changes.envs.items():
            _write(db, queries.SAVE_ENV, [(env_id, content)])
        if changes.new:
            self._insert(changes.new)
        for new in changes.bulks:
            bulk.write_new(db, new, self._find_env_number)
        if changes.updated:
            _write(db, queries.UPDATE_STATE, [(*rows.encode_state(one), one.id) for one in changes.updated])
        if changes.respecced:
            whole = [(*state, *birth, r.id) for r, state, birth in self._encode(changes.respecced)]
            _write(db, queries.UPDATE_WHOLE, whole)
        if changes.attempts:
            _write(db, queries.SAVE_ATTEMPT, map(rows.encode_attempt, changes.attempts))

    def _insert(self, records: list[TaskRecord]) -> None:
        plain, others = [], []
        with without_collector() if len(records) >= _MANY else contextlib.nullcontext():
            for record, state, birth in self._encode(records):
                row = rows.find_plain(state, birth)
                if row is None:
                    others.append((*state, *birth, record.id))
                else:
                    plain.append((*row, record.id))
            _write(self._db, queries.INSERT_PLAIN, plain)
            _write(self._db, queries.INSERT_TASK, others)

    def _encode(self, records: Iterable[TaskRecord]) -> Iterator[tuple[TaskRecord, rows.Row, rows.Row]]:
        """Each record with its columns of STATE and BIRTH."""
        for record in records:
            number = self._find_env_number(record.spec.env)
            yield record, rows.encode_state(record), rows.encode_birth(record.spec, number)

    def _find_env_number(self, env_id: str) -> int | None:
        if not env_id:
            return None
        number = self._env_numbers.get(env_id)
        return self._number_env(env_id) if number is None else number

    def _number_env(self, env_id: str) -> int:
        """The number under which tasks name an environment; one whose content is not stored yet gets it too."""
        _write(self._db, queries.NAME_ENV, [(env_id,)])
        number = int(self._db.execute(queries.ENV_NUMBER, rows.bound_row((env_id,))).fetchone()[0])
        if len(self._env_numbers) >= _ENVS_KNOWN:
            self._env_numbers.clear()
        self._env_numbers[env_id] = number
        return number

    def _write_edges(self, changes: Changes) -> None:
        db = self._db
        if changes.edges_opened:
            _write(db, queries.OPEN_EDGE, map(rows.encode_edge, changes.edges_opened))
        if changes.edges_closed:
            _write(db, queries.CLOSE_EDGE, [rows.encode_edge(edge)[:4] for edge in changes.edges_closed])
        if changes.forgotten_edges:
            _write(db, queries.FORGET_EDGES, [(task,) for task in changes.forgotten_edges])

    def _write_belongings(self, changes: Changes) -> None:
        db = self._db
        if changes.batches:
            _write(db, queries.SAVE_BATCH, map(rows.encode_batch, changes.batches))
        if changes.stdins:
            _write(db, queries.SAVE_STDIN, changes.stdins.items())
        if changes.run_times:
            _keep(db, queries.SAVE_RUN_TIME, queries.DROP_RUN_TIME, changes.run_times)
        for save, drop, named in (
            (queries.SAVE_POOL, queries.DROP_POOL, changes.pools),
            (queries.SAVE_RESOURCE, queries.DROP_RESOURCE, changes.resources),
            (queries.SAVE_INCIDENT, queries.DROP_INCIDENT, changes.incidents),
            (queries.SAVE_NOTICE, queries.DROP_NOTICE, changes.notices),
        ):
            if named:
                _keep(db, save, drop, {(name,): value for name, value in named.items()})

    def _write_schedules(self, changes: Changes) -> None:
        """Save or drop schedules; an environment that the former one named alone goes."""
        db = self._db
        former: set[int] = set()
        saved = []
        for name, schedule in changes.schedules.items():
            env_id = "" if schedule is None else schedule.spec.template.env
            number = None if not env_id else self._env_numbers.get(env_id) or self._number_env(env_id)
            before = db.execute(queries.ENV_OF_SCHEDULE, rows.bound_row((name,))).fetchone()
            if before is not None and before[0] != number:
                former.add(before[0])
            if schedule is None:
                _write(db, queries.DROP_SCHEDULE, [(name,)])
            else:
                saved.append(rows.encode_schedule(schedule, number))
        _write(db, queries.SAVE_SCHEDULE, saved)
        if former:
            prune.drop_unused_envs(db, former)
            self._env_numbers.clear()

    def load_live(self) -> LiveState:
        """Read what recovery needs; a row that cannot be decoded is set aside as failed with the reason."""
        tasks: list[TaskRecord] = []
        bad: list[tuple[rows.Row, str]] = []
        with without_collector():
            self._decode_all(queries.LIVE_ALONE, (), tasks, bad)
            runs = self._load_runs(tasks, bad)
        if bad:
            self._set_aside(bad)
        schedules, damaged_schedules = self._read_schedules()
        if damaged_schedules:
            self._set_schedules_aside(damaged_schedules)
        batches = self._live_batches([*tasks, *(run.record for run in runs)])
        tasks.sort(key=lambda task: task.seq)
        return LiveState(
            tasks=tasks,
            edges=[rows.decode_edge(row) for row in self._rows(queries.OPEN_EDGES)],
            batches=batches,
            pools=self.load_pools(),
            next_id=self.next_id(),
            run_times=self.load_run_times(),
            resources=self.load_resources(),
            incidents=self._incidents(),
            damaged={row[0]: why for row, why in bad},
            schedules=schedules,
            runs=runs,
            damaged_schedules=damaged_schedules,
        )

    def _decode_all(
        self, sql: str, parameters: tuple[int, ...], tasks: list[TaskRecord], bad: list[tuple[rows.Row, str]]
    ) -> None:
        """Decode the rows one by one, and put those that cannot be aside."""
        try:
            for row in self._db.execute(sql, parameters):
                try:
                    tasks.append(rows.decode_task(row))
                except rows.DamagedRowError as error:
                    bad.append((row, str(error)))
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error

    def _load_runs(self, tasks: list[TaskRecord], bad: list[tuple[rows.Row, str]]) -> list[KeptRun]:
        """The lots, counted; the tasks of one whose first cannot be decoded are read one by one."""
        runs = []
        for lot, first, last, there in self._rows(queries.LOTS):
            ids: Sequence[int] = range(first, last + 1)
            if len(ids) != there:
                ids = array("q", [row[0] for row in self._rows(queries.IDS_OF_LOT, (lot,))])
            try:
                runs.append(KeptRun(ids=ids, record=rows.decode_task(self._rows(queries.TASK, (first,))[0])))
            except rows.DamagedRowError:
                self._decode_all(queries.TASKS_OF_LOT, (lot,), tasks, bad)
        return runs

    def _set_aside(self, bad: list[tuple[rows.Row, str]]) -> None:
        """Rewrite damaged live rows as failed; their bytes stay in the table `set_aside`."""
        now = time.time()
        changes = Changes()
        for row, why in bad:
            record = rows.salvage_task(row, why)
            record.finished_at = record.updated_at = now
            changes.respecced.append(record)
            changes.transitions.append(
                Transition(at=now, type="unreadable", id=record.id, status=record.status, message=record.message)
            )
        with self._transaction() as db:
            for row, why in bad:
                db.execute(queries.SET_ASIDE, (now, rows.bound_text(why), row[0]))
                db.execute(queries.EDGES_GONE, (row[0],))
            self._write_tasks(changes)
            _write(db, queries.SAVE_EVENT, map(rows.encode_event, count(self._last_seq + 1), changes.transitions))
        self._last_seq += len(bad)

    def _set_schedules_aside(self, damaged: Mapping[str, str]) -> None:
        """Take damaged schedules out of the table; their bytes stay in `schedules_set_aside`."""
        now = time.time()
        with self._transaction() as db:
            for name, why in damaged.items():
                _write(db, queries.SET_SCHEDULE_ASIDE, [(now, why, name)])
                _write(db, queries.DROP_SCHEDULE, [(name,)])

    def prune(
        self,
        older_than: Mapping[str, float],
        most_finished: int,
        limit: int,
        *,
        dry_run: bool = False,
        now: float | None = None,
    ) -> list[int]:
        """Delete up to `limit` finished tasks as the contract says. Raises like `commit`."""
        cutoffs = {status: moment for status, moment in older_than.items() if status in FINAL}
        now = time.time() if now is None else now
        try:
            chosen = prune.choose_tasks(self._db, cutoffs, (most_finished, limit), now)
        except sqlite3.Error as error:
            raise translate_fault(error, self._path) from error
        if dry_run:
            return chosen
        with self._transaction() as db:
            prune.drop_old_events(db, self._last_seq, most_finished, limit)
            prune.drop_old_passed(db, cutoffs, most_finished)
            prune.delete_tasks(db, chosen)
        self._env_numbers.clear()
        return chosen

    def open_beside(self) -> SqliteReader:
        """A reader on a connection of its own, closed with this store. Raises StoreError."""
        if self._beside is None:
            connection = connect(self._path, "ro", _BESIDE_PATIENCE_S)
            connection.execute("PRAGMA temp_store = MEMORY")
            self._beside = SqliteReader(connection, self._path)
        return self._beside

    def backup(self, path: str) -> None:
        """Copy the whole store to a new file, consistent, while writes go on. Raises StoreError, ConflictError."""
        copy_store(self._path, path)

    def close(self) -> None:
        """Close in order: all of it in the one file, the -wal gone unless someone still reads. Twice is no error.

        Where the disk takes no mark of that, the -wal stays for the next start."""
        if self._closed:
            return
        if self._beside is not None:
            self._beside.close()
        try:
            if self._epoch is None or self._db.execute(queries.EPOCH).fetchone()[0] == self._epoch:
                self._db.execute(queries.BEGIN)
                mark(self._db, clean=True)
                self._db.execute("COMMIT")
        except sqlite3.Error:
            self._undo()
            close_unmarked(self._db, self._path)
        super().close()


def _keep(db: sqlite3.Connection, save: str, drop: str, changes: Mapping[Any, object | None]) -> None:
    """Save each value as JSON under its key, or drop the row where it is None."""
    _write(db, drop, [key for key, value in changes.items() if value is None])
    _write(db, save, [(*key, rows.encode_json(value)) for key, value in changes.items() if value is not None])


def _write(db: sqlite3.Connection, sql: str, values: Iterable[rows.Row]) -> None:
    """Run the statement for every row. Lone surrogates are rare: only behind the first one are rows looked through."""
    values = list(values)
    if not values:
        return
    left = iter(values)
    try:
        db.executemany(sql, left)
    except UnicodeEncodeError:
        refused = len(values) - operator.length_hint(left) - 1
        db.executemany(sql, map(rows.bound_row, values[refused:]))
