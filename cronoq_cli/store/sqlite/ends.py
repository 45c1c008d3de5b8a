"""The sums of statistics over the ends of a window, by SQL along one index: kind by kind, nothing sorted by SQLite.

What is summed up stands in model/history.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cronoq_cli.model.history import AGAIN, BUCKETS, FINALS, RAN, WORKED, Bucket, EndSums, Step, Window
from cronoq_cli.store.sqlite.rows import bound_text, plain_text

_FROM = "FROM events INDEXED BY events_ended WHERE ended_at IS NOT NULL"
_KIND = f"{_FROM} AND pool = :pool AND kind = :kind AND ended_at BETWEEN :since AND :until"


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


FIRST_KIND = f"SELECT pool, kind {_FROM} ORDER BY pool, kind LIMIT 1"
NEXT_KIND = f"SELECT pool, kind {_FROM} AND (pool, kind) > (?, ?) ORDER BY pool, kind LIMIT 1"
FIRST_KIND_OF = f"SELECT pool, kind {_FROM} AND pool = ? ORDER BY kind LIMIT 1"
NEXT_KIND_OF = f"SELECT pool, kind {_FROM} AND pool = ? AND kind > ? ORDER BY kind LIMIT 1"
SUMS = (
    f"SELECT count(*), {', '.join(f'''sum(final = '{word}')''' for word in FINALS)}, "
    f"sum(final IS NULL AND outcome IN ({_words(AGAIN)})), sum(run_s <= ended_at - :since), "
    "sum(min(run_s, ended_at - :since) * slots), "
    f"sum(in_time), count(in_time), sum(on_time), count(on_time) {_KIND}"
)
HISTORY = (
    f"SELECT min(CAST((ended_at - :since) / :bucket_s AS INTEGER), {BUCKETS - 1}), count(final), sum(wait_s), "
    f"count(wait_s) {_KIND} GROUP BY 1"
)
STEP_ENDS = (
    "SELECT CAST(ended_at / :step_s AS INTEGER), count(*), sum(final <> 'succeeded'), 0, 0.0 "
    f"{_KIND} AND final IN ({_words(WORKED)}) AND seq <= :seq GROUP BY 1"
)
STEP_WAITS = (
    "SELECT CAST((ended_at - coalesce(run_s, 0)) / :step_s AS INTEGER), 0, 0, count(*), sum(wait_s) "
    f"{_KIND} AND wait_s IS NOT NULL AND seq <= :seq GROUP BY 1"
)
TIMES = f"SELECT wait_s, CASE WHEN outcome IN ({_words(RAN)}) THEN run_s END {_KIND} AND run_s IS NOT NULL"


def sum_ends(db: sqlite3.Connection, window: Window, pool: str | None) -> list[EndSums]:
    """The sums by pool and kind, of one pool or of all; kinds without an end in the window are left out.

    Raises sqlite3.Error."""
    found = (_sum_kind(db, window, *names) for names in _list_kinds(db, pool))
    return [sums for sums in found if sums is not None]


def sum_steps(db: sqlite3.Connection, window: Window, step_s: float, up_to_seq: int) -> dict[int, Step]:
    """The ends in the window up to an event, in steps of `step_s` seconds, by number. Raises sqlite3.Error."""
    found: dict[int, Step] = {}
    values = {"since": window.since, "until": window.until, "step_s": step_s, "seq": up_to_seq}
    for pool, kind in _list_kinds(db, None):
        for sql in (STEP_ENDS, STEP_WAITS):
            for number, *sums in db.execute(sql, {**values, "pool": pool, "kind": kind}):
                found[number] = found.get(number, Step()).plus(Step(*sums))
    return found


def _list_kinds(db: sqlite3.Connection, pool: str | None) -> Iterator[tuple[Any, Any]]:
    """Every pool and kind in the history, by jumping from each to the next."""
    if pool is None:
        found = db.execute(FIRST_KIND).fetchone()
        while found is not None:
            yield found
            found = db.execute(NEXT_KIND, found).fetchone()
        return
    name = bound_text(pool)
    found = db.execute(FIRST_KIND_OF, (name,)).fetchone()
    while found is not None:
        yield found
        found = db.execute(NEXT_KIND_OF, found).fetchone()


def _sum_kind(db: sqlite3.Connection, window: Window, pool: Any, kind: Any) -> EndSums | None:
    values = {"pool": pool, "kind": kind, "since": window.since, "until": window.until, "bucket_s": window.bucket_s}
    rows, *sums = db.execute(SUMS, values).fetchone()
    if not rows:
        return None
    counts = Counter({word: count or 0 for word, count in zip((*FINALS, "retried", "started"), sums, strict=False)})
    worker_s, in_time, dated, on_time, fixed = sums[len(FINALS) + 2 :]
    kept = {"deadline": (in_time or 0, dated), "start": (on_time or 0, fixed)}
    history = db.execute(HISTORY, values).fetchall()
    waits, runs = _list_times(db, values)
    return EndSums(
        plain_text(pool),
        plain_text(kind),
        counts=+counts,
        kept={what: shares for what, shares in kept.items() if shares[1]},
        worker_s=worker_s or 0.0,
        waits=waits,
        runs=runs,
        buckets={number: Bucket(ended, wait_s or 0.0, waited) for number, ended, wait_s, waited in history},
    )


def _list_times(db: sqlite3.Connection, values: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The waits and the runs of a kind, each in order."""
    found = db.execute(TIMES, values).fetchall()
    waits = [wait_s for wait_s, _ in found if wait_s is not None]
    runs = [run_s for _, run_s in found if run_s is not None]
    waits.sort()
    runs.sort()
    return waits, runs
