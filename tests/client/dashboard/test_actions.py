"""What the keys do, and what is said before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cronoq_cli.client.dashboard import actions
from cronoq_cli.client.dashboard.actions import Proposal
from cronoq_cli.errors import ConflictError, CronoqError
from cronoq_cli.wire.requests import Cancel, Edit, Hold, PausePool, Release, ResumePool, Retry, ScalePool, StartNow
from cronoq_cli.wire.schedules import PauseSchedules, ResumeSchedules, RunSchedule
from tests.client.dashboard.documents import make_pool, make_task


def test_to_cancel_a_running_task_names_it_and_the_end_of_its_processes():
    proposal = actions.propose_cancel([make_task(7, "running")])
    assert proposal.question == "Cancel task 7?"
    assert proposal.lines[0] == "7  make 7 (running for 5s)"
    assert "the whole process tree" in proposal.lines[1]
    assert isinstance(proposal.request, Cancel)
    assert proposal.request.select.refs == ["7"]


def test_of_marked_tasks_those_that_cannot_be_are_left_out_and_counted():
    tasks = [make_task(1, "running"), make_task(2), make_task(3, "succeeded")]
    proposal = actions.propose_cancel(tasks)
    assert proposal.question == "Cancel 2 tasks (1-2)?"
    assert proposal.request.select.refs == ["1", "2"]
    assert proposal.lines[-1] == "1 marked task left out: not possible there."


def test_of_many_tasks_a_few_are_named_and_the_others_counted():
    proposal = actions.propose_cancel([make_task(n) for n in range(20)])
    assert "and 14 more" in proposal.lines


def test_hold_releases_when_all_of_them_are_held():
    held = make_task(1, "blocked", held=True)
    assert isinstance(actions.propose_hold([held]).request, Release)
    mixed = actions.propose_hold([held, make_task(2)])
    assert isinstance(mixed.request, Hold)
    assert mixed.request.select.refs == ["2"]


def test_priority_goes_one_class_up_or_down():
    up = actions.propose_priority([make_task(1)], 1)
    assert isinstance(up.request, Edit)
    assert up.request.changes.priority == 2
    assert up.lines[-1] == "Priority normal becomes high."
    assert actions.propose_priority([make_task(1)], -1).question == "Make task 1 low?"


@pytest.mark.parametrize(
    ("propose", "task", "why"),
    [
        (actions.propose_cancel, make_task(1, "failed"), "task 1 (failed) has ended already"),
        (actions.propose_retry, make_task(1, "running"), "task 1 (running) has not ended"),
        (actions.propose_hold, make_task(1, "running"), "does not wait"),
        (actions.propose_start_now, make_task(1), "does not wait for a time"),
        (lambda tasks: actions.propose_priority(tasks, 1), make_task(1, priority="critical"), "critical already"),
    ],
)
def test_what_cannot_be_is_refused_before_anybody_is_asked(
    propose: Callable[[list[dict[str, Any]]], Proposal], task: dict[str, Any], why: str
):
    with pytest.raises(ConflictError) as refused:
        propose([task])
    assert why in refused.value.message


def test_without_a_task_there_is_nothing_to_do():
    with pytest.raises(ConflictError, match="no task is selected"):
        actions.propose_cancel([])


def test_retry_and_start_now_ask_for_what_they_say():
    assert isinstance(actions.propose_retry([make_task(1, "dead_lettered")]).request, Retry)
    assert isinstance(actions.propose_start_now([make_task(1, "scheduled")]).request, StartNow)


def test_a_pool_is_paused_or_resumed():
    assert actions.propose_pause(make_pool()).request == PausePool(names=["default"])
    resume = actions.propose_pause(make_pool(paused=True))
    assert resume.request == ResumePool(names=["default"])
    assert resume.question == "Resume pool default?"


def test_a_pool_is_scaled_to_a_number_or_a_range():
    assert actions.propose_scale(make_pool(), " 8 ").request == ScalePool(name="default", workers=8)
    ranged = actions.propose_scale(make_pool(), "1..8")
    assert ranged.request == ScalePool(name="default", min=1, max=8)
    assert ranged.lines[0].startswith("Workers 4 become 1 to 8")


def test_a_recurring_job_is_paused_resumed_or_run_now():
    job = {"name": "nightly", "paused": False, "command": ["backup"], "shell": None}
    assert actions.propose_schedule_pause(job).request == PauseSchedules(names=["nightly"])
    assert actions.propose_schedule_pause({**job, "paused": True}).request == ResumeSchedules(names=["nightly"])
    run = actions.propose_schedule_run(job)
    assert run.request == RunSchedule(name="nightly")
    assert run.lines[0] == "backup"


def test_scaling_below_what_is_busy_says_what_that_means():
    assert "3 are busy" in actions.propose_scale(make_pool(busy=3), "1").lines[1]


@pytest.mark.parametrize("text", ["", "x", "-1", "8..1", "1..", "²", "99999999", "1.5"])
def test_no_number_of_workers(text: str):
    with pytest.raises(CronoqError, match="no number of workers"):
        actions.propose_scale(make_pool(), text)
