"""Deleting tasks and all that belongs to them, and finding those whose time is over, within the caller's transaction.

Which of them go is decided in `store/retention`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from cronoq_cli.store.retention import decide_oldest_seq, decide_pruned
from cronoq_cli.store.sqlite import queries

_EVENTS_AT_ONCE = 10_000
HIGHEST_ID = "highest_id"
"""The row of meta that keeps the highest id ever used, since ids are never used again."""


def choose_tasks(
    db: sqlite3.Connection, cutoffs: Mapping[str, float], bounds: tuple[int, int], now: float
) -> list[int]:
    """The ids that may go, oldest end first; `bounds`: most finished tasks kept, most ids chosen.

    Raises sqlite3.Error."""
    most_finished, limit = bounds
    excess = db.execute(queries.COUNT_ENDED).fetchone()[0] - most_finished
    streams: list[Iterable[tuple[float, int]]] = [
        db.cursor().execute(queries.ENDED_BEFORE, (moment, status)) for status, moment in cutoffs.items()
    ]
    streams.append(db.cursor().execute(queries.KEPT, (now,)))
    if excess > 0:
        streams.append(db.cursor().execute(queries.OLDEST_ENDED, (excess,)))
    return decide_pruned(streams, lambda task: db.execute(queries.NEEDED, (task,)).fetchone() is not None, limit)


def delete_tasks(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete the tasks with attempts, edges and input, and the environments and batches that nothing names any more.

    Raises sqlite3.Error."""
    ids = list(ids)
    if not ids:
        return
    _remember_highest_id(db)
    envs = {row[0] for task in ids for row in db.execute(queries.ENV_OF, (task,))}
    batches = {row[0] for task in ids for row in db.execute(queries.BATCH_OF, (task,))}
    keys = [(task,) for task in ids]
    for statement in queries.DROP_TASK:
        db.executemany(statement, keys)
    drop_unused_envs(db, envs)
    db.executemany(queries.DROP_EMPTY_BATCH, [(first,) for first in batches])


def _remember_highest_id(db: sqlite3.Connection) -> None:
    highest = db.execute(queries.LAST_ID).fetchone()[0] or 0
    known = db.execute(queries.GET_META, (HIGHEST_ID,)).fetchone()
    if known is None or known[0] < highest:
        db.execute(queries.SET_META, (HIGHEST_ID, highest))


def drop_old_events(db: sqlite3.Connection, last_seq: int, most_finished: int, limit: int) -> None:
    """Delete some of the oldest transitions beyond what `retention` allows. Raises sqlite3.Error."""
    oldest = decide_oldest_seq(last_seq, most_finished)
    if oldest > 0:
        db.execute(queries.DROP_OLD_EVENTS, (oldest, 8 * min(limit, _EVENTS_AT_ONCE)))


def drop_old_passed(db: sqlite3.Connection, cutoffs: Mapping[str, float], most: int) -> None:
    """Delete slots that became no task: those before the moment of their status, and the oldest beyond `most`.

    Raises sqlite3.Error."""
    db.executemany(queries.DROP_PASSED_BEFORE, [(moment, status) for status, moment in cutoffs.items()])
    db.execute(queries.DROP_PASSED_BEYOND, (most,))


def drop_unused_envs(db: sqlite3.Connection, envs: Iterable[int]) -> None:
    """Delete those of these environments that nothing names any more. Raises sqlite3.Error."""
    db.executemany(queries.DROP_UNUSED_ENV, [(env,) for env in envs])
