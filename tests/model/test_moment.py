"""Points in time as text, and time zones by name."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import ExitStatus, UsageError
from cronoq_cli.model.moment import (
    LATEST_AT,
    format_ago,
    format_local,
    format_utc,
    load_zone,
    parse_moment,
    resolve_wall,
)

BERLIN = load_zone("Europe/Berlin")
WEDNESDAY = datetime(2026, 2, 25, 6, 13, 20, tzinfo=UTC).timestamp()
"""07:13:20 in Berlin."""


def read(text: str, now: float = WEDNESDAY) -> str:
    return format_utc(parse_moment(text, now=now, zone=BERLIN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-02-25T06:13:20Z"),
        ("+2h", "2026-02-25T08:13:20Z"),
        ("+0.5", "2026-02-25T06:13:20.500Z"),
        ("2026-03-08T07:00:00Z", "2026-03-08T07:00:00Z"),
        ("2026-03-08t07:00:00.25z", "2026-03-08T07:00:00.250Z"),
        ("2026-03-08T07:00:00+05:30", "2026-03-08T01:30:00Z"),
        ("2026-03-08T07:00:00-0800", "2026-03-08T15:00:00Z"),
        ("2026-03-08T07:00:00", "2026-03-08T06:00:00Z"),
        ("2026-03-08 07:00", "2026-03-08T06:00:00Z"),
        ("2026-03-08 07:00:30", "2026-03-08T06:00:30Z"),
        ("2026-03-08", "2026-03-07T23:00:00Z"),
        ("18:00", "2026-02-25T17:00:00Z"),
        ("07:13", "2026-02-26T06:13:00Z"),
        ("7:13:20", "2026-02-26T06:13:20Z"),
        ("07:13:21", "2026-02-25T06:13:21Z"),
        ("noon", "2026-02-25T11:00:00Z"),
        ("midnight", "2026-02-25T23:00:00Z"),
        ("tomorrow", "2026-02-25T23:00:00Z"),
        ("tomorrow 03:00", "2026-02-26T02:00:00Z"),
        ("Tomorrow noon", "2026-02-26T11:00:00Z"),
        ("today 18:00", "2026-02-25T17:00:00Z"),
        ("today 03:00", "2026-02-25T02:00:00Z"),
        ("fri 18:00", "2026-02-27T17:00:00Z"),
        ("Friday", "2026-02-26T23:00:00Z"),
        ("wed 18:00", "2026-02-25T17:00:00Z"),
        ("wed 06:00", "2026-03-04T05:00:00Z"),
        ("tue noon", "2026-03-03T11:00:00Z"),
    ],
)
def test_a_moment_is_read_in_the_zone_of_the_caller(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "25:00",
        "24:00",
        "12:60",
        "2026-02-30",
        "2026-13-01",
        "2026-03-08T07:00:00+24:00",
        "today",
        "fr 18:00",
        "someday 18:00",
        "fri 18",
        "+",
        "+-2h",
        "-2h",
        "+5x",
        "12",
        "12:3",
        "0001-01-01",
        "1969-12-31",
        "2026-03-08T07:00:60Z",
        "tomorrow 25:00",
        "+9999999999s9",
        "9999-12-31T23:59:59-12:00",
        "٠٧:٠٠",
    ],
)
def test_what_is_not_a_moment_is_refused_as_usage(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert caught.value.exit == ExitStatus.USAGE
    assert caught.value.hint


def test_a_wall_time_in_the_gap_is_the_first_instant_after_it() -> None:
    assert read("2026-03-29 02:30") == "2026-03-29T01:00:00Z"
    assert read("2026-03-29 02:00") == "2026-03-29T01:00:00Z"
    assert read("2026-03-29 02:59:59") == "2026-03-29T01:00:00Z"
    assert read("2026-03-29 01:59:59") == "2026-03-29T00:59:59Z"
    assert read("2026-03-29 03:00") == "2026-03-29T01:00:00Z"


def test_a_wall_time_that_occurs_twice_is_the_first() -> None:
    assert read("2026-10-25 02:30") == "2026-10-25T00:30:00Z"
    assert read("2026-10-25 03:00") == "2026-10-25T02:00:00Z"


def test_an_explicit_offset_is_taken_as_is_in_gap_and_overlap() -> None:
    assert read("2026-03-29T02:30:00+01:00") == "2026-03-29T01:30:00Z"
    assert read("2026-10-25T02:30:00+01:00") == "2026-10-25T01:30:00Z"


def test_a_day_that_a_zone_left_out_is_the_first_instant_after_it() -> None:
    apia = load_zone("Pacific/Apia")
    assert format_utc(resolve_wall(datetime(2011, 12, 30, 12), apia)) == "2011-12-30T10:00:00Z"


def test_a_clock_time_alone_survives_the_change_of_clocks() -> None:
    before = datetime(2026, 3, 29, 0, 30, tzinfo=UTC).timestamp()
    assert read("02:30", now=before) == "2026-03-29T01:00:00Z"


@given(
    at=st.integers(min_value=0, max_value=4_000_000_000),
    name=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
)
def test_the_wall_time_of_an_instant_leads_back_to_it_or_to_its_first_twin(at: int, name: str) -> None:
    zone = load_zone(name)
    local = datetime.fromtimestamp(at, zone)
    found = resolve_wall(local.replace(tzinfo=None, fold=0), zone)
    assert found == at or (local.fold == 1 and 0 < at - found <= 7200)


@given(now=st.integers(min_value=0, max_value=4_000_000_000), minutes=st.integers(min_value=0, max_value=1439))
def test_a_clock_time_alone_is_strictly_ahead_and_within_two_days(now: int, minutes: int) -> None:
    at = parse_moment(f"{minutes // 60:02}:{minutes % 60:02}", now=now, zone=BERLIN)
    assert now < at <= now + 49 * 3600


@given(st.text())
def test_any_text_is_a_moment_or_a_usage_error(text: str) -> None:
    try:
        at = parse_moment(text, now=WEDNESDAY, zone=BERLIN)
    except UsageError:
        return
    assert 0 <= at <= LATEST_AT


@given(st.integers(min_value=0, max_value=int(LATEST_AT) * 1000))
def test_what_is_written_in_utc_reads_back_to_the_same_millisecond(millis: int) -> None:
    assert round(parse_moment(format_utc(millis / 1000), now=0, zone=BERLIN) * 1000) == millis


def test_milliseconds_are_written_only_where_there_are_some() -> None:
    assert format_utc(0) == "1970-01-01T00:00:00Z"
    assert format_utc(0.0004) == "1970-01-01T00:00:00Z"
    assert format_utc(1.9996) == "1970-01-01T00:00:02Z"
    assert format_utc(1.5) == "1970-01-01T00:00:01.500Z"


def test_a_wall_time_for_people_says_no_more_than_needed() -> None:
    assert format_local(WEDNESDAY + 60, BERLIN, now=WEDNESDAY) == "07:14:20"
    assert format_local(WEDNESDAY + 86_400, BERLIN, now=WEDNESDAY) == "Feb 26 07:13"
    assert format_local(WEDNESDAY - 366 * 86_400, BERLIN, now=WEDNESDAY) == "2025-02-24 07:13"


@pytest.mark.parametrize(
    ("distance_s", "text"),
    [(0.4, "now"), (59, "59s ago"), (60, "1m ago"), (7300, "2h ago"), (200_000, "2d ago"), (-7300, "in 2h")],
)
def test_a_distance_is_told_in_its_largest_unit(distance_s: float, text: str) -> None:
    assert format_ago(1_000_000, now=1_000_000 + distance_s) == text


@pytest.mark.parametrize(
    "name",
    [
        '"Europe/Berlin"',
        "Europe/Berlim",
        "../../etc/passwd",
        "",
        " ",
        "europe/berlin",
        "EUROPE/BERLIN",
        "UTC+3",
        "+02:00",
        "Europe",
        "/usr/share/zoneinfo/Europe/Berlin",
        "Europe/../Europe/Berlin",
        "Europe/Berlin\x00",
        "localtime",
        "a" * 999,
    ],
)
def test_a_wrong_zone_name_is_refused_as_usage(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_zone(name)
    assert caught.value.exit == ExitStatus.USAGE


@pytest.mark.parametrize("name", ["CEST", "PST", "bst", "EDT"])
def test_an_abbreviation_is_no_zone_and_no_other_one_is_proposed(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_zone(name)
    assert "an abbreviation names no zone" in str(caught.value.hint)


@pytest.mark.parametrize("name", ['"Europe/Berlin"', "Europe/Berlim", "europe/berlin"])
def test_a_near_miss_of_a_zone_is_answered_with_the_right_name(name: str) -> None:
    with pytest.raises(UsageError, match="time zone") as caught:
        load_zone(name)
    assert caught.value.hint == "did you mean Europe/Berlin?"


def test_an_offset_is_answered_with_the_zone_that_has_it() -> None:
    with pytest.raises(UsageError) as caught:
        load_zone("UTC+3")
    assert caught.value.hint is not None
    assert "Etc/GMT-3" in caught.value.hint
    assert load_zone("Etc/GMT-3").utcoffset(datetime(2026, 1, 1)) is not None


def test_every_canonical_zone_of_the_database_loads() -> None:
    names = [name for name in available_timezones() if "/" in name and name.split("/")[0] in ("Europe", "Asia", "Etc")]
    assert len(names) > 100
    assert [load_zone(name).key for name in names] == names
