"""Making, judging and opening the database file: modes, pragmas, versions, damage. No tasks here.

A file is judged through a read-only connection first, so that one that is refused is left as it was. `quick_check`
reads the whole file, so it runs where it is cheap (small files) and where it may find something: when the machine
went down with the store open (another boot id and no clean close). A killed process leaves whole pages to the system.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from cronoq_cli.errors import ConflictError, StoreError
from cronoq_cli.store.sqlite import migrate, queries
from cronoq_cli.store.sqlite.faults import damaged, translate_fault

APPLICATION_ID = 0x63726E71
"""The letters "crnq" in the header of the file: what `file` and SQLite show, and what tells our store from others."""
OLDEST_SQLITE = (3, 31, 0)
_MAGIC = b"SQLite format 3\0"
_CHECKED_ALWAYS = 8 << 20
"""Bytes of a file that is checked at each start: some 10 ms."""
_OPENING_PATIENCE_S = 5.0
_URI_SIGNS = str.maketrans({"%": "%25", "?": "%3f", "#": "%23"})
"""All that means something else in SQLite's URIs; urllib's own quoting takes a start 4 ms to import."""
_WAL_KEPT = 64 << 20
"""Bytes to which the -wal shrinks again after a checkpoint."""


def connect(path: str, mode: str, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection in autocommit; `mode` is a part of SQLite's URI: rw, ro, or `ro&immutable=1`.

    Nothing is read yet. Raises StoreError."""
    uri = f"file:{os.path.abspath(path).translate(_URI_SIGNS)}?mode={mode}"
    try:
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=busy_timeout_s,
            isolation_level=None,
            cached_statements=256,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise translate_fault(error, path) from error


def check_sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raises StoreError where the SQLite that Python was built with is too old."""
    if version < OLDEST_SQLITE:
        found, wanted = (".".join(map(str, v)) for v in (version, OLDEST_SQLITE))
        raise StoreError(f"SQLite {found} is too old", hint=f"cronoq needs {wanted} or newer")


def make_store(path: str) -> None:
    """Make a new, empty store at `path`: whole or not at all, readable by the owner alone from the first moment.

    Raises StoreError; also where the -wal of a store that is no longer there would be taken for the new one's."""
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0:
        raise StoreError(
            f"{path} is missing while its {os.path.basename(path)}-wal is there",
            hint="put the file back; or move the -wal away to begin an empty store",
        )
    fresh = path + ".new"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        for leftover in (fresh, fresh + "-wal", fresh + "-shm", fresh + "-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(leftover)
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with contextlib.closing(connect(fresh, "rw", 1.0)) as db:
            _fill(db)
        sync_file(fresh)
        os.rename(fresh, path)
        sync_file(os.path.dirname(os.path.abspath(path)))
    except sqlite3.Error as error:
        raise translate_fault(error, path) from error
    except OSError as error:
        raise _unreachable(path, error) from error


def _fill(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate.apply_all(db, migrate.list_migrations())
    db.execute(queries.SET_META, ("store_id", os.urandom(8).hex()))
    mark(db, clean=True)
    db.execute("PRAGMA journal_mode = WAL")


def sync_file(path: str) -> None:
    """Force a file or directory to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mark(db: sqlite3.Connection, *, clean: bool) -> None:
    """Note in the store whether it was closed in order, and the boot in which it was open."""
    db.execute(queries.SET_META, ("clean", int(clean)))
    db.execute(queries.SET_META, ("boot_id", boot_id()))


def boot_id() -> str:
    """The kernel's name for the time since the machine started; empty where it cannot be read."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def judge_store(path: str) -> int:
    """The schema version of an existing store that may be opened. The file is left as it is.

    Raises StoreError: no database, another program's, truncated, damaged, its -wal lost, schema newer than ours."""
    check_header(path)
    wal_lost = not os.path.exists(path + "-wal")
    with contextlib.closing(connect(path, "ro&immutable=1" if wal_lost else "ro", 1.0)) as db:
        try:
            version = check_identity(db, path)
            meta = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('clean', 'boot_id')"))
            unclean = not meta.get("clean")
            crashed = unclean and meta.get("boot_id") != boot_id()
            if crashed or os.path.getsize(path) <= _CHECKED_ALWAYS:
                _check_pages(db, path)
        except sqlite3.Error as error:
            raise translate_fault(error, path) from error
    if unclean and wal_lost:
        name = os.path.basename(path)
        raise StoreError(
            f"the store {path} was not closed in order and {name}-wal is gone: its newest changes are missing",
            hint=f"put {name}-wal back or restore a backup; to go on without them: touch {name}-wal",
            code="damaged",
        )
    return version


def check_header(path: str) -> None:
    """Judge the first 100 bytes and the length. Raises StoreError; FileNotFoundError where there is no file."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreachable(path, error) from error
    if len(header) < 100:
        raise damaged(path, "it is empty" if not header else "it is no database")
    if not header.startswith(_MAGIC):
        raise damaged(path, "it begins with zeros" if not any(header) else "it is no database")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program", hint="move it away, or use another --home")
    page = int.from_bytes(header[16:18], "big")
    if size % (65536 if page == 1 else page or 4096):
        raise damaged(path, "it is cut off in the middle of a page")


def check_identity(db: sqlite3.Connection, path: str) -> int:
    """The schema version. Raises StoreError where it is newer than this program knows; sqlite3.Error."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    newest = migrate.newest_version()
    if version > newest:
        raise StoreError(
            f"the store {path} has schema {version}, and this cronoq knows only {newest}",
            hint="use the newer cronoq that wrote it, or restore a backup made before it",
            code="schema",
        )
    if version < 1:
        raise damaged(path, "it has no schema version")
    return version


def _check_pages(db: sqlite3.Connection, path: str) -> None:
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, " ".join(str(found).split()))


def open_writing(path: str, synchronous: str, busy_timeout_s: float) -> sqlite3.Connection:
    """The writer's connection to a judged store, noted as open on the disk itself (not only in the -wal), so that a
    lost -wal is noticed at the next start. Commits wait `busy_timeout_s` for a lock of others. Raises StoreError."""
    if os.stat(path).st_mode & 0o077:
        os.chmod(path, 0o600)
    db = connect(path, "rw", _OPENING_PATIENCE_S)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'NORMAL' if synchronous == 'normal' else 'FULL'}")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT}")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(queries.BEGIN)
        mark(db, clean=False)
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        db.execute(f"PRAGMA busy_timeout = {round(busy_timeout_s * 1000)}")
    except sqlite3.Error as error:
        close_unmarked(db, path)
        raise translate_fault(error, path) from error
    return db


def close_unmarked(db: sqlite3.Connection, path: str) -> None:
    """Close a connection whose store could not be marked as closed in order, and leave the -wal there.

    SQLite takes the -wal away when its last connection closes and everything in it is in the file: at the next start
    it would be missed. A reader that stays longer, and cannot write, prevents it."""
    with contextlib.suppress(sqlite3.Error, StoreError), contextlib.closing(connect(path, "ro", 0.0)) as reader:
        reader.execute(queries.EPOCH).fetchone()
        db.close()
    db.close()


def copy_store(path: str, target: str, *, replace: bool = False, mode: str = "ro") -> None:
    """Copy a store to the file `target`, consistent while others write; there whole or not at all, mode 0600.

    `mode`: how the store is opened, as `connect` takes it. Raises StoreError; ConflictError where `target` exists and
    is not to be replaced."""
    if not replace and os.path.lexists(target):
        raise ConflictError(f"{target} exists already", hint="name a new file")
    part = target + ".part"
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with (
            contextlib.closing(connect(path, mode, 5.0)) as source,
            contextlib.closing(connect(part, "rw", 5.0)) as copy,
        ):
            source.backup(copy)
            mark(copy, clean=True)
        sync_file(part)
        os.rename(part, target)
        sync_file(os.path.dirname(os.path.abspath(target)))
    except sqlite3.Error as error:
        raise translate_fault(error, target) from error
    except OSError as error:
        raise _unreachable(target, error) from error


def _unreachable(path: str, error: OSError) -> StoreError:
    where = f"{error.filename}: " if error.filename not in (None, path) else ""
    return StoreError(
        f"cannot reach {path}: {where}{error.strerror or error}",
        hint="the directory and the file must be readable and writable by you",
    )
