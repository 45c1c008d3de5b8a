"""What the daemon asks of a store: one transaction for each engine step, recovery, and reads beside the writes.

`sqlite` and `memory` implement it; one conformance suite runs on both. No SQL here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import msgspec

from cronoq_cli.model.notice import Incident, Notice
from cronoq_cli.model.recurring import PassedSlots, Schedule
from cronoq_cli.model.task import AttemptRecord, Batch, Edge, TaskRecord, TaskSpec, Transition

if TYPE_CHECKING:
    from cronoq_cli.model.history import EndSums, Step, Window


class NewTasks(msgspec.Struct, kw_only=True):
    """New tasks by the thousand, with ids from `first` on, and the line of history that each begins with.

    They are of a few kinds, each alike but for ids, sequences (which go with the ids) and specs, and those of one pool
    and class, without keys. `records`, `events`: of
    each kind the record of the first that is of it, and the event of each, without an id. `kinds`: the kind of each
    task, None where there is but one. `told`: how many of the commit's transitions come before these events."""

    first: int
    specs: list[TaskSpec]
    records: list[TaskRecord]
    events: list[Transition]
    kinds: list[int] | None = None
    told: int = 0
    first_seq: int = 0
    """The seq of their first event, given by the store at commit."""

    def list_places(self, kind: int) -> Sequence[int]:
        """The places of the tasks of one kind, from 0."""
        if self.kinds is None:
            return range(len(self.specs))
        return [place for place, one in enumerate(self.kinds) if one == kind]

    def iter_records(self) -> Iterator[TaskRecord]:
        """Each task as a record of its own."""
        for place, spec in enumerate(self.specs):
            record = self.records[0 if self.kinds is None else self.kinds[place]]
            task_id = self.first + place
            yield msgspec.structs.replace(record, id=task_id, spec=spec, seq=task_id + (record.seq - record.id))

    def iter_events(self) -> Iterator[Transition]:
        """Each event as a transition of its own."""
        for place in range(len(self.specs)):
            event = self.events[0 if self.kinds is None else self.kinds[place]]
            yield msgspec.structs.replace(event, id=self.first + place, seq=self.first_seq + place)


class Changes(msgspec.Struct, kw_only=True):
    """Everything one commit writes, already reduced to the last state of each row.

    `new`: whole records (spec and state) with ids the engine gave. `bulks`: the same of very many at once, in the
    order of `told`; what of them has changed since is in `updated` or `respecced` too. `updated`: all but the spec of
    a record already stored; `respecced`: records whose spec changed too (edit). `edges_opened`, `edges_closed`: open
    dependencies. `forgotten_edges`: tasks whose open edges are all dropped. `envs`: environments by hash, stored
    once (blob of NUL-separated K=V). `stdins`: kept standard input by task. `pools`: stored pool state by name
    (None: reset). `run_times`: what was learned by (pool, kind), as numbers (None: forgotten). `resources`: stored
    state of resources changed by command, by name (None: reset). `incidents`: open incidents by their subject (None:
    closed). `notices`: notices whose hooks are still to run, by id (None: done). `schedules`: by name (None: removed;
    its history stays). `passed`: slots that became no task. `removed`: tasks deleted with all that belongs to them.
    """

    new: list[TaskRecord] = []
    bulks: list[NewTasks] = []
    updated: list[TaskRecord] = []
    respecced: list[TaskRecord] = []
    attempts: list[AttemptRecord] = []
    edges_opened: list[Edge] = []
    edges_closed: list[Edge] = []
    forgotten_edges: list[int] = []
    batches: list[Batch] = []
    transitions: list[Transition] = []
    envs: dict[str, bytes] = {}
    stdins: dict[int, bytes] = {}
    pools: dict[str, dict[str, object] | None] = {}
    run_times: dict[tuple[str, str], list[float] | None] = {}
    resources: dict[str, dict[str, object] | None] = {}
    incidents: dict[str, Incident | None] = {}
    notices: dict[str, Notice | None] = {}
    schedules: dict[str, Schedule | None] = {}
    passed: list[PassedSlots] = []
    removed: list[int] = []

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return any(getattr(self, name) for name in self.__struct_fields__)

    def number_events(self, first: int) -> list[int]:
        """Number all events from `first` on: those of the bulks are told, the seqs of the transitions returned."""
        seqs: list[int] = []
        for bulk in self.bulks:
            begin = first + bulk.told - len(seqs)
            seqs += range(first, begin)
            bulk.first_seq, first = begin, begin + len(bulk.specs)
        seqs += range(first, first + len(self.transitions) - len(seqs))
        return seqs


class Filter(msgspec.Struct, kw_only=True):
    """Which stored tasks a read wants; None is no restriction, an empty list wants nothing.

    `name_glob` as fnmatch. `text`: somewhere in name, key or command, upper or lower case. `key`: exact. `tags`: value
    by name, None for any. `finished_before`: ended before that."""

    ids: list[tuple[int, int]] | None = None
    """Inclusive ranges."""
    statuses: list[str] | None = None
    pools: list[str] | None = None
    tags: dict[str, str | None] | None = None
    name_glob: str | None = None
    text: str | None = None
    key: str | None = None
    after_id: int | None = None
    before_id: int | None = None
    finished_before: float | None = None
    newest_first: bool = False
    by_end: bool = False
    """Only tasks that ended, in the order of their ends instead of ids."""
    limit: int | None = None


class KeptRun(msgspec.Struct, kw_only=True):
    """Waiting tasks of one bulk that nothing has touched: ascending ids, and the record of the first of them."""

    ids: Sequence[int]
    record: TaskRecord


class LiveState(msgspec.Struct, kw_only=True):
    """All that recovery needs. `tasks`: every live task and every one that is `leaving`, in seq order, but for those of
    `runs`, which `load_live` may keep apart; `edges`:
    open edges; `batches`: those of which any of these tasks is a member; `next_id`: the smallest id never used;
    `run_times`, `resources`, `incidents`: as `Changes` has them, what cannot be decoded left out; `damaged`: ids of
    rows that could not be decoded, already set aside as failed in the store, with the reason; `schedules`: by name in
    order; `damaged_schedules`: names of those that could not be decoded, with the reason, already taken out of the
    table and kept in another."""

    tasks: list[TaskRecord]
    edges: list[Edge]
    batches: list[Batch]
    pools: dict[str, dict[str, object]]
    next_id: int
    run_times: dict[tuple[str, str], list[float]] = {}
    resources: dict[str, dict[str, object]] = {}
    incidents: dict[str, Incident] = {}
    damaged: dict[int, str] = {}
    schedules: list[Schedule] = []
    runs: list[KeptRun] = []
    damaged_schedules: dict[str, str] = {}


class Leadership(msgspec.Struct, kw_only=True):
    """Who leads: the fencing epoch, and what the leader said of itself (pid, host, boot id, since)."""

    epoch: int
    holder: str | None = None
    since: float | None = None


class StoreReader(Protocol):
    """Reads beside the write path; they see what is committed.

    Edges are the open ones; with `closed` also those closed or forgotten, which stay until their task goes (whom a
    skipped task waited for). A stored task that cannot be decoded appears as failed, with the reason in `message`.
    """

    def store_id(self) -> str: ...
    def schema_version(self) -> int: ...
    def leadership(self) -> Leadership: ...
    def find_task(self, task_id: int) -> TaskRecord | None: ...
    def find_newest_with_key(self, key: str) -> TaskRecord | None: ...
    def find_newest_with_fingerprint(self, fingerprint: str, since: float) -> TaskRecord | None: ...
    def list_tasks(self, ids: Iterable[int]) -> list[TaskRecord]: ...
    def list_where(self, wanted: Filter) -> list[TaskRecord]: ...
    def list_ids(self, wanted: Filter) -> list[int]:
        """The ids of what `list_where` finds, in its order, without reading the tasks."""
        ...

    def count_by_status(self, pool: str | None = None) -> dict[str, int]: ...
    def list_attempts(self, task_id: int) -> list[AttemptRecord]: ...
    def list_edges(self, task_id: int, *, closed: bool = False) -> list[Edge]: ...
    def list_dependents(self, target_id: int, *, closed: bool = False) -> list[Edge]: ...
    def list_transitions(
        self, after_seq: int, limit: int, task_ids: Iterable[int] | None = None
    ) -> list[Transition]: ...
    def list_transitions_before(
        self, before_seq: int, limit: int, task_ids: Iterable[int] | None = None
    ) -> list[Transition]:
        """Up to `limit` transitions before `before_seq`, the newest first, of some tasks or of all."""
        ...

    def last_transition_seq(self) -> int: ...
    def first_transition_at(self) -> float | None: ...
    def sum_ends(self, window: Window, *, pool: str | None = None) -> list[EndSums]:
        """The sums over the ends in the window, by pool and kind, of one pool or of all."""
        ...

    def sum_steps(self, window: Window, step_s: float, up_to_seq: int) -> dict[int, Step]:
        """The ends in the window up to an event, in steps of `step_s` seconds: step N begins at N * step_s."""
        ...

    def find_env(self, env_id: str) -> bytes | None: ...
    def find_stdin(self, task_id: int) -> bytes | None: ...
    def find_batch(self, first: int) -> Batch | None: ...
    def load_run_times(self) -> dict[tuple[str, str], list[float]]: ...
    def load_resources(self) -> dict[str, dict[str, object]]: ...
    def list_notices(self) -> list[Notice]: ...
    def load_pools(self) -> dict[str, dict[str, object]]: ...
    def list_schedules(self) -> list[Schedule]:
        """All that can be decoded, by name."""
        ...

    def list_occurrences(self, name: str, limit: int, before: float | None = None) -> list[TaskRecord]:
        """The newest tasks of a schedule with a slot before `before` (unix seconds), by slot and id, newest first."""
        ...

    def list_passed(self, name: str, limit: int, before: float | None = None) -> list[PassedSlots]:
        """The newest slots of a schedule that became no task, with `first_at` before `before`, newest first."""
        ...

    def read_live(self) -> LiveState:
        """What `load_live` reads, at one moment, for those who only look: damaged rows are left out, nothing is set
        aside."""
        ...

    def at_one_moment(self) -> AbstractContextManager[None]:
        """Within, all reads see what was committed at the first of them, whatever is committed meanwhile."""
        ...

    def close(self) -> None: ...


class Store(StoreReader, Protocol):
    """The one writer. Every write checks the epoch taken by `claim` inside its transaction."""

    def claim(self, holder: str, now: float) -> int:
        """Raise the fencing epoch and return it: from here on every older holder's write is refused."""
        ...

    def leads(self) -> bool:
        """Whether the epoch in the store is still the one this object claimed."""
        ...

    def release(self) -> None:
        """Give leadership up: no holder is shown any more; this object's later writes are refused."""
        ...

    def load_live(self) -> LiveState:
        """Read what recovery needs; a row that cannot be decoded is set aside as failed with the reason."""
        ...

    def commit(self, changes: Changes) -> list[int]:
        """Write everything in one durable transaction, or nothing. Returns the seqs of the transitions.

        Raises FencedError, StoreBusyError, StoreFullError, StoreError."""
        ...

    def prune(
        self,
        older_than: Mapping[str, float],
        most_finished: int,
        limit: int,
        *,
        dry_run: bool = False,
        now: float | None = None,
    ) -> list[int]:
        """Delete up to `limit` finished tasks: for each status those finished before the moment given for it; of tasks
        with a `keep_s` of their own instead those whose `keep_s` is over at `now` (by default the time of day); and the
        oldest beyond `most_finished`. Never one that a live task depends on, nor one `leaving`. Returns the ids deleted
        (or that would be), oldest end first; environments that no task and no schedule names any more go with them, and
        the oldest transitions where there are many more than finished tasks may be kept; of slots that became no task
        those whose newest is before the moment of their status, and the oldest beyond `most_finished`."""
        ...

    def open_beside(self) -> StoreReader:
        """A reader of its own, for one thread while another writes through this store; closed with it.

        Raises StoreError."""
        ...

    def backup(self, path: str) -> None:
        """Copy the whole store to a new file, consistent, while writes go on; may be called from another thread.
        The file is there whole or not at all. Raises StoreError, also when the file exists."""
        ...


def iter_env(blob: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The variables of a stored environment, in order, byte for byte."""
    for item in blob.split(b"\0"):
        name, mark, value = item.partition(b"=")
        if mark:
            yield name, value
