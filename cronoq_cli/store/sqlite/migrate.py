"""Schema versions: numbered SQL files, each applied in one transaction. The version is SQLite's user_version."""

from __future__ import annotations

import os
import sqlite3
from functools import lru_cache
from typing import NamedTuple

DIRECTORY = os.path.join(os.path.dirname(__file__), "migrations")


class Migration(NamedTuple):
    """One step of the schema: `sql` leads to `version` from the one before."""

    version: int
    sql: str


def list_migrations() -> tuple[Migration, ...]:
    """The migrations in order, from the files `NNNN_name.sql` of DIRECTORY, numbered from 1 without a gap.

    Raises ValueError for a wrong name or number."""
    return _read_migrations(DIRECTORY)


@lru_cache(maxsize=4)
def _read_migrations(directory: str) -> tuple[Migration, ...]:
    found = []
    for name in sorted(n for n in os.listdir(directory) if n.endswith(".sql")):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            found.append(Migration(int(name.partition("_")[0]), file.read()))
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"migrations in {directory} are not numbered 1, 2, 3, ...")
    return tuple(found)


def newest_version() -> int:
    """The schema this program writes."""
    return list_migrations()[-1].version


def apply_all(db: sqlite3.Connection, migrations: tuple[Migration, ...]) -> int:
    """Apply those newer than the store's version, each whole or not at all; the version reached.

    Raises sqlite3.Error; what was applied before stays."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    for migration in migrations:
        if migration.version <= version:
            continue
        try:
            db.executescript(f"BEGIN IMMEDIATE;\n{migration.sql}\n;PRAGMA user_version = {migration.version};\nCOMMIT;")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        version = migration.version
    return version
