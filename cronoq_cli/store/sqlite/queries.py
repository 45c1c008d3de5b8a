"""The SQL of the store, named. Statements are built once, so that prepared ones are found again."""

from __future__ import annotations

from collections.abc import Sequence

from cronoq_cli.model.lifecycle import LIVE as LIVE_STATUSES
from cronoq_cli.store.sqlite import rows

LIVE = "live = 1"
FINAL = "live = 0"
"""Word for word the conditions of the partial indexes: SQLite uses those only where the text agrees."""


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _insert(verb: str, table: str, names: Sequence[str]) -> str:
    return f"{verb} INTO {table} ({_columns(names)}) VALUES ({', '.join('?' * len(names))})"


def _update(names: Sequence[str]) -> str:
    return f"UPDATE tasks SET {', '.join(f'{name} = ?' for name in names)}, lot = NULL WHERE id = ?"


_WHOLE = (*rows.STATE, *rows.BIRTH)
TASK_COLUMNS = "id, CAST(state AS BLOB), CAST(spec AS BLOB)"
"""Those of `rows.READ`; as blobs whatever damage made of them, so that sqlite3 decodes nothing."""

BEGIN = "BEGIN IMMEDIATE"
EPOCH = "SELECT epoch FROM leader"
LEADERSHIP = "SELECT epoch, holder, since FROM leader"
CLAIM = "UPDATE leader SET epoch = epoch + 1, holder = ?, since = ?"
RELEASE = "UPDATE leader SET holder = NULL, since = NULL"
GET_META = "SELECT value FROM meta WHERE name = ?"
SET_META = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"

INSERT_TASK = _insert("INSERT", "tasks", (*_WHOLE, "id"))
INSERT_PLAIN = _insert("INSERT", "tasks", (*rows.PLAIN, "id"))
UPDATE_STATE = _update(rows.STATE)
UPDATE_WHOLE = _update(_WHOLE)
SAVE_ATTEMPT = _insert("INSERT OR REPLACE", "attempts", rows.ATTEMPT)
SAVE_BATCH = _insert("INSERT OR REPLACE", "batches", rows.BATCH)
SAVE_EVENT = _insert("INSERT", "events", rows.EVENT)
SAVE_END = _insert("INSERT", "events", (*rows.EVENT, *rows.END))
SAVE_STDIN = "INSERT OR REPLACE INTO stdins (task, content) VALUES (?, ?)"
SAVE_POOL = "INSERT OR REPLACE INTO pools (name, state) VALUES (?, ?)"
DROP_POOL = "DELETE FROM pools WHERE name = ?"
SAVE_RUN_TIME = "INSERT OR REPLACE INTO run_times (pool, kind, data) VALUES (?, ?, ?)"
DROP_RUN_TIME = "DELETE FROM run_times WHERE pool = ? AND kind = ?"
SAVE_RESOURCE = "INSERT OR REPLACE INTO resources (name, data) VALUES (?, ?)"
DROP_RESOURCE = "DELETE FROM resources WHERE name = ?"
SAVE_INCIDENT = "INSERT OR REPLACE INTO incidents (subject, data) VALUES (?, ?)"
DROP_INCIDENT = "DELETE FROM incidents WHERE subject = ?"
SAVE_NOTICE = "INSERT INTO notices (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data"
DROP_NOTICE = "DELETE FROM notices WHERE id = ?"
SAVE_SCHEDULE = _insert("INSERT OR REPLACE", "schedules", rows.SCHEDULE)
DROP_SCHEDULE = "DELETE FROM schedules WHERE name = ?"
SAVE_PASSED = _insert("INSERT OR REPLACE", "passed", rows.PASSED)
OPEN_EDGE = (
    "INSERT OR REPLACE INTO edges (task, target, awaited, condition, awaited_until, open) VALUES (?, ?, ?, ?, ?, 1)"
)
CLOSE_EDGE = "UPDATE edges SET open = 0 WHERE task = ? AND target = ? AND awaited = ? AND condition = ?"
FORGET_EDGES = "UPDATE edges SET open = 0 WHERE task = ? AND open = 1"
SAVE_ENV = (
    "INSERT INTO envs (id, content) VALUES (?, ?) "
    "ON CONFLICT (id) DO UPDATE SET content = excluded.content WHERE content IS NULL"
)
NAME_ENV = "INSERT OR IGNORE INTO envs (id) VALUES (?)"
ENV_NUMBER = "SELECT number FROM envs WHERE id = ?"

LAST_SEQ = "SELECT max(seq) FROM events"
LAST_ID = "SELECT max(id) FROM tasks"
TASK = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?"
NEWEST_WITH_KEY = f"SELECT {TASK_COLUMNS} FROM tasks WHERE key = ? ORDER BY id DESC LIMIT 1"
WITH_FINGERPRINT = f"SELECT {TASK_COLUMNS} FROM tasks WHERE fingerprint = ? ORDER BY id DESC"
LIVE_TASKS = (
    f"SELECT {TASK_COLUMNS} FROM tasks WHERE id IN (SELECT id FROM tasks INDEXED BY tasks_live WHERE {LIVE} "
    "UNION SELECT id FROM tasks INDEXED BY tasks_leaving WHERE leaving = 1) ORDER BY id"
)
_STATUSES = ", ".join(f"'{status.value}'" for status in sorted(LIVE_STATUSES))
LIVE_ALONE = (
    f"SELECT {TASK_COLUMNS} FROM tasks WHERE id IN (SELECT id FROM tasks INDEXED BY tasks_live WHERE {LIVE} "
    f"AND status IN ({_STATUSES}) AND lot IS NULL "
    "UNION SELECT id FROM tasks INDEXED BY tasks_leaving WHERE leaving = 1) ORDER BY id"
)
"""The same without those of lots, none of which is looked at: every status leads to its own place in the index."""
_IN_LOTS = f"FROM tasks INDEXED BY tasks_live WHERE {LIVE} AND status = 'ready'"
LOTS = (
    f"WITH counted AS (SELECT lot, count(*) AS there {_IN_LOTS} AND lot IS NOT NULL GROUP BY lot) SELECT lot, "
    f"(SELECT id {_IN_LOTS} AND lot = counted.lot ORDER BY pool, id LIMIT 1), "
    f"(SELECT id {_IN_LOTS} AND lot = counted.lot ORDER BY pool DESC, id DESC LIMIT 1), there FROM counted"
)
"""Lot, first and last id, count. A lot is of one pool; finding the ends takes less than comparing all ids."""
IDS_OF_LOT = f"SELECT id {_IN_LOTS} AND lot = ? ORDER BY pool, id"
TASKS_OF_LOT = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id IN (SELECT id {_IN_LOTS} AND lot = ?)"
COUNT_LIVE = f"SELECT status, count(*) FROM tasks INDEXED BY tasks_live WHERE {LIVE} {{pool}} GROUP BY status"
COUNT_FINAL = f"SELECT status, count(*) FROM tasks INDEXED BY tasks_final WHERE {FINAL} {{pool}} GROUP BY status"
ATTEMPTS = f"SELECT {_columns(rows.ATTEMPT)} FROM attempts WHERE task = ? ORDER BY number"
EDGES = f"SELECT {_columns(rows.EDGE)} FROM edges WHERE task = ? AND open >= ? ORDER BY target, awaited, condition"
DEPENDENTS = (
    f"SELECT {_columns(rows.EDGE)} FROM edges INDEXED BY edges_target "
    "WHERE target = ? AND target <> 0 AND open >= ? ORDER BY task, condition"
)
OPEN_EDGES = f"SELECT {_columns(rows.EDGE)} FROM edges WHERE open = 1 ORDER BY task, target, awaited, condition"
BATCHES = f"SELECT {_columns(rows.BATCH)} FROM batches ORDER BY first"
BATCH = f"SELECT {_columns(rows.BATCH)} FROM batches WHERE first = ?"
POOLS = "SELECT name, state FROM pools ORDER BY name"
RUN_TIMES = "SELECT pool, kind, CAST(data AS BLOB) FROM run_times ORDER BY pool, kind"
RESOURCES = "SELECT name, CAST(data AS BLOB) FROM resources ORDER BY name"
INCIDENTS = "SELECT subject, CAST(data AS BLOB) FROM incidents ORDER BY subject"
NOTICES = "SELECT CAST(data AS BLOB) FROM notices ORDER BY number"
SCHEDULES = (
    "SELECT name, env, CAST(spec AS BLOB), CAST(state AS BLOB), added_at, updated_at FROM schedules ORDER BY name"
)
ENV_OF_SCHEDULE = "SELECT env FROM schedules WHERE name = ? AND env IS NOT NULL"
OCCURRENCES = (
    f"SELECT {TASK_COLUMNS} FROM tasks INDEXED BY tasks_recurring WHERE recurring = ? AND slot < ? "
    "ORDER BY slot DESC, id DESC LIMIT ?"
)
PASSED = (
    f"SELECT {_columns(rows.PASSED)} FROM passed WHERE schedule = ? AND first_at < ? "
    "ORDER BY first_at DESC, status DESC LIMIT ?"
)
ENV = "SELECT content FROM envs WHERE id = ?"
STDIN = "SELECT content FROM stdins WHERE task = ?"
EVENTS = f"SELECT {_columns(rows.EVENT)} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
EVENTS_OF = f"SELECT {_columns(rows.EVENT)} FROM events WHERE seq > ? AND task IN ({{marks}}) ORDER BY seq LIMIT ?"
EVENTS_BEFORE = f"SELECT {_columns(rows.EVENT)} FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?"
EVENTS_BEFORE_OF = (
    f"SELECT {_columns(rows.EVENT)} FROM events WHERE seq < ? AND task IN ({{marks}}) ORDER BY seq DESC LIMIT ?"
)
FIRST_EVENT = f"SELECT {_columns(rows.EVENT)} FROM events ORDER BY seq LIMIT 1"
TASKS = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id IN ({{marks}}) ORDER BY id"

SET_ASIDE = (
    "INSERT OR REPLACE INTO set_aside (task, at, reason, state, spec) "
    "SELECT id, ?, ?, CAST(state AS BLOB), CAST(spec AS BLOB) FROM tasks WHERE id = ?"
)
SET_SCHEDULE_ASIDE = (
    "INSERT OR REPLACE INTO schedules_set_aside (name, at, reason, spec, state) "
    "SELECT name, ?, ?, CAST(spec AS BLOB), CAST(state AS BLOB) FROM schedules WHERE name = ?"
)
EDGES_GONE = "DELETE FROM edges WHERE task = ?"

COUNT_ENDED = f"SELECT count(*) FROM tasks INDEXED BY tasks_ended WHERE {FINAL}"
ENDED_BEFORE = (
    f"SELECT finished_at, id FROM tasks INDEXED BY tasks_ended WHERE {FINAL} AND finished_at < ? AND status = ? "
    "AND keep_s IS NULL "
    "ORDER BY finished_at, id"
)
OLDEST_ENDED = (
    f"SELECT ifnull(finished_at, 0.0), id FROM tasks INDEXED BY tasks_ended WHERE {FINAL} "
    "ORDER BY finished_at, id LIMIT ?"
)
KEPT = (
    f"SELECT finished_at, id FROM tasks INDEXED BY tasks_kept WHERE keep_s IS NOT NULL AND {FINAL} "
    "AND finished_at + keep_s <= ? ORDER BY finished_at, id"
)
NEEDED = (
    "SELECT 1 FROM tasks WHERE id = ?1 AND leaving = 1 UNION ALL "
    "SELECT 1 FROM edges INDEXED BY edges_target JOIN tasks ON tasks.id = edges.task "
    f"WHERE edges.target = ?1 AND edges.target <> 0 AND tasks.{LIVE}"
)
ENV_OF = "SELECT env FROM tasks WHERE id = ? AND env IS NOT NULL"
DROP_UNUSED_ENV = (
    "DELETE FROM envs WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE env = ?1) "
    "AND NOT EXISTS (SELECT 1 FROM schedules WHERE env = ?1)"
)
DROP_PASSED_BEFORE = "DELETE FROM passed WHERE last_at < ? AND status = ?"
DROP_PASSED_BEYOND = (
    "DELETE FROM passed WHERE (schedule, first_at, status) IN (SELECT schedule, first_at, status FROM passed "
    "ORDER BY last_at LIMIT max(0, (SELECT count(*) FROM passed) - ?))"
)
DROP_TASK = tuple(
    f"DELETE FROM {table} WHERE {column} = ?"
    for table, column in (
        ("tasks", "id"),
        ("attempts", "task"),
        ("edges", "task"),
        ("stdins", "task"),
        ("set_aside", "task"),
    )
)
DROP_EMPTY_BATCH = (
    "DELETE FROM batches WHERE first = ?1 AND NOT EXISTS (SELECT 1 FROM tasks WHERE id BETWEEN ?1 AND batches.last)"
)
BATCH_OF = "SELECT batch FROM tasks WHERE id = ? AND batch IS NOT NULL"
DROP_OLD_EVENTS = "DELETE FROM events WHERE seq <= ? AND seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?)"


def marks(count: int) -> str:
    """Placeholders of an IN list."""
    return ", ".join("?" * count)
