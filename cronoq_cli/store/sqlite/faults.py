"""What SQLite's errors mean for cronoq, in one place. Nothing else hands out its exceptions."""

from __future__ import annotations

import os
import sqlite3

from cronoq_cli.errors import StoreBusyError, StoreError, StoreFullError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DISK = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, or -1 where the error is the module's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else code & 0xFF


def translate_fault(error: sqlite3.Error, path: str) -> StoreError:
    """The error of our tree that says what to do: again at once, again when the disk works, or restore."""
    code = primary_code(error)
    if code in _BUSY:
        return StoreBusyError(f"the store {path} is locked by another process", hint="try again")
    if code == sqlite3.SQLITE_FULL or (code in _DISK and _is_full(path)):
        return StoreFullError(f"no space to write the store {path}", hint="free space on its file system")
    if code in _DISK:
        name = getattr(error, "sqlite_errorname", "")
        return StoreFullError(
            f"the disk refuses the store {path}: {error} ({name})",
            hint="it must be writable, on a working disk",
            code="disk",
        )
    if code in _DAMAGED:
        return damaged(path, str(error))
    return StoreError(
        f"the store {path} cannot be used: {error}",
        hint="cronoq doctor; cronoq restore BACKUP puts another in its place",
    )


def _is_full(path: str) -> bool:
    """Whether the file system has no block left: SQLite calls that an I/O error where it wants shared memory."""
    try:
        space = os.statvfs(os.path.dirname(os.path.abspath(path)))
    except OSError:
        return False
    return space.f_blocks > 0 and space.f_bavail == 0


def damaged(path: str, why: str) -> StoreError:
    """The refusal of a file that cannot be trusted, with the way to restore it in one line."""
    name = os.path.basename(path)
    import glob

    copies = sorted(glob.glob(glob.escape(path) + ".before-*"))
    copy = os.path.basename(copies[-1]) if copies else "made with `cronoq backup`"
    return StoreError(
        f"the store {path} is damaged: {why}",
        hint=f"nothing was changed; to restore, move {name} and {name}-wal away and copy a backup ({copy}) to {name}",
        code="damaged",
    )
