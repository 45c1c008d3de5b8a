"""The recurring schedules that an engine holds, and what they share: zone, boot, and since when slots could be run.

Values only. What falls due is carried out in `occurrences`, what people change in `schedule_changes`, the rules stand
in `recurrence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo

import msgspec

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.recurrence import Run, jitter_of
from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.moment import load_zone
from cronoq_cli.model.recurring import PassedSlots, Schedule, ScheduleSpec, ScheduleState
from cronoq_cli.model.words import hint_for

Remembers = Callable[[str], int | None]
"""The task, final or not, that has or had a key; None when nobody remembers one."""


def remember_nothing(key: str) -> int | None:
    """For an engine without a history behind it."""
    return None


class LiveSchedule:
    """One schedule. `number` is its name in the timers, `armed_at` when it is looked at next (wall clock; of an
    interval the awake clock), `live` its occurrences that may not be over, oldest first, `ahead` those made before
    their start, by task, with that start. `passed` is the row that a further slot without a task may extend. `fault`:
    why it cannot be run on this machine."""

    __slots__ = ("ahead", "armed_at", "fault", "live", "number", "passed", "schedule")

    def __init__(self, number: int, schedule: Schedule) -> None:
        self.number = number
        self.schedule = schedule
        self.armed_at: float | None = None
        self.live: list[int] = []
        self.ahead: dict[int, float] = {}
        self.passed: PassedSlots | None = None
        self.fault: str | None = None

    @property
    def spec(self) -> ScheduleSpec:
        """What was asked for."""
        return self.schedule.spec

    @property
    def state(self) -> ScheduleState:
        """Where it stands."""
        return self.schedule.state

    @property
    def name(self) -> str:
        """Its name."""
        return self.schedule.spec.name

    def await_start(self, task_id: int, start_at: float) -> None:
        """An occurrence is a task ahead of its start; its slot is what comes next."""
        self.ahead[task_id] = start_at
        self._keep_ahead()

    def leave_ahead(self, task_ids: Iterable[int]) -> bool:
        """These are ahead of their start no more: it has come, or they ended or began without it; whether any was."""
        found = [task_id for task_id in task_ids if self.ahead.pop(task_id, None) is not None]
        if found:
            self._keep_ahead()
        return bool(found)

    def _keep_ahead(self) -> None:
        shift_s = jitter_of(self.name, self.spec.jitter_s)
        self.state.ahead = sorted(round(start_at - shift_s, 3) for start_at in self.ahead.values())


class Schedules(msgspec.Struct):
    """All schedules of one engine.

    `zone` is the machine's, `boot_id` its boot. Slots before `able_since` (unix seconds; for intervals `able_awake`,
    on the awake clock) could not be run and are left to catch-up. `seen` is the moment of the last look at both clocks.
    `waiting`: numbers of schedules that fell due while nothing could be decided; `catching`: slots about to be caught
    up.
    """

    zone: tzinfo = UTC
    boot_id: str | None = None
    able_since: float = -math.inf
    able_awake: float = -math.inf
    seen: Now | None = None
    remembers: Remembers = remember_nothing
    by_name: dict[str, LiveSchedule] = {}
    by_number: dict[int, LiveSchedule] = {}
    waiting: dict[int, None] = {}
    catching: list[tuple[Run, LiveSchedule]] = []
    next_number: int = 1

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.by_name)

    def add(self, schedule: Schedule) -> LiveSchedule:
        """Hold a schedule, in place of one of the same name."""
        one = LiveSchedule(self.next_number, schedule)
        self.next_number += 1
        former = self.by_name.get(one.name)
        if former is not None:
            del self.by_number[former.number]
        self.by_name[one.name] = self.by_number[one.number] = one
        return one

    def remove(self, name: str) -> LiveSchedule:
        """Hold it no more. Raises NotFoundError."""
        one = self.get(name)
        del self.by_name[name], self.by_number[one.number]
        self.waiting.pop(one.number, None)
        return one

    def get(self, name: str) -> LiveSchedule:
        """The schedule of that name. Raises NotFoundError."""
        one = self.by_name.get(name)
        if one is None:
            raise no_schedule(name, self.by_name)
        return one

    def choose(self, names: list[str]) -> list[LiveSchedule]:
        """These, or all when none is named. Raises NotFoundError."""
        return [self.get(name) for name in names] if names else list(self.by_name.values())

    def zone_of(self, spec: ScheduleSpec) -> tzinfo:
        """The zone a schedule goes by. Raises UsageError for one this machine does not know."""
        return self.zone if spec.tz is None else load_zone(spec.tz)

    def rejoin(self, name: str, task_id: int) -> None:
        """An occurrence that had ended lives again."""
        one = self.by_name.get(name)
        if one is not None and task_id not in one.live:
            one.live.append(task_id)
            one.live.sort()


def no_schedule(name: str, known: Iterable[str]) -> NotFoundError:
    """The refusal of a name that no schedule has."""
    hint = hint_for(name, sorted(known)) if known else "cronoq recurring add makes one"
    return NotFoundError(f"no schedule is named {name!r}", hint=hint)


def put_state(one: LiveSchedule, state: ScheduleState, wall: float) -> Schedule:
    """Let a schedule stand elsewhere; the record to be written."""
    one.schedule = msgspec.structs.replace(one.schedule, state=state, updated_at=wall)
    return one.schedule
