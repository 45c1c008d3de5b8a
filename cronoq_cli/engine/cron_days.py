"""The calendar side of a schedule: which days of a month match, and the next or previous matching wall time.

Wall times are whole seconds since 1970-01-01T00:00 on the local clock, without any zone; what a change of the offset
does to them is decided in `cron`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from cronoq_cli.model.cron_expression import CronExpression, DayRule

DAY_S = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
FIRST_YEAR, LAST_YEAR = 1800, 9998
"""Outside of these there is no next or previous one."""
LONGEST_PAUSE_YEARS = 41
"""A day that comes at all comes again within 40 years (29 February on a given weekday, over 2100)."""


def is_leap(year: int) -> bool:
    """Whether the year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def length_of_month(year: int, month: int) -> int:
    """Days of the month."""
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@lru_cache(maxsize=16_384)
def list_days(rule: DayRule, first_weekday: int, length: int) -> tuple[int, ...]:
    """The matching days of a month that begins on `first_weekday` (Sunday = 0) and has `length` days.

    Only 28 kinds of months exist, so each rule is worked out at most 28 times.
    """
    return tuple(day for day in range(1, length + 1) if _matches(rule, day, first_weekday, length))


def _matches(rule: DayRule, day: int, first_weekday: int, length: int) -> bool:
    weekday = (first_weekday + day - 1) % 7
    by_day = day in rule.days or (rule.last_day and day == length) or day in _nearest(rule, first_weekday, length)
    by_weekday = (
        weekday in rule.weekdays
        or (weekday, (day - 1) // 7 + 1) in rule.nth
        or (weekday in rule.last_weekdays and day + 7 > length)
    )
    return (by_day and by_weekday) if rule.both else (by_day or by_weekday)


def _nearest(rule: DayRule, first_weekday: int, length: int) -> list[int]:
    """Days of `15W`: Saturday moves to Friday, Sunday to Monday, never into another month."""
    moved = []
    for day in rule.nearest:
        weekday = (first_weekday + day - 1) % 7
        if weekday == 6:
            moved.append(day - 1 if day > 1 else 3)
        elif weekday == 0:
            moved.append(day + 1 if day < length else day - 2)
        else:
            moved.append(day)
    return moved


def ever_fires(months: tuple[int, ...], rule: DayRule) -> bool:
    """Whether any day matches in any of the 14 kinds of years there are: exact, and quick where none does."""
    lengths = {length for month in months for length in ((28, 29) if month == 2 else (length_of_month(2001, month),))}
    return any(list_days(rule, first, length) for length in lengths for first in range(7))


def days_of(expression: CronExpression, year: int, month: int) -> tuple[int, tuple[int, ...]]:
    """The ordinal of the day before the first of the month, and the matching days."""
    before = date(year, month, 1).toordinal() - 1
    return before, list_days(expression.days, (before + 1) % 7, length_of_month(year, month))


def _later_days(expression: CronExpression, ordinal: int) -> Iterator[int]:
    """Ordinals of matching days from this one on."""
    start = date.fromordinal(ordinal)
    months = expression.months
    index = bisect_left(months, start.month)
    for year in range(start.year, min(start.year + LONGEST_PAUSE_YEARS, LAST_YEAR) + 1):
        for month in months[index:]:
            before, days = days_of(expression, year, month)
            yield from (before + day for day in days if before + day >= ordinal)
        index = 0


def _earlier_days(expression: CronExpression, ordinal: int) -> Iterator[int]:
    """Ordinals of matching days from this one back."""
    start = date.fromordinal(ordinal)
    months = expression.months
    index = bisect_right(months, start.month)
    for year in range(start.year, max(start.year - LONGEST_PAUSE_YEARS, FIRST_YEAR) - 1, -1):
        for month in reversed(months[:index]):
            before, days = days_of(expression, year, month)
            yield from (before + day for day in reversed(days) if before + day <= ordinal)
        index = len(months)


def find_next_wall(expression: CronExpression, wall: int) -> int | None:
    """The first matching wall time strictly later."""
    day, second = divmod(wall + 1, DAY_S)
    ordinal = day + EPOCH_ORDINAL
    if not _in_calendar(ordinal):
        return None
    for found in _later_days(expression, ordinal):
        time = _next_time(expression, second) if found == ordinal else _first_time(expression)
        if time is not None:
            return (found - EPOCH_ORDINAL) * DAY_S + time
    return None


def find_previous_wall(expression: CronExpression, wall: int) -> int | None:
    """The last matching wall time strictly earlier."""
    day, second = divmod(wall - 1, DAY_S)
    ordinal = day + EPOCH_ORDINAL
    if not _in_calendar(ordinal):
        return None
    for found in _earlier_days(expression, ordinal):
        time = _previous_time(expression, second) if found == ordinal else _last_time(expression)
        if time is not None:
            return (found - EPOCH_ORDINAL) * DAY_S + time
    return None


def _in_calendar(ordinal: int) -> bool:
    return date(FIRST_YEAR, 1, 1).toordinal() <= ordinal < date(LAST_YEAR + 1, 1, 1).toordinal()


def _first_time(expression: CronExpression) -> int:
    return expression.hours[0] * 3600 + expression.minutes[0] * 60 + expression.seconds[0]


def _last_time(expression: CronExpression) -> int:
    return expression.hours[-1] * 3600 + expression.minutes[-1] * 60 + expression.seconds[-1]


def _next_time(expression: CronExpression, at: int) -> int | None:
    """The first matching second of the day that is `at` or later."""
    hour, rest = divmod(at, 3600)
    hours, minutes, seconds = expression.hours, expression.minutes, expression.seconds
    index = bisect_left(hours, hour)
    if index < len(hours) and hours[index] == hour:
        minute, second = divmod(rest, 60)
        place = bisect_left(minutes, minute)
        if place < len(minutes) and minutes[place] == minute:
            spot = bisect_left(seconds, second)
            if spot < len(seconds):
                return hour * 3600 + minute * 60 + seconds[spot]
            place += 1
        if place < len(minutes):
            return hour * 3600 + minutes[place] * 60 + seconds[0]
        index += 1
    return hours[index] * 3600 + minutes[0] * 60 + seconds[0] if index < len(hours) else None


def _previous_time(expression: CronExpression, at: int) -> int | None:
    """The last matching second of the day that is `at` or earlier."""
    hour, rest = divmod(at, 3600)
    hours, minutes, seconds = expression.hours, expression.minutes, expression.seconds
    index = bisect_right(hours, hour) - 1
    if index >= 0 and hours[index] == hour:
        minute, second = divmod(rest, 60)
        place = bisect_right(minutes, minute) - 1
        if place >= 0 and minutes[place] == minute:
            spot = bisect_right(seconds, second) - 1
            if spot >= 0:
                return hour * 3600 + minute * 60 + seconds[spot]
            place -= 1
        if place >= 0:
            return hour * 3600 + minutes[place] * 60 + seconds[-1]
        index -= 1
    return hours[index] * 3600 + minutes[-1] * 60 + seconds[-1] if index >= 0 else None
