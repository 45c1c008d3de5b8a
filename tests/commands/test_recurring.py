"""The preview of cron expressions."""

from __future__ import annotations

import json

import pytest

from tests.commands.conftest import Caller


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("0 0 30 2 *",), 7),
        (("61 * * * *",), 7),
        (("@reboot",), 7),
        (("0 9 * * *", "--tz", "Europe/Berlim"), 2),
        (("0 9 * * *", "--after", "soon"), 2),
        (("0 9 * * *", "-n", "0"), 2),
    ],
)
def test_what_is_wrong_is_refused_with_one_line(caller: Caller, words: tuple[str, ...], status: int) -> None:
    line = caller("recurring", "next", *words)
    assert line.status == status
    assert line.err.count("\n") == 1


def test_the_next_instants_are_a_document_in_utc(caller: Caller) -> None:
    words = ("30 2 * * *", "--tz", "America/New_York", "--after", "2026-03-07T12:00:00Z", "-n", "3", "--json")
    line = caller("recurring", "next", *words)
    assert line.status == 0
    document = json.loads(line.out)
    assert document["schema"] == 1
    assert document["next"] == ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"]
    assert "03:00" in line.err, "that the wall time does not exist on the day of the change is said"


def test_people_see_words_and_times_of_the_zone(caller: Caller) -> None:
    line = caller("recurring", "next", "0 12 * * 0", "--tz", "Europe/Berlin", "--after", "2022-03-24")
    assert line.status == 0
    first, second, *_ = line.out.splitlines()
    assert "12:00" in first
    assert "Europe/Berlin" in first
    assert second == "Sun 2022-03-27 12:00:00 CEST"
