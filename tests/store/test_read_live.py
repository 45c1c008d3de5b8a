"""What recovery reads, read by somebody who only looks."""

from __future__ import annotations

import sqlite3

from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Batch, Condition, Edge
from cronoq_cli.store.contract import Changes, Store
from cronoq_cli.store.sqlite import open_reader, open_store
from tests.store.build import ended, task


def fill(store: Store) -> None:
    """Live tasks, one that has ended, an edge, two batches, a paused pool."""
    store.commit(
        Changes(
            new=[task(1, Status.READY), ended(2, 50.0), task(3, Status.BLOCKED), task(4, Status.RUNNING, attempt=1)],
            edges_opened=[Edge(task=3, condition=Condition.SUCCESS, target=1)],
            batches=[Batch(first=2, last=2), Batch(first=3, last=4, limit=1)],
            pools={"default": {"paused": True}},
        )
    )


def test_reading_tells_what_recovery_would_be_told(store: Store) -> None:
    fill(store)
    assert store.read_live() == store.load_live()
    assert [record.id for record in store.read_live().tasks] == [1, 3, 4]


def test_a_damaged_row_is_left_out_and_nothing_is_set_aside(path: str) -> None:
    store = open_store(path)
    store.claim("test", 1000.0)
    fill(store)
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE tasks SET spec = 'nonsense' WHERE id = 1")
    db.close()
    with open(path, "rb") as file:
        before = file.read()
    reader = open_reader(path)
    assert reader is not None
    found = reader.read_live()
    reader.close()
    assert [record.id for record in found.tasks] == [3, 4]
    assert list(found.damaged) == [1]
    with open(path, "rb") as file:
        assert file.read() == before
