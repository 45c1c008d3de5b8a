"""The table of exit statuses for one task and for several."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.commands.outcome import decide_exit, decide_exit_of_all, describe_end, exit_of_error
from cronoq_cli.errors import (
    ConflictError,
    CronoqError,
    InvalidError,
    NoDaemonError,
    NotFoundError,
    ProtocolError,
    TryLaterError,
    UsageError,
    WaitTimeoutError,
)
from cronoq_cli.model.lifecycle import FINAL

from .conftest import task_document


def ended(status: str, **changes: Any) -> dict[str, Any]:
    """An ended task after one attempt that was stopped for `cause`."""
    cause = changes.pop("cause", None)
    return task_document(7, status, attempt=1, **changes, attempts=[{"cause": cause}])


@pytest.mark.parametrize(
    ("task", "status"),
    [
        (ended("succeeded", exit_code=0), 0),
        (ended("succeeded", exit_code=5), 0),
        (ended("failed", exit_code=1), 1),
        (ended("failed", exit_code=126), 126),
        (ended("dead_lettered", exit_code=75), 75),
        (ended("failed", signal=9), 137),
        (ended("failed", signal=15, cause="time limit"), 124),
        (ended("failed", exit_code=0, cause="time limit"), 124),
        (ended("failed", signal=9, cause="kill-at"), 124),
        (ended("failed", signal=15, cause="heartbeat"), 143),
        (ended("dead_lettered", cause="lost"), 125),
        (ended("dead_lettered"), 125),
        (ended("failed", exit_code=0), 1),
        (ended("cancelled", signal=15), 125),
        (task_document(7, "skipped"), 125),
        (task_document(7, "failed", reason="kill-at passed"), 125),
    ],
)
def test_a_tasks_end_is_an_exit_status(task: dict[str, Any], status: int) -> None:
    assert decide_exit(task) == status


@pytest.mark.parametrize("status", sorted(FINAL))
def test_nothing_but_success_is_ever_zero(status: str) -> None:
    assert (decide_exit(ended(status, exit_code=0)) == 0) == (status == "succeeded")


def test_several_tasks_only_tell_whether_all_succeeded() -> None:
    assert decide_exit_of_all([ended("succeeded"), ended("succeeded")]) == 0
    assert decide_exit_of_all([ended("succeeded"), ended("failed", exit_code=7)]) == 1
    assert decide_exit_of_all([ended("succeeded"), task_document(8, "running")]) == 0


@pytest.mark.parametrize(
    ("error", "ordinary", "one_task"),
    [
        (UsageError("x"), 2, 2),
        (NotFoundError("x"), 3, 125),
        (ConflictError("x"), 4, 125),
        (NoDaemonError("x"), 5, 125),
        (ProtocolError("x"), 6, 125),
        (InvalidError("x"), 7, 125),
        (TryLaterError("x"), 75, 75),
        (WaitTimeoutError("x"), 124, 124),
        (CronoqError("x"), 125, 125),
    ],
)
def test_errors_have_the_statuses_of_the_table(error: CronoqError, ordinary: int, one_task: int) -> None:
    assert (exit_of_error(error, one_task=False), exit_of_error(error, one_task=True)) == (ordinary, one_task)


def test_an_end_is_told_with_its_cause() -> None:
    assert describe_end(ended("failed", exit_code=3)) == "task 7 failed: exit 3"
    assert describe_end(ended("dead_lettered", signal=9, message="time limit of 1s")) == (
        "task 7 dead lettered: SIGKILL, time limit of 1s"
    )
    assert describe_end(task_document(7, "skipped", reason="task 3 failed")) == "task 7 skipped: task 3 failed"
