"""A disk that is full, a lock held by another, rows that cannot be read: what is said, and that it works again."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronoq_cli.errors import FencedError, StoreBusyError, StoreError, StoreFullError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Condition, Edge, TaskSpec
from cronoq_cli.store.contract import Changes, Filter
from cronoq_cli.store.sqlite import SqliteStore, open_store
from tests.store.build import ended, event, task
from tests.store.test_conformance import bulk
from tests.store.test_sqlite_file import crash


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    found = open_store(path, synchronous="normal", busy_timeout_s=0.02)
    found.claim("test", 1.0)
    yield found
    found.close()


def foreign(path: str) -> sqlite3.Connection:
    """A connection as another program would have."""
    return sqlite3.connect(path, isolation_level=None, timeout=5)


def big(first: int) -> Changes:
    """A commit of some 500 KiB, with an environment and transitions."""
    return Changes(
        new=[task(n, spec={"env": "e"}) for n in range(first, first + 100)],
        stdins=dict.fromkeys(range(first, first + 100), b"x" * 5000),
        envs={"e": b"A=1"},
        transitions=[event("submitted", first)],
    )


def test_a_full_store_takes_nothing_of_a_commit_and_works_again(store: SqliteStore):
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 5}")
    for _ in range(2):
        with pytest.raises(StoreFullError) as caught:
            store.commit(big(1))
    assert caught.value.code == "no-space"
    assert not store._db.in_transaction
    assert store.list_where(Filter()) == [] and store.find_env("e") is None
    store._db.execute("PRAGMA max_page_count = 1000000")
    assert store.commit(big(1)) == [1]
    assert store.find_env("e") == b"A=1"
    assert len(store.list_where(Filter())) == 100


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    mounted = tmp_path / "m"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", mounted]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("cannot mount")
    yield mounted
    subprocess.run(["umount", "-l", mounted], check=True)


def fill_up(disk: Path) -> Path:
    """Take every block that is left; the file that does."""
    with open(disk / "ballast", "wb", buffering=0) as ballast, pytest.raises(OSError):
        while True:
            ballast.write(b"x" * 4096)
    return disk / "ballast"


def test_a_full_disk_takes_nothing_of_a_commit_and_works_again(disk: Path):
    path = str(disk / "cronoq.db")
    store = open_store(path)
    store.claim("test", 1.0)
    store.commit(Changes(new=[task(1)]))
    ballast = fill_up(disk)
    for _ in range(3):
        with pytest.raises(StoreFullError):
            store.commit(big(100))
    assert [record.id for record in store.list_where(Filter())] == [1]
    assert store.leads()
    ballast.unlink()
    assert store.commit(big(100)) == [1]
    store.close()
    again = open_store(path)
    assert len(again.list_where(Filter())) == 101
    again.close()


def test_a_store_that_was_closed_on_a_full_disk_opens_when_there_is_space(disk: Path):
    path = str(disk / "cronoq.db")
    store = open_store(path)
    store.claim("test", 1.0)
    number = 1
    ballast = fill_up(disk)
    with pytest.raises(StoreFullError):
        while True:  # what room the -wal had is used up
            store.commit(Changes(new=[task(number)]))
            number += 1
    store.close()
    with pytest.raises(StoreFullError, match="no space"):
        open_store(path)
    ballast.unlink()
    again = open_store(path)
    assert len(again.list_where(Filter())) == number - 1
    again.close()
    assert not os.path.exists(path + "-wal")


def test_a_store_of_a_killed_process_that_cannot_be_opened_on_a_full_disk_loses_nothing(disk: Path):
    path = str(disk / "cronoq.db")
    open_store(path).close()
    crash(path)
    ballast = fill_up(disk)
    for _ in range(2):
        with pytest.raises(StoreFullError, match="no space"):
            open_store(path)
    ballast.unlink()
    again = open_store(path)
    assert again.find_task(109) == task(109)
    again.close()


def test_a_lock_held_by_another_process_is_busy_and_the_same_commit_succeeds_later(store: SqliteStore, path: str):
    other = foreign(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError):
        store.commit(Changes(new=[task(1)]))
    assert store.list_where(Filter()) == []
    other.execute("ROLLBACK")
    other.close()
    store.commit(Changes(new=[task(1)]))
    assert store.find_task(1) == task(1)


def test_a_foreign_reader_never_stops_writes_and_the_wal_shrinks_afterwards(store: SqliteStore, path: str):
    other = foreign(path)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM tasks").fetchone()
    for n in range(20):
        store.commit(big(1 + n * 100))
    grown = os.path.getsize(path + "-wal")
    assert grown > 5_000_000
    other.execute("COMMIT")
    other.close()
    store._db.execute("PRAGMA journal_size_limit = 100000")
    for n in range(3):
        store.commit(Changes(transitions=[event("x", n)]))
    assert os.path.getsize(path + "-wal") < 200_000
    assert len(store.list_where(Filter())) == 2000


def test_the_epoch_is_checked_inside_the_transaction(store: SqliteStore, path: str):
    rival = open_store(path)
    rival.claim("rival", 2.0)
    with pytest.raises(FencedError, match="epoch 2, ours was 1"):
        store.commit(Changes(new=[task(1)]))
    assert not store._db.in_transaction
    rival.commit(Changes(new=[task(1)]))
    rival.close()


def test_a_closed_store_is_a_store_error(path: str):
    store = open_store(path)
    store.claim("test", 1.0)
    store.close()
    with pytest.raises(StoreError):
        store.commit(Changes(new=[task(1)]))
    with pytest.raises(StoreError):
        store.find_task(1)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("spec", b"{"),
        ("spec", b"\xff\xfe"),
        ("spec", b'{"name":1}'),
        ("spec", b""),
        ("state", b"[1]"),
        ("state", b'{"status":"sleeping","seq":1.0,"submitted_at":1.0,"updated_at":1.0}'),
        ("state", b'{"status":"ready","seq":"first","submitted_at":1.0,"updated_at":1.0}'),
        ("state", b'{"status":"ready"}'),
        ("state", "text"),
        ("state", 7),
        ("spec", 7),
    ],
)
def test_a_row_that_cannot_be_read_is_set_aside_as_failed_and_the_rest_goes_on(
    store: SqliteStore, path: str, column: str, value: object
):
    edge = Edge(task=2, condition=Condition.SUCCESS, target=1)
    store.commit(Changes(new=[task(1), task(2, Status.BLOCKED, spec={"key": "k"}), task(3)], edges_opened=[edge]))
    other = foreign(path)
    other.execute(f"UPDATE tasks SET {column} = ? WHERE id = 2", (value,))
    other.close()
    before = store.find_task(2)
    assert before.status is Status.FAILED and before.reason == "unreadable"
    live = store.load_live()
    assert [record.id for record in live.tasks] == [1, 3]
    assert list(live.damaged) == [2] and live.damaged[2]
    assert live.edges == []
    found = store.find_task(2)
    assert found.status is Status.FAILED and found.finished_at is not None
    assert live.damaged[2] in found.message
    assert store.count_by_status() == {"ready": 2, "failed": 1}
    last = store.list_transitions(0, 9)[-1]
    assert (last.type, last.id, last.status) == ("unreadable", 2, "failed")
    assert store._db.execute("SELECT task FROM set_aside").fetchall() == [(2,)]
    assert store.load_live().damaged == {}
    assert store.commit(Changes(transitions=[event("x")])) == [last.seq + 1]


def test_what_can_still_be_read_of_a_damaged_row_is_shown(store: SqliteStore, path: str):
    store.commit(Changes(new=[task(1, spec={"key": "k"}, attempt=3), task(2, attempt=3)]))
    other = foreign(path)
    other.execute("UPDATE tasks SET state = x'00' WHERE id = 1")
    other.execute("UPDATE tasks SET spec = x'00' WHERE id = 2")
    other.execute("INSERT INTO attempts VALUES (1, 1, x'00')")
    other.execute("INSERT INTO events (seq, task, record) VALUES (1, 1, x'00')")
    other.close()
    first, second = store.list_tasks([1, 2])
    assert first.spec == task(1, spec={"key": "k"}).spec
    assert (second.spec.name, second.attempt, second.submitted_at) == ("(unreadable)", 3, 1000.0)
    assert "cannot be read" in store.list_attempts(1)[0].message
    assert store.list_transitions(0, 9)[0].type == "unreadable"


def test_a_text_that_is_no_utf8_breaks_no_search(store: SqliteStore, path: str):
    store.commit(Changes(new=[task(1), task(2)]))
    other = foreign(path)
    other.execute("UPDATE tasks SET name = CAST(x'41ff' AS TEXT) WHERE id = 1")
    other.close()
    assert [record.id for record in store.list_where(Filter(name_glob="job2"))] == [2]
    assert [record.id for record in store.load_live().tasks] == [1, 2]


def test_a_finished_row_that_cannot_be_read_does_not_hide_the_others(store: SqliteStore, path: str):
    store.commit(Changes(new=[ended(1, 1.0), ended(2, 2.0)]))
    other = foreign(path)
    other.execute("UPDATE tasks SET spec = x'00' WHERE id = 1")
    other.close()
    first, second = store.list_where(Filter())
    assert (first.status, first.reason) == (Status.FAILED, "unreadable")
    assert second == ended(2, 2.0)
    assert store.prune({"succeeded": 99.0}, 100, 10) == [1, 2]


def test_a_backup_from_another_thread_is_consistent_while_writes_go_on(store: SqliteStore, tmp_path: Path):
    store.commit(big(1))
    copies = [str(tmp_path / f"copy{n}.db") for n in range(3)]

    def copy_all() -> None:
        for copy in copies:
            store.backup(copy)

    copier = threading.Thread(target=copy_all)
    copier.start()
    n = 1000
    while copier.is_alive():
        store.commit(Changes(new=[task(n), task(n + 1)], transitions=[event("x", n)]))
        n += 2
    copier.join()
    for copy in copies:
        again = open_store(copy)
        extra = len(again.list_where(Filter(after_id=999)))
        assert extra % 2 == 0 and again.last_transition_seq() == 1 + extra // 2
        again.close()


def test_of_a_lot_whose_first_row_is_damaged_each_row_is_judged(store: SqliteStore, path: str):
    store.commit(Changes(bulks=[bulk(1, *[TaskSpec(name="a", command=["true"])] * 5)]))
    assert [list(run.ids) for run in store.load_live().runs] == [[1, 2, 3, 4, 5]]
    other = foreign(path)
    other.execute("UPDATE tasks SET spec = ? WHERE id IN (1, 4)", ("{",))
    other.close()
    live = store.load_live()
    assert [record.id for record in live.tasks] == [2, 3, 5] and live.runs == []
    assert list(live.damaged) == [1, 4]
    assert store.count_by_status() == {"ready": 3, "failed": 2}
    again = store.load_live()
    assert [list(run.ids) for run in again.runs] == [[2, 3, 5]] and again.damaged == {}
