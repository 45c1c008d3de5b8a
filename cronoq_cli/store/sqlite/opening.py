"""Opening a store as its writer or as a reader. How a file is judged lives in `database`."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from cronoq_cli.errors import StoreBusyError, StoreError
from cronoq_cli.store.sqlite import database, migrate
from cronoq_cli.store.sqlite.faults import damaged, translate_fault
from cronoq_cli.store.sqlite.reader import SqliteReader
from cronoq_cli.store.sqlite.writer import SqliteStore

_READER_PATIENCE_S = 2.0


def open_store(path: str, *, synchronous: str = "full", busy_timeout_s: float = 0.1) -> SqliteStore:
    """The store at `path` for writing, made when there is none and brought to the present schema after a copy to
    `path.before-N`. `synchronous`: full or normal.

    Raises StoreError with how to restore; a file that is refused is left as it is."""
    database.check_sqlite()
    if not os.path.lexists(path):
        database.make_store(path)
    try:
        version = database.judge_store(path)
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} points to a file that is not there", hint="put it back, or remove the link"
        ) from error
    if version < migrate.newest_version():
        _upgrade(path)
    return SqliteStore(database.open_writing(path, synchronous, busy_timeout_s), path)


def _upgrade(path: str) -> None:
    target = migrate.newest_version()
    database.copy_store(path, f"{path}.before-{target}", replace=True)
    with contextlib.closing(database.connect(path, "rw", 5.0)) as db:
        try:
            migrate.apply_all(db, migrate.list_migrations())
        except sqlite3.Error as error:
            raise StoreError(
                f"the store {path} cannot be brought to schema {target}: {error}",
                hint=f"nothing was changed; a copy is {path}.before-{target}",
            ) from error


def open_reader(path: str) -> SqliteReader | None:
    """The store for reading alone, or None where there is none; needs no daemon and no right to write.

    Without a -wal nobody writes, and the file is read as it is; so nothing is left behind. Where SQLite cannot read a
    -wal in place (a read-only file system), a private copy is read. Raises StoreError."""
    database.check_sqlite()
    try:
        database.check_header(path)
    except FileNotFoundError:
        return None
    wal = path + "-wal"
    try:
        if not os.path.exists(wal) or (os.path.getsize(wal) == 0 and not os.access(wal, os.W_OK)):
            return SqliteReader(_probe(path, "ro&immutable=1"), path)
        return SqliteReader(_probe(path, "ro"), path)
    except StoreBusyError:
        raise
    except StoreError as error:
        if error.code != "disk":
            raise
        return _read_copy(path)


def _probe(path: str, mode: str) -> sqlite3.Connection:
    """A connection that was seen to work on a schema we know. Raises StoreError."""
    db = database.connect(path, mode, _READER_PATIENCE_S)
    try:
        version = database.check_identity(db, path)
    except sqlite3.Error as error:
        db.close()
        raise translate_fault(error, path) from error
    except StoreError:
        db.close()
        raise
    if version < migrate.newest_version():
        db.close()
        raise StoreError(
            f"the store {path} still has schema {version}", hint="start the daemon once: it brings it up to date"
        )
    return db


def _read_copy(path: str) -> SqliteReader:
    """A reader of a private copy of the store and its -wal, gone with the connection's files unlinked at once."""
    import shutil  # and with them a dozen modules, which hardly anybody needs
    import tempfile

    directory = tempfile.mkdtemp(prefix="cronoq-")
    try:
        copy = os.path.join(directory, "store.db")
        for end in ("", "-wal"):
            shutil.copyfile(path + end, copy + end)
        db = _probe(copy, "rw")
        db.execute("PRAGMA query_only = 1")
        return SqliteReader(db, path)
    except OSError as error:
        raise damaged(path, f"neither it nor a copy can be read: {error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)
