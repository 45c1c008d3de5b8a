"""Documents and contexts that the tests of the rendering share."""

from __future__ import annotations

import io
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.snapshot import TaskFacts, describe_task
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.wire.requests import Reply, Request

NOW = 1_790_000_000.0
"""2026-09-21T14:13:20Z."""

UTF8 = {"TZ": "Europe/Berlin", "LANG": "C.UTF-8"}


class SilentGateway:
    """A gateway nobody may ask: rendering needs none."""

    def ask(self, request: Request) -> Reply:
        raise AssertionError(f"asked {request}")


def make_context(*, columns: int | None = None, env: dict[str, str] | None = None, color: str | None = None) -> Context:
    """A context that writes into memory: a terminal of `columns`, or a pipe for None."""
    return Context(
        gateway=SilentGateway(),
        cwd="/",
        umask=0o022,
        env=UTF8 if env is None else env,
        out=io.StringIO(),
        err=io.StringIO(),
        now=lambda: NOW,
        stdout_tty=columns is not None,
        columns=columns,
        extras={} if color is None else {"color": color},
    )


def out_of(context: Context) -> str:
    """What was written to standard output."""
    assert isinstance(context.out, io.StringIO)
    return context.out.getvalue()


def err_of(context: Context) -> str:
    """What was written to standard error."""
    assert isinstance(context.err, io.StringIO)
    return context.err.getvalue()


def make_task(
    task_id: int,
    status: Status = Status.READY,
    *,
    spec: dict[str, Any] | None = None,
    facts: TaskFacts | None = None,
    **state: Any,
) -> dict[str, Any]:
    """The document of a task `make -j8`."""
    wanted: dict[str, Any] = {"name": "make", "command": ["make", "-j8"], "cwd": "/src", **(spec or {})}
    row: dict[str, Any] = {"seq": float(task_id), "submitted_at": NOW - 60, "updated_at": NOW, **state}
    known: TaskFacts = {"now": NOW, **(facts or {})}
    return describe_task(TaskRecord(id=task_id, spec=TaskSpec(**wanted), status=status, **row), **known)


def mixed_tasks() -> list[dict[str, Any]]:
    """One task in each place of a listing, with plain names."""
    shell = {"name": "encode", "command": None, "shell_line": "for f in *; do x $f; done", "pool": "media"}
    return [
        make_task(11, Status.RUNNING, started_at=NOW - 192, ready_at=NOW - 200, progress="12/50", attempt=1),
        make_task(12, Status.RUNNING, spec=shell, started_at=NOW - 7500, attempt=2, max_attempts=4),
        make_task(13, spec={"priority": 3}, ready_at=NOW - 12, reason="no free slot in pool default"),
        make_task(14, Status.RETRYING, due_at=NOW + 33, exit_code=22, attempt=1),
        make_task(15, Status.SCHEDULED, due_at=NOW + 3 * 86_400),
        make_task(16, Status.BLOCKED, held=True, reason="held"),
        make_task(9, Status.FAILED, started_at=NOW - 700, finished_at=NOW - 600, exit_code=3),
        make_task(8, Status.DEAD_LETTERED, started_at=NOW - 90_000, finished_at=NOW - 86_400, signal=9),
    ]
