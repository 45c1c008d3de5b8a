"""Which of the tasks that a store kept one by one are alike, so that a start takes them in as runs. Nothing is changed
here; what came in large submissions the store has as runs already.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec.structs import astuple

from cronoq_cli.engine.bulk import asks_for_more, read_whole
from cronoq_cli.engine.runs import MOST
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec

_OWN = ("id", "spec", "seq", "submitted_at", "updated_at", "ready_at", "max_attempts", "batch")
"""What is judged apart; all the rest is as it is of a plain task that has just become ready."""
_rest_of = itemgetter(*(at for at, name in enumerate(TaskRecord.__struct_fields__) if name not in _OWN))
_PLAIN = _rest_of(
    astuple(TaskRecord(id=0, spec=TaskSpec(name=""), status=Status.READY, seq=0.0, submitted_at=0.0, updated_at=0.0))
)


class AlikeRecords(msgspec.Struct, frozen=True):
    """Records of one run, in its order."""

    records: Sequence[TaskRecord]

    @property
    def record(self) -> TaskRecord:
        """The first."""
        return self.records[0]

    @property
    def ids(self) -> Sequence[int]:
        """Their ids, ascending."""
        return array("q", [record.id for record in self.records])

    @property
    def at(self) -> Sequence[float]:
        """When each was submitted."""
        return array("d", [record.submitted_at for record in self.records])


def split_records(records: Iterable[TaskRecord], least: int) -> tuple[list[AlikeRecords], list[TaskRecord]]:
    """Runs of more than `least` of these records, and all others, both by sequence as they came."""
    groups: dict[Any, list[TaskRecord]] = {}
    others: list[TaskRecord] = []
    numbers: dict[str, int] = {}
    number, last = 0, None
    for record in records:
        if not _is_plain(record):
            others.append(record)
            continue
        whole = read_whole(record.spec)
        if whole != last:  # most are as the one before
            last = whole
            number = -1 if asks_for_more(whole) else numbers.setdefault(repr(whole), len(numbers))
        if number < 0:
            others.append(record)
        else:
            shift = record.seq - record.id
            groups.setdefault((number, record.max_attempts, record.batch, shift), []).append(record)
    runs: list[AlikeRecords] = []
    for group in groups.values():
        if len(group) > least:
            runs += _cut(group)
        else:
            others += group
    others.sort(key=lambda record: record.seq)
    return runs, others


def _is_plain(record: TaskRecord) -> bool:
    """As `LiveTask.is_as_submitted` of the task that would be made of it."""
    at = record.submitted_at
    return record.ready_at == at and record.updated_at == at and _rest_of(astuple(record)) == _PLAIN


def _cut(group: list[TaskRecord]) -> Iterator[AlikeRecords]:
    """Runs no longer than those that grow one by one."""
    return (AlikeRecords(group[at : at + MOST]) for at in range(0, len(group), MOST))
