"""How many instants of a schedule lie in a span, without walking over them: by days, times of a day, and clock changes.

For spans of years and of seconds fields, where one by one would take minutes. Which instants they are stands in `cron`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date, tzinfo

from cronoq_cli.engine.clock_changes import list_changes
from cronoq_cli.engine.cron import frontier, offset_at
from cronoq_cli.engine.cron_days import DAY_S, EPOCH_ORDINAL, days_of
from cronoq_cli.model.cron_expression import CronExpression


def count_between(expression: CronExpression, after: int, until: int, zone: tzinfo) -> int:
    """How many instants (unix seconds) of the expression lie in (after, until]. Exact, also over changes of the offset.

    The work grows with the years, not with the instants.
    """
    if until <= after:
        return 0
    begin, end = after - after % DAY_S, until + DAY_S - until % DAY_S  # whole days: many schedules ask for the same
    changes = [change for change in list_changes(zone, begin, end) if after < change <= until]
    if expression.real_time:
        return _count_real_time(expression, after, until, zone, changes)
    count = _count_walls(expression, frontier(after, zone), frontier(until, zone))
    return count - sum(_count_merged(expression, change, zone) for change in changes)


def _count_real_time(expression: CronExpression, after: int, until: int, zone: tzinfo, changes: list[int]) -> int:
    """Whatever the local clock shows counts, stretch by stretch of one offset."""
    count, begin = 0, after + 1
    for end in (*changes, until + 1):
        if end > begin:
            offset = offset_at(begin, zone)
            count += _count_walls(expression, begin - 1 + offset, end - 1 + offset)
            begin = end
    return count


def _count_merged(expression: CronExpression, change: int, zone: tzinfo) -> int:
    """How many fixed wall times fall together with another one at the end of a gap."""
    before, after = change + offset_at(change - 1, zone), change + offset_at(change, zone)
    return max(0, _count_walls(expression, before - 1, after) - 1)


def _count_walls(expression: CronExpression, after: int, until: int) -> int:
    """How many matching wall times lie in (after, until]."""
    if until <= after:
        return 0
    first, last = after // DAY_S, until // DAY_S
    days = _list_days(expression, first, last)
    a_day = len(expression.hours) * len(expression.minutes) * len(expression.seconds)
    count = a_day * len(days)
    if days and days[-1] == last:
        count += _count_times(expression, until % DAY_S) - a_day
    if days and days[0] == first:
        count -= _count_times(expression, after % DAY_S)
    return count


def _list_days(expression: CronExpression, first: int, last: int) -> list[int]:
    """The matching days from the first to the last, both counted since 1970."""
    begin, end = first + EPOCH_ORDINAL, last + EPOCH_ORDINAL
    start, stop = date.fromordinal(begin), date.fromordinal(end)
    found: list[int] = []
    for year in range(start.year, stop.year + 1):
        for month in expression.months:
            if (start.year, start.month) <= (year, month) <= (stop.year, stop.month):
                before, days = days_of(expression, year, month)
                found += [before + day - EPOCH_ORDINAL for day in days if begin <= before + day <= end]
    return found


def _count_times(expression: CronExpression, at: int) -> int:
    """How many times of a matching day are `at` (seconds of the day) or earlier."""
    hours, minutes, seconds = expression.hours, expression.minutes, expression.seconds
    hour, minute, second = at // 3600, at // 60 % 60, at % 60
    place = bisect_left(hours, hour)
    count = place * len(minutes) * len(seconds)
    if place < len(hours) and hours[place] == hour:
        place = bisect_left(minutes, minute)
        count += place * len(seconds)
        if place < len(minutes) and minutes[place] == minute:
            count += bisect_right(seconds, second)
    return count
