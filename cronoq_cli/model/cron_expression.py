"""What a cron expression means, as values: which days, times of day and months, and whether it keeps real time.

Parsing and instants live in engine/cron, the expression in words in `schedule_words`.
"""

from __future__ import annotations

import msgspec

EVERY_MINUTE_OR_SECOND = tuple(range(60))
EVERY_HOUR = tuple(range(24))
EVERY_DAY = tuple(range(1, 32))
EVERY_MONTH = tuple(range(1, 13))
EVERY_WEEKDAY = tuple(range(7))


class DayRule(msgspec.Struct, frozen=True):
    """The two day fields together. Weekdays count from Sunday = 0; all tuples are sorted.

    `days` are days of the month, `last_day` is `L`, `nearest` are days written `15W` (the Monday to Friday nearest
    to it in the same month); `weekdays` are plain, `nth` pairs such as (5, 2) for the second Friday, `last_weekdays`
    is `L5`. `both`: a day must satisfy both fields, since one of them begins with `*` or `?`; otherwise either.
    """

    days: tuple[int, ...] = EVERY_DAY
    last_day: bool = False
    nearest: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = EVERY_WEEKDAY
    nth: tuple[tuple[int, int], ...] = ()
    last_weekdays: tuple[int, ...] = ()
    both: bool = True

    @property
    def any_day_of_month(self) -> bool:
        """Whether the day-of-month field holds for every day."""
        return self.days == EVERY_DAY

    @property
    def any_weekday(self) -> bool:
        """Whether the weekday field holds for every day."""
        return self.weekdays == EVERY_WEEKDAY


class CronExpression(msgspec.Struct, frozen=True):
    """One parsed expression. `text` is as given, `fields` the five or six fields a macro stands for, or as given.

    All tuples are sorted. `real_time`: the minute or the hour field begins with `*`, so that it follows the clock
    through changes of the offset (both passes of a repeated hour, nothing for a missing one); any other schedule
    is fixed to wall times, each of which runs once.
    """

    text: str
    fields: tuple[str, ...]
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    real_time: bool

    @property
    def has_seconds(self) -> bool:
        """Whether it was written with six fields, seconds first."""
        return len(self.fields) == 6


class ClockEffect(msgspec.Struct, frozen=True):
    """What one change of the offset does to a schedule. Wall times are seconds since 1970 on the local clock.

    `missing`: the wall times from `first` to `last` (`count` of them) do not exist, else they come twice. `runs_at` is
    the wall time right after a gap, where a fixed schedule runs instead; `at` the instant of the change.
    """

    at: float
    missing: bool
    real_time: bool
    first: int
    last: int
    count: int
    runs_at: int
