"""What a task is: the spec a user asked for, and the record of it that the store keeps and people see.

Values only. Which moves are allowed lives in `lifecycle`, what a failure means in `policy`, the engine's own
small working object in `engine/live`.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any

import msgspec

from cronoq_cli.model.lifecycle import Status


class Priority(IntEnum):
    """Priority classes; a larger number is more urgent."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """The name as people write it."""
        return self.name.lower()


class Condition(StrEnum):
    """What an edge asks of its target."""

    SUCCESS = "success"
    ANY = "any"
    FAIL = "fail"
    GONE = "gone"
    """The target is final and its processes are gone: how `--if-exists replace` waits for the old one."""


class OnLost(StrEnum):
    """What becomes of work lost with the machine or the runner (`--on-lost`)."""

    COUNT = "count"
    REQUEUE = "requeue"
    HOLD = "hold"


class OnMiss(StrEnum):
    """What becomes of a fixed start that could not be kept within its tolerance (`--on-miss`)."""

    RUN_LATE = "run-late"
    SKIP = "skip"
    FAIL = "fail"


class Dependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """One edge as asked for: `ref` is an id, a run of ids, a key or `last` before it is resolved.

    `task` is the one that a key meant then; None for an id, for a run of ids, and for a key that nobody had yet.
    """

    ref: str
    condition: Condition = Condition.SUCCESS
    task: int | None = None


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long to wait before the next attempt. `kind`: exponential, fixed, linear, polynomial."""

    kind: str = "exponential"
    first_s: float = 10.0
    most_s: float = 600.0


class TaskSpec(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What the user asked for, whole: enough to run it, and to run it again with a new id.

    Exactly one of `command` (argv, executed as given) and `shell_line` (text for `shell`) is set. Strings from
    the system are surrogate-escaped. Moments are unix seconds, durations seconds. `env` is the id (hash) of a
    stored environment; `env_changes` are laid over it (None: removed). `stdin`: a path, or None for /dev/null;
    `stdin_kept`: content is kept with the task.
    """

    name: str
    command: list[str] | None = None
    shell_line: str | None = None
    shell: str | None = None
    cwd: str = "/"
    umask: int = 0o022
    env: str = ""
    env_changes: dict[str, str | None] = {}
    pool: str = "default"
    priority: int = Priority.NORMAL
    key: str | None = None
    once: bool = False
    unique_s: float | None = None
    if_exists: str = "return"
    kind: str = ""
    after: list[Dependency] = []
    await_deps_s: float | None = None
    not_before: float | None = None
    kill_at: float | None = None
    timeout_s: float | None = None
    heartbeat_s: float | None = None
    stop_signal: int = 15
    grace_s: float = 10.0
    retries: int | None = None
    backoff: Backoff | None = None
    retry_on: list[int] | None = None
    no_retry_on: list[int] | None = None
    success_codes: list[int] | None = None
    on_lost: str | None = None
    slots: int = 1
    tags: dict[str, str] = {}
    nice: int | None = None
    stdin: str | None = None
    stdin_kept: bool = False
    stdin_text: str | None = None
    """A short input kept with the spec itself, so that each occurrence of a schedule has it."""
    split: bool = False
    stdout: str | None = None
    stderr: str | None = None
    keep_s: float | None = None
    hold: bool = False
    array_index: int | None = None
    tenant: str = ""
    labels: dict[str, str] = {}
    """What the workers it runs on must be (`--on`)."""
    uses: dict[str, float] = {}
    """Amounts of resources by name (`--use`), taken all at once."""
    start_at: float | None = None
    """A fixed start: its slots are reserved then."""
    tolerance_s: float = 1.0
    on_miss: str = OnMiss.RUN_LATE
    deadline: float | None = None
    """Soft: it raises the urgency, nothing ends by it."""
    expires_at: float | None = None
    """Not started by then, it is `missed`."""
    estimate_s: float | None = None
    group: str | None = None
    """What it is gathered into; the group's command runs for it."""
    members: list[int] = []
    """Of the task that a group runs: the tasks it was made of, which end as it does."""
    reaction: bool = False
    """Submitted with another task, to react to its end: not what `last` means."""
    recurring: str = ""
    """The schedule whose occurrence it is."""
    slot: float | None = None
    """The instant that its schedule named; of a manual occurrence when it was asked for."""


class AttemptRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One start of a task and how it ended. `cause` tells why we stopped it, if we did (see wire/runner)."""

    task: int
    number: int
    started_at: float | None = None
    ended_at: float | None = None
    run_s: float | None = None
    outcome: str | None = None
    """None while it runs; then succeeded, failed, interrupted, lost, cancelled, not-counted, not-started."""
    reason: str = "submitted"
    """Why it was started: submitted, retry, manual, scheduled, catch-up."""
    exit_code: int | None = None
    signal: int | None = None
    core: bool = False
    cause: str | None = None
    message: str | None = None
    pid: int | None = None
    cpu_user_s: float | None = None
    cpu_system_s: float | None = None
    max_rss: int | None = None
    log_size: int | None = None
    left_behind: int = 0
    log: str | None = None
    stderr_log: str | None = None


class TaskRecord(msgspec.Struct):
    """A task as the store keeps it: its spec, and where it stands. One row of the table `tasks`.

    `seq` orders a class first in first out (specification section 4); `ready_at` is the first moment it was
    ready; `due_at` the moment a scheduled or retrying task becomes ready. `leased`: given to the runner ahead of
    need. `max_attempts` grows by one for each attempt that does not count.
    """

    id: int
    spec: TaskSpec
    status: Status
    seq: float
    submitted_at: float
    updated_at: float
    reason: str | None = None
    held: bool = False
    attempt: int = 0
    max_attempts: int = 1
    ready_at: float | None = None
    due_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    leased: bool = False
    leaving: bool = False
    """Final for the engine, while its process tree still goes (slot and resources are not free yet)."""
    stop_cause: str | None = None
    pid: int | None = None
    """Of the running attempt, once its start was reported: the proof that it began."""
    start_reason: str = "submitted"
    exit_code: int | None = None
    signal: int | None = None
    message: str | None = None
    outputs: dict[str, str] = {}
    progress: str | None = None
    left_behind: int = 0
    batch: int | None = None
    slot: int | None = None
    units: dict[str, list[int]] = {}
    """The units of semaphores it holds now, by resource."""
    gathered_by: int | None = None
    """The task that runs its group's command for it."""
    log: str | None = None
    usage: dict[str, Any] | None = None
    fingerprint: str | None = None


class Batch(msgspec.Struct, kw_only=True):
    """A contiguous run of ids submitted together: `first` is its id; at most `limit` of it run at once."""

    first: int
    last: int
    limit: int | None = None
    max_fails: int | None = None
    failed: int = 0


class Edge(msgspec.Struct, frozen=True):
    """An open dependency of `task`: on task `target`, or on the key `awaited` that no task has yet.

    `awaited_until` is the moment (unix seconds) when the waiting for the key ends with `skipped`.
    """

    task: int
    condition: Condition
    target: int | None = None
    awaited: str | None = None
    awaited_until: float | None = None


class Ended(msgspec.Struct, frozen=True):
    """What statistics count of an end: of an attempt, or of a task that came to its end without one.

    `final`: the task's status where that was its end, else None. `outcome`: the attempt's, as in its record, None
    without one. `wait_s`: from ready to start, of a first attempt. `run_s`: of the attempt. `in_time`: whether it
    succeeded by its soft deadline, `on_time`: whether it started within the tolerance of its fixed start; None where
    there was none, or where somebody ended it before that could be told.
    """

    kind: str
    final: str | None = None
    outcome: str | None = None
    wait_s: float | None = None
    run_s: float | None = None
    slots: int = 1
    in_time: bool | None = None
    on_time: bool | None = None


class Transition(msgspec.Struct, kw_only=True):
    """One line of the event history. `seq` is given by the store at commit; `ended` is there where it is an end."""

    at: float
    type: str
    id: int | None = None
    key: str | None = None
    pool: str | None = None
    status: str | None = None
    attempt: int | None = None
    message: str | None = None
    seq: int = 0
    ended: Ended | None = None
