"""Schedules in words for people: what an expression means, and what changes of the clock do to it.

The words are made from the values that decide when it runs, never from the text, so that they cannot disagree with
the runs. (cron-descriptor was tried: it knows no rule for `*/2` beside a weekday and calls `*/30` "every 30 days".)
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import product

from cronoq_cli.model.cron_expression import (
    EVERY_HOUR,
    EVERY_MINUTE_OR_SECOND,
    EVERY_MONTH,
    ClockEffect,
    CronExpression,
    DayRule,
)
from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.moment import EPOCH, WEEKDAYS

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
MOST_TIMES = 6
"""So many times of day are listed one by one; more are told by minute and hour."""


def describe_cron(expression: CronExpression) -> str:
    """The expression in words, without its zone: `at 02:30 every day`, `every 15 minutes`."""
    times = _describe_times(expression)
    days = _describe_days(expression.days)
    months = "" if expression.months == EVERY_MONTH else ", in " + _join([MONTHS[m - 1] for m in expression.months], 12)
    if not days and expression.hours == EVERY_HOUR:
        return times + months
    return f"{times} {days or 'every day'}{months}"


def describe_every(every_s: float) -> str:
    """An interval in words."""
    return f"every {format_duration(every_s)} of elapsed time"


def describe_reboot() -> str:
    """`@reboot` in words."""
    return "once after each boot of the machine"


def _describe_times(expression: CronExpression) -> str:
    seconds, minutes, hours = expression.seconds, expression.minutes, expression.hours
    if seconds != (0,):
        return _describe_seconds(seconds, minutes, hours)
    if len(minutes) * len(hours) <= MOST_TIMES:
        return "at " + _join([f"{hour:02}:{minute:02}" for hour, minute in product(hours, minutes)], MOST_TIMES)
    if len(minutes) == 1 and hours != EVERY_HOUR:
        if step := _even_step(hours, 24):
            return f"every {step} hours from {hours[0]:02}:{minutes[0]:02}"
        if _is_run(hours):
            return f"every hour from {hours[0]:02}:{minutes[0]:02} to {hours[-1]:02}:{minutes[0]:02}"
    return _describe_minutes(minutes) + _of_hours(hours, minutes)


def _describe_seconds(seconds: tuple[int, ...], minutes: tuple[int, ...], hours: tuple[int, ...]) -> str:
    if len(seconds) * len(minutes) * len(hours) <= MOST_TIMES:
        clocks = [f"{hour:02}:{minute:02}:{second:02}" for hour, minute, second in product(hours, minutes, seconds)]
        return "at " + _join(clocks, MOST_TIMES)
    if seconds == EVERY_MINUTE_OR_SECOND:
        start = "every second"
    elif step := _even_step(seconds, 60):
        start = f"every {step} seconds"
    else:
        start = f"at {_number('second', seconds)}"
    if minutes == EVERY_MINUTE_OR_SECOND and hours == EVERY_HOUR:
        return start if start.startswith("every") else f"{start} of every minute"
    where = "every minute" if minutes == EVERY_MINUTE_OR_SECOND else _number("minute", minutes)
    return f"{start} of {where}{' of every hour' if hours == EVERY_HOUR else _of_hours(hours, minutes)}"


def _describe_minutes(minutes: tuple[int, ...]) -> str:
    if minutes == EVERY_MINUTE_OR_SECOND:
        return "every minute"
    if (step := _even_step(minutes, 60)) and minutes[0] == 0:
        return f"every {step} minutes"
    return f"at {_number('minute', minutes)}"


def _of_hours(hours: tuple[int, ...], minutes: tuple[int, ...]) -> str:
    """` of hours 9 to 17`; nothing for every hour behind `every 15 minutes`, since that says it."""
    if hours != EVERY_HOUR:
        return f" of {_number('hour', hours)}"
    even = minutes == EVERY_MINUTE_OR_SECOND or (minutes[0] == 0 and _even_step(minutes, 60))
    return "" if even else " of every hour"


def _describe_days(rule: DayRule) -> str:
    """`on Monday to Friday`; empty when every day matches."""
    day, weekday = _describe_day_of_month(rule), _describe_weekday(rule)
    if rule.both:
        if day and weekday:
            return f"{weekday}, but only {day} (both)"
        return day or weekday
    if not day or not weekday:
        return ""
    return f"{day} and {weekday} (either)"


def _describe_day_of_month(rule: DayRule) -> str:
    if rule.any_day_of_month:
        return ""
    parts = []
    step = rule.days[1] - rule.days[0] if len(rule.days) > MOST_TIMES else 0
    if step > 1 and rule.days == tuple(range(rule.days[0], rule.days[-1] + 1, step)):
        parts.append(f"every {_ordinal(step)} day from the {_ordinal(rule.days[0])} to the {_ordinal(rule.days[-1])}")
    elif rule.days:
        parts.append("the " + _join(_runs([_ordinal(day) for day in rule.days], rule.days), 31))
    parts += [f"the Monday to Friday nearest the {_ordinal(day)}" for day in rule.nearest]
    if rule.last_day:
        parts.append("the last day")
    return f"on {_join(parts, 31)} of the month"


def _describe_weekday(rule: DayRule) -> str:
    if rule.any_weekday:
        return ""
    if rule.weekdays:
        order = sorted((weekday - 1) % 7 for weekday in rule.weekdays)
        names = _join(_runs([WEEKDAYS[day].capitalize() for day in order], order), 7)
        return f"on every {names}" if len(order) == 1 else f"on {names}"
    parts = [f"the {PLACES[nth]} {_weekday(day)}" for day, nth in rule.nth]
    parts += [f"the last {_weekday(day)}" for day in rule.last_weekdays]
    return f"on {_join(parts, 42)} of the month"


def _weekday(number: int) -> str:
    return WEEKDAYS[(number - 1) % 7].capitalize()


def _ordinal(number: int) -> str:
    tail = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def _number(word: str, values: Sequence[int]) -> str:
    """`minute 5`, `minutes 0, 7 and 10 to 20`."""
    return f"{word}{'s' * (len(values) > 1)} " + _join(_runs([str(value) for value in values], values), 60)


def _is_run(values: Sequence[int]) -> bool:
    return len(values) > 2 and values[-1] - values[0] == len(values) - 1


def _even_step(values: Sequence[int], size: int) -> int:
    """The distance of values that go on evenly round the whole cycle; 0 when they do not."""
    step = values[1] - values[0] if len(values) > 1 else 0
    even = step > 1 and size % step == 0 and tuple(values) == tuple(range(values[0], size, step))
    return step if even and values[0] < step else 0


def _runs(words: Sequence[str], values: Sequence[int]) -> list[str]:
    """The words, three or more values in a row as `first to last`."""
    parts: list[str] = []
    begin = 0
    for place in range(1, len(values) + 1):
        if place < len(values) and values[place] == values[place - 1] + 1:
            continue
        if place - begin > 2:
            parts.append(f"{words[begin]} to {words[place - 1]}")
        else:
            parts += words[begin:place]
        begin = place
    return parts


def _join(parts: Sequence[str], most: int) -> str:
    """`a, b and c`; more than `most` are cut with their number."""
    shown = list(parts[:most])
    if len(parts) > most:
        return ", ".join(shown) + f" and {len(parts) - most} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"


def describe_effect(effect: ClockEffect) -> str:
    """One change of the clock in words: `on 2026-03-29 02:30 does not exist: runs at 03:00`."""
    day = _wall(effect.first)[:10]
    times = _wall(effect.first, day)
    if effect.count > 1:
        times += f" {'and' if effect.count == 2 else 'to'} {_wall(effect.last, day)}"
    many = effect.count > 1
    if not effect.missing:
        once = "run both times" if many else "runs both times"
        if not effect.real_time:
            once = "run once, at the first" if many else "runs once, at the first"
        return f"on {day} {times} {'come' if many else 'comes'} twice: {once}"
    after = f"{'run once' if many else 'runs'} at {_wall(effect.runs_at, day)}"
    if effect.real_time:
        after = "not run then" if many else "does not run then"
    return f"on {day} {times} {'do' if many else 'does'} not exist: {after}"


def _wall(wall: int, day: str = "") -> str:
    """A wall time; only the time of day on the day already named, seconds only where they are not zero."""
    at = EPOCH + timedelta(seconds=wall)
    clock = f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
    date = f"{at:%Y-%m-%d}"
    return clock if date == day else f"{date} {clock}"
