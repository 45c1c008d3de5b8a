"""The statuses of a task and every transition between them, as tables.

House rules: nothing outside `TRANSITIONS` moves a task; a trigger names what happened, in the past tense; the
diagram in docs/lifecycle.md is made from these tables and a test fails when it is stale. How the engine decides
which of several targets applies does not live here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Status(StrEnum):
    """The twelve statuses of specification section 3."""

    BLOCKED = "blocked"
    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    MISSED = "missed"
    SHED = "shed"


LIVE = frozenset({Status.BLOCKED, Status.SCHEDULED, Status.READY, Status.RUNNING, Status.RETRYING})
WAITING = LIVE - {Status.RUNNING}
FINAL = frozenset(Status) - LIVE
BAD_ENDS = frozenset({Status.FAILED, Status.DEAD_LETTERED})
"""The ends that meet an `--after-fail` edge."""


class Trigger(StrEnum):
    """What moves a task from one status to another."""

    EDGES_MET = "edges-met"
    EDGE_UNMEETABLE = "edge-unmeetable"
    TIME_CAME = "time-came"
    EXPIRED = "expired"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED_RETRYABLE = "failed-retryable"
    FAILED_PERMANENT = "failed-permanent"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    MACHINE_LACKS = "machine-lacks"
    HELD = "held"
    RELEASED = "released"
    EDITED = "edited"
    STARTED_NOW = "started-now"
    KILL_AT_PASSED = "kill-at-passed"
    BACKOFF_OVER = "backoff-over"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"
    REVOKED_BY_TASK = "revoked-by-task"
    NOT_COUNTED = "not-counted"
    SHED = "shed"
    RETRIED = "retried"
    UNREADABLE = "unreadable"
    GATHERED = "gathered"


_S = Status
_T = Trigger

NEW: frozenset[Status] = frozenset({_S.BLOCKED, _S.SCHEDULED, _S.READY})
"""Where a submission begins: dependencies open or held; start time ahead; neither."""

_WAITING_ENDS = {
    _T.CANCELLED: {_S.CANCELLED},
    _T.ARCHIVED: {_S.DEAD_LETTERED},
    _T.KILL_AT_PASSED: {_S.FAILED},
    _T.UNREADABLE: {_S.FAILED},
}

_TABLE: dict[Status, dict[Trigger, set[Status]]] = {
    _S.BLOCKED: {
        _T.EDGES_MET: {_S.SCHEDULED, _S.READY, _S.RETRYING},
        _T.RELEASED: {_S.SCHEDULED, _S.READY, _S.RETRYING},
        _T.EDITED: {_S.SCHEDULED, _S.READY, _S.RETRYING},
        _T.EDGE_UNMEETABLE: {_S.SKIPPED},
        _T.EXPIRED: {_S.MISSED},
        _T.GATHERED: set(FINAL),
        **_WAITING_ENDS,
    },
    _S.SCHEDULED: {
        _T.TIME_CAME: {_S.READY},
        _T.STARTED_NOW: {_S.READY},
        _T.EDITED: {_S.READY, _S.BLOCKED},
        _T.HELD: {_S.BLOCKED},
        _T.EXPIRED: {_S.MISSED, _S.FAILED},
        _T.SHED: {_S.SHED},
        **_WAITING_ENDS,
    },
    _S.READY: {
        _T.STARTED: {_S.RUNNING},
        _T.HELD: {_S.BLOCKED},
        _T.EDITED: {_S.SCHEDULED, _S.BLOCKED},
        _T.EXPIRED: {_S.MISSED, _S.FAILED},
        _T.SHED: {_S.SHED},
        **_WAITING_ENDS,
    },
    _S.RUNNING: {
        _T.SUCCEEDED: {_S.SUCCEEDED},
        _T.FAILED_RETRYABLE: {_S.RETRYING, _S.DEAD_LETTERED, _S.FAILED},
        _T.FAILED_PERMANENT: {_S.FAILED, _S.DEAD_LETTERED},
        _T.INTERRUPTED: {_S.READY, _S.BLOCKED},
        _T.LOST: {_S.RETRYING, _S.READY, _S.BLOCKED, _S.DEAD_LETTERED},
        _T.MACHINE_LACKS: {_S.RETRYING},
        _T.NOT_COUNTED: {_S.RETRYING, _S.READY},
        _T.CANCELLED: {_S.CANCELLED},
        _T.REVOKED_BY_TASK: {_S.CANCELLED},
        _T.ARCHIVED: {_S.DEAD_LETTERED},
        _T.UNREADABLE: {_S.FAILED},
    },
    _S.RETRYING: {
        _T.BACKOFF_OVER: {_S.READY},
        _T.STARTED_NOW: {_S.READY},
        _T.HELD: {_S.BLOCKED},
        _T.EDITED: {_S.BLOCKED},
        **_WAITING_ENDS,
    },
    **{final: {_T.RETRIED: {_S.BLOCKED, _S.SCHEDULED, _S.READY}} for final in sorted(FINAL)},
}

TRANSITIONS: Mapping[Status, Mapping[Trigger, frozenset[Status]]] = MappingProxyType(
    {
        status: MappingProxyType({trigger: frozenset(targets) for trigger, targets in row.items()})
        for status, row in _TABLE.items()
    }
)
"""For each status, what may happen to it and where that may lead (specification section 3)."""

ALLOWED: frozenset[tuple[Status, Trigger, Status]] = frozenset(
    (status, trigger, target)
    for status, row in TRANSITIONS.items()
    for trigger, targets in row.items()
    for target in targets
)
"""The same table flat, for one quick look-up on the way of each move."""
