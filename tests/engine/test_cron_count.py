"""Counting instants in a span without walking over them, against walking over them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from cronoq_cli.engine.cron import iterate_after, parse_cron
from cronoq_cli.engine.cron_count import count_between

EXPRESSIONS = (
    "* * * * *",
    "*/7 * * * *",
    "30 2 * * *",
    "0,30 1-3 * * *",
    "15 * * * *",
    "*/20 2 * * *",
    "0 0-23 * * *",
    "0 3 L * *",
    "30 2 29 2 *",
    "0 12 * * sun",
    "5 0 15W * fri#2",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca")
SPANS_S = (1, 3600, 2 * 86_400)


def unix(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_many_are_counted_as_there_are(zone: str, text: str) -> None:
    draw, expression, where = Random(text + zone), parse_cron(text), ZoneInfo(zone)
    begins = [unix("2011-12-29T09:00:00"), unix("2025-04-04T00:00:00"), unix("2026-03-28T22:00:00")]
    begins += [unix("2026-10-24T22:59:59"), unix("2026-11-01T05:29:00"), draw.randrange(0, 2_000_000_000)]
    for begin in begins:
        for span_s in SPANS_S:
            end = begin + span_s + draw.randrange(1800)
            found = 0
            for at in iterate_after(expression, begin, where):
                if at > end:
                    break
                found += 1
            assert count_between(expression, begin, end, where) == found, (begin, end)


def test_years_of_seconds_are_counted_at_once() -> None:
    every_second, berlin = parse_cron("* * * * * *", seconds=True), ZoneInfo("Europe/Berlin")
    began = time.process_time()
    assert count_between(every_second, 0, unix("2026-03-10T12:00:00"), berlin) == unix("2026-03-10T12:00:00")
    assert time.process_time() - began < 1.0
    assert count_between(every_second, 100, 100, berlin) == count_between(every_second, 100, 50, berlin) == 0
