"""When hooks are told: which ends open and close an incident, and what is told once in it.

An incident belongs to a schedule, or to a pool and key. It opens with the first bad end (or late start) and closes with
the next success in time. A task without a key is an incident of its own, the members of a batch are one together.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Effects
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.notice import HOOK_NAMES, Incident, Notice, Told, make_notice_id
from cronoq_cli.model.ping import Ping
from cronoq_cli.model.recurring import PassedSlots, ScheduleSpec

NOTHING: frozenset[Told] = frozenset()
MOST_OPEN = 10_000
"""Of more open incidents the oldest is forgotten: keys that never come again would stay for ever."""

_ENDS = {
    Status.SUCCEEDED: Told.SUCCESS,
    Status.FAILED: Told.FAILURE,
    Status.DEAD_LETTERED: Told.FAILURE,
    Status.MISSED: Told.MISSED,
    Status.SHED: Told.MISSED,
}
"""What an end tells; cancelled and skipped are neither good nor bad."""
_PINGS = {Told.SUCCESS: Ping.SUCCESS, Told.FAILURE: Ping.FAILURE}


class Incidents(msgspec.Struct):
    """The open incidents by their subject, and what is to be told once the present step is committed."""

    by_pool: Mapping[str, frozenset[Told]] = {}
    """Which notices anybody wants of all tasks of a pool; schedules can have hooks of their own."""
    open: dict[str, Incident] = {}
    changed: dict[str, Incident | None] = {}
    """To be written with the next commit; None: closed."""
    notices: list[Notice] = []
    pings: list[tuple[str, Ping]] = []

    @property
    def has_news(self) -> bool:
        """Whether anything is to be written or told."""
        return bool(self.changed or self.notices or self.pings)

    def move_to(self, effects: Effects) -> None:
        """Hand over what is to be written and told with this step."""
        effects.incidents.update(self.changed)
        effects.notices += self.notices
        effects.pings += self.pings
        self.changed, self.notices, self.pings = {}, [], []

    def keep(self, subject: str, incident: Incident | None) -> None:
        """Remember the incident of a subject, or that it has none."""
        if incident is None:
            if self.open.pop(subject, None) is not None:
                self.changed[subject] = None
            return
        self.open[subject] = self.changed[subject] = incident
        if len(self.open) > MOST_OPEN:
            oldest = min(self.open, key=lambda one: self.open[one].last_at)
            del self.open[oldest]
            self.changed[oldest] = None


def decide_incident(incident: Incident | None, happening: Happening, at: float) -> Incident | None:
    """The incident after an end or a late start; a success that was not in time leaves it as it is."""
    if happening.told is Told.SUCCESS:
        return None if happening.in_time else incident
    before = incident or Incident(since=at, last_at=at)
    bad = 0 if happening.told is Told.LATE else happening.count
    return msgspec.structs.replace(before, count=before.count + bad, last_at=at, told=list(before.told))


def decide_told(before: Incident | None, after: Incident | None, told: Told, wanted: frozenset[Told]) -> list[Told]:
    """What is told of it now, of what is wanted: within an incident each kind once, a success each time."""
    if told is Told.SUCCESS:
        recovered = before is not None and after is None
        return [one for one in (Told.SUCCESS, Told.RECOVERY) if one in wanted and (one is Told.SUCCESS or recovered)]
    if told not in wanted or (before is not None and told in before.told):
        return []
    return [told]


class Happening(msgspec.Struct, kw_only=True):
    """One thing that may be worth a notice: what, of whom, when."""

    told: Told
    pool: str
    schedule: ScheduleSpec | None = None
    task: int | None = None
    attempt: int = 0
    count: int = 1
    key: str | None = None
    batch_failed: int | None = None
    """Of a member of a batch without a key: how many members have failed with this one."""
    due_at: float | None = None
    message: str | None = None
    in_time: bool = True
    ran: bool = False

    @property
    def subject(self) -> str | None:
        """Whose incident it is; None: its own, that nothing else belongs to."""
        if self.schedule is not None:
            return subject_of(self.schedule.name)
        return None if self.key is None else f"pool {self.pool} key {self.key}"


def subject_of(schedule: str) -> str:
    """Whose incident it is that a schedule has."""
    return f"recurring {schedule}"


def note(incidents: Incidents, happening: Happening, now: Now) -> None:
    """Let a happening open, prolong or close its incident, and gather what is to be told of it."""
    wanted = incidents.by_pool.get(happening.pool, NOTHING)
    if happening.schedule is not None and happening.schedule.hooks:
        wanted |= {told for told, name in HOOK_NAMES.items() if name in happening.schedule.hooks}
    if not wanted:
        return
    subject, told = happening.subject, happening.told
    before = None if subject is None else incidents.open.get(subject)
    after = decide_incident(before, happening, now.wall)
    telling = decide_told(before, after, told, wanted)
    if subject is None and told is Told.FAILURE and (happening.batch_failed or 1) > 1:
        telling = []  # of a batch the first failure is told
    if after is not None and told is not Told.SUCCESS:
        after.told += telling
    if subject is not None and after is not before:
        incidents.keep(subject, after)
    if Told.END in wanted and happening.ran and told in (Told.SUCCESS, Told.FAILURE):
        telling.append(Told.END)
    about = before if told is Told.SUCCESS else after
    incidents.notices += [_make_notice(one, happening, about, now) for one in telling]


def _make_notice(told: Told, happening: Happening, incident: Incident | None, now: Now) -> Notice:
    schedule = None if happening.schedule is None else happening.schedule.name
    who = str(happening.task or schedule)
    at = now.wall if happening.due_at is None or happening.task is not None else happening.due_at
    return Notice(
        id=make_notice_id(told, who, at),
        told=told,
        at=now.wall,
        task=happening.task,
        attempt=happening.attempt,
        key=happening.key,
        pool=happening.pool,
        schedule=schedule,
        due_at=happening.due_at,
        message=happening.message,
        since=None if incident is None else incident.since,
        count=None if incident is None else incident.count,
    )


def note_end(incidents: Incidents, task: LiveTask, schedule: ScheduleSpec | None, now: Now) -> None:
    """A task got a final status. Members of a group tell nothing: the task that ran for them does."""
    told = _ENDS.get(task.status)
    if told is None or task.gathered_by is not None:
        return
    if schedule is not None and schedule.ping is not None and told in _PINGS:
        incidents.pings.append((schedule.ping, _PINGS[told]))
    deadline = task.when.deadline
    overdue = deadline is not None and task.status in (Status.SUCCEEDED, Status.FAILED) and now.wall > deadline
    if overdue:
        note(incidents, _of_task(task, schedule, Told.LATE, "it ended after its deadline"), now)
    happening = _of_task(task, schedule, told, task.message or task.reason)
    happening.in_time = not overdue and not (task.attempt == 1 and started_late(task, task.started_at))
    happening.ran = task.attempt > 0
    note(incidents, happening, now)


def note_start(incidents: Incidents, task: LiveTask, schedule: ScheduleSpec | None, now: Now) -> None:
    """A task started for the first time."""
    if schedule is not None and schedule.ping is not None:
        incidents.pings.append((schedule.ping, Ping.START))
    if started_late(task, task.started_at):
        note(incidents, _of_task(task, schedule, Told.LATE, "it started behind its tolerance"), now)


def note_passed(incidents: Incidents, schedule: ScheduleSpec, slots: PassedSlots, now: Now) -> None:
    """Slots of a schedule became no task and are missed."""
    happening = Happening(
        told=Told.MISSED,
        pool=schedule.template.pool,
        schedule=schedule,
        count=slots.count,
        due_at=slots.first_at,
        message=slots.reason,
    )
    note(incidents, happening, now)


def started_late(task: LiveTask, started_at: float | None) -> bool:
    """Whether a first start came later than its moment and the tolerance allow."""
    late_at = (task.facts or {}).get("late_at")
    if late_at is None and task.when.start_at is not None:
        late_at = task.when.start_at + task.when.tolerance_s
    return late_at is not None and started_at is not None and started_at > late_at


def _of_task(task: LiveTask, schedule: ScheduleSpec | None, told: Told, message: str | None) -> Happening:
    batch = task.batch if task.key is None else None
    return Happening(
        told=told,
        pool=task.pool,
        schedule=schedule,
        task=task.id,
        attempt=task.attempt,
        key=task.key,
        batch_failed=None if batch is None else batch.record.failed,
        due_at=task.when.start_at if task.not_before is None else task.not_before,
        message=message,
    )
