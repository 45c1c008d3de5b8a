"""Jumps of the clock through the engine: what waits for a time of day follows it, what counts time awake does not."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import ClockChanged, SchedulesApplied, ZoneChanged
from cronoq_cli.model.clock import JumpKind
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import load_zone
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec
from cronoq_cli.model.task import Backoff, TaskSpec
from tests.engine.story import Story

HOUR, DAY = 3600.0, 86_400.0
NINE = 1_772_960_400.0
"""2026-03-08T09:00:00Z."""


def at_nine() -> Story:
    """A story that begins at nine in the morning, with room."""
    story = Story(8)
    story.now = Now(NINE, 5_000.0)
    return story


def jump(story: Story, by_s: float, *, kind: str = JumpKind.STEPPED, awake: float = 0.0) -> None:
    """The wall clock moves, the awake clock only by `awake`; the engine is told at once."""
    story.now = Now(story.now.wall + by_s + awake, story.now.awake + awake)
    story.handle(ClockChanged(story.now.wall if by_s + awake > 0 else None, kind, "it jumped"))


def add(story: Story, catch_up: CatchUp = CatchUp.NONE, **when: object) -> None:
    """Add a schedule."""
    template = TaskSpec(name="job", command=["true"])
    spec = ScheduleSpec(name="job", template=template, catch_up=catch_up, overlap=Overlap.ALLOW, **when)
    story.handle(SchedulesApplied([spec]))


def slots(story: Story) -> list[tuple[float, str]]:
    """The slots that became tasks, in hours after nine, and why they started."""
    records = [record for record in story.shelf.tasks.values() if record.spec.slot is not None]
    return [((record.spec.slot - NINE) / HOUR, record.start_reason) for record in records]


@pytest.mark.parametrize("by_s", [DAY, 2 * HOUR])
def test_a_start_that_a_step_passes_is_due_at_once(by_s: float) -> None:
    story = at_nine()
    task = story.submit(not_before=NINE + HOUR)
    jump(story, by_s)
    assert story.status(task) is Status.RUNNING


def test_after_a_step_back_a_start_waits_for_its_time_of_day() -> None:
    story = at_nine()
    task = story.submit(not_before=NINE + HOUR)
    jump(story, -HOUR)
    assert story.engine.next_due_s(story.now) == 2 * HOUR
    story.pass_time(HOUR)
    assert story.status(task) is Status.SCHEDULED
    story.pass_time(HOUR)
    assert story.status(task) is Status.RUNNING


@pytest.mark.parametrize("by_s", [DAY, -DAY])
def test_backoff_counts_time_awake_whatever_the_clock_shows(by_s: float) -> None:
    story = at_nine()
    task = story.submit(retries=1, backoff=Backoff("fixed", 100.0, 100.0))
    story.end(task, 1)
    story.pass_time(40)
    jump(story, by_s)
    assert story.status(task) is Status.RETRYING
    assert story.record(task).due_at == pytest.approx(story.now.wall + 60)
    story.pass_time(60)
    assert story.status(task) is Status.RUNNING


def test_each_jump_is_one_line_of_the_history() -> None:
    story = at_nine()
    jump(story, HOUR)
    jump(story, -HOUR)
    jump(story, 8 * HOUR, kind=JumpKind.RESUMED)
    told = [(line.type, line.id, line.message) for line in story.shelf.history]
    assert told == [("clock-stepped", None, "it jumped")] * 2 + [("resumed", None, "it jumped")]


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (CatchUp.NONE, []),
        (CatchUp.LATEST, [(3.5, "catch-up")]),
        (CatchUp.ALL, [(h + 0.5, "catch-up") for h in range(4)]),
    ],
)
@pytest.mark.parametrize(
    ("kind", "awake"), [(JumpKind.STEPPED, 0.0), (JumpKind.RESUMED, 0.0), (JumpKind.FROZEN, 4 * HOUR)]
)
def test_slots_that_nothing_could_run_are_left_to_catch_up(
    kind: str, awake: float, catch_up: CatchUp, expected: list[tuple[float, str]]
) -> None:
    story = at_nine()
    add(story, catch_up, expr="30 * * * *")
    jump(story, 4 * HOUR - awake, kind=kind, awake=awake)
    assert slots(story) == expected
    story.pass_time(HOUR)
    assert slots(story) == [*expected, (4.5, "scheduled")]


def test_no_slot_is_repeated_when_the_clock_goes_back() -> None:
    story = at_nine()
    add(story, expr="30 * * * *")
    story.pass_time(HOUR)
    assert slots(story) == [(0.5, "scheduled")]
    jump(story, -HOUR)
    for _ in range(2):
        story.pass_time(HOUR / 2)
    assert slots(story) == [(0.5, "scheduled")]
    story.pass_time(HOUR / 2)
    assert slots(story) == [(0.5, "scheduled"), (1.5, "scheduled")]


@pytest.mark.parametrize("by_s", [DAY, -DAY])
def test_an_interval_is_time_awake(by_s: float) -> None:
    story = at_nine()
    add(story, every_s=600.0)
    story.pass_time(300)
    jump(story, by_s)
    assert slots(story) == []
    story.pass_time(300)
    assert [reason for _, reason in slots(story)] == ["scheduled"]


def test_another_zone_of_the_machine_is_told_once_and_followed() -> None:
    story = at_nine()
    story.engine.state.schedules.zone = load_zone("UTC")
    add(story, expr="0 12 * * *")
    tokyo = load_zone("Asia/Tokyo")
    story.handle(ZoneChanged(tokyo, "another zone"))
    story.handle(ZoneChanged(tokyo, "another zone"))
    assert [line.message for line in story.shelf.history if line.type == "zone-changed"] == ["another zone"]
    assert story.engine.state.schedules.get("job").state.next_at == NINE + 18 * HOUR  # noon in Tokyo is 03:00 UTC
