"""Resources as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import UsageError
from cronoq_cli.model.resource import (
    format_amount,
    format_rate,
    format_units,
    parse_amount,
    parse_rate,
    parse_use,
    variable_of,
)


@pytest.mark.parametrize(
    ("text", "use"), [("gpu=1", ("gpu", 1.0)), ("api.v2=0.5", ("api.v2", 0.5)), ("_x=.25", ("_x", 0.25))]
)
def test_a_use_is_a_name_and_an_amount(text: str, use: tuple[str, float]) -> None:
    assert parse_use(text) == use


@pytest.mark.parametrize(
    "text", ["gpu", "=1", "gpu=", "gpu=0", "gpu=-1", "gpu=x", "gpu=1e3", "gpu=nan", "9=1", "a b=1"]
)
def test_what_is_no_use_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_use(text)


@pytest.mark.parametrize("text", ["10", "10/", "/s", "10/ms", "0/s", "1/0", "-1/s", "inf/s", "10 per s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a rate"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["10/s", "5/m", "100/h", "7/d", "1/s"])
def test_a_rate_is_written_as_it_was_given(text: str) -> None:
    assert format_rate(parse_rate(text)) == text


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_any_rate_can_be_read_back(rate_s: float) -> None:
    number, _, unit = format_rate(rate_s).partition("/")
    assert float(number) / {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit] == pytest.approx(rate_s, rel=1e-6)


def test_amounts_have_no_needless_zeros() -> None:
    assert [format_amount(amount) for amount in (2.0, 0.5, 1e6)] == ["2", "0.5", "1000000"]
    assert parse_amount("2.50") == 2.5


def test_the_variable_of_a_resource_is_its_name_in_capitals() -> None:
    assert variable_of("gpu") == "CRONOQ_RESOURCE_GPU"
    assert variable_of("api.v2-eu") == "CRONOQ_RESOURCE_API_V2_EU"
    assert format_units([0, 1]) == "0,1"
