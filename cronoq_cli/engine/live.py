"""The engine's own small object for a live task, and the moment every event carries.

A live task holds what scheduling needs and no more: command, directory and environment stay in the store.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from cronoq_cli.engine.demand import NO_TIMES, Times, read_demand, read_times
from cronoq_cli.model.lifecycle import WAITING, Status
from cronoq_cli.model.policy import Policy
from cronoq_cli.model.task import Batch, TaskRecord, TaskSpec

READY, RUNNING, BLOCKED = Status.READY, Status.RUNNING, Status.BLOCKED
SCHEDULED, RETRYING = Status.SCHEDULED, Status.RETRYING
"""Plain names for the way of every task: looking a member up in its class costs five times as much (Python 3.11)."""

BARE_SPEC = TaskSpec(name="")
"""Stands in the state-only records of `Changes.updated`, whose spec is not written."""


class Now(NamedTuple):
    """A moment on both clocks: unix seconds, and seconds awake (a clock that stands still in suspend)."""

    wall: float
    awake: float


PLAIN, DEADLINE, FIXED = 0, 1, 2
"""The kinds of lanes: by sequence, by deadline, by fixed start."""

LaneName = tuple[int, str, tuple[str, ...], tuple[tuple[str, str], ...], int | None]
"""Kind, tenant, resources, labels, limited array."""


Rank = tuple[Any, ...]
"""Where a task stands in its lane: numbers, the last of them its id."""


class LiveBatch:
    """A batch of which the engine keeps members (`kept`: live, or leaving), and how many of it run and have failed."""

    __slots__ = ("kept", "record", "running")

    def __init__(self, record: Batch) -> None:
        self.record = record
        self.running = 0
        self.kept = 0

    @property
    def is_full(self) -> bool:
        """Whether as many of it run as may at once (`--array 0-99%4`)."""
        return self.record.limit is not None and self.running >= self.record.limit


class LiveTask:
    """One task the engine keeps: live, or `leaving` (final, its process tree not gone yet).

    `due_at`: the wall clock moment before which it may not start, because of its own start time (then it equals
    `not_before`) or of backoff. `due_awake`: the same of backoff on the awake clock. `recalled`: a lease asked back.
    `gathering`: the group it waits to be gathered by; `gathered_by`: the task that runs for it. `units`: what it
    holds of resources and workers. `entry`: what of it stands in its lane. `facts`: what few tasks have, by
    the name in the record.
    """

    __slots__ = (
        "attempt",
        "batch",
        "demand",
        "due_at",
        "due_awake",
        "entry",
        "exit_code",
        "facts",
        "finished_at",
        "gathered_by",
        "gathering",
        "held",
        "id",
        "key",
        "kill_at",
        "leased",
        "leaving",
        "max_attempts",
        "message",
        "not_before",
        "open_edges",
        "pid",
        "policy",
        "pool",
        "priority",
        "ready_at",
        "reason",
        "recalled",
        "seq",
        "signal",
        "slot",
        "slots",
        "start_reason",
        "started_at",
        "status",
        "stop_cause",
        "submitted_at",
        "times",
        "units",
        "updated_at",
        "wants",
    )

    def __init__(self, task_id: int, spec: TaskSpec, policy: Policy, *, seq: float, now: float) -> None:
        self.id = task_id
        self.seq = seq
        self.policy = policy
        self.pool = spec.pool
        self.priority = spec.priority
        self.slots = spec.slots
        self.key = spec.key
        self.kill_at = spec.kill_at
        self.not_before = spec.not_before if spec.start_at is None else spec.start_at
        self.due_at = self.not_before
        self.demand = read_demand(spec)
        self.times = read_times(spec)
        self.gathering = spec.group or ""
        self.held = spec.hold
        self.batch: LiveBatch | None = None
        self.max_attempts = 1 + policy.retries
        self.ready_at: float | None = None
        self.wants: LaneName | None = None
        self._begin(now)
        if self.demand is not None or self.times is not None:
            self.wants = self.read_wants()

    def _begin(self, now: float) -> None:
        """What is so of every task at its submission, whatever its spec says."""
        self.status = READY
        self.submitted_at = now
        self.updated_at = now
        self.units: dict[str, list[int]] | None = None
        self.gathered_by: int | None = None
        self.open_edges = 0
        self.attempt = 0
        self.due_awake: float | None = None
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.reason: str | None = None
        self.start_reason = "submitted"
        self.stop_cause: str | None = None
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.message: str | None = None
        self.facts: dict[str, Any] | None = None
        self.pid: int | None = None
        self.slot: int | None = None
        self.leased = False
        self.recalled = False
        self.leaving = False
        self.entry: Rank | None = None

    def join(self, first: int, batch: LiveBatch | None) -> None:
        """Be a member of the batch that begins with `first`; `batch` is None when nothing of it was kept any more."""
        if batch is None:
            self.facts = {**(self.facts or {}), "batch": first}
            return
        self.batch = batch
        batch.kept += 1
        self.wants = self.read_wants()

    @property
    def is_waiting(self) -> bool:
        """Live and not running."""
        return self.status in WAITING

    @property
    def has_process(self) -> bool:
        """Whether the runner may have it: running, leased or leaving."""
        return self.leased or self.leaving or self.status is RUNNING

    def is_at_runner(self, attempt: int) -> bool:
        """Whether the runner may have this attempt of it."""
        if self.leased:
            return attempt == self.attempt + 1
        return attempt == self.attempt and (self.status is RUNNING or self.leaving)

    @property
    def attempt_at_runner(self) -> int:
        """The number of the attempt that the runner knows it by."""
        return self.attempt + 1 if self.leased else self.attempt

    @property
    def when(self) -> Times:
        """Its moments, none of them for a plain task."""
        return self.times or NO_TIMES

    @property
    def is_fixed(self) -> bool:
        """Whether its start is fixed and still to come: capacity is reserved for it."""
        return self.times is not None and self.times.start_at is not None and self.attempt == 0

    @property
    def is_occurrence(self) -> bool:
        """Whether it came of a schedule, by itself: one that a person started stands outside of every chain."""
        return self.facts is not None and "recurring" in self.facts

    def read_wants(self) -> LaneName | None:
        """The lane it belongs in within its class, None for a plain one.

        To be read into `wants` when what it wants, its moments, its batch or its first start have changed."""
        batch = self.batch
        limited = batch.record.first if batch is not None and batch.record.limit is not None else None
        demand, times = self.demand, self.times
        if limited is None and demand is None and times is None:
            return None
        kind = PLAIN
        if times is not None:
            kind = FIXED if self.is_fixed else PLAIN if times.deadline is None else DEADLINE
        if demand is None:
            return None if kind == PLAIN and limited is None else (kind, "", (), (), limited)
        return kind, demand.tenant, demand.names, demand.labels, limited

    @property
    def is_as_submitted(self) -> bool:
        """Whether it is ready since its submission, and nothing but its wants, its batch and its moment tell it from
        others: then it can be of a run (`engine/runs`)."""
        at = self.submitted_at
        return self.status is READY and self.ready_at == at and self.updated_at == at and _plain_of(self) == _PLAIN

    @property
    def likeness(self) -> tuple[int, ...]:
        """Equal for tasks of one lane that are alike. It holds as long as one of them is kept."""
        return id(self.policy), self.slots, self.max_attempts, id(self.batch), id(self.demand)

    def like(self, task_id: int, seq: float, at: float) -> LiveTask:
        """Another task like this one, which is as it was submitted: ready since the moment `at`."""
        one = LiveTask.__new__(LiveTask)
        one.id, one.seq, one.ready_at = task_id, seq, at
        one.policy, one.pool, one.priority, one.slots = self.policy, self.pool, self.priority, self.slots
        one.demand, one.batch, one.max_attempts, one.wants = self.demand, self.batch, self.max_attempts, self.wants
        one.key = one.kill_at = one.not_before = one.due_at = one.times = None
        one.gathering, one.held = "", False
        one._begin(at)
        return one

    def to_record(self, spec: TaskSpec = BARE_SPEC) -> TaskRecord:
        """The row of this task as it stands now."""
        facts, batch = self.facts or _NO_FACTS, self.batch
        return _make_record(
            self.id,
            spec,
            *_written_of(self),
            outputs=facts.get("outputs", {}),
            progress=facts.get("progress"),
            left_behind=facts.get("left_behind", 0),
            batch=facts.get("batch") if batch is None else batch.record.first,
            slot=self.slot,
            units=self.units or {},
            gathered_by=self.gathered_by,
            log=facts.get("log"),
            usage=facts.get("usage"),
            fingerprint=facts.get("fingerprint"),
        )

    @classmethod
    def from_record(cls, record: TaskRecord, policy: Policy) -> LiveTask:
        """The live task that `to_record` was made of; its batch and its open edges come later."""
        task = cls(record.id, record.spec, policy, seq=record.seq, now=record.submitted_at)
        (
            task.status,
            task.updated_at,
            task.reason,
            task.held,
            task.attempt,
            task.max_attempts,
            task.ready_at,
            task.due_at,
            task.started_at,
            task.finished_at,
            task.leased,
            task.leaving,
            task.stop_cause,
            task.pid,
            task.start_reason,
            task.exit_code,
            task.signal,
            task.message,
            task.slot,
            task.gathered_by,
        ) = _stored_of(record)
        facts = {name: value for name, value in zip(_FACTS, _facts_of(record), strict=True) if value}
        if record.spec.members:
            facts["members"] = record.spec.members
        if record.spec.recurring:
            facts |= read_occurrence(record.spec)
        task.facts = facts or None
        task.units = record.units or None
        task.wants = task.read_wants()
        if record.gathered_by is not None:
            task.gathering = ""
        return task


def read_occurrence(spec: TaskSpec) -> dict[str, Any]:
    """The facts of an occurrence: its schedule; a manual one has no key and stands outside of every chain."""
    return {"manual": True} if spec.key is None else {"recurring": spec.recurring}


_NO_FACTS: dict[str, Any] = {}
_stored_of = attrgetter(
    "status",
    "updated_at",
    "reason",
    "held",
    "attempt",
    "max_attempts",
    "ready_at",
    "due_at",
    "started_at",
    "finished_at",
    "leased",
    "leaving",
    "stop_cause",
    "pid",
    "start_reason",
    "exit_code",
    "signal",
    "message",
    "slot",
    "gathered_by",
)
_make_record: Callable[..., TaskRecord] = TaskRecord
_FIELDS = TaskRecord.__struct_fields__
_written_of = attrgetter(*_FIELDS[_FIELDS.index("status") : _FIELDS.index("outputs")])
"""What a record has in its order and under the names it has here; a record is made of it at once."""
_FACTS = ("outputs", "progress", "left_behind", "log", "usage", "fingerprint")
_facts_of = attrgetter(*_FACTS)

_OWN = ("id", "seq", "submitted_at", "updated_at", "ready_at", "entry")
"""What each task of a run has of its own; `entry` is of its lane."""
_SHARED = ("status", "policy", "pool", "priority", "slots", "demand", "batch", "max_attempts", "wants")
"""What those of one run have in common."""
_USUAL = {"gathering": "", "start_reason": "submitted", "attempt": 0, "open_edges": 0}
_USUAL |= dict.fromkeys(("held", "leased", "recalled", "leaving"), False)
_PLAIN_FIELDS = tuple(name for name in LiveTask.__slots__ if name not in (*_OWN, *_SHARED))
_plain_of = attrgetter(*_PLAIN_FIELDS)
_PLAIN = tuple(_USUAL.get(name) for name in _PLAIN_FIELDS)
"""All the rest is as it is of a plain task that has just become ready."""
