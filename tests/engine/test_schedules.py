"""Recurring schedules in the engine: what becomes a task, what a row of the history, through crashes and jumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    Cancelled,
    ClockChanged,
    DrainBegan,
    OccurrenceAsked,
    RunnersCompared,
    SchedulesApplied,
    SchedulesKept,
    SchedulesPaused,
    SchedulesResumed,
    SlotsSkipped,
    TimePassed,
    ZoneChanged,
)
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.recurrence import key_of, list_next_starts
from cronoq_cli.errors import InvalidError, NotFoundError, TryLaterError
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.recurring import CatchUp, Overlap, PassedSlots, ScheduleSpec, ScheduleState, is_withdrawn
from cronoq_cli.model.task import Priority, TaskRecord
from tests.engine.story import Story, spec

MIDNIGHT = 1_773_100_800.0
"""2026-03-10T00:00:00Z."""
HOUR_S, DAY_S = 3600.0, 86_400.0


@dataclass
class Recurring:
    """A story with schedules, told from MIDNIGHT on."""

    story: Story = field(default_factory=lambda: Story(4))

    def __post_init__(self) -> None:
        self.story.now = Now(MIDNIGHT, 5_000.0)

    def add(self, name: str = "job", expr: str | None = None, **fields: Any) -> SchedulesKept:
        template = fields.pop("template", None) or spec(name)
        kept: SchedulesKept = self.story.handle(
            SchedulesApplied([ScheduleSpec(name=name, expr=expr, template=template, **fields)])
        )
        return kept

    def occurrences(self, name: str = "job") -> list[TaskRecord]:
        return [task for task in self.story.shelf.tasks.values() if task.spec.recurring == name]

    def slots(self, name: str = "job") -> list[str]:
        return [clock(task.spec.slot) for task in self.occurrences(name)]

    def slots_with(self, status: Status, name: str = "job") -> list[str]:
        return sorted(clock(task.spec.slot) for task in self.occurrences(name) if task.status is status)

    def passed(self, name: str = "job") -> list[tuple[str, str, int]]:
        rows: list[PassedSlots] = [row for row in self.story.shelf.passed.values() if row.schedule == name]
        return [(clock(row.first_at), row.status, row.count) for row in sorted(rows, key=lambda row: row.first_at)]

    def next(self, name: str, n: int = 2) -> list[str]:
        spec = self.story.shelf.schedules[name].spec
        return [clock(at) for at in list_next_starts(spec, self.state(name), self.story.now.wall, self.story.zone, n)]

    def state(self, name: str = "job") -> ScheduleState:
        return self.story.shelf.schedules[name].state

    def run(self, seconds: float, *, step_s: float = 60.0, length_s: float | None = None, code: int = 0) -> None:
        """Let time pass in steps; what runs for `length_s` ends."""
        story, end = self.story, self.story.now.wall + seconds
        while story.now.wall < end - 1e-6:
            story.pass_time(min(step_s, end - story.now.wall))
            for record in list(story.shelf.tasks.values()):
                task = story.engine.find(record.id)
                ran_s = 0.0 if record.started_at is None else story.now.wall - record.started_at
                if task is None or length_s is None or ran_s < length_s:
                    continue
                if record.status is Status.RUNNING or task.leaving:
                    story.end(task.id, code)


def clock(at: float | None) -> str:
    """`12:00` of an instant of the day, with the day when it is a later one."""
    text = format_utc(at or 0.0)
    return text[11:16] if text[:10] == "2026-03-10" else text[5:16]


@pytest.fixture
def told() -> Recurring:
    return Recurring()


# -- due -------------------------------------------------------------------------------------------------------------


def test_a_slot_becomes_a_task_at_its_instant_and_never_again(told: Recurring):
    assert told.add(expr="0 * * * *").added == ["job"]
    told.story.pass_time(HOUR_S - 1)
    assert told.occurrences() == []
    told.story.pass_time(1.5)
    (task,) = told.occurrences()
    assert (task.spec.key, task.start_reason, task.status) == ("job@2026-03-10T01:00:00Z", "scheduled", Status.RUNNING)
    assert (task.spec.tags, task.spec.slot) == ({"recurring": "job"}, MIDNIGHT + HOUR_S)
    told.story.pass_time(60)
    told.story.crash()
    told.story.pass_time(60)
    assert len(told.occurrences()) == 1
    assert told.state().next_at == MIDNIGHT + 2 * HOUR_S


def test_a_busy_daemon_still_runs_every_slot_for_its_own_reason(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.ALLOW)
    told.story.pass_time(185)
    assert told.slots() == ["00:01", "00:02", "00:03"]
    assert {task.start_reason for task in told.occurrences()} == {"scheduled"}


def test_jitter_moves_the_start_and_keeps_the_key(told: Recurring):
    told.add(expr="0 1 * * *", jitter_s=600.0)
    told.story.pass_time(HOUR_S + 1)
    assert told.occurrences() == []
    told.story.pass_time(600)
    (task,) = told.occurrences()
    assert task.spec.key == "job@2026-03-10T01:00:00Z"
    assert 0 < (task.spec.not_before or 0) - MIDNIGHT - HOUR_S < 600


def test_until_and_max_runs_end_a_schedule(told: Recurring):
    told.add("few", "* * * * *", max_runs=2, overlap=Overlap.ALLOW)
    told.add("short", "* * * * *", until=MIDNIGHT + 180, overlap=Overlap.ALLOW)
    told.run(600)
    assert told.slots("few") == ["00:01", "00:02"]
    assert told.slots("short") == ["00:01", "00:02", "00:03"]
    assert told.state("few").next_at is None
    assert told.state("short").next_at is None


def test_a_schedule_that_never_fires_or_can_never_run_is_refused_and_nothing_is_changed(told: Recurring):
    for bad in (
        {"expr": "0 0 30 2 *"},
        {"expr": "* * * * *", "every_s": 3.0},
        {"expr": "* * * * *", "template": spec(pool="nowhere")},
        {"expr": "* * * * *", "template": spec(slots=9)},
        {"every_s": 60.0, "reserve": True},
    ):
        with pytest.raises(InvalidError):
            told.add(**bad)
    assert told.story.shelf.schedules == {}
    with pytest.raises(NotFoundError):
        told.story.handle(SchedulesApplied(removed=["job"]))


def test_what_is_refused_at_its_slot_is_recorded_and_the_next_one_comes(told: Recurring):
    told = Recurring(Story(PoolPlan(1, max_pending=1, overflow="reject")))
    told.story.submit()
    told.story.submit()
    told.add(expr="* * * * *")
    told.story.pass_time(60)
    assert told.passed() == [("00:01", "skipped", 1)]
    (row,) = told.story.shelf.passed.values()
    assert row.reason.startswith("refused: pool 'default' holds 1")
    told.story.end(1)
    told.story.pass_time(60)
    assert told.slots() == ["00:02"]


def test_nothing_is_decided_while_the_daemon_drains(told: Recurring):
    told.add(expr="* * * * *")
    told.story.handle(DrainBegan())
    told.story.pass_time(130)
    assert (told.occurrences(), told.passed()) == ([], [])
    told.story.crash()
    assert (told.slots(), told.passed()) == (["00:02"], [("00:01", "missed", 1)])


# -- catch-up --------------------------------------------------------------------------------------------------------


def test_three_days_down_are_decided_once(told: Recurring):
    told.add(expr="0 12 * * *", catch_up_within_s=DAY_S)
    told.story.now = Now(MIDNIGHT + 3 * DAY_S, 9_000.0)
    told.story.crash(compare=False)
    told.story.handle(TimePassed())
    assert told.occurrences() == []
    told.story.handle(RunnersCompared(set()))
    (task,) = told.occurrences()
    assert (task.start_reason, task.spec.priority, clock(task.spec.slot)) == ("catch-up", Priority.LOW, "03-12T12:00")
    assert told.passed() == [("12:00", "missed", 1), ("03-11T12:00", "missed", 1)]
    told.story.end(task.id)
    told.story.crash()
    assert len(told.occurrences()) == 1
    assert len(told.passed()) == 2


def test_a_minute_schedule_down_for_days_is_few_rows(told: Recurring):
    told.add(expr="* * * * *", catch_up=CatchUp.NONE)
    told.story.now = Now(MIDNIGHT + 3 * DAY_S + 5, 9_000.0)
    told.story.crash()
    (row,) = told.story.shelf.passed.values()
    assert (row.count, row.more, row.last_at) == (3 * 1440, False, MIDNIGHT + 3 * DAY_S)
    assert told.state().next_at == MIDNIGHT + 3 * DAY_S + 60


def test_at_most_four_caught_up_occurrences_run_at_once_oldest_first():
    told = Recurring(Story(20))
    for number in range(3):
        told.add(f"job{number}", f"{number} * * * *", catch_up=CatchUp.ALL, overlap=Overlap.ALLOW)
    told.story.now = Now(MIDNIGHT + 3 * HOUR_S + 600, 9_000.0)
    told.story.crash()
    caught = list(told.story.shelf.tasks.values())
    assert [clock(task.spec.slot) for task in caught if task.status is Status.RUNNING] == [
        "00:01",
        "00:02",
        "01:00",
        "01:01",
    ]
    told.story.end(caught[0].id)
    assert sum(task.status is Status.RUNNING for task in told.story.shelf.tasks.values()) == 4


def test_caught_up_slots_of_one_schedule_follow_each_other_where_they_may_not_overlap(told: Recurring):
    told.add(expr="0 * * * *", catch_up=CatchUp.ALL)
    told.story.now = Now(MIDNIGHT + 3 * HOUR_S + 600, 9_000.0)
    told.story.crash()
    assert [task.status for task in told.occurrences()] == [Status.RUNNING, Status.BLOCKED, Status.BLOCKED]
    told.run(600, length_s=60)
    assert {task.status for task in told.occurrences()} == {Status.SUCCEEDED}
    assert told.passed() == []


def test_a_task_that_ended_while_no_daemon_ran_is_not_in_the_way(told: Recurring):
    told.add(expr="0 * * * *")
    told.story.pass_time(HOUR_S)
    (first,) = told.occurrences()
    told.story.now = Now(MIDNIGHT + 2 * HOUR_S + 60, 9_000.0)
    told.story.crash(compare=False)
    told.story.handle(TimePassed())
    told.story.end(first.id)
    told.story.handle(RunnersCompared(set()))
    assert told.slots() == ["01:00", "02:00"]


def test_tolerance_of_what_is_caught_up_counts_from_its_submission(told: Recurring):
    told.add(expr="0 * * * *", tolerance_s=30.0, on_miss="skip")
    told.story.now = Now(MIDNIGHT + HOUR_S + 600, 9_000.0)
    told.story.crash()
    (task,) = told.occurrences()
    assert task.spec.expires_at == MIDNIGHT + HOUR_S + 630


# -- clocks and zones ------------------------------------------------------------------------------------------------


def test_a_suspend_leaves_its_slots_to_catch_up(told: Recurring):
    told.add(expr="0 * * * *", catch_up=CatchUp.NONE)
    told.story.pass_time(60)
    told.story.pass_time(5 * HOUR_S, awake=1.0)
    assert (told.slots(), [row[1] for row in told.passed()]) == ([], ["missed"] * 5)
    told.story.pass_time(HOUR_S)
    assert told.slots() == ["06:00"]


def test_a_jump_forward_that_the_daemon_tells_of_leaves_the_gap_to_catch_up(told: Recurring):
    told.add(expr="0 * * * *")
    told.story.now = Now(MIDNIGHT + DAY_S + 60, 5_001.0)
    told.story.handle(ClockChanged(told.story.now.wall, message="set forward"))
    (task,) = told.occurrences()
    assert (clock(task.spec.slot), task.start_reason) == ("03-11T00:00", "catch-up")
    assert len(told.passed()) == 23
    assert told.story.shelf.history[-1].type in ("started", "clock-stepped")
    assert any(line.message == "set forward" for line in told.story.shelf.history)


@pytest.mark.parametrize("back_s", [HOUR_S, 2.9 * HOUR_S, DAY_S])
def test_a_clock_set_back_repeats_nothing(told: Recurring, back_s: float):
    told.add(expr="0 * * * *")
    told.run(4 * HOUR_S, step_s=600, length_s=60)
    assert told.slots() == ["01:00", "02:00", "03:00", "04:00"]
    told.story.now = Now(told.story.now.wall - back_s, told.story.now.awake)
    told.story.handle(ClockChanged())
    told.run(back_s, step_s=600, length_s=60)
    slots = [slot for slot in told.slots() if slot[2] == ":"]
    assert sorted(slots) == ["01:00", "02:00", "03:00", "04:00"] if back_s < DAY_S else len(set(slots)) == len(slots)
    told.run(HOUR_S, step_s=600, length_s=60)
    assert "05:00" in told.slots()


def set_clock(told: Recurring, by_s: float) -> None:
    told.story.now = Now(told.story.now.wall + by_s, told.story.now.awake)
    told.story.handle(ClockChanged(told.story.now.wall if by_s > 0 else None))


@pytest.mark.parametrize("crash", [False, True])
def test_a_clock_that_was_a_day_ahead_costs_no_slot_of_today(told: Recurring, crash: bool):
    told.add(expr="* * * * *", catch_up=CatchUp.NONE)
    told.add("reserved", "*/2 * * * *", reserve=True, catch_up=CatchUp.NONE)
    told.run(90, step_s=10, length_s=5)
    set_clock(told, DAY_S)
    told.run(80, step_s=10, length_s=5)
    set_clock(told, -DAY_S)
    if crash:
        told.story.crash()
    assert told.next("reserved", 1) == ["00:08"], "what is due within the five minutes of max_hold was made before"
    told.run(540, step_s=10, length_s=5)
    ran = {name: told.slots_with(Status.SUCCEEDED, name) for name in ("job", "reserved")}
    today = {name: [slot for slot in slots if slot[2] == ":"] for name, slots in ran.items()}
    assert today["job"] == [f"00:{minute:02}" for minute in (1, *range(3, 12))]
    assert today["reserved"] == ["00:02", "00:08", "00:10"], "two were passed over in the jump ahead"
    assert [line.type for line in told.story.shelf.history].count("recurring-clock") == 2


def test_a_chain_of_a_clock_that_was_a_day_ahead_holds_up_nobody(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.QUEUE)
    told.run(60)
    set_clock(told, DAY_S)
    told.run(150, step_s=30)
    first, *waiting = told.occurrences()
    assert len(waiting) == 4
    set_clock(told, -DAY_S)
    assert told.story.status(*(task.id for task in waiting)) == [Status.CANCELLED] * 4
    told.story.end(first.id)
    told.run(120, step_s=10, length_s=5)
    assert told.slots_with(Status.SUCCEEDED) == ["00:01", "00:04", "00:05"]
    assert told.state().runs == 3


def test_a_reserved_slot_that_was_missed_is_as_old_as_it_is():
    told = Recurring(Story(PoolPlan(4, max_hold_s=300.0)))
    told.add(expr="*/3 * * * *", reserve=True, overlap=Overlap.ALLOW)
    told.story.pass_time(1)
    set_clock(told, 5 * HOUR_S)
    caught_up = [clock(one.spec.slot) for one in told.occurrences() if one.start_reason == "catch-up"]
    assert caught_up == ["05:00"], "it is a second old, and no older for the minutes that starts are reserved ahead"


def test_another_zone_is_followed_from_now_on(told: Recurring):
    told.add(expr="0 12 * * *")
    told.add("fixed", "0 12 * * *", tz="UTC")
    told.story.pass_time(11.5 * HOUR_S)
    told.story.handle(ZoneChanged(ZoneInfo("Asia/Tokyo")))
    assert told.state().next_at == MIDNIGHT + DAY_S + 3 * HOUR_S
    assert told.state("fixed").next_at == MIDNIGHT + 12 * HOUR_S


# -- intervals and boots ---------------------------------------------------------------------------------------------


def test_an_interval_counts_time_awake(told: Recurring):
    told.add(every_s=60.0)
    told.run(121, step_s=1, length_s=5)
    assert told.slots() == ["00:01", "00:02"]
    told.story.pass_time(10 * HOUR_S, awake=10.0)
    assert len(told.occurrences()) == 2
    told.run(50, step_s=1, length_s=5)
    assert len(told.occurrences()) == 3


def test_an_interval_over_three_days_down_costs_one_row(told: Recurring):
    told.add(every_s=1.0)
    told.story.now = Now(MIDNIGHT + 3 * DAY_S, 5_000.5 + 3 * DAY_S)
    told.story.crash()
    (row,) = told.story.shelf.passed.values()
    assert (row.status, row.count) == ("missed", 3 * 86_400 - 1)
    assert [task.start_reason for task in told.occurrences()] == ["catch-up"]


def test_an_interval_goes_on_in_another_boot_by_the_wall_clock(told: Recurring):
    told.add(every_s=600.0)
    told.story.boot_id = "boot-2"
    told.story.now = Now(MIDNIGHT + 400, 10.0)
    told.story.crash()
    assert told.occurrences() == []
    told.story.pass_time(201)
    assert told.slots() == ["00:10"]


def test_reboot_runs_once_after_each_boot_and_not_when_it_is_added(told: Recurring):
    told.add(reboot=True)
    told.story.pass_time(60)
    told.story.crash()
    assert told.occurrences() == []
    for _ in range(2):
        told.story.boot_id = "boot-2"
        told.story.crash()
        told.story.handle(TimePassed())
    assert len(told.occurrences()) == 1
    told.story.boot_id = "boot-3"
    told.story.end(told.occurrences()[0].id)
    told.story.pass_time(60)
    told.story.crash()
    assert len(told.occurrences()) == 2


# -- overlaps --------------------------------------------------------------------------------------------------------


def test_skip_records_what_it_leaves_out(told: Recurring):
    told.add(expr="* * * * *")
    told.run(420, step_s=10, length_s=150)
    assert told.slots() == ["00:01", "00:04", "00:07"]
    assert told.passed() == [("00:02", "skipped", 2), ("00:05", "skipped", 2)]
    assert "not over" in next(iter(told.story.shelf.passed.values())).reason


def test_allow_runs_side_by_side(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.ALLOW)
    told.run(180, length_s=600)
    assert [task.status for task in told.occurrences()] == [Status.RUNNING] * 3


def test_queue_chains_each_behind_the_one_before(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.QUEUE)
    told.run(240, length_s=100, code=1)
    tasks = told.occurrences()
    assert len(tasks) == 4
    assert [task.status for task in tasks[:2]] == [Status.FAILED, Status.RUNNING]
    assert {task.status for task in tasks[2:]} == {Status.BLOCKED}


def test_a_cancelled_link_of_a_queue_lets_nothing_slip_by(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.QUEUE)
    told.run(180, length_s=600)
    first, second, third = told.occurrences()
    told.story.handle(Cancelled([second.id]))
    assert told.story.status(first.id, third.id) == [Status.RUNNING, Status.BLOCKED]
    told.story.end(first.id)
    assert told.story.status(third.id) is Status.RUNNING


def test_queue_on_success_stops_after_a_failure_and_goes_on_after_resume(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.QUEUE_ON_SUCCESS)
    told.run(180, length_s=170, code=1)
    told.run(120, length_s=50, code=1)
    first, *chained = told.occurrences()
    assert first.status is Status.FAILED
    assert {task.status for task in chained} == {Status.SKIPPED}
    assert told.passed()[-1][:2] == ("00:05", "skipped")
    assert told.state().broken
    told.story.crash()
    told.story.handle(SchedulesResumed(["job"]))
    told.run(60, length_s=10)
    assert told.slots()[-1] == "00:06"
    assert told.occurrences()[-1].status is Status.RUNNING


def test_replace_cancels_the_earlier_one_and_waits_until_it_is_gone(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.REPLACE)
    told.story.pass_time(60)
    told.story.pass_time(60)
    first, second = told.occurrences()
    assert (first.status, second.status) == (Status.CANCELLED, Status.BLOCKED)
    told.story.crash()
    told.story.pass_time(60)
    third = told.occurrences()[2]
    assert told.story.status(second.id, third.id) == [Status.CANCELLED, Status.BLOCKED]
    told.story.end(first.id, None, signal=15, cause="cancelled")
    assert told.story.status(third.id) is Status.RUNNING
    assert told.state().failures == 0


def test_a_replacement_takes_the_place_and_the_age_of_one_that_waits():
    told = Recurring(Story(1))
    busy = told.story.submit("busy")
    told.add(expr="* * * * *", overlap=Overlap.REPLACE)
    told.story.pass_time(60)
    plain = told.story.submit("plain", priority=Priority.NORMAL)
    for _ in range(9):
        told.story.pass_time(60)
        told.story.submit("more", priority=Priority.NORMAL)
    *replaced, newest = told.occurrences()
    assert {task.status for task in replaced} == {Status.CANCELLED}
    assert (newest.seq, newest.ready_at, newest.status) == (replaced[0].seq, MIDNIGHT + 60, Status.READY)
    told.story.crash()
    told.story.end(busy)
    assert told.story.status(newest.id, plain) == [Status.RUNNING, Status.READY]
    told.story.pass_time(60)
    told.story.end(newest.id, None, signal=15, cause="cancelled")
    late = told.occurrences()[-1]
    assert told.story.status(late.id, plain) == [Status.READY, Status.RUNNING], "what ran gives no place away"


def test_failures_in_a_row_pause_a_schedule_and_open_an_incident(told: Recurring):
    told.add(expr="* * * * *", pause_after_failures=2)
    told.run(600, step_s=10, length_s=10, code=1)
    assert told.slots() == ["00:01", "00:02"]
    assert (told.state().paused, told.state().pause_reason) == (True, "2 failures in a row")
    assert told.state().incident_at is not None
    told.story.crash()
    told.story.handle(SchedulesResumed([]))
    told.run(125, step_s=10, length_s=10)
    assert told.state().incident_at is None
    assert len(told.occurrences()) == 4


def test_a_retried_occurrence_counts_again(told: Recurring):
    told.add(expr="0 * * * *")
    told.run(HOUR_S + 60, length_s=10, code=1)
    (task,) = told.occurrences()
    told.story.retry(task.id)
    told.run(60, length_s=10)
    assert (told.state().failures, told.state().incident_at) == (0, None)


# -- what people do --------------------------------------------------------------------------------------------------


def test_a_manual_occurrence_touches_nothing_of_the_schedule(told: Recurring):
    told.add(expr="* * * * *")
    before = told.state()
    ids = [told.story.handle(OccurrenceAsked("job")) for _ in range(2)]
    assert [told.story.record(one).start_reason for one in ids] == ["manual", "manual"]
    told.story.end(ids[0], 1)
    assert told.state() == before
    told.story.pass_time(60)
    assert told.occurrences()[-1].spec.key == key_of("job", MIDNIGHT + 60)
    told.story.crash(compare=False)
    told.story.begin(ids[1])
    told.story.handle(RunnersCompared(set()))
    assert told.story.status(ids[1]) is Status.DEAD_LETTERED


def test_a_manual_occurrence_is_refused_as_a_submission_is():
    told = Recurring(Story(PoolPlan(1, max_pending=1, overflow="reject")))
    told.add(expr="0 0 1 1 *")
    told.story.handle(OccurrenceAsked("job"))
    told.story.handle(OccurrenceAsked("job"))
    with pytest.raises(TryLaterError):
        told.story.handle(OccurrenceAsked("job"))


def test_each_occurrence_has_its_reactions_a_manual_one_too(told: Recurring):
    told.add(expr="* * * * *", reactions={"on_failure": ["tell"], "on_success": ["praise"]})
    told.story.pass_time(60)
    (first,) = told.occurrences()
    told.story.end(first.id, 1)
    reactions = [task for task in told.story.shelf.tasks.values() if task.spec.reaction]
    assert {task.spec.name: task.status for task in reactions} == {"tell": Status.RUNNING, "praise": Status.SKIPPED}
    assert {(task.spec.recurring, task.spec.after[0].ref) for task in reactions} == {("", str(first.id))}
    told.story.end(reactions[0].id if reactions[0].spec.name == "tell" else reactions[1].id)
    manual = told.story.handle(OccurrenceAsked("job"))
    told.story.end(manual)
    newest = {task.spec.name: task.status for task in told.story.shelf.tasks.values() if task.id > manual}
    assert newest == {"tell": Status.SKIPPED, "praise": Status.RUNNING}


def test_slots_are_left_out_as_asked(told: Recurring):
    told.add(expr="* * * * *", overlap=Overlap.ALLOW)
    told.add("every", every_s=60.0, overlap=Overlap.ALLOW)
    told.story.handle(SlotsSkipped("job", [MIDNIGHT + 60, MIDNIGHT + 180]))
    told.story.handle(SlotsSkipped("every", points=1))
    told.story.crash()
    told.run(240)
    assert told.slots() == ["00:02", "00:04"]
    assert told.slots("every") == ["00:02", "00:03", "00:04"]
    assert [row[0] for row in told.passed()] == ["00:01", "00:03"]
    assert told.passed("every") == [("00:01", "skipped", 1)]


def test_a_pause_is_neither_run_nor_missed_and_may_end_by_itself(told: Recurring):
    told.add(expr="* * * * *")
    told.add("every", every_s=60.0)
    told.story.handle(SchedulesPaused([], until=MIDNIGHT + 200, reason="holiday"))
    told.story.crash()
    told.run(320, step_s=10, length_s=10)
    assert told.slots() == ["00:04", "00:05"]
    assert told.slots("every") == ["00:04", "00:05"]
    assert (told.passed(), told.passed("every")) == ([], [])
    assert not told.state().paused
    assert not told.state("every").paused


def test_pauses_begin_and_end_together_with_other_changes_or_not_at_all(told: Recurring):
    told.add("old", "* * * * *")
    told.add("quiet", "* * * * *")
    told.story.handle(SchedulesPaused(["quiet"]))
    new = ScheduleSpec(name="new", expr="* * * * *", template=spec("new"))
    with pytest.raises(NotFoundError):
        told.story.handle(SchedulesApplied([new], pausing=["old", "gone"]))
    assert (sorted(told.story.shelf.schedules), told.state("old").paused) == (["old", "quiet"], False)
    told.story.handle(SchedulesApplied([new], pausing=["old", "new"], resuming=["quiet"]))
    told.story.crash()
    told.story.pass_time(60)
    assert [told.slots(name) for name in ("new", "old", "quiet")] == [[], [], ["00:01"]]


def test_an_equal_schedule_changes_nothing_and_another_one_takes_over_what_runs(told: Recurring):
    told.add(expr="* * * * *")
    told.story.pass_time(60)
    assert told.add(expr="* * * * *").unchanged == ["job"]
    assert told.state().runs == 1
    assert told.add(expr="* * * * *", max_runs=5).replaced == ["job"]
    assert told.state().runs == 0
    told.story.pass_time(60)
    assert told.passed() == [("00:02", "skipped", 1)]


def test_a_schedule_that_is_removed_and_added_again_does_not_repeat_a_slot(told: Recurring):
    told.add(expr="* * * * *")
    told.story.pass_time(60)
    (task,) = told.occurrences()
    told.story.handle(SchedulesApplied(removed=["job"]))
    assert told.story.status(task.id) is Status.RUNNING
    told.story.end(task.id)
    told.story.now = Now(MIDNIGHT + 30, told.story.now.awake)
    told.add(expr="* * * * *")
    told.run(60, step_s=10)
    assert told.slots() == ["00:01"]
    told.run(60, step_s=10)
    assert told.slots() == ["00:01", "00:02"]


# -- tolerance and reserve -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_miss", "status"), [("skip", Status.MISSED), ("fail", Status.FAILED), (None, Status.READY)]
)
def test_a_plain_occurrence_is_too_late_only_by_its_tolerance(on_miss: str | None, status: Status):
    told = Recurring(Story(1))
    told.story.submit()
    told.add(expr="* * * * *", tolerance_s=20.0, on_miss=on_miss)
    told.add("patient", "* * * * *")
    told.story.pass_time(60)
    told.story.pass_time(25)
    assert [task.status for task in told.occurrences()] == [status]
    assert [task.status for task in told.occurrences("patient")] == [Status.READY]


def test_a_start_behind_its_tolerance_is_told_as_late():
    told = Recurring(Story(1))
    told.story.submit()
    told.add(expr="* * * * *", tolerance_s=20.0)
    told.story.pass_time(60)
    told.story.crash()
    told.story.pass_time(25)
    told.story.end(1)
    assert told.occurrences()[0].status is Status.RUNNING
    assert [line.type for line in told.story.shelf.history].count("late") == 1


def test_a_reserving_schedule_holds_capacity_ahead_of_its_start():
    told = Recurring(Story(PoolPlan(2, max_hold_s=300.0)))
    told.add(expr="0 * * * *", reserve=True)
    told.story.pass_time(HOUR_S - 400)
    assert told.occurrences() == []
    told.story.pass_time(50)
    (task,) = told.occurrences()
    assert (task.status, task.spec.start_at) == (Status.SCHEDULED, MIDNIGHT + HOUR_S)
    told.story.crash()
    told.story.pass_time(350)
    assert told.story.status(task.id) is Status.RUNNING
    assert len(told.occurrences()) == 1


def test_a_reservation_that_cannot_be_had_is_recorded_as_a_conflict():
    told = Recurring(Story(PoolPlan(2, max_hold_s=300.0)))
    told.add("one", "0 * * * *", reserve=True)
    told.add("two", "0 * * * *", reserve=True)
    told.story.pass_time(HOUR_S - 100)
    assert (len(told.occurrences("one")), told.occurrences("two")) == (1, [])
    (row,) = told.story.shelf.passed.values()
    assert (row.schedule, row.status, row.reason.split(":")[0]) == ("two", "skipped", "conflict")


def test_a_reserving_schedule_foretells_what_it_got_and_not_the_conflicts():
    told = Recurring(Story(PoolPlan(2, max_hold_s=3900.0)))
    told.add("one", "0 * * * *", reserve=True)
    told.add("two", "0 * * * *", reserve=True)
    told.story.pass_time(1)
    assert (told.next("one"), told.next("two")) == (["01:00", "02:00"], ["02:00", "03:00"])
    told.story.crash()
    assert (told.next("one"), told.next("two")) == (["01:00", "02:00"], ["02:00", "03:00"])
    told.story.handle(Cancelled([told.occurrences("one")[0].id]))
    assert told.next("one") == ["02:00", "03:00"]
    told.story.pass_time(HOUR_S)
    assert told.next("one")[0] == "02:00"
    assert told.state("one").ahead == [MIDNIGHT + 2 * HOUR_S]


def test_a_reserved_slot_left_out_is_skipped_and_never_was_a_run():
    told = Recurring(Story(PoolPlan(2, max_hold_s=3900.0)))
    told.add(expr="0 * * * *", reserve=True)
    told.story.pass_time(1)
    told.story.handle(SlotsSkipped("job", [MIDNIGHT + HOUR_S]))
    (task,) = told.occurrences()
    assert is_withdrawn(task)
    assert told.passed() == [("01:00", "skipped", 1)]
    assert (told.next("job"), told.state().skips) == (["02:00", "03:00"], [MIDNIGHT + HOUR_S])
    told.story.handle(SchedulesPaused(["job"]))
    told.story.handle(SchedulesResumed(["job"]))
    told.story.pass_time(HOUR_S)
    assert told.passed() == [("01:00", "skipped", 1)]
    assert told.state().skips == []
    told.story.crash()
    told.story.pass_time(HOUR_S)
    assert [one.spec.slot for one in told.occurrences() if not is_withdrawn(one)] == [
        MIDNIGHT + hours * HOUR_S for hours in (2, 3)
    ]


def test_a_reserved_start_is_left_out_of_a_chain_on_success_without_breaking_it():
    told = Recurring(Story(PoolPlan(2, max_hold_s=300.0)))
    told.add(expr="*/2 * * * *", reserve=True, overlap=Overlap.QUEUE_ON_SUCCESS)
    told.story.pass_time(1)
    assert told.state().ahead == [MIDNIGHT + 120, MIDNIGHT + 240, MIDNIGHT + 360]
    told.story.handle(SlotsSkipped("job", [MIDNIGHT + 240]))
    assert told.state().ahead == [MIDNIGHT + 120, MIDNIGHT + 360]
    told.story.crash()
    told.run(610, step_s=10, length_s=5)
    assert told.slots_with(Status.SUCCEEDED) == ["00:02", "00:06", "00:08", "00:10"]
    assert told.passed() == [("00:04", "skipped", 1)]
    assert not told.state().broken
    told.story.handle(SchedulesPaused(["job"]))
    told.story.handle(SchedulesResumed(["job"]))
    told.run(120, step_s=10, length_s=5)
    assert told.slots_with(Status.SUCCEEDED)[-1] == "00:12"


def test_overlap_of_reserved_starts_is_judged_at_their_start():
    told = Recurring(Story(PoolPlan(4, max_hold_s=300.0)))
    told.add(expr="*/2 * * * *", reserve=True)
    told.run(240, step_s=10, length_s=500)
    first, second, *_ = told.occurrences()
    assert (first.status, second.status) == (Status.RUNNING, Status.SKIPPED)


def test_a_start_made_ahead_is_taken_back_with_its_schedule():
    told = Recurring(Story(PoolPlan(2, max_hold_s=300.0)))
    told.add(expr="0 * * * *", reserve=True)
    told.story.pass_time(HOUR_S - 100)
    (task,) = told.occurrences()
    told.story.handle(SchedulesPaused(["job"]))
    assert told.story.status(task.id) is Status.CANCELLED
    told.story.handle(SchedulesApplied(removed=["job"]))
    told.story.pass_time(HOUR_S)
    assert not any(task.status in LIVE for task in told.occurrences())


def test_a_start_that_was_taken_back_is_made_again_when_its_schedule_goes_on():
    told = Recurring(Story(PoolPlan(2, max_hold_s=300.0)))
    told.add(expr="0 * * * *", reserve=True)
    told.story.pass_time(HOUR_S - 300)
    told.story.handle(SchedulesPaused(["job"]))
    told.story.crash()
    told.story.handle(SchedulesResumed(["job"]))
    told.add(expr="0 * * * *", reserve=True, tolerance_s=5.0)
    told.story.pass_time(300)
    assert [task.status for task in told.occurrences()] == [Status.CANCELLED, Status.CANCELLED, Status.RUNNING]
    assert told.state().runs == 1
    assert told.state().withdrawn == []


# -- many ------------------------------------------------------------------------------------------------------------


def test_a_thousand_schedules_due_in_one_second_are_tasks_in_few_steps_and_cost_nothing_until_then():
    told, many = Recurring(Story(8)), 1000
    story = told.story
    specs = [ScheduleSpec(name=f"s{n}", expr="0 * * * *", template=spec("job")) for n in range(many)]
    story.handle(SchedulesApplied(specs))
    timers = story.engine.state.timers
    for _ in range(30):
        story.pass_time(60)
        assert story.engine.next_due_s(story.now) == HOUR_S - (story.now.wall - MIDNIGHT)
    story.pass_time(HOUR_S / 2)
    assert 0 < len(story.shelf.tasks) <= 128
    assert len(story.started()) == 8
    steps = 1
    while story.engine.next_due_s(story.now) == 0.0:
        story.handle(TimePassed())
        steps += 1
    assert len(story.shelf.tasks) == many
    assert steps <= 16
    assert not timers.is_due(story.now)
    assert {one.state.next_at for one in story.shelf.schedules.values()} == {MIDNIGHT + 2 * HOUR_S}
