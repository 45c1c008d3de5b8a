"""The database file: who may read it, how it begins, and what is refused without a byte changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cronoq_cli.errors import StoreError
from cronoq_cli.store.contract import Changes, Filter
from cronoq_cli.store.sqlite import database, open_reader, open_store
from tests.store.build import event, task


def fill(path: str, count: int = 50) -> None:
    store = open_store(path)
    store.claim("test", 1.0)
    store.commit(Changes(new=[task(n) for n in range(1, count + 1)], transitions=[event("x", 1)]))
    store.close()


def refusal(path: str) -> StoreError:
    """The error of opening, after which every file is as it was."""
    before = {p.name: p.read_bytes() for p in Path(path).parent.iterdir() if not p.name.endswith("-shm")}
    with pytest.raises(StoreError) as caught:
        open_store(path)
    after = {p.name: p.read_bytes() for p in Path(path).parent.iterdir() if not p.name.endswith("-shm")}
    assert after == before
    assert "\n" not in caught.value.line()
    return caught.value


def test_all_files_are_the_owners_alone(path: str, tmp_path: Path):
    old = os.umask(0)
    try:
        store = open_store(path)
        store.claim("test", 1.0)
        store.commit(Changes(new=[task(1)]))
        store.backup(str(tmp_path / "copy"))
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(["cronoq.db", "cronoq.db-wal", "cronoq.db-shm", "copy"], 0o600)


def test_a_wider_mode_is_narrowed(path: str):
    fill(path)
    os.chmod(path, 0o644)
    open_store(path).close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize("name", ["a?mode=memory", "b#c", "d%41%", "e & f=g;h", "ü", "\udcff", "line\nbreak"])
def test_whatever_a_directory_is_called_the_store_is_there(tmp_path: Path, name: str):
    path = os.path.join(tmp_path, name, "cronoq.db")
    os.mkdir(os.path.dirname(path))
    fill(path, 3)
    assert "cronoq.db" in os.listdir(os.path.dirname(path)) and os.listdir(tmp_path) == [name]
    reader = open_reader(path)
    assert len(reader.list_where(Filter())) == 3
    reader.close()


def test_it_is_marked_as_ours_in_wal_mode_and_durable(path: str):
    store = open_store(path)
    ask = store._db.execute
    assert ask("PRAGMA application_id").fetchone()[0] == database.APPLICATION_ID
    assert ask("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert ask("PRAGMA synchronous").fetchone()[0] == 2
    store.close()
    normal = open_store(path, synchronous="normal")
    assert normal._db.execute("PRAGMA synchronous").fetchone()[0] == 1
    normal.close()


def test_closing_leaves_one_file(path: str, tmp_path: Path):
    fill(path)
    assert [p.name for p in tmp_path.iterdir()] == ["cronoq.db"]


def test_a_store_half_made_by_a_crash_is_made_again(path: str):
    Path(path + ".new").write_bytes(b"half")
    fill(path)
    reader = open_reader(path)
    assert reader is not None and reader.find_task(50) is not None
    reader.close()


def test_who_reads_beside_sees_what_is_committed_and_for_a_moment_always_the_same(path: str):
    store = open_store(path)
    store.claim("test", 1.0)
    beside = store.open_beside()
    assert beside is store.open_beside(), "one is enough"
    store.commit(Changes(new=[task(1)]))
    with beside.at_one_moment():
        assert [record.id for record in beside.list_where(Filter())] == [1]
        store.commit(Changes(new=[task(2)]))
        assert [record.id for record in beside.list_where(Filter())] == [1]
    assert [record.id for record in beside.list_where(Filter())] == [1, 2]
    store.close()
    assert not Path(path + "-wal").exists(), "the reader does not keep it there"


def test_missing_directories_are_made_for_the_owner_alone(tmp_path: Path):
    path = tmp_path / "state" / "cronoq.db"
    fill(str(path))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"hello, this is a text\n" * 40, "no database"),
        (b"x", "no database"),
        (bytes(8192), "begins with zeros"),
    ],
    ids=["empty", "text", "short", "zeros"],
)
def test_what_is_no_database_is_refused_and_left(path: str, content: bytes, said: str):
    Path(path).write_bytes(content)
    error = refusal(path)
    assert said in error.message
    assert "to restore" in str(error.hint)
    with pytest.raises(StoreError):
        open_reader(path)


def test_another_programs_database_is_refused(path: str):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    assert "another program" in refusal(path).message


def test_a_file_cut_to_half_is_refused(path: str):
    fill(path, 500)
    os.truncate(path, os.path.getsize(path) // 8192 * 4096)
    assert "damaged" in refusal(path).message


def test_a_file_cut_within_a_page_is_refused(path: str):
    fill(path, 500)
    os.truncate(path, os.path.getsize(path) - 100)
    assert "cut off" in refusal(path).message


@pytest.mark.parametrize("page", [1, 2, 5, 9])
def test_a_page_of_zeros_is_refused(path: str, page: int):
    fill(path, 500)
    with open(path, "r+b") as file:
        file.seek(page * 4096)
        file.write(bytes(4096))
    assert "damaged" in refusal(path).message


def test_the_copy_made_before_a_migration_is_named_for_restoring(path: str):
    Path(path).write_bytes(b"garbage" * 100)
    Path(path + ".before-2").write_bytes(b"")
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert "cronoq.db.before-2" in str(caught.value.hint)


def test_a_wal_without_its_database_is_not_taken_for_a_new_one(path: str):
    Path(path + "-wal").write_bytes(b"x" * 100)
    error = refusal(path)
    assert "is missing" in error.message
    assert not os.path.exists(path)


def test_a_newer_schema_is_refused(path: str):
    fill(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 4711")
    db.close()
    error = refusal(path)
    assert "schema 4711" in error.message and error.code == "schema"
    with pytest.raises(StoreError, match="4711"):
        open_reader(path)


def test_an_old_sqlite_is_refused_with_both_versions():
    with pytest.raises(StoreError, match=r"SQLite 3\.30\.1 is too old") as caught:
        database.check_sqlite((3, 30, 1))
    assert "3.31.0" in caught.value.line()
    database.check_sqlite((3, 31, 0))


CRASH = """
import os, sys
from cronoq_cli.store.contract import Changes, Filter
from cronoq_cli.store.sqlite import open_store
from tests.store.build import task
store = open_store(sys.argv[1])
store.claim("crash", 1.0)
store.commit(Changes(new=[task(n) for n in range(100, 110)]))
os._exit(9)
"""


def crash(path: str) -> None:
    """A process that commits ten tasks and dies without closing."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", CRASH, path], cwd=root, check=False)
    assert done.returncode == 9


def test_what_a_killed_process_committed_is_there(path: str):
    fill(path)
    crash(path)
    store = open_store(path)
    assert store.find_task(109) == task(109)
    store.close()


def test_a_lost_wal_is_noticed_and_may_be_given_up(path: str):
    fill(path)
    crash(path)
    os.unlink(path + "-wal")
    error = refusal(path)
    assert "cronoq.db-wal is gone" in error.message
    reader = open_reader(path)
    assert reader is not None and reader.find_task(109) is None
    reader.close()
    refusal(path)
    Path(path + "-wal").touch()
    store = open_store(path)
    assert store.find_task(50) == task(50)
    store.close()


def test_a_damaged_end_of_the_wal_costs_only_what_stood_there(path: str):
    fill(path)
    crash(path)
    with open(path + "-wal", "r+b") as file:
        file.seek(-50, os.SEEK_END)
        file.write(b"\xff" * 50)
    store = open_store(path)
    assert store.find_task(50) == task(50)
    assert store.find_task(109) is None
    store.close()


def test_a_backup_opens_as_a_store_of_its_own(path: str, tmp_path: Path):
    store = open_store(path)
    store.claim("test", 1.0)
    store.commit(Changes(new=[task(1)]))
    store.backup(str(tmp_path / "copy.db"))
    store.commit(Changes(new=[task(2)]))
    store.close()
    copy = open_store(str(tmp_path / "copy.db"))
    assert copy.find_task(1) == task(1) and copy.find_task(2) is None
    assert copy.claim("copy", 2.0) == 2
    copy.close()


def test_no_file_is_no_reader(path: str):
    assert open_reader(path) is None


def test_a_reader_without_a_daemon_leaves_nothing_behind(path: str, tmp_path: Path):
    fill(path)
    reader = open_reader(path)
    assert reader is not None and reader.find_task(50) == task(50)
    reader.close()
    assert [p.name for p in tmp_path.iterdir()] == ["cronoq.db"]


def test_a_reader_sees_what_the_writer_commits_meanwhile(path: str):
    store = open_store(path)
    store.claim("test", 1.0)
    reader = open_reader(path)
    assert reader is not None
    store.commit(Changes(new=[task(1)]))
    assert reader.find_task(1) == task(1)
    reader.close()
    store.close()


def test_a_reader_cannot_write(path: str):
    fill(path)
    reader = open_reader(path)
    assert reader is not None
    with pytest.raises(sqlite3.OperationalError):
        reader._db.execute("DELETE FROM tasks")
    reader.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("crashed", [False, True])
def test_a_reader_works_on_a_read_only_file_system(tmp_path: Path, crashed: bool):
    mounted = tmp_path / "m"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", mounted], check=False).returncode:
        pytest.skip("cannot mount")
    try:
        path = str(mounted / "cronoq.db")
        fill(path)
        if crashed:
            crash(path)
            os.unlink(path + "-shm")
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        reader = open_reader(path)
        assert reader is not None
        assert (reader.find_task(109) is not None) is crashed
        assert reader.find_task(50) == task(50)
        reader.close()
        with pytest.raises(StoreError) as caught:
            open_store(path)
        assert "writable" in str(caught.value.hint)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_an_unreadable_directory_is_one_clear_line(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot reach .*file: File exists"):
        open_store(str(tmp_path / "file" / "cronoq.db"))


def test_copies_at_every_commit_open_with_complete_steps(path: str, tmp_path: Path):
    """Each commit makes a task, its event and its attempt in one: no copy of the files may show a part of it."""
    store = open_store(path)
    store.claim("test", 1.0)
    copies = []
    for n in range(1, 30):
        store.commit(Changes(new=[task(n)], transitions=[event("submitted", n)], stdins={n: b"x" * 5000}))
        copies.append(tmp_path / f"copy{n}" / "cronoq.db")
        copies[-1].parent.mkdir()
        for end in ("", "-wal"):
            shutil.copyfile(path + end, str(copies[-1]) + end)
        if n % 3 == 0:
            os.truncate(str(copies[-1]) + "-wal", os.path.getsize(path + "-wal") - 2000)
    store.close()
    for n, copy in enumerate(copies, 1):
        again = open_store(str(copy))
        found = again.load_live()
        expected = n - 1 if n % 3 == 0 else n
        assert [record.id for record in found.tasks] == list(range(1, expected + 1))
        assert again.last_transition_seq() == expected
        assert (again.find_stdin(n) is None) is (n % 3 == 0)
        assert found.next_id == expected + 1
        again.close()


def test_the_last_ends_are_read_and_no_others(path: str):
    fill(path)
    store = open_reader(path)
    said: list[str] = []
    store._db.set_trace_callback(said.append)
    for ids in (None, [(1, 9)], [(n, n) for n in range(1, 999, 2)]):
        store.list_where(Filter(ids=ids, by_end=True, newest_first=True, limit=3))
        store.list_ids(Filter(ids=ids, by_end=True, newest_first=True, limit=3))
    store.close()
    assert said
    assert all(statement.endswith("LIMIT 3") for statement in said if "ORDER BY finished_at" in statement)
