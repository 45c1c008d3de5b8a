"""A schedule's state: due and missed slots, catch-up, pauses, overlaps, intervals, jitter. All with times as values."""

from __future__ import annotations

from datetime import datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine import recurrence as rules
from cronoq_cli.engine.recurrence import (
    Action,
    Due,
    Earlier,
    Reason,
    Run,
    Timing,
    decide_catch_up,
    decide_due,
    decide_interval,
    decide_overlap,
    decide_reboot,
    find_next_slot,
    jitter_of,
    judge_end,
    key_of,
    list_next_slots,
    list_next_starts,
    manual_spec,
    occurrence_spec,
    parse_timing,
    resume,
    settle,
)
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.moment import format_utc, load_zone
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec, ScheduleState, parse_schedule_name
from cronoq_cli.model.task import Priority, TaskSpec

UTC = load_zone("UTC")
BERLIN = load_zone("Europe/Berlin")
HOUR_S, DAY_S = 3600.0, 86_400.0


def at(text: str) -> float:
    return datetime.fromisoformat(text + "Z").timestamp()


NOON = at("2026-03-10T12:00:00")


def schedule(expr: str | None = "0 12 * * *", **fields: object) -> ScheduleSpec:
    given = {"name": "backup", "template": TaskSpec(name="true", shell_line="true"), "expr": expr, **fields}
    return ScheduleSpec(**given)  # type: ignore[arg-type]


def state(decided_at: float, **fields: object) -> ScheduleState:
    return ScheduleState(decided_at=decided_at, **fields)  # type: ignore[arg-type]


def look(spec: ScheduleSpec, before: ScheduleState, now: float, able_since: float | None = None) -> Due:
    return decide_due(spec, before, now, UTC, able_since=before.decided_at if able_since is None else able_since)


def shown(due: Due) -> list[str]:
    return [f"{format_utc(run.slot)} {run.reason.value}" for run in due.run]


def test_a_slot_is_due_at_its_instant_and_only_once() -> None:
    spec, before = schedule(), state(NOON - HOUR_S)
    assert find_next_slot(spec, before, NOON - HOUR_S, UTC) == NOON
    assert look(spec, before, NOON - 0.003).run == []
    due = look(spec, before, NOON + 0.004)
    assert shown(due) == ["2026-03-10T12:00:00Z scheduled"]
    after = settle(spec, before, due, submitted=1, now=NOON + 0.004, zone=UTC)
    assert (after.decided_at, after.next_at, after.runs) == (NOON, NOON + DAY_S, 1)
    assert look(spec, after, NOON + 0.005).run == []


def test_slots_of_a_busy_daemon_are_due_however_late() -> None:
    due = look(schedule("* * * * *", catch_up=CatchUp.NONE), state(NOON), NOON + 200)
    assert [run.reason for run in due.run] == [Reason.SCHEDULED] * 3
    assert due.missed == []


def test_three_days_down_run_the_latest_and_record_the_others() -> None:
    now = at("2026-03-13T13:00:00")
    due = look(schedule(), state(NOON), now, able_since=now)
    assert shown(due) == ["2026-03-13T12:00:00Z catch-up"]
    assert [format_utc(slot) for slot in due.missed] == ["2026-03-11T12:00:00Z", "2026-03-12T12:00:00Z"]


def test_a_restart_does_not_count_or_catch_up_again() -> None:
    spec, now = schedule(), at("2026-03-13T13:00:00")
    before = state(NOON)
    after = settle(spec, before, look(spec, before, now, now), submitted=1, now=now, zone=UTC)
    again = look(spec, after, now + 60, able_since=now + 60)
    assert (again.run, again.missed, again.decided_at) == ([], [], after.decided_at)
    assert after.next_at == at("2026-03-14T12:00:00")


def test_a_weekly_slot_between_stop_and_start_is_found() -> None:
    spec, sunday = schedule("0 12 * * 0"), at("2026-03-15T12:00:00")
    due = look(spec, state(at("2026-03-08T12:00:00")), sunday + 300, able_since=sunday + 300)
    assert shown(due) == ["2026-03-15T12:00:00Z catch-up"]


def test_policy_none_records_a_slot_slept_over() -> None:
    due = look(schedule(catch_up=CatchUp.NONE), state(NOON - HOUR_S), NOON + HOUR_S, able_since=NOON + HOUR_S)
    assert (due.run, due.missed) == ([], [NOON])


def test_the_default_window_is_a_day_or_one_period() -> None:
    monthly = schedule("0 12 1 * *")
    first = at("2026-03-01T12:00:00")
    late = look(monthly, state(first - DAY_S), first + DAY_S + 1, able_since=first + DAY_S + 1)
    assert (late.run, late.missed) == ([], [first])
    assert look(monthly, state(first - DAY_S), first + DAY_S - 1, able_since=first + DAY_S - 1).missed == []


def test_catch_up_of_all_within_a_window_is_oldest_first() -> None:
    now = at("2026-03-10T18:30:00")
    spec = schedule("0 * * * *", catch_up=CatchUp.ALL, catch_up_within_s=3 * HOUR_S)
    due = look(spec, state(at("2026-03-10T12:30:00")), now, able_since=now)
    assert [format_utc(run.slot)[11:16] for run in due.run] == ["16:00", "17:00", "18:00"]
    assert [format_utc(slot)[11:16] for slot in due.missed] == ["13:00", "14:00", "15:00"]


def test_missed_slots_beyond_a_bound_are_counted_and_not_named() -> None:
    now = NOON + 30 * DAY_S
    due = look(schedule("* * * * *"), state(NOON), now, able_since=now + 1)
    assert len(due.run) + len(due.missed) == rules.MOST_MISSED
    assert due.older == rules.SlotRun(NOON + 60.0, due.missed[0] - 60.0, 30 * 1440 - rules.MOST_MISSED)
    assert due.decided_at == now
    assert look(schedule("* * * * *", max_runs=0), state(NOON), now, able_since=now + 1).older is None
    left_out = state(NOON, skips=[NOON + 120.0, NOON + DAY_S])
    fewer = look(schedule("* * * * *"), left_out, now, able_since=now + 1).older
    assert (due.older.count, fewer and fewer.count) == (43_100, 43_098)


@pytest.mark.parametrize(
    ("policy", "within_s", "run", "missed"),
    [
        (CatchUp.NONE, None, [], [1.0, 2.0, 3.0]),
        (CatchUp.LATEST, None, [3.0], [1.0, 2.0]),
        (CatchUp.LATEST, 6.0, [], [1.0, 2.0, 3.0]),
        (CatchUp.ALL, None, [1.0, 2.0, 3.0], []),
        (CatchUp.ALL, 8.0, [2.0, 3.0], [1.0]),
    ],
)
def test_each_policy_divides_the_missed_slots(
    policy: CatchUp, within_s: float | None, run: list[float], missed: list[float]
) -> None:
    assert decide_catch_up(policy, [1.0, 2.0, 3.0], 10.0, within_s) == (run, missed)


def test_a_clock_set_back_an_hour_does_not_run_a_slot_again() -> None:
    spec, before = schedule("*/10 * * * *"), state(NOON)
    due = look(spec, before, NOON - HOUR_S)
    assert (due.run, due.warning) == ([], None)
    after = settle(spec, before, due, submitted=0, now=NOON - HOUR_S, zone=UTC)
    assert (after.decided_at, after.next_at) == (NOON, NOON + 600)


def test_a_last_slot_years_ahead_is_passed_over_with_a_warning() -> None:
    spec, before = schedule(), state(at("2035-01-01T12:00:00"))
    due = look(spec, before, NOON - HOUR_S)
    assert "2035-01-01T12:00:00Z lies in the future" in str(due.warning)
    assert settle(spec, before, due, submitted=0, now=NOON - HOUR_S, zone=UTC).next_at == NOON


def test_a_clock_set_forward_a_day_is_left_to_catch_up() -> None:
    due = look(schedule("0 * * * *"), state(NOON), NOON + DAY_S + 60, able_since=NOON + DAY_S + 60)
    assert shown(due) == ["2026-03-11T12:00:00Z catch-up"]
    assert len(due.missed) == 23


def test_a_changed_zone_moves_the_next_slot() -> None:
    spec, before = schedule(), state(NOON)
    assert find_next_slot(spec, before, NOON, UTC) == NOON + DAY_S
    assert find_next_slot(spec, before, NOON, BERLIN) == NOON + 23 * HOUR_S


def test_slots_of_a_pause_are_neither_run_nor_missed() -> None:
    spec = schedule("0 * * * *")
    paused = state(NOON, paused=True)
    assert find_next_slot(spec, paused, NOON, UTC) is None
    due = look(spec, paused, NOON + 3 * HOUR_S + 60)
    assert (due.run, due.missed) == ([], [])
    resumed = resume(
        settle(spec, paused, due, submitted=0, now=NOON + 3 * HOUR_S + 60, zone=UTC), NOON + 4 * HOUR_S + 1
    )
    assert look(spec, resumed, NOON + 4 * HOUR_S + 2).run == []
    assert find_next_slot(spec, resumed, NOON + 4 * HOUR_S + 1, UTC) == NOON + 5 * HOUR_S


def test_a_pause_until_ends_by_itself_with_the_slot_at_its_end() -> None:
    spec = schedule("0 * * * *")
    paused = state(NOON, paused=True, paused_until=NOON + 3 * HOUR_S, pause_reason="holiday")
    assert find_next_slot(spec, paused, NOON, UTC) == NOON + 3 * HOUR_S
    due = look(spec, paused, NOON + 3 * HOUR_S)
    assert shown(due) == ["2026-03-10T15:00:00Z scheduled"]
    after = settle(spec, paused, due, submitted=1, now=NOON + 3 * HOUR_S, zone=UTC)
    assert (after.paused, after.paused_until, after.pause_reason) == (False, None, None)


def test_a_resume_behind_the_end_of_a_pause_does_not_reach_back_into_it() -> None:
    paused = state(NOON, paused=True, paused_until=NOON + 3 * HOUR_S)
    resumed = resume(paused, NOON + 3 * HOUR_S + 60)
    assert shown(look(schedule("0 * * * *"), resumed, NOON + 3 * HOUR_S + 60, 0.0)) == [
        "2026-03-10T15:00:00Z scheduled"
    ]


def test_a_skipped_slot_is_left_out_once() -> None:
    spec, before = schedule(), state(NOON - HOUR_S, skips=[NOON])
    assert find_next_slot(spec, before, NOON - HOUR_S, UTC) == NOON + DAY_S
    due = look(spec, before, NOON)
    assert (due.run, due.missed, due.skipped) == ([], [], [NOON])
    assert settle(spec, before, due, submitted=0, now=NOON, zone=UTC).skips == []


def test_no_slot_lies_behind_until() -> None:
    spec = schedule(until=NOON)
    assert find_next_slot(spec, state(NOON - HOUR_S), NOON - HOUR_S, UTC) == NOON
    assert find_next_slot(spec, state(NOON), NOON, UTC) is None
    assert look(spec, state(NOON), NOON + 5 * DAY_S, NOON + 5 * DAY_S).missed == []


def test_no_more_than_max_runs_are_started() -> None:
    spec = schedule("* * * * *", max_runs=3, catch_up=CatchUp.ALL)
    before = state(NOON, runs=1)
    due = look(spec, before, NOON + 600)
    assert [run.slot - NOON for run in due.run] == [60, 120]
    after = settle(spec, before, due, submitted=2, now=NOON + 600, zone=UTC)
    assert after.next_at is None
    assert look(spec, after, NOON + 900).run == []
    assert look(spec, after, NOON + 900, NOON + 900).missed == []


@pytest.mark.parametrize(
    ("every_s", "elapsed_s", "expected"),
    [
        (10.0, 9.99, (False, 0, 0.0, 0.01)),
        (10.0, 10.0, (True, 0, 10.0, 10.0)),
        (10.0, 10.4, (True, 0, 10.0, 9.6)),
        (10.0, 35.0, (True, 2, 30.0, 5.0)),
        (0.1, 0.3, (True, 2, 0.3, 0.1)),
        (10.0, -36_000.0, (False, 0, 0.0, 10.0)),
    ],
)
def test_an_interval_runs_once_however_many_points_went_by(
    every_s: float, elapsed_s: float, expected: tuple[bool, int, float, float]
) -> None:
    found = decide_interval(every_s, elapsed_s, CatchUp.ALL)
    assert (found.run, found.missed) == expected[:2]
    assert (found.advance_s, found.wait_s) == pytest.approx(expected[2:])


def test_a_point_that_fell_while_nothing_could_run_is_left_to_the_policy() -> None:
    none = decide_interval(10.0, 35.0, CatchUp.NONE, able_for_s=1.0)
    assert (none.run, none.missed, none.wait_s) == (False, 3, 5.0)
    assert decide_interval(10.0, 35.0, CatchUp.LATEST, able_for_s=1.0).run
    assert decide_interval(10.0, 35.0, CatchUp.NONE, able_for_s=6.0).run


@given(every_s=st.floats(0.05, 1e5), elapsed_s=st.floats(0, 1e6))
def test_an_interval_keeps_to_its_grid(every_s: float, elapsed_s: float) -> None:
    found = decide_interval(every_s, elapsed_s, CatchUp.LATEST)
    assert found.advance_s + every_s - found.wait_s == pytest.approx(elapsed_s, abs=1e-6 * max(1.0, elapsed_s))
    assert 0 < found.wait_s <= every_s
    assert found.run == (found.advance_s > 0)


def test_reboot_runs_after_a_boot_and_not_after_a_restart() -> None:
    assert not decide_reboot(state(NOON), "a")
    assert not decide_reboot(state(NOON, boot_id="a"), "a")
    assert decide_reboot(state(NOON, boot_id="a"), "b")


def test_no_start_is_foretold_of_a_slot_that_went_by_before_the_schedule_was_there() -> None:
    spec = schedule("* * * * *", jitter_s=50.0)
    shift_s = jitter_of(spec.name, 50.0)
    assert shift_s > 1.0
    added_at = NOON + shift_s / 2  # the slot of noon is over, its shifted start would be ahead
    first, second = list_next_starts(spec, state(added_at), added_at, UTC, 2)
    assert (first, second) == (NOON + 60.0 + shift_s, NOON + 120.0 + shift_s)
    assert list_next_slots(spec, state(added_at), added_at - shift_s, UTC, 1) == [NOON + 60.0]
    reserving = schedule("* * * * *", jitter_s=50.0, reserve=True)
    assert list_next_starts(reserving, state(added_at), added_at, UTC, 1) == [first]
    between = NOON + 60.0 + shift_s / 2
    assert list_next_starts(spec, state(added_at), between, UTC, 1) == [first], "what waits for its shift is ahead"


def test_a_jitter_of_many_hours_is_no_clock_that_was_wrong() -> None:
    spec = schedule("0 9 * * *", jitter_s=DAY_S)
    shift_s = jitter_of(spec.name, DAY_S)
    assert shift_s > 4 * HOUR_S
    due = look(spec, state(NOON), NOON + HOUR_S - shift_s)
    assert (due.run, due.warning, due.decided_at) == ([], None, NOON), "the slot of nine went by before the add"
    assert list_next_starts(spec, state(NOON), NOON, UTC, 1) == [NOON + 21 * HOUR_S + shift_s]


def test_what_is_made_ahead_is_foretold_and_nothing_twice_after_the_clock_was_set_back() -> None:
    plain, reserving, decided = schedule("* * * * *"), schedule("* * * * *", reserve=True), state(NOON + 300.0)
    assert list_next_starts(plain, decided, NOON, UTC, 1) == [NOON + 360.0]
    assert list_next_starts(reserving, decided, NOON, UTC, 1) == [NOON + 360.0], "what was decided is a conflict"
    decided.ahead = [NOON + 60.0, NOON + 180.0]
    assert list_next_starts(reserving, decided, NOON, UTC, 3) == [NOON + 60.0, NOON + 180.0, NOON + 360.0]
    assert list_next_starts(reserving, decided, NOON + 60.0, UTC, 1) == [NOON + 180.0]
    decided.runs = 3  # those ahead are counted
    few = schedule("* * * * *", reserve=True, max_runs=4)
    assert list_next_starts(few, decided, NOON, UTC, 9) == [NOON + 60.0, NOON + 180.0, NOON + 360.0]
    used_up = schedule("* * * * *", reserve=True, max_runs=3)
    assert list_next_starts(used_up, decided, NOON, UTC, 9) == [NOON + 60.0, NOON + 180.0]


def test_jitter_is_stable_for_a_name_and_spreads_names() -> None:
    draws = [jitter_of(f"job-{number}", 600) for number in range(200)]
    assert draws == [jitter_of(f"job-{number}", 600) for number in range(200)]
    assert all(0 <= draw < 600 for draw in draws)
    assert max(draws) > 550
    assert min(draws) < 50
    assert jitter_of("job-1", 0) == 0


EVERY_CASE = list(product(Overlap, (False, True), (False, True)))


def test_the_table_of_overlaps_is_whole() -> None:
    assert set(rules.OVERLAPS) == set(product(Overlap, Earlier))


@pytest.mark.parametrize(("overlap", "live", "broken"), EVERY_CASE)
def test_a_skipped_occurrence_has_a_reason_and_no_other(overlap: Overlap, live: bool, broken: bool) -> None:
    action, reason = decide_overlap(overlap, live=live, broken=broken)
    assert (reason is not None) == (action is Action.SKIP)


@pytest.mark.parametrize(
    ("overlap", "action"),
    [
        (Overlap.SKIP, Action.SKIP),
        (Overlap.ALLOW, Action.SUBMIT),
        (Overlap.QUEUE, Action.AFTER_ANY),
        (Overlap.QUEUE_ON_SUCCESS, Action.AFTER_SUCCESS),
        (Overlap.REPLACE, Action.CANCEL_EARLIER),
    ],
)
def test_an_occurrence_behind_a_live_one_follows_its_policy(overlap: Overlap, action: Action) -> None:
    assert decide_overlap(overlap, live=True, broken=False)[0] is action
    assert decide_overlap(overlap, live=False, broken=False)[0] is Action.SUBMIT


def test_a_broken_chain_counts_for_chains_on_success_alone() -> None:
    assert decide_overlap(Overlap.QUEUE_ON_SUCCESS, live=True, broken=True)[0] is Action.SKIP
    assert decide_overlap(Overlap.SKIP, live=True, broken=True)[0] is Action.SKIP
    assert decide_overlap(Overlap.REPLACE, live=True, broken=True)[0] is Action.CANCEL_EARLIER


def test_a_failure_breaks_a_chain_on_success_until_it_is_resumed() -> None:
    spec = schedule(overlap=Overlap.QUEUE_ON_SUCCESS)
    after = judge_end(spec, state(NOON), succeeded=False)
    assert after.broken
    assert judge_end(spec, after, succeeded=True).broken
    assert not resume(after, NOON).broken


def test_so_many_failures_in_a_row_pause_a_schedule() -> None:
    spec = schedule(pause_after_failures=2)
    after = judge_end(spec, state(NOON), succeeded=False)
    assert not after.paused
    assert judge_end(spec, after, succeeded=True).failures == 0
    paused = judge_end(spec, after, succeeded=False)
    assert (paused.paused, paused.pause_reason) == (True, "2 failures in a row")
    assert (resume(paused, NOON).paused, resume(paused, NOON).failures) == (False, 0)


def test_an_occurrence_has_its_key_tag_and_start() -> None:
    spec = schedule(jitter_s=60.0)
    task = occurrence_spec(spec, Run(NOON, Reason.SCHEDULED))
    assert (task.key, task.once, task.tags) == ("backup@2026-03-10T12:00:00Z", True, {"recurring": "backup"})
    assert task.not_before == NOON + jitter_of("backup", 60.0)
    assert task.priority == Priority.NORMAL
    assert spec.template.tags == {}


def test_a_caught_up_occurrence_is_low_unless_a_priority_was_given() -> None:
    late = Run(NOON, Reason.CATCH_UP)
    assert occurrence_spec(schedule(), late).priority == Priority.LOW
    assert occurrence_spec(schedule(priority_given=True), late).priority == Priority.NORMAL


def test_a_manual_run_has_no_key() -> None:
    task = manual_spec(schedule(), NOON)
    assert (task.key, task.not_before, task.slot, task.deadline) == (None, None, NOON, None)


def test_a_manual_run_has_the_deadline_of_a_run_that_fell_due_now() -> None:
    spec = schedule(deadline_after_s=90.0)
    assert manual_spec(spec, NOON).deadline == NOON + 90.0
    assert occurrence_spec(spec, Run(NOON, Reason.SCHEDULED)).deadline == NOON + 90.0


def test_a_slot_within_a_second_has_a_key_of_its_own() -> None:
    assert key_of("tick", NOON + 0.5) == "tick@2026-03-10T12:00:00.500Z"


@pytest.mark.parametrize(
    ("text", "timing"),
    [
        (" 30  2 * * * ", Timing(expr="30  2 * * *")),
        ("@daily", Timing(expr="@daily")),
        ("@every 1h30m", Timing(every_s=5400.0)),
        ("@EVERY\t90s", Timing(every_s=90.0)),
        ("@reboot", Timing(reboot=True)),
    ],
)
def test_a_time_is_an_expression_an_interval_or_the_boot(text: str, timing: Timing) -> None:
    assert parse_timing(text) == timing


@pytest.mark.parametrize("text", ["@every", "@every 0s", "@every 50ms", "@every soon", "@reboot now", "@never", "* *"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises((UsageError, InvalidError)):
        parse_timing(text)


def test_a_schedule_tells_when_as_people_write_it() -> None:
    assert schedule("@daily").when == "@daily"
    assert schedule(None, every_s=5400.0).when == "@every 1h30m"
    assert schedule(None, reboot=True).when == "@reboot"


@pytest.mark.parametrize("name", ["", "1a", "a b", "a@b", "a:b", "last", "ä", "a" * 101, "a/b"])
def test_a_name_that_would_spoil_a_key_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a name for a schedule"):
        parse_schedule_name(name)


@given(
    steps=st.lists(st.tuples(st.floats(0, 5000), st.booleans()), min_size=1, max_size=12),
    policy=st.sampled_from(CatchUp),
)
def test_each_slot_is_decided_exactly_once(steps: list[tuple[float, bool]], policy: CatchUp) -> None:
    spec, now = schedule("*/10 * * * *", catch_up=policy), NOON
    current, seen = state(NOON), []
    for step_s, restarted in steps:
        now += step_s
        due = look(spec, current, now, able_since=now + 1 if restarted else 0.0)
        seen += [run.slot for run in due.run] + due.missed
        current = settle(spec, current, due, submitted=len(due.run), now=now, zone=UTC)
    assert sorted(seen) == [NOON + 600.0 * n for n in range(1, int((now - NOON) // 600) + 1)]
