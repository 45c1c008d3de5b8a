"""Schedules in words, and changes of the clock in words."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.clock_changes import list_effects
from cronoq_cli.engine.cron import parse_cron
from cronoq_cli.model.moment import load_zone
from cronoq_cli.model.schedule_words import describe_cron, describe_effect, describe_every

JANUARY, YEAR_S = 1_767_225_600.0, 365 * 86_400


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("30 2 * * *", "at 02:30 every day"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*,5 * * * *", "every minute"),
        ("@hourly", "at minute 0 of every hour"),
        ("5/15 * * * *", "at minutes 5, 20, 35 and 50 of every hour"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("0 11 1-7 * FRI", "at 11:00 on the 1st to 7th of the month and on every Friday (either)"),
        ("0 0 */9 * 1", "at 00:00 on every Monday, but only on the 1st, 10th, 19th and 28th of the month (both)"),
        ("0 0 */2 * *", "at 00:00 on every 2nd day from the 1st to the 31st of the month"),
        ("0 4 */30 * *", "at 04:00 on the 1st and 31st of the month"),
        ("0 9,17 * * 1-5", "at 09:00 and 17:00 on Monday to Friday"),
        ("0 22-2 * * FRI-MON", "at 00:00, 01:00, 02:00, 22:00 and 23:00 on Monday and Friday to Sunday"),
        ("0 8-18 * * *", "every hour from 08:00 to 18:00 every day"),
        ("10 */2 * * *", "every 2 hours from 00:10 every day"),
        ("*/15 9-17 * * 7", "every 15 minutes of hours 9 to 17 on every Sunday"),
        ("0 9 * * FRI#2", "at 09:00 on the second Friday of the month"),
        ("0 0 15W * *", "at 00:00 on the Monday to Friday nearest the 15th of the month"),
        ("0 0 1 * L5", "at 00:00 on the 1st of the month and on the last Friday of the month (either)"),
        ("0 0 L 2,7 *", "at 00:00 on the last day of the month, in February and July"),
        ("* * 1-31 * 1", "every minute"),
        ("* * * 2 *", "every minute, in February"),
        ("* 2 * * *", "every minute of hour 2 every day"),
    ],
)
def test_an_expression_is_told_in_words(expression: str, words: str) -> None:
    assert describe_cron(parse_cron(expression)) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("*/20 * * * * *", "every 20 seconds"),
        ("* * * * * *", "every second"),
        ("5 * * * * *", "at second 5 of every minute"),
        ("0 30 2 * * *", "at 02:30 every day"),
        ("10 30 2 * * 1", "at 02:30:10 on every Monday"),
        ("*/10 0 * * * *", "every 10 seconds of minute 0 of every hour"),
        ("7,9 0-30 8 * * *", "at seconds 7 and 9 of minutes 0 to 30 of hour 8 every day"),
    ],
)
def test_seconds_are_told_in_words(expression: str, words: str) -> None:
    assert describe_cron(parse_cron(expression, seconds=True)) == words


def test_an_interval_is_told_in_words() -> None:
    assert describe_every(5400) == "every 1h30m of elapsed time"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "30 2 * * *",
            ["03-29 02:30 does not exist: runs at 03:00", "10-25 02:30 comes twice: runs once, at the first"],
        ),
        (
            "0,30 2 * * *",
            [
                "03-29 02:00 and 02:30 do not exist: run once at 03:00",
                "10-25 02:00 and 02:30 come twice: run once, at the first",
            ],
        ),
        ("0 */2 * * *", ["03-29 02:00 does not exist: does not run then", "10-25 02:00 comes twice: runs both times"]),
        (
            "* 2 * * *",
            ["03-29 02:00 to 02:59 do not exist: not run then", "10-25 02:00 to 02:59 come twice: run both times"],
        ),
        ("0 3 * * *", []),
        ("*/15 * * * *", []),
        ("30 2 * * 1", []),
    ],
)
def test_changes_of_the_clock_are_told_in_words(expression: str, words: list[str]) -> None:
    effects = list_effects(parse_cron(expression), load_zone("Europe/Berlin"), JANUARY, JANUARY + YEAR_S)
    assert [describe_effect(effect) for effect in effects] == ["on 2026-" + word for word in words]


def test_a_missing_day_runs_on_the_day_after() -> None:
    effects = list_effects(parse_cron("0 12 * * *"), load_zone("Pacific/Apia"), 1_325_100_000.0, 1_325_400_000.0)
    assert [describe_effect(effect) for effect in effects] == [
        "on 2011-12-30 12:00 does not exist: runs at 2011-12-31 00:00"
    ]
