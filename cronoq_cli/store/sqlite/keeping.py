"""A whole store as a file: checked page by page, copied, and put back in the place of another that is set aside.

Nobody may write the store meanwhile that is replaced: whoever calls holds the daemon's lock.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from cronoq_cli.errors import NotFoundError, StoreError
from cronoq_cli.store.sqlite import database, prune, queries
from cronoq_cli.store.sqlite.faults import translate_fault

MOST_TROUBLES = 20
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def back_up(path: str, target: str) -> None:
    """Copy the store to a new file, consistent while a daemon writes. Raises StoreError, ConflictError; NotFoundError
    where there is no store."""
    _need(path)
    database.copy_store(path, target)


def check_store(path: str, *, quick: bool = False) -> list[str]:
    """What is wrong with the pages, indexes and rows of a store; empty when nothing is. `quick` leaves indexes out.

    Raises StoreError for what is no store of ours, NotFoundError where there is none."""
    _need(path)
    with contextlib.closing(_open(path)) as db:
        try:
            database.check_identity(db, path)
            check = "quick_check" if quick else "integrity_check"
            found = [str(row[0]) for row in db.execute(f"PRAGMA {check}({MOST_TROUBLES})")]
            if not quick:
                found += [
                    f"{row[0]}: row {row[1]} belongs to nothing" for row in db.execute("PRAGMA foreign_key_check")
                ]
        except sqlite3.Error as error:
            raise translate_fault(error, path) from error
    return [" ".join(line.split()) for line in found if line != "ok"]


def count_rows(path: str) -> dict[str, int]:
    """How many rows each table of a store has. Raises StoreError."""
    with contextlib.closing(_open(path)) as db:
        try:
            names = [str(row[0]) for row in db.execute(_TABLES)]
            return {name: int(db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names}
        except sqlite3.Error as error:
            raise translate_fault(error, path) from error


def _need(path: str) -> None:
    try:
        database.check_header(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no store {path}", hint="name the file of a store or of a backup") from error


def _open(path: str) -> sqlite3.Connection:
    return database.connect(path, _mode(path), 5.0)


def _mode(path: str) -> str:
    """Without a -wal nobody writes, and the file can be read where nothing may be written beside it."""
    return "ro" if os.path.exists(path + "-wal") else "ro&immutable=1"


def put_back(backup: str, path: str, aside: str, least_next_id: int) -> bool:
    """Make a copy of `backup` the store at `path`; whether one was there, which then is `aside`, whole, -wal and all.

    No id below `least_next_id` is given out again. At every moment either the old or the new store is in its place,
    or one that its opening refuses for want of its -wal (where files can have two names, so nearly everywhere).
    Raises StoreError with nothing changed."""
    fresh = path + ".restored"
    database.copy_store(backup, fresh, replace=True, mode=_mode(backup))
    try:
        _raise_ids(fresh, least_next_id)
        was_there = _set_aside(path, aside)
        os.rename(fresh, path)
        database.sync_file(os.path.dirname(path))
    except OSError as error:
        _take_back(path, aside)
        raise StoreError(
            f"cannot put {backup} back: {error.strerror}", hint=f"the store is as it was: {path}"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
    return was_there


def _raise_ids(path: str, least_next_id: int) -> None:
    with contextlib.closing(database.connect(path, "rw", 5.0)) as db:
        try:
            used = db.execute(queries.GET_META, (prune.HIGHEST_ID,)).fetchone()
            highest = max(int(used[0] or 0) if used else 0, least_next_id - 1)
            db.execute(queries.SET_META, (prune.HIGHEST_ID, highest))
        except sqlite3.Error as error:
            raise translate_fault(error, path) from error
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
    database.sync_file(path)


def _set_aside(path: str, aside: str) -> bool:
    """Give the store's files their new names; the file itself stays under the old one too, until it is replaced."""
    if not os.path.lexists(path):
        return False
    try:
        os.link(path, aside, follow_symlinks=False)
    except OSError:  # a file system without links
        os.rename(path, aside)
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + end, aside + end)
    database.sync_file(os.path.dirname(path))
    return True


def _take_back(path: str, aside: str) -> None:
    """What was set aside is in its place again, as far as the disk lets us."""
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            if os.path.lexists(path + end) and os.path.samefile(path + end, aside + end):
                os.unlink(aside + end)
            elif os.path.lexists(aside + end):
                os.rename(aside + end, path + end)


def find_next_id(path: str) -> int:
    """The smallest id the store has never given; 1 where it cannot be asked."""
    from cronoq_cli.store.sqlite.opening import open_reader

    try:
        reader = open_reader(path)
    except StoreError:
        return 1
    if reader is None:
        return 1
    with contextlib.closing(reader):
        try:
            return reader.next_id()
        except StoreError:
            return 1
