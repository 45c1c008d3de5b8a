"""A store as the first landing wrote it, brought up to date: nothing of it is lost, and it serves as a new one does."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from cronoq_cli.errors import StoreError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff, Batch, Condition, Dependency, Edge
from cronoq_cli.store.contract import Changes, Filter
from cronoq_cli.store.sqlite import migrate, open_reader, open_store
from tests.store.build import task

FIXTURE = Path(__file__).parent / "stores" / "schema-1.db"
"""Written by the program of schema 1: ten tasks in all kinds of states, with all that can belong to them."""
BAD = "caf\udce9"
BASE = 1_790_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A copy of the fixture, as a user would have it."""
    found = tmp_path / "cronoq.db"
    shutil.copyfile(FIXTURE, found)
    found.chmod(0o600)
    return str(found)


def user_version(path: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def table_dump(path: str, tables: list[str]) -> dict[str, list[tuple[object, ...]]]:
    """Every row of the tables, byte for byte, in the columns that schema 1 had."""
    with contextlib.closing(sqlite3.connect(FIXTURE)) as db:
        columns = {name: ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({name})")) for name in tables}
    with contextlib.closing(sqlite3.connect(path)) as db:
        return {name: db.execute(f"SELECT {columns[name]} FROM {name} ORDER BY 1, 2").fetchall() for name in tables}


def test_the_fixture_is_of_schema_1():
    assert user_version(str(FIXTURE)) == 1


def test_a_copy_is_made_and_every_row_stays(path: str):
    tables = ["tasks", "attempts", "edges", "batches", "envs", "stdins", "events", "pools", "leader"]
    before = table_dump(path, tables)
    open_store(path).close()
    assert user_version(path) == migrate.newest_version()
    after = table_dump(path, tables)
    assert after == before
    copy = f"{path}.before-{migrate.newest_version()}"
    assert user_version(copy) == 1
    assert table_dump(copy, tables) == before


def test_a_reader_leaves_an_old_store_to_the_daemon(path: str):
    with pytest.raises(StoreError, match="still has schema 1"):
        open_reader(path)
    assert user_version(path) == 1


def test_what_was_stored_is_read_as_it_was_meant(path: str):
    store = open_store(path)
    try:
        live = store.load_live()
        assert [record.id for record in live.tasks] == [6, 3, 4, 5, 7, 8, 9, 10]
        assert (live.next_id, live.damaged, live.pools) == (11, {}, {"batch": {"paused": True}})
        assert (live.run_times, live.resources) == ({}, {})
        assert live.batches == [Batch(first=8, last=9, limit=1, max_fails=1)]
        assert live.edges == [
            Edge(task=4, condition=Condition.ANY, awaited="later", awaited_until=BASE + 60),
            Edge(task=4, condition=Condition.SUCCESS, target=3),
        ]
        dead, running, odd = store.list_tasks([2, 3, 6])
        assert (dead.status, dead.spec.key, dead.spec.backoff) == (
            Status.DEAD_LETTERED,
            "nightly",
            Backoff("fixed", 1.0, 1.0),
        )
        assert (running.pid, running.spec.pool, running.spec.priority) == (4711, "batch", 3)
        assert (odd.spec.command, odd.spec.env_changes) == (["printf", BAD], {"A": BAD, "B": None})
        assert store.find_task(4).spec.after == [Dependency("3"), Dependency("later", Condition.ANY)]
        assert [attempt.reason for attempt in store.list_attempts(2)] == ["submitted", "retry"]
        assert store.find_env("e1") == b"PATH=/bin\0LANG=C\0ODD=\xff"
        assert store.find_stdin(6) == b"kept\0\xff"
        assert [event.message for event in store.list_transitions(0, 9)] == [None, BAD]
    finally:
        store.close()


def test_what_is_new_has_its_defaults_in_old_tasks(path: str):
    store = open_store(path)
    try:
        for record in store.list_where(Filter()):
            spec = record.spec
            assert (spec.tenant, spec.labels, spec.uses, spec.group, spec.members) == ("", {}, {}, None, [])
            assert (spec.start_at, spec.tolerance_s, spec.on_miss) == (None, 1.0, "run-late")
            assert (spec.deadline, spec.expires_at, spec.estimate_s, record.units) == (None, None, None, {})
    finally:
        store.close()


def test_the_old_store_takes_what_the_new_schema_has(path: str):
    store = open_store(path)
    store.claim("second", BASE + 100)
    fresh = task(11, spec={"uses": {"gpu": 1.0}}, units={"gpu": [0]})
    store.commit(Changes(new=[fresh], run_times={("batch", "make"): [3.0, 1.5]}, resources={"gpu": {"permits": 1}}))
    store.close()
    again = open_store(path)
    try:
        assert again.find_task(11) == fresh
        assert (again.load_run_times(), again.load_resources()) == (
            {("batch", "make"): [3.0, 1.5]},
            {"gpu": {"permits": 1}},
        )
        assert again.leadership().epoch == 2
    finally:
        again.close()


def test_damaged_learning_is_left_out_and_nothing_else(path: str):
    store = open_store(path)
    store.claim("second", BASE + 100)
    store.commit(Changes(run_times={("p", "a"): [1.0], ("p", "b"): [2.0]}, resources={"x": {"permits": 1}}))
    store._db.execute("UPDATE run_times SET data = x'ff' WHERE kind = 'a'")
    store._db.execute("UPDATE resources SET data = '[1]'")
    live = store.load_live()
    assert (live.run_times, live.resources) == ({("p", "b"): [2.0]}, {})
    assert len(live.tasks) == 8
    store.close()
