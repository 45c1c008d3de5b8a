"""Cron expressions: exact instants, refusals, the day rule, changes of the offset, forwards and backwards alike."""

from __future__ import annotations

import json
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cronoq_cli.engine.cron import list_next, list_notes, next_after, parse_cron, previous_before
from cronoq_cli.errors import CronoqError, ExitStatus, InvalidError
from cronoq_cli.model.moment import format_utc, load_zone

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "cron_rows.jsonl").read_text(encoding="ascii").splitlines()
]
BERLIN = load_zone("Europe/Berlin")
UTC = load_zone("UTC")


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def shown(expression: str, after: str, n: int, zone: str = "UTC", *, seconds: bool = False) -> list[str]:
    parsed = parse_cron(expression, seconds=seconds)
    return [format_utc(found) for found in list_next(parsed, n, at(after), load_zone(zone))]


def backwards(expression: str, before: float, n: int, zone: str) -> list[str]:
    parsed, found = parse_cron(expression), []
    for _ in range(n):
        previous = previous_before(parsed, before, load_zone(zone))
        assert previous is not None
        found.append(format_utc(before := previous))
    return found[::-1]


def name_of(row: dict[str, Any]) -> str:
    return f"{row['note']}: {row['expr']} {row['tz']}"


def test_all_rows_are_there() -> None:
    assert len(ROWS) == 116
    assert sum("error" in row for row in ROWS) == 25


@pytest.mark.parametrize("row", [row for row in ROWS if "next" in row], ids=name_of)
def test_a_row_gives_exactly_its_instants_forwards_and_backwards(row: dict[str, Any]) -> None:
    assert shown(row["expr"], row["after"], len(row["next"]), row["tz"]) == row["next"]
    assert backwards(row["expr"], at(row["next"][-1]) + 1, len(row["next"]), row["tz"]) == row["next"]


@pytest.mark.parametrize("row", [row for row in ROWS if "error" in row], ids=name_of)
def test_a_row_that_must_be_refused_is_refused_in_one_line(row: dict[str, Any]) -> None:
    with pytest.raises(CronoqError) as caught:
        shown(row["expr"], row["after"], 1, row["tz"])
    assert caught.value.exit in (ExitStatus.USAGE, ExitStatus.INVALID)
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("61 * * * *", ["minute", "'61'", "0 to 59"]),
        ("0 24 * * *", ["hour", "'24'"]),
        ("0 0 0 * *", ["day of month", "'0'", "1 to 31"]),
        ("0 0 * 13 *", ["month", "'13'"]),
        ("0 0 * * 8", ["weekday", "'8'"]),
        ("*/0 * * * *", ["minute", "'*/0'", "zero"]),
        ("5/ * * * *", ["minute", "'5/'", "step"]),
        ("1,,2 * * * *", ["minute", "empty", "comma"]),
        ("1-5-7 * * * *", ["'1-5-7'", "more than one -"]),
        ("0 0 * january *", ["month", "'january'", "write jan"]),
        ("0 0 * * Thurs", ["weekday", "'thurs'", "write thu"]),
        ("0 0 mon * *", ["day of month", "'mon'"]),
        ("0 0 * * 5L", ["weekday", "'5l'", "L5"]),
        ("0 0 * * FRIL", ["weekday", "L5"]),
        ("0 0 * * L", ["weekday", "L5"]),
        ("0 0 LW * *", ["day of month", "'lw'", "not supported"]),
        ("0 0 L-3 * *", ["day of month", "'l-3'", "not supported"]),
        ("0 0 28-L * *", ["day of month", "'28-l'", "not supported"]),
        ("0 0 W15 * *", ["day of month", "write 15W"]),
        ("0 0 31W * *", ["day of month", "1 to 28"]),
        ("0 0 15W,20 * *", ["day of month", "'15w'", "single day"]),
        ("0 0 * * 1#1,2", ["weekday", "'1#1'", "'2'"]),
        ("0 0 * * 1#6", ["weekday", "'1#6'", "#1 to #5"]),
        ("0 0 * * mon-fri#1", ["weekday", "FRI#2"]),
        ("0 L * * *", ["hour", "'l'", "day fields"]),
        ("R * * * *", ["minute", "'r'", "--jitter"]),
        ("0 H(0-7) * * *", ["hour", "'h(0-7)'", "drawn"]),
        ("? 10 * * *", ["minute", "'?'", "day fields"]),
        ("0 0 ?,1 * *", ["day of month", "'?'", "alone"]),
        ("0\u00a00 * * *", ["character 2", "U+00A0", "no-break space"]),
        ("\uff10 0 * * *", ["U+FF10", "fullwidth digit zero"]),
        ("0 0 * * *\r", ["character 10", "U+000D"]),
        ("", ["empty"]),
        ("* * * *", ["4 fields", "five"]),
        ("* * * * * *", ["six fields", "--seconds"]),
        ("@reboot", ["@reboot", "boot of the machine"]),
        ("@every 5m", ["@every", "elapsed time"]),
        ("@dayly", ["@dayly", "did you mean @daily?"]),
        ("@daily x", ["'x'", "alone"]),
        ("0 0 30 2 *", ["never fires"]),
        ("0 0 * 2 1#6", ["'1#6'"]),
        ("9" * 34_000 + " * * * *", ["minute", "999..."]),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_refusal_names_the_field_and_the_item(expression: str, parts: list[str]) -> None:
    with pytest.raises(InvalidError) as caught:
        parse_cron(expression)
    line = caught.value.line()
    assert caught.value.code == "bad-schedule"
    assert [part for part in parts if part not in line] == []
    assert len(line) < 250


def test_six_fields_begin_with_the_seconds() -> None:
    assert shown("*/20 30 2 * * *", "2026-01-01T02:30:30Z", 2, seconds=True) == [
        "2026-01-01T02:30:40Z",
        "2026-01-02T02:30:00Z",
    ]
    assert shown("5 0 0 1 1 *", "2026-06-01T00:00:00Z", 1, seconds=True) == ["2027-01-01T00:00:05Z"]


def test_five_fields_with_seconds_asked_for_are_refused() -> None:
    with pytest.raises(InvalidError, match="5 fields where six"):
        parse_cron("* * * * *", seconds=True)


def test_a_macro_stands_for_its_fields_also_with_seconds_asked_for() -> None:
    assert parse_cron("@annually").fields == ("0", "0", "1", "1", "*")
    assert shown("@midnight", "2026-01-01T02:00:00Z", 1, seconds=True) == ["2026-01-02T00:00:00Z"]


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("0 22-3/3 * * *", (1, 22)),
        ("0 23-5/2 * * *", (1, 3, 5, 23)),
        ("0 7-7/3 * * *", (7,)),
        ("0 5/6 * * *", (5, 11, 17, 23)),
        ("0 0-23/30 * * *", (0,)),
        ("0 3,3,3-4 * * *", (3, 4)),
    ],
)
def test_ranges_and_steps_of_hours(expression: str, values: tuple[int, ...]) -> None:
    assert parse_cron(expression).hours == values


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("0 0 * * 0-7", (0, 1, 2, 3, 4, 5, 6)),
        ("0 0 * * 7-7", (0,)),
        ("0 0 * * 7-2", (0, 1, 2)),
        ("0 0 * * 1-7/2", (0, 1, 3, 5)),
        ("0 0 * * FRI-MON/3", (1, 5)),
        ("0 0 * * sun,6", (0, 6)),
        ("0 0 * * 5-7", (0, 5, 6)),
    ],
)
def test_ranges_and_steps_of_weekdays(expression: str, values: tuple[int, ...]) -> None:
    assert parse_cron(expression).days.weekdays == values


def test_the_nearest_weekday_stays_within_its_month() -> None:
    assert shown("0 0 1W * *", "2026-07-15T00:00:00Z", 2) == ["2026-08-03T00:00:00Z", "2026-09-01T00:00:00Z"]
    assert shown("0 0 28W 2 *", "2027-01-01T00:00:00Z", 2) == ["2027-02-26T00:00:00Z", "2028-02-28T00:00:00Z"]


def test_the_last_day_beside_other_days_and_a_weekday() -> None:
    assert shown("0 0 15,L 2 *", "2028-02-01T00:00:00Z", 2) == ["2028-02-15T00:00:00Z", "2028-02-29T00:00:00Z"]
    assert shown("0 0 L * MON", "2026-11-24T00:00:00Z", 2) == ["2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"]


def test_a_star_with_a_step_in_a_day_field_asks_for_both() -> None:
    assert shown("0 0 */2 * 1", "2026-03-01T00:00:00Z", 3) == [
        "2026-03-09T00:00:00Z",
        "2026-03-23T00:00:00Z",
        "2026-04-13T00:00:00Z",
    ]


def test_a_weekly_missing_time_does_not_make_up_for_a_gap_in_real_time() -> None:
    assert shown("*/30 2 29 3 *", "2025-12-01T00:00:00Z", 1, "Europe/Berlin") == ["2027-03-29T00:00:00Z"]


def test_both_passes_of_a_far_repeated_hour_are_found_from_either_season() -> None:
    expected = ["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"]
    assert shown("*/30 2 25 10 *", "2025-12-01T00:00:00Z", 4, "Europe/Berlin") == expected
    assert shown("*/30 2 25 10 *", "2026-07-01T00:00:00Z", 4, "Europe/Berlin") == expected
    assert backwards("*/30 2 25 10 *", at("2027-07-01T00:00:00Z"), 4, "Europe/Berlin") == expected
    assert backwards("*/30 2 25 10 *", at("2026-12-01T00:00:00Z"), 4, "Europe/Berlin") == expected


def test_a_move_over_the_date_line_does_not_hide_the_first_minute_behind_it() -> None:
    expected = ["2011-12-31T10:00:00Z", "2011-12-31T10:01:00Z"]
    assert shown("* * * 1 *", "2011-02-01T12:00:00Z", 2, "Pacific/Apia") == expected
    assert backwards("* * * 1 *", at("2011-12-31T10:02:00Z"), 2, "Pacific/Apia") == expected


def test_the_daemon_that_wakes_early_does_not_get_the_same_minute_twice() -> None:
    daily = parse_cron("0 12 * * *")
    noon = at("2026-01-01T12:00:00Z")
    assert next_after(daily, noon - 0.003, UTC) == noon
    assert next_after(daily, noon, UTC) == noon + 86_400
    assert next_after(daily, noon + 0.003, UTC) == noon + 86_400
    assert previous_before(daily, noon, UTC) == noon - 86_400
    assert previous_before(daily, noon + 0.003, UTC) == noon


def test_the_latest_run_before_mid_march_was_the_leap_day() -> None:
    assert previous_before(parse_cron("0 0 29 * *"), at("2024-03-15T00:00:00Z"), UTC) == at("2024-02-29T00:00:00Z")


def test_the_ends_of_the_calendar_give_none() -> None:
    assert next_after(parse_cron("* * * * *"), 253_402_300_799.0, BERLIN) is None
    assert next_after(parse_cron("0 0 1 1 *"), 1e18, BERLIN) is None
    assert previous_before(parse_cron("0 0 1 1 *"), -6e10, BERLIN) is None


def test_a_huge_expression_is_judged_quickly() -> None:
    ranges = ",".join(f"{low}-{high}/{step}" for step in range(1, 5) for low in range(60) for high in range(30))
    began = time.process_time()
    assert parse_cron(f"{ranges} * * * *").minutes == tuple(range(60))
    assert len(ranges) > 34_000
    assert time.process_time() - began < 1


def test_a_next_run_decades_away_is_found_quickly() -> None:
    rare = parse_cron("0 0 * 2 MON#5")
    began = time.process_time()
    for _ in range(100):
        assert next_after(rare, at("2073-01-01T00:00:00Z"), BERLIN) == at("2112-02-28T23:00:00Z")
    assert (time.process_time() - began) / 100 < 0.005


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("0 4 */30 * *", "day of month */30 means 1, 31, then from 1 again"),
        ("*/61 * * * *", "minute */61: the step is longer than the field, it means 0 alone"),
        ("0 0 * */13 *", "month */13: the step is longer than the field, it means 1 alone"),
        ("0 11 1-7 * FRI", "runs when either matches"),
        ("0 0 */2 * 1", "only when the weekday matches as well"),
        ("0 0 1 * */2", "only when the day of month matches as well"),
        ("* 2 * * *", "every minute of hour 2"),
    ],
)
def test_what_is_often_taken_for_something_else_is_noted(expression: str, note: str) -> None:
    assert any(note in found for found in list_notes(parse_cron(expression)))


@pytest.mark.parametrize("expression", ["*/15 * * * *", "0 */6 * * *", "0 9 * * 1-5", "@hourly", "0 0 1 */3 *"])
def test_a_plain_schedule_has_no_notes(expression: str) -> None:
    assert list_notes(parse_cron(expression)) == []


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    pair = st.tuples(value, value).map(lambda ends: f"{ends[0]}-{ends[1]}")
    step = st.integers(1, high)
    item = st.one_of(
        st.just("*"),
        value.map(str),
        pair,
        st.builds(lambda base, n: f"{base}/{n}", st.one_of(st.just("*"), value.map(str), pair), step),
    )
    return st.lists(item, min_size=1, max_size=3).map(",".join)


EXPRESSIONS = st.builds(
    lambda *fields: " ".join(fields), _field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 6)
)
ZONES = st.sampled_from(
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia"]
)
MOMENTS = st.floats(at("2005-01-01T00:00:00Z"), at("2035-01-01T00:00:00Z"))


@settings(max_examples=150)
@given(text=EXPRESSIONS, zone=ZONES, moment=MOMENTS)
def test_forwards_and_backwards_are_two_readings_of_one_list(text: str, zone: str, moment: float) -> None:
    try:
        expression = parse_cron(text)
    except InvalidError as error:
        assert "never fires" in error.message
        assume(False)
    where = load_zone(zone)
    forwards = list_next(expression, 8, moment, where)
    assert forwards == sorted(set(forwards))
    assert forwards[0] > moment
    for earlier, later in pairwise(forwards):
        assert previous_before(expression, later, where) == earlier
    before = previous_before(expression, forwards[0], where)
    assert before is None or before <= moment


@settings(max_examples=200)
@given(text=st.text("0123456789*/-,#?LWRH@ \tabcfimonrsu\u00a0", max_size=24), tail=st.sampled_from(["", " * * * *"]))
def test_any_text_is_read_or_refused_in_one_line(text: str, tail: str) -> None:
    try:
        expression = parse_cron(text + tail)
    except InvalidError as error:
        assert error.code == "bad-schedule"
        assert "\n" not in error.line()
    else:
        assert next_after(expression, 1.77e9, UTC) is not None
