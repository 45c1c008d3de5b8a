"""Keys, tags, environment assignments, signals, exit codes and sizes as people type them."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import UsageError
from cronoq_cli.model.words import (
    format_exit_codes,
    format_signal,
    format_size,
    hint_for,
    is_key,
    parse_env_assignment,
    parse_exit_codes,
    parse_key,
    parse_signal,
    parse_size,
    parse_tag,
    suggest,
)


@pytest.mark.parametrize("text", ["build", "_x", "a-b.c:d@e/f+g", "nightly@2026-03-08T07:00:00Z", "Last", "last1"])
def test_a_well_formed_key_is_taken(text: str) -> None:
    assert parse_key(text) == text
    assert is_key(text)


@pytest.mark.parametrize("text", ["", "last", "7", "3-8", "-x", "a b", "a,b", "a\n", "ä", "a=b"])
def test_a_key_that_could_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_key(text)
    assert not is_key(text)


def test_a_tag_has_a_name_and_a_value() -> None:
    assert parse_tag("team=infra") == ("team", "infra")
    assert parse_tag("q=a=b") == ("q", "a=b")
    assert parse_tag("empty=") == ("empty", "")


@pytest.mark.parametrize("text", ["", "team", "=x", " a=b", "a\0=b"])
def test_what_is_not_a_tag_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a tag"):
        parse_tag(text)


def test_a_bare_environment_name_means_the_value_of_the_caller() -> None:
    assert parse_env_assignment("HOME") == ("HOME", None)
    assert parse_env_assignment("A=") == ("A", "")
    assert parse_env_assignment("A=b=c\n") == ("A", "b=c\n")
    assert parse_env_assignment("BASH_FUNC_f%%=() { :; }") == ("BASH_FUNC_f%%", "() { :; }")
    assert parse_env_assignment("RAW=\udcff") == ("RAW", "\udcff")


@pytest.mark.parametrize("text", ["", "=x", "A=\0"])
def test_an_environment_assignment_without_name_or_with_a_nul_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_env_assignment(text)


@pytest.mark.parametrize("text", ["TERM", "SIGTERM", "sigterm", "term", "15", " 15 "])
def test_a_signal_is_known_by_name_and_number(text: str) -> None:
    assert parse_signal(text) == signal.SIGTERM


@pytest.mark.parametrize("text", ["", "0", "65", "-9", "TREM", "SIG", "9999999", "RTMIN+99", "SIG_IGN", "٩"])
def test_what_is_not_a_signal_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a signal"):
        parse_signal(text)


def test_a_misspelt_signal_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        parse_signal("SIGTREM")
    assert caught.value.hint == "did you mean TERM?"


@given(st.integers(min_value=1, max_value=64))
def test_the_name_of_every_signal_reads_back(number: int) -> None:
    assert parse_signal(format_signal(number)) == number


def test_signals_have_their_usual_names() -> None:
    assert format_signal(9) == "SIGKILL"
    assert format_signal(signal.SIGRTMIN + 2) == "SIGRTMIN+2"


def test_exit_codes_are_a_sorted_set() -> None:
    assert parse_exit_codes("9,0,5-7,6") == (0, 5, 6, 7, 9)
    assert parse_exit_codes("0 , 255") == (0, 255)


@pytest.mark.parametrize("text", ["", "256", "5-3", "-1", "a", "1,", "1--2", "0x1", "1000"])
def test_what_is_not_a_list_of_exit_codes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="exit codes"):
        parse_exit_codes(text)


@given(st.sets(st.integers(min_value=0, max_value=255), min_size=1))
def test_a_written_list_of_exit_codes_reads_back(codes: set[int]) -> None:
    assert parse_exit_codes(format_exit_codes(codes)) == tuple(sorted(codes))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("10B", 10),
        ("500k", 512_000),
        ("500KB", 500_000),
        ("64MiB", 64 << 20),
        ("1GiB", 1 << 30),
        ("1.5G", 3 << 29),
        ("2 TiB", 2 << 40),
    ],
)
def test_a_size_is_read_in_its_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1X", "1MiBB", "GiB", "1e9", "9" * 5000, "99999999TiB", "nan"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_size(text)


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_written_size_reads_back_to_within_a_tenth_of_its_unit(size: int) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.06)


def test_the_nearest_known_name_is_suggested() -> None:
    assert suggest("prioritty", ["pool", "priority"]) == "priority"
    assert suggest("POOL", ["pool", "priority"]) == "pool"
    assert suggest("zzz", ["pool", "priority"]) is None
    assert hint_for("zzz", ["pool", "priority"]) == "known are: pool, priority"
    assert hint_for("pol", ["pool", "priority"]) == "did you mean pool?"


@pytest.mark.parametrize(
    "parse", [parse_key, parse_tag, parse_env_assignment, parse_signal, parse_exit_codes, parse_size]
)
@given(text=st.text())
def test_any_text_is_a_value_or_a_usage_error(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except UsageError as error:
        assert error.hint
