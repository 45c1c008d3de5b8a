"""Lengths of time as text, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import ExitStatus, UsageError
from cronoq_cli.model.duration import LONGEST_S, format_duration, parse_duration, parse_positive_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("1h30m", 5400.0),
        ("2d", 172_800.0),
        ("1w", 604_800.0),
        ("500ms", 0.5),
        ("0.5", 0.5),
        (".5", 0.5),
        ("0", 0.0),
        ("0s", 0.0),
        ("45", 45.0),
        ("1.5h", 5400.0),
        ("1h 30m 5s", 5405.0),
        ("1s250ms", 1.25),
        (" 10m ", 600.0),
    ],
)
def test_a_duration_is_read_in_its_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "-5m",
        "+5",
        "nan",
        "NaN",
        "inf",
        "infinity",
        "1e400",
        "1e3",
        "5x",
        "5M",
        "5 parsecs",
        "1h30",
        "1m1h",
        "1m1m",
        "1.s",
        "1..5s",
        "s",
        "ms",
        "1,5s",
        "٣s",
        "5m\x00",
        "0x10",
        "9" * 400,
        "9" * 5000 + "w",
    ],
)
def test_what_is_not_a_duration_is_refused_as_usage(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_duration(text)
    assert caught.value.exit == ExitStatus.USAGE
    assert caught.value.hint


def test_an_unknown_unit_is_named() -> None:
    with pytest.raises(UsageError, match="unknown unit 'y'"):
        parse_duration("3y")


@pytest.mark.parametrize("text", ["0", "0s", "0.0", "0h0m"])
def test_a_limit_of_zero_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no length of time"):
        parse_positive_duration(text)


def test_half_a_second_is_a_limit_of_half_a_second() -> None:
    assert parse_positive_duration("0.5") == 0.5


def test_thirty_hours_are_not_cut() -> None:
    assert parse_duration("30h") == 108_000.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.0004, "0.4ms"),
        (0.5, "500ms"),
        (1.25, "1.25s"),
        (45, "45s"),
        (60, "1m"),
        (90, "1m30s"),
        (5400, "1h30m"),
        (86_400, "1d"),
        (90_061, "1d1h1m1s"),
        (-90, "-1m30s"),
        (0.9996, "1s"),
    ],
)
def test_a_duration_is_written_short(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=0, max_value=int(LONGEST_S) * 1000))
def test_what_is_written_reads_back_to_the_same_millisecond(millis: int) -> None:
    assert round(parse_duration(format_duration(millis / 1000)) * 1000) == millis


@given(st.text())
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except UsageError:
        return
    assert 0 <= seconds <= LONGEST_S
