"""New tasks by the hundred, written by one statement a kind: SQLite counts, and asks for what differs from row to row.

Binding a dozen values for each row costs three times as much as inserting it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import NewTasks
from cronoq_cli.store.sqlite import rows

_VARIES = "cronoq_varies"
"""A function of a column's number and a task's place: the value."""
_COUNTED = "WITH RECURSIVE counted(place) AS (VALUES (0) UNION ALL SELECT place + 1 FROM counted WHERE place < :last)"
_SEQ = b'"seq":0.0'
"""In the state of a record whose sequence is 0: what is written anew for each task."""


_born_of = attrgetter("name", "env", "keep_s")
"""What specs of one kind may have of their own in columns, beside tags."""
NumberEnv = Callable[[str], int | None]
"""The number of an environment, None of no environment."""


def write_new(db: sqlite3.Connection, new: NewTasks, number_env: NumberEnv) -> None:
    """Insert the tasks. Raises sqlite3.Error."""
    try:
        for kind, record in enumerate(new.records):
            places = new.list_places(kind)
            _Kind(new, record, [new.specs[place] for place in places], places).write(db, number_env)
    finally:
        db.create_function(_VARIES, 2, None)


def write_events(db: sqlite3.Connection, new: NewTasks) -> None:
    """Insert the line of history that each of the tasks begins with. Raises sqlite3.Error."""
    blobs = [rows.encode_event(0, event)[2] for event in new.events]
    values: dict[str, Any] = {"last": len(new.specs) - 1, "seq": new.first_seq, "first": new.first, "blob": blobs[0]}
    column = ":blob"
    if new.kinds is not None:
        kinds = new.kinds
        db.create_function(_VARIES, 2, lambda _, place: blobs[kinds[place]])
        column = f"{_VARIES}(0, place)"
    db.execute(
        f"INSERT INTO events (seq, task, record) {_COUNTED} SELECT :seq + place, :first + place, {column} FROM counted",
        values,
    )


class _Kind:
    """The tasks of one kind: what each of them has of its own, by column, and what they have in common."""

    def __init__(self, new: NewTasks, record: TaskRecord, specs: list[TaskSpec], places: Sequence[int]) -> None:
        self.first, self.record, self.specs, self.places = new.first, record, specs, places
        self.varying: list[list[Any]] = []

    def write(self, db: sqlite3.Connection, number_env: NumberEnv) -> None:
        """Insert them."""
        columns, values = self._describe_birth(number_env)
        columns |= self._describe_state(values)
        db.create_function(_VARIES, 2, lambda column, place: self.varying[column][place])
        names = ", ".join(f'"{name}"' for name in columns)
        db.execute(
            f"INSERT INTO tasks ({names}) {_COUNTED} SELECT {', '.join(columns.values())} FROM counted",
            {"last": len(self.specs) - 1, "first": self.first + self.places[0], **values},
        )

    def _describe_state(self, values: dict[str, Any]) -> dict[str, str]:
        """Expressions for the id, the columns of STATE, and the lot."""
        record = msgspec.structs.replace(self.record, seq=0.0)
        status, live, leaving, _, batch, state, _, _ = rows.encode_state(record)
        before, _, behind = state.partition(_SEQ)
        values |= {"before": (before + b'"seq":').decode(), "behind": (b".0" + behind).decode()}
        values |= {"status": status, "live": live, "leaving": leaving, "batch": batch, "lot": self.record.id}
        values["shift"] = int(self.record.seq - self.record.id)
        task_id = ":first + place"
        if self.places[-1] - self.places[0] != len(self.places) - 1:
            task_id = self._vary([self.first + place for place in self.places])
        return {
            "id": task_id,
            "seq": f"{task_id} + :shift",
            "state": f"CAST(:before || ({task_id} + :shift) || :behind AS BLOB)",
            **{name: f":{name}" for name in ("status", "live", "leaving", "batch", "lot")},
        }

    def _describe_birth(self, number_env: NumberEnv) -> tuple[dict[str, str], dict[str, Any]]:
        """Expressions for the columns of BIRTH that are not empty throughout, and their values."""
        first = self.specs[0]
        known = zip(rows.BIRTH, map(rows.bound_text, rows.encode_birth(first, number_env(first.env))), strict=True)
        values = {name: value for name, value in known if value is not None}
        columns = {name: f":{name}" for name in values}
        varying = {"spec": rows.encode_all(self.specs)}
        if len(set(map(_born_of, self.specs))) > 1 or any(spec.tags for spec in self.specs):
            births = [rows.encode_birth(spec, number_env(spec.env)) for spec in self.specs]
            varying = dict(zip(rows.BIRTH, map(list, zip(*births, strict=True)), strict=True))
        for name, column in varying.items():
            if column.count(column[0]) < len(column):
                columns[name] = self._vary([rows.bound_text(value) for value in column])
                values.pop(name, None)
        return columns, values

    def _vary(self, column: list[Any]) -> str:
        """An expression for a column whose values differ."""
        self.varying.append(column)
        return f"{_VARIES}({len(self.varying) - 1}, place)"
