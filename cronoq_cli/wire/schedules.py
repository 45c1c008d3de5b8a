"""The requests about recurring schedules. What they do lives in daemon/handlers/recurring.

Documents are those of specification section 8: a schedule under `recurring`, its occurrences under `runs`.
"""

from __future__ import annotations

import msgspec

from cronoq_cli.model.recurring import ScheduleSpec


class ScheduleRequest(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True):
    """Base: tagged as all requests are."""


class ApplySchedules(ScheduleRequest, tag="schedules-apply"):
    """Add, replace and remove schedules, all or none.

    A spec whose name exists replaces it; one equal to what is there changes nothing but a broken chain. `envs`: the
    environments the templates name, by id. `paused`: new ones are added paused. `removed`: names to take away.
    `pausing`, `resuming`: of what is there then, new or not, these rest from now on, or go on, as the requests below
    have it. The answer has `recurring` (the documents of `specs`, in order), and the names `added`, `replaced`,
    `unchanged` and `removed`.
    """

    specs: list[ScheduleSpec] = []
    envs: dict[str, bytes] = {}
    removed: list[str] = []
    paused: bool = False
    pause_reason: str | None = None
    pausing: list[str] = []
    resuming: list[str] = []
    dry_run: bool = False


class Schedules(ScheduleRequest, tag="schedules"):
    """Documents of all schedules, or of `names` (each must exist), each with its `next_count` next runs after `after`
    (unix seconds; None: now). `specs`: also the whole specs, as built-in values under `spec`, and with `env` the
    recorded environments as `{"NAME": "value"}` under `env`."""

    names: list[str] | None = None
    next_count: int = 1
    after: float | None = None
    specs: bool = False
    env: bool = False


class ScheduleHistory(ScheduleRequest, tag="schedule-history"):
    """The occurrences of a schedule, also of one that was removed: newest last, at most `limit` (None: all), with
    those that were missed or skipped. `before`: only slots due before this (unix seconds)."""

    name: str
    limit: int | None = 20
    before: float | None = None


class PauseSchedules(ScheduleRequest, tag="schedules-pause"):
    """No new occurrences of these (`all` when empty), until `until` (unix seconds) where given."""

    names: list[str] = []
    until: float | None = None
    reason: str | None = None


class ResumeSchedules(ScheduleRequest, tag="schedules-resume"):
    """Occurrences again, of these (`all` when empty); a broken chain begins anew. What fell due meanwhile is not
    caught up."""

    names: list[str] = []


class SkipSchedule(ScheduleRequest, tag="schedule-skip"):
    """Leave out the next `count` occurrences, or the one at `at` (unix seconds, must be a slot). The answer has
    `recurring`, and under `skipped` when they would have started; none that could be left out is refused."""

    name: str
    count: int = 1
    at: float | None = None


class RunSchedule(ScheduleRequest, tag="schedule-run"):
    """Start an occurrence now, outside of every chain. The answer is the task's document under `task`."""

    name: str


class RemoveSchedules(ScheduleRequest, tag="schedules-rm"):
    """Forget these schedules (`all` when empty and `every`); the history stays, what runs ends by itself."""

    names: list[str] = []
    every: bool = False


class RefreshSchedules(ScheduleRequest, tag="schedules-refresh"):
    """Take environment, directory and umask of the caller anew into these schedules."""

    names: list[str]
    env_id: str
    env: bytes
    cwd: str
    umask: int


ScheduleRequests = (
    ApplySchedules
    | Schedules
    | ScheduleHistory
    | PauseSchedules
    | ResumeSchedules
    | SkipSchedule
    | RunSchedule
    | RemoveSchedules
    | RefreshSchedules
)
