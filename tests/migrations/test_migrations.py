"""The mechanism of schema versions, on a directory of migrations one longer than the real one."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from cronoq_cli.errors import StoreError
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.sqlite import migrate, open_reader, open_store, rows
from tests.store.build import task


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cronoq.db")


@pytest.fixture
def old(path: str) -> str:
    """A store of the present schema with one task."""
    store = open_store(path)
    store.claim("test", 1.0)
    store.commit(Changes(new=[task(1)]))
    store.close()
    return path


def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str) -> int:
    """Make the program one version newer; the new version."""
    directory = tmp_path / "migrations"
    shutil.copytree(migrate.DIRECTORY, directory)
    version = migrate.newest_version() + 1
    (directory / f"{version:04}_next.sql").write_text(sql)
    monkeypatch.setattr(migrate, "DIRECTORY", str(directory))
    return version


def user_version(path: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_the_migrations_are_numbered_without_a_gap():
    versions = [m.version for m in migrate.list_migrations()]
    assert versions == list(range(1, migrate.newest_version() + 1))


def test_the_rows_are_those_of_the_tables(old: str):
    with contextlib.closing(sqlite3.connect(old)) as db:
        columns = {
            table: {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            for table in ("tasks", "attempts", "batches", "events")
        }
    assert {*rows.READ, *rows.STATE, *rows.BIRTH, "lot"} == columns["tasks"]
    assert set(rows.ATTEMPT) == columns["attempts"]
    assert set(rows.BATCH) == columns["batches"]
    assert {*rows.EVENT, *rows.END} == columns["events"]


def test_an_older_store_is_copied_and_brought_up_to_date(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = user_version(old)
    version = add_migration(tmp_path, monkeypatch, "CREATE TABLE more (x);\nINSERT INTO more VALUES (';');\n")
    with pytest.raises(StoreError, match=f"still has schema {before}"):
        open_reader(old)
    store = open_store(old)
    assert store.schema_version() == version
    assert store.find_task(1) == task(1)
    assert store._db.execute("SELECT x FROM more").fetchall() == [(";",)]
    store.close()
    copy = Path(f"{old}.before-{version}")
    assert user_version(str(copy)) == before
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_second_start_neither_copies_nor_migrates(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    version = add_migration(tmp_path, monkeypatch, "CREATE TABLE more (x);")
    open_store(old).close()
    copy = Path(f"{old}.before-{version}")
    copy.unlink()
    open_store(old).close()
    assert not copy.exists()


def test_the_copy_serves_as_the_store_again(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    version = add_migration(tmp_path, monkeypatch, "DELETE FROM tasks;")
    open_store(old).close()
    shutil.copyfile(f"{old}.before-{version}", old)
    monkeypatch.undo()
    store = open_store(old)
    assert store.find_task(1) == task(1)
    store.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = user_version(old)
    add_migration(tmp_path, monkeypatch, "DELETE FROM tasks;\nCREATE TABLE tasks (x);")
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be brought to schema") as caught:
            open_store(old)
    assert ".before-" in str(caught.value.hint)
    assert user_version(old) == before
    monkeypatch.undo()
    store = open_store(old)
    assert store.find_task(1) == task(1)
    store.close()


def test_a_newer_store_is_not_touched_by_an_older_program(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    add_migration(tmp_path, monkeypatch, "CREATE TABLE more (x);")
    open_store(old).close()
    monkeypatch.undo()
    digest = hashlib.sha256(Path(old).read_bytes()).digest()
    with pytest.raises(StoreError, match="knows only"):
        open_store(old)
    assert hashlib.sha256(Path(old).read_bytes()).digest() == digest
    assert not Path(old + "-wal").exists()


def test_a_gap_in_the_numbers_is_a_fault_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    directory = tmp_path / "m"
    directory.mkdir()
    (directory / "0002_x.sql").write_text("")
    monkeypatch.setattr(migrate, "DIRECTORY", str(directory))
    with pytest.raises(ValueError, match="not numbered"):
        migrate.list_migrations()
