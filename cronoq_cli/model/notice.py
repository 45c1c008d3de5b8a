"""Notices: what hooks are told of a task or a schedule, and the incident that keeps them from being told too often.

Values only. When a notice is due is decided in `engine/notices`; who runs the commands is in the daemon.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.words import hint_for


class Told(StrEnum):
    """What a notice says."""

    FAILURE = "failure"
    """It ended badly: failed or dead-lettered."""
    SUCCESS = "success"
    MISSED = "missed"
    """It did not run: missed, or shed."""
    LATE = "late"
    """It started later than its start and tolerance, or ended after its deadline."""
    RECOVERY = "recovery"
    """The success that closes an incident."""
    END = "end"
    """It ran and ended, well or badly: told each time, whatever the incident."""


HOOK_NAMES = {told: f"on_{told.value}" for told in Told}
"""What the hook of a notice is called in configurations and schedules."""


class Incident(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An open incident: `count` bad ends since the moment `since`, the newest at `last_at`; what was told of it."""

    since: float
    last_at: float
    count: int = 0
    told: list[Told] = []


class Notice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One notice, as the store keeps it until its hook has run. `id` is the same when it is told again.

    `task` is None for a slot that never became a task; then `due_at` is the slot. `schedule` None: a plain task.
    `since`, `count`: of the incident, None outside of one.
    """

    id: str
    told: Told
    at: float
    task: int | None = None
    attempt: int = 0
    key: str | None = None
    pool: str
    schedule: str | None = None
    due_at: float | None = None
    message: str | None = None
    since: float | None = None
    count: int | None = None


def make_notice_id(told: Told, subject: str, at: float) -> str:
    """`failure:42:2026-03-08T07:00:00.250Z`: what and of whom and when, so that no other notice has it."""
    return f"{told}:{subject}:{format_utc(at)}"


def describe_notice(
    notice: Notice, *, task: dict[str, Any] | None, schedule: dict[str, Any] | None, again: bool = False
) -> dict[str, Any]:
    """The document a hook reads. `task` and `schedule` are documents as `show` and `recurring show` print them."""
    incident = None
    if notice.since is not None:
        incident = {"since": format_utc(notice.since), "count": notice.count}
    return {
        "schema": 1,
        "event": notice.told.value,
        "id": notice.id,
        "again": again,
        "at": format_utc(notice.at),
        "pool": notice.pool,
        "key": notice.key,
        "due_at": None if notice.due_at is None else format_utc(notice.due_at),
        "message": notice.message,
        "incident": incident,
        "task": task,
        "recurring": schedule,
    }


def parse_hook_name(text: str) -> str:
    """The name of a hook, `on_failure`; `-` may stand for `_`. Raises UsageError for an unknown one."""
    name = text.strip().replace("-", "_")
    known = list(HOOK_NAMES.values())
    if name not in known:
        raise UsageError(f"unknown hook {text!r}", hint=hint_for(name, known))
    return name
