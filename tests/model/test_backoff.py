"""Backoff as text, both ways."""

from __future__ import annotations

import pytest

from cronoq_cli.errors import UsageError
from cronoq_cli.model.backoff import format_backoff, parse_backoff
from cronoq_cli.model.task import Backoff


@pytest.mark.parametrize(
    ("text", "backoff"),
    [
        ("exponential", Backoff("exponential", 10, 600)),
        ("exponential:1s", Backoff("exponential", 1, 600)),
        ("exponential:1h", Backoff("exponential", 3600, 3600)),
        ("exponential:500ms..1m", Backoff("exponential", 0.5, 60)),
        ("fixed:30s", Backoff("fixed", 30, 30)),
        ("fixed:0", Backoff("fixed", 0, 0)),
        ("linear:10s..5m", Backoff("linear", 10, 300)),
        ("linear:0.5..1.5", Backoff("linear", 0.5, 1.5)),
        ("polynomial", Backoff("polynomial")),
    ],
)
def test_a_backoff_is_read_and_written(text: str, backoff: Backoff) -> None:
    assert parse_backoff(text) == backoff
    assert parse_backoff(format_backoff(backoff)) == backoff


@pytest.mark.parametrize(
    "text",
    [
        "",
        "expo",
        "fixed",
        "fixed:",
        "fixed:-1",
        "fixed:1s..2s",
        "linear",
        "linear:5s",
        "polynomial:3s",
        "exponential:",
        "exponential:0..5s",
        "exponential:5s..1s",
        "exponential:1s..",
        "exponential:nan",
        "linear:0..1",
    ],
)
def test_what_is_not_a_backoff_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a backoff") as caught:
        parse_backoff(text)
    assert caught.value.hint


def test_a_misspelt_kind_is_answered_with_the_right_one() -> None:
    with pytest.raises(UsageError) as caught:
        parse_backoff("exponental:1s..2s")
    assert caught.value.hint == "did you mean exponential?"
