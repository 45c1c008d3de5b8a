"""Runs of ids as text, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import UsageError
from cronoq_cli.model.ids import find_run, format_ids, parse_ids


def test_an_unbroken_run_is_written_as_its_ends() -> None:
    assert format_ids(range(101, 10_101)) == "101-10100"
    assert format_ids([*range(101, 111), 7]) == "101-110,7"
    assert format_ids([5]) == "5"
    assert format_ids([]) == ""
    assert format_ids([3, 2, 1]) == "3,2,1"


def test_ranges_come_back_in_the_order_written() -> None:
    assert parse_ids("101-110,7") == (range(101, 111), range(7, 8))
    assert parse_ids(" 1 , 2-2") == (range(1, 2), range(2, 3))


def test_a_run_of_many_ids_is_not_expanded() -> None:
    assert parse_ids("1-9000000000000000000")[0].stop == 9_000_000_000_000_000_001


@pytest.mark.parametrize("text", ["", "0", "8-3", "a", "1,", "-1", "1-", "1.5", "9" * 19, "9" * 5000, "٣"])
def test_what_is_not_a_list_of_ids_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_ids(text)


def test_a_key_is_no_run_but_a_wrong_run_is_an_error() -> None:
    assert find_run("build") is None
    assert find_run("a-3") is None
    assert find_run("3-8") == range(3, 9)
    with pytest.raises(UsageError, match="backwards"):
        find_run("8-3")


@given(st.lists(st.integers(min_value=1, max_value=1 << 62)))
def test_written_ids_read_back(ids: list[int]) -> None:
    text = format_ids(ids)
    assert [number for run in parse_ids(text) for number in run] == ids if ids else text == ""
