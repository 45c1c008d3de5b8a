"""What `explain` says."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.commands.render.explain import print_explanation
from cronoq_cli.commands.render.text import display_width
from cronoq_cli.model.moment import format_utc
from tests.commands.conftest import explanation
from tests.commands.render.samples import NOW, UTF8, make_context, out_of

SCORE = {
    "base": 100.0, "wait_s": 12.5, "rate": 2.0, "wait_points": 25.0, "urgency": 1250.0, "total": 1375.0,
    "slack_s": 45.0, "expected_s": 60.0, "basis": "median of 12 runs of make in default",
}  # fmt: skip
GPU = {"what": "resource gpu", "detail": "wants 2, 1 is free"}


def waiting() -> dict[str, Any]:
    return explanation(
        first=GPU,
        blockers=[
            {**GPU, "since": format_utc(NOW - 12)},
            {"what": "pool default", "detail": "8 of 8 slots are taken", "since": None},
        ],
        score=SCORE,
        place=3,
        ahead=2,
        estimated_start=format_utc(NOW + 90),
        estimate_basis="run times of what runs and stands before it",
    )


WAITING = """\
Task 7: ready
  waits for      resource gpu: wants 2, 1 is free (since 12s ago)
  also           pool default: 8 of 8 slots are taken
  score          1375 = 100 base + 25 waited + 1250 urgent
  waited         12s at 2 a second
  slack          45s until it must start to be done by its deadline
  expected run   1m, median of 12 runs of make in default
  place          3, 2 ahead of it
  starts about   16:14:50 CEST, in 1m30s (run times of what runs and stands before it)
"""


def test_a_waiting_task_shows_blockers_arithmetic_place_and_start() -> None:
    context = make_context()
    print_explanation(context, {"explain": waiting()})
    assert out_of(context) == WAITING


def test_a_finished_task_shows_what_decided_its_end() -> None:
    context = make_context()
    print_explanation(context, {"explain": explanation(status="failed", decided_by="exit 3, no retries")})
    assert out_of(context) == "Task 7: failed\n  decided by     exit 3, no retries\n"


def test_a_score_at_its_cap_and_a_deadline_that_is_lost_say_so() -> None:
    score = {**SCORE, "wait_s": 900.0, "wait_points": 800.0, "urgency": 0.0, "total": 900.0, "slack_s": -30.0}
    context = make_context()
    print_explanation(context, {"explain": explanation(score=score)})
    shown = out_of(context)
    assert "900 = 100 base + 800 waited\n" in shown
    assert "15m at 2 a second, at its cap" in shown
    assert "none: 30s too late to be done by its deadline" in shown


def test_a_start_that_cannot_be_estimated_has_its_reason() -> None:
    context = make_context()
    print_explanation(context, {"explain": explanation(estimate_basis="pool default is paused")})
    assert "starts about   not known: pool default is paused" in out_of(context)


def test_a_running_task_says_since_when_and_how_long_that_may_be() -> None:
    running = {"started_at": format_utc(NOW - 12), "expected_s": 60.0, "basis": "default"}
    context = make_context()
    print_explanation(context, {"explain": explanation(status="running", running=running)})
    assert out_of(context) == (
        "Task 7: running\n  runs since     16:13:08 CEST, 12s ago\n  expected run   1m, default\n"
    )


def test_moments_are_in_the_caller_s_zone_and_a_start_that_is_due_is_no_moment() -> None:
    backoff = {"what": "backoff", "detail": f"not before {format_utc(NOW + 60)}", "since": None}
    due = {"estimated_start": format_utc(NOW), "estimate_basis": "by expected run times"}
    context = make_context()
    print_explanation(context, {"explain": explanation(first=backoff, blockers=[backoff], **due)})
    assert "backoff: not before 16:14:20 CEST, in 1m\n" in out_of(context)
    assert "starts about   any moment (by expected run times)" in out_of(context)


def test_several_tasks_stand_apart() -> None:
    context = make_context()
    print_explanation(context, {"explain": [explanation(), explanation(id=8)]})
    assert out_of(context) == "Task 7: ready\n\nTask 8: ready\n"


@pytest.mark.parametrize("columns", [60, 100])
def test_an_explanation_fits_the_terminal_and_obeys_no_escapes(columns: int) -> None:
    context = make_context(columns=columns, env={**UTF8, "NO_COLOR": "1"})
    odd = {"what": "resource x\x1b[31m", "detail": "long " * 40}
    print_explanation(context, {"explain": explanation(first=odd, blockers=[])})
    assert all(display_width(line) <= columns for line in out_of(context).splitlines())
    assert "\x1b" not in out_of(context)
