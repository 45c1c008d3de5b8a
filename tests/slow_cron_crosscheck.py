"""Cron instants against an independent method, over zones x expressions x years. Not collected by a plain run.

`pytest tests/slow_cron_crosscheck.py` takes some seconds; `python tests/slow_cron_crosscheck.py --zones 200 --years 10`
is the full check. The other method: a simulated cron daemon looks at each minute two days round each change of the
offset; elsewhere the calendar days are enumerated. It has its own matcher and shares no code with the engine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import pytest

from cronoq_cli.engine.cron import iterate_after, parse_cron, previous_before

EXPRESSIONS = (
    "30 2 * * *", "0 2,3 * * *", "15 0-5 * * *", "0 0 * * *", "59 23 * * *", "0 1-23/2 * * *", "5,35 1-3 * * *",
    "0 */2 * * *", "*/20 1 * * *", "30 * * * *", "*/15 */3 * * *", "* 2 * * *", "45 2 * * 0", "0 3 1,15 * 5",
    "30 1 */2 * 1", "0 0 L * *", "20 2 * * FRI#2", "0 2 15W * *", "10 3 * * L0", "30 2 29-2 3,10,11 *",
)  # fmt: skip
QUICK_ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Dublin")
NAMES = {name: n for n, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
WINDOW_S = 2 * 86_400
DENSE = 48
"""From so many runs a day on, plain days are compared in the first week of each quarter only."""


class Oracle:
    """An expression by a matcher of its own: sets by brute force, days asked one at a time."""

    def __init__(self, text: str) -> None:
        self.fields = text.lower().split()
        minute, hour, day, month, weekday = self.fields
        self.minutes = {n for n in range(60) if _holds(minute, n, 0, 59)}
        self.hours = {n for n in range(24) if _holds(hour, n, 0, 23)}
        self.months = {n for n in range(1, 13) if _holds(month, n, 1, 12)}
        self.real_time = minute[0] == "*" or hour[0] == "*"
        self.both = day[0] == "*" or weekday[0] == "*"
        self.known: dict[date, bool] = {}

    def on_day(self, day: date) -> bool:
        if day not in self.known:
            self.known[day] = self._judge_day(day)
        return self.known[day]

    def _judge_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = self._day_field(day), self._weekday_field(day)
        return by_day and by_weekday if self.both else by_day or by_weekday

    def _day_field(self, day: date) -> bool:
        text = self.fields[2]
        if text == "l":
            return (day + timedelta(1)).day == 1
        if text.endswith("w"):
            target = day.replace(day=int(text[:-1]))
            shift = {5: -1, 6: 1}.get(target.weekday(), 0)
            return day == target + timedelta(shift)
        return _holds(text, day.day, 1, 31)

    def _weekday_field(self, day: date) -> bool:
        text, weekday = self.fields[4], day.isoweekday() % 7
        if text.startswith("l"):
            return weekday == int(text[1]) and (day + timedelta(7)).month != day.month
        if "#" in text:
            name, nth = text.split("#")
            return weekday == NAMES[name] and (day.day - 1) // 7 == int(nth) - 1
        return _holds(text, weekday, 0, 6)

    def at_wall(self, wall: datetime) -> bool:
        return wall.minute in self.minutes and wall.hour in self.hours and self.on_day(wall.date())


def _holds(text: str, value: int, low: int, high: int) -> bool:
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        begin = low if first == "*" else int(first)
        end = high if first == "*" or (step and not last) else int(last or first)
        size = high - low + 1
        distance = (value - begin) % size
        if distance <= (end - begin) % size and distance % int(step or 1) == 0:
            return True
    return False


def list_changes(zone: tzinfo, begin: int, end: int) -> list[int]:
    """The first seconds of changed offsets, found by halving each quarter of a day in which it changes."""
    changes, step = [], 21_600
    for left in range(begin, end, step):
        low, high = left, left + step
        if _offset(low, zone) == _offset(high, zone):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(middle, zone) == _offset(left, zone) else (low, middle)
        changes.append(high)
    return changes


def _offset(at: float, zone: tzinfo) -> timedelta:
    offset = datetime.fromtimestamp(at, zone).utcoffset()
    assert offset is not None
    return offset


def scan(oracle: Oracle, zone: tzinfo, begin: int, end: int, changes: set[int]) -> set[float]:
    """What a cron daemon that looks at each minute would start in [begin, end)."""
    found = set()
    for at, wall in _look_at_each_minute(zone, begin, end):
        if wall.second == 0 and oracle.at_wall(wall) and (oracle.real_time or not wall.fold):
            found.add(float(at))
        if at in changes and not oracle.real_time and any(oracle.at_wall(lost) for lost in _lost(at, zone)):
            found.add(float(at))
    return found


@lru_cache(maxsize=64)
def _look_at_each_minute(zone: tzinfo, begin: int, end: int) -> list[tuple[int, datetime]]:
    return [(at, datetime.fromtimestamp(at, zone)) for at in range(begin, end, 60)]


def _lost(change: int, zone: tzinfo) -> Iterator[datetime]:
    """The wall minutes that a change forward leaves out."""
    wall = datetime.fromtimestamp(change, UTC).replace(tzinfo=None) + _offset(change - 1, zone)
    end = datetime.fromtimestamp(change, zone).replace(tzinfo=None)
    while wall < end:
        yield wall
        wall += timedelta(minutes=1)


def enumerate_days(oracle: Oracle, zone: tzinfo, begin: int, end: int) -> set[float]:
    """The runs in [begin, end) of days without a change: each matching wall time is one instant."""
    found: set[float] = set()
    day = datetime.fromtimestamp(begin, zone).date() - timedelta(1)
    while day <= datetime.fromtimestamp(end, zone).date():
        if oracle.on_day(day):
            walls = (
                datetime(day.year, day.month, day.day, h, m, tzinfo=zone) for h in oracle.hours for m in oracle.minutes
            )
            found.update(at for wall in walls if begin <= (at := wall.timestamp()) < end)
        day += timedelta(1)
    return found


def list_stretches(zone: tzinfo, begin: int, end: int) -> Iterator[tuple[int, int, int | None]]:
    """Stretches (begin, end, change in it or None) that cover the whole span, on whole minutes."""
    here = begin
    for change in list_changes(zone, begin, end):
        low = max(here, (change - WINDOW_S) // 60 * 60)
        high = min((change + WINDOW_S) // 60 * 60, end)
        if low > here:
            yield here, low, None
        if high > low:
            yield low, high, change
        here = max(here, high)
    yield here, end, None


def compare(text: str, zone: tzinfo, stretches: list[tuple[int, int, int | None]]) -> list[str]:
    """The differences of one expression in one zone, in words; empty when there is none."""
    oracle, expression, trouble = Oracle(text), parse_cron(text), []
    dense = len(oracle.minutes) * len(oracle.hours) > DENSE
    changes = {change for _, _, change in stretches if change is not None}
    for begin, whole_end, change in stretches:
        end = min(whole_end, begin + 7 * 86_400) if dense and change is None else whole_end
        expected = scan(oracle, zone, begin, end, changes) if change else enumerate_days(oracle, zone, begin, end)
        got = set()
        for at in iterate_after(expression, begin - 1, zone):
            if at >= end:
                break
            got.add(at)
        back, at_or_none = set(), previous_before(expression, end, zone)
        while at_or_none is not None and at_or_none >= begin:
            back.add(at_or_none)
            at_or_none = previous_before(expression, at_or_none, zone)
        for name, found in (("forwards", got), ("backwards", back)):
            for at in sorted(found ^ expected):
                what = "invented" if at in found else "left out"
                trouble.append(f"{text} in {zone}: {name} {what} {datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}")
    return trouble


def check(zone: str, years: int, first_year: int) -> list[str]:
    """All differences in one zone."""
    begin = int(datetime(first_year, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime(first_year + years, 1, 1, tzinfo=UTC).timestamp())
    stretches = list(list_stretches(ZoneInfo(zone), begin, end))
    return [line for text in EXPRESSIONS for line in compare(text, ZoneInfo(zone), stretches)]


@pytest.mark.slow
@pytest.mark.parametrize("zone", QUICK_ZONES)
def test_cron_agrees_with_a_simulated_daemon(zone: str) -> None:
    assert check(zone, 1, 2025) == []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zones", type=int, default=10, help="how many zones, spread over the database")
    parser.add_argument("--years", type=int, default=2)
    parser.add_argument("--from-year", type=int, default=2017)
    asked = parser.parse_args()
    names = sorted(available_timezones() - {"localtime", "Factory"})
    chosen = [names[len(names) * n // asked.zones] for n in range(min(asked.zones, len(names)))]
    began = time.monotonic()
    trouble = 0
    for number, name in enumerate(chosen, 1):
        found = check(name, asked.years, asked.from_year)
        trouble += len(found)
        print(f"{number}/{len(chosen)} {name}: {len(found)} differences", *found[:5], sep="\n  ", flush=True)
    size = f"{len(chosen)} zones x {len(EXPRESSIONS)} expressions x {asked.years} years"
    print(f"{size}: {trouble} differences, {time.monotonic() - began:.0f} s")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
