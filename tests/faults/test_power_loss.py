"""The power fails: what is on the disk at any moment opens, and has everything that was acknowledged by then."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from random import Random

from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.sqlite import open_store

COMMITS = 24


def record(number: int) -> TaskRecord:
    """A task that waits."""
    spec = TaskSpec(name=f"t{number}", command=["true", "x" * 200])
    return TaskRecord(
        id=number, spec=spec, status=Status.READY, seq=float(number), submitted_at=float(number), updated_at=0.0
    )


def copy_disk(path: Path, place: Path, *, cut: int = 0) -> Path:
    """What a disk would have: the database and its log, the last `cut` bytes of that never written."""
    place.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        if (path.parent / name).exists():
            shutil.copy(path.parent / name, place / name)
            (place / name).chmod(0o600)
    log = place / f"{path.name}-wal"
    if cut and log.exists():
        os.truncate(log, max(0, log.stat().st_size - cut))
    return place / path.name


def read_ids(path: Path) -> list[int]:
    """The tasks of a store as the next daemon finds them."""
    with contextlib.closing(open_store(str(path))) as store:
        store.claim("next", 0.0)
        kept = store.load_live()
        assert not kept.damaged
        return [task.id for task in kept.tasks]


def test_at_every_commit_the_disk_has_all_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "cronoq.db"
    with contextlib.closing(open_store(str(path))) as store:
        store.claim("first", 0.0)
        for number in range(1, COMMITS + 1):
            store.commit(Changes(new=[record(number)]))
            copy = copy_disk(path, tmp_path / f"whole-{number}")
            assert read_ids(copy) == list(range(1, number + 1))


def test_a_log_torn_anywhere_has_whole_commits_only_and_none_missing_between(tmp_path: Path) -> None:
    draw, path = Random(1), tmp_path / "cronoq.db"
    with contextlib.closing(open_store(str(path))) as store:
        store.claim("first", 0.0)
        for number in range(1, COMMITS + 1):
            store.commit(Changes(new=[record(2 * number - 1), record(2 * number)]))
        size = (tmp_path / "cronoq.db-wal").stat().st_size
        for turn in range(20):
            copy = copy_disk(path, tmp_path / f"torn-{turn}", cut=draw.randrange(1, size))
            ids = read_ids(copy)
            assert ids == list(range(1, len(ids) + 1))
            assert len(ids) % 2 == 0, "a commit is there whole or not at all"
