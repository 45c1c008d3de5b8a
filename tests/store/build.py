"""Records for the tests of the store, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any

from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec, Transition


def task(
    task_id: int, status: Status = Status.READY, *, spec: dict[str, Any] | None = None, **state: Any
) -> TaskRecord:
    """A record with the id as its sequence."""
    wanted = {"name": f"job{task_id}", "command": ["true"]} | (spec or {})
    fields: dict[str, Any] = {"seq": float(task_id), "submitted_at": 1000.0, "updated_at": 1000.0} | state
    return TaskRecord(id=task_id, spec=TaskSpec(**wanted), status=status, **fields)


def ended(task_id: int, at: float, status: Status = Status.SUCCEEDED, **rest: Any) -> TaskRecord:
    """A finished record."""
    return task(task_id, status, finished_at=at, attempt=1, exit_code=0, **rest)


def event(kind: str, task_id: int | None = None, **rest: Any) -> Transition:
    """A transition."""
    return Transition(at=1000.0, type=kind, id=task_id, **rest)
