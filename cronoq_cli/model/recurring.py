"""What a recurring schedule is: the spec a person added, where it stands, and the words of its policies.

Values only. The instants of an expression live in engine/cron, the rules on a schedule's state in engine/recurrence.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.model.task import TaskRecord, TaskSpec

LONGEST_NAME = 100
SCHEDULE_TAG = "recurring"
"""What every run of a schedule is tagged with (specification section 7)."""
WITHDRAWN = "withdrawn"
"""The reason to start of an occurrence that was made to reserve its start and taken back before it."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


class Overlap(StrEnum):
    """What a new occurrence does while an earlier one is not over (`--overlap`)."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE = "queue"
    QUEUE_ON_SUCCESS = "queue-on-success"
    REPLACE = "replace"


class CatchUp(StrEnum):
    """What becomes of slots that fell due while nothing could run them (`--catch-up`)."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


class ScheduleSpec(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What was asked for. Exactly one of `expr` (cron text), `every_s` and `reboot` says when.

    `tz` None follows the machine's zone. `priority_given`: caught-up occurrences keep the template's priority,
    else they are low. Durations are seconds, `until` unix seconds. `hooks` are commands by the name of the notice
    (`on_failure`, ...). `ping`: the URL told of starts and ends, None: nobody is told.
    `reactions` are shell lines by the option that asked for them (model/reaction): tasks with each occurrence.
    `comment` is what people wrote above it, lines that begin with `#`: kept for `edit` and `export`.
    """

    name: str
    template: TaskSpec
    expr: str | None = None
    seconds: bool = False
    every_s: float | None = None
    reboot: bool = False
    tz: str | None = None
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_within_s: float | None = None
    priority_given: bool = False
    jitter_s: float = 0.0
    until: float | None = None
    max_runs: int | None = None
    pause_after_failures: int | None = None
    reserve: bool = False
    tolerance_s: float | None = None
    on_miss: str | None = None
    deadline_after_s: float | None = None
    hooks: dict[str, str] = {}
    reactions: dict[str, list[str]] = {}
    ping: str | None = None
    comment: str = ""

    @property
    def when(self) -> str:
        """The time as people write it: the expression, `@every 1h30m`, or `@reboot`."""
        if self.expr is not None:
            return self.expr
        return "@reboot" if self.every_s is None else f"@every {format_duration(self.every_s)}"


class ScheduleState(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Where a schedule stands.

    `decided_at` is the newest slot that was decided, or the moment from which slots count at all: slots up to it
    are never looked at again. `next_at` is the slot due next, None when there is none any more. `runs` counts
    submitted occurrences, manual ones not. `chain` is the task of the newest occurrence; `broken`: it is a chain on
    success whose last member failed. `boot_id` is the boot that `@reboot` has had. `skips` are slots to leave out.
    `newest_slot` is the newest one that ever became a task: later ones need no look at what is remembered.
    `awake_at`: of an interval, the last point of its grid on the awake clock of the boot `boot_id`; `skip_points`: so
    many points of it to leave out. `incident_at`: since when it has ended badly without a success. `withdrawn`: slots
    whose tasks, made ahead of their start, were taken back: their keys are remembered, and yet they may be tasks again.
    `ahead` are slots that are tasks already, made to reserve their start, which has not come.
    """

    decided_at: float
    next_at: float | None = None
    paused: bool = False
    paused_until: float | None = None
    pause_reason: str | None = None
    runs: int = 0
    failures: int = 0
    chain: int | None = None
    broken: bool = False
    boot_id: str | None = None
    skips: list[float] = []
    newest_slot: float | None = None
    awake_at: float | None = None
    skip_points: int = 0
    incident_at: float | None = None
    withdrawn: list[float] = []
    ahead: list[float] = []


class PassedSlots(msgspec.Struct, kw_only=True):
    """Slots of a schedule that became no task, one or a run of them: what its history has beside tasks.

    `status` is `missed` or `skipped`, `first_at` and `last_at` are the oldest and the newest slot (unix seconds),
    `count` how many; `more`: still older ones, not counted (rows of earlier versions). `at` is when that was decided. A
    row is known by schedule, `first_at` and `status`; written again it replaces what was there.
    """

    schedule: str
    status: str
    first_at: float
    last_at: float
    count: int = 1
    more: bool = False
    reason: str = ""
    at: float = 0.0


class Schedule(msgspec.Struct, kw_only=True):
    """One schedule as the store keeps it."""

    spec: ScheduleSpec
    state: ScheduleState
    added_at: float
    updated_at: float


def is_withdrawn(record: TaskRecord) -> bool:
    """Whether a task is an occurrence that was made ahead of its start and taken back: its slot is not its own."""
    return record.start_reason == WITHDRAWN


def was_asked_for(spec: TaskSpec) -> bool:
    """Whether a person or a script wanted this very task: no reaction to another one, no occurrence that fell due."""
    return not spec.reaction and (not spec.recurring or spec.key is None)


def is_ahead(record: TaskRecord, now: float) -> bool:
    """Whether a task is an occurrence to come, made already to reserve its start: `recurring ls` shows it, `ls` not."""
    start_at = record.spec.start_at
    if not record.spec.recurring or start_at is None or start_at <= now:
        return False
    return record.attempt == 0 and record.status not in FINAL


def parse_schedule_name(text: str) -> str:
    """The name itself. Raises UsageError: it becomes part of keys `NAME@<UTC start>`, so it has no @ : / +."""
    if not is_schedule_name(text):
        raise UsageError(
            f"{text[:LONGEST_NAME]!r} is not a name for a schedule",
            hint="a name starts with a letter or _ and goes on with letters, digits and _ . -, at most 100",
        )
    return text


def is_schedule_name(text: str) -> bool:
    """Whether a text can be the name of a schedule; no cron expression can."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None and text != "last"
