"""Points in time as text: what people type to unix seconds in a zone, and back to RFC 3339.

No clock: now comes in. Lengths of time live in `duration`, recurring schedules in the engine.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.words import suggest

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_AT = 253_370_764_799.0
"""The last second of the year 9998: the calendar of the standard library ends with 9999, and zones are up to a day
ahead."""
HINT = "write it like 18:30, tomorrow 03:00, fri 18:00, 2026-03-08 07:00, 2026-03-08T07:00:00Z or +2h"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NAMED_TIMES = {"midnight": time(0), "noon": time(12)}

_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_CLOCK_ONLY = re.compile(_CLOCK, re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_STAMP = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:T|\s+)({_CLOCK})\s*(Z|[+-]\d{{2}}:?\d{{2}})?", re.ASCII | re.I)
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*")
_ABBREVIATION = re.compile(r"[A-Z]{1,3}[SD]?T", re.ASCII)
_OFFSET_NAME = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?00)?", re.ASCII)


def parse_moment(text: str, *, now: float, zone: tzinfo) -> float:
    """Unix seconds of a moment as people write it, seen from `now` (unix seconds) in `zone`.

    A clock time or weekday alone is the next one strictly after now. A wall time that does not exist is the
    first instant after the gap, one that occurs twice the first of them; an explicit offset is taken as is.
    Raises UsageError for anything that is not a moment.
    """
    words = text.strip()
    if not words:
        raise UsageError("a time is empty", hint=HINT)
    try:
        found = _find_moment(words, now, zone)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a time: no such date or time of day", hint=HINT) from error
    if found is None:
        raise UsageError(f"{text!r} is not a time", hint=HINT)
    if not 0 <= found <= LATEST_AT:
        raise UsageError(f"{text!r} lies outside the years 1970 to 9998", hint=HINT)
    return found


def _find_moment(words: str, now: float, zone: tzinfo) -> float | None:
    lower = words.lower()
    if lower == "now":
        return now
    if words.startswith("+"):
        return now + parse_duration(words[1:])
    if stamp := _STAMP.fullmatch(words):
        return _moment_of_stamp(stamp, zone)
    if _DATE.fullmatch(words):
        return resolve_wall(datetime.combine(date.fromisoformat(words), time(0)), zone)
    return _find_named_moment(lower, now, zone)


def _moment_of_stamp(stamp: re.Match[str], zone: tzinfo) -> float:
    day, offset = date.fromisoformat(stamp[1]), stamp[7]
    wall = datetime.combine(day, _clock_time(*stamp.group(3, 4, 5, 6)))
    if offset is None:
        return resolve_wall(wall, zone)
    return (wall.replace(tzinfo=UTC) - EPOCH - _offset_of(offset)).total_seconds()


def _offset_of(text: str) -> timedelta:
    if text in "Zz":
        return timedelta(0)
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if text[0] == "-" else offset


def _clock_time(hour: str, minute: str, second: str | None, fraction: str | None) -> time:
    micros = int((fraction or "").ljust(6, "0")[:6])
    return time(int(hour), int(minute), int(second or 0), micros)


def _find_time_of_day(word: str) -> time | None:
    if word in NAMED_TIMES:
        return NAMED_TIMES[word]
    match = _CLOCK_ONLY.fullmatch(word)
    return _clock_time(*match.groups()) if match else None


def _find_named_moment(lower: str, now: float, zone: tzinfo) -> float | None:
    """`18:30`, `noon`, `tomorrow [TIME]`, `today TIME`, `fri [TIME]`."""
    day_word, _, rest = lower.partition(" ")
    today = datetime.fromtimestamp(now, zone).date()
    clock = _find_time_of_day(lower)
    if clock is not None:
        return _next_at(clock, today, 1, now, zone)
    clock = _find_time_of_day(rest.strip()) if rest.strip() else time(0)
    if clock is None or (day_word == "today" and not rest):
        return None
    if day_word in ("today", "tomorrow"):
        day = today + timedelta(days=day_word == "tomorrow")
        return resolve_wall(datetime.combine(day, clock), zone)
    weekday = _find_weekday(day_word)
    if weekday is None:
        return None
    return _next_at(clock, today + timedelta(days=(weekday - today.weekday()) % 7), 7, now, zone)


def _find_weekday(word: str) -> int | None:
    if len(word) < 3:
        return None
    return next((number for number, name in enumerate(WEEKDAYS) if name.startswith(word)), None)


def _next_at(clock: time, first: date, step_days: int, now: float, zone: tzinfo) -> float:
    """The first moment after now that has this time of day on `first` or a whole number of steps later."""
    at = resolve_wall(datetime.combine(first, clock), zone)
    while at <= now:
        first += timedelta(days=step_days)
        at = resolve_wall(datetime.combine(first, clock), zone)
    return at


def resolve_wall(wall: datetime, zone: tzinfo) -> float:
    """Unix seconds of a wall time: the first of two, or the first instant after the gap it lies in.

    Near a change of offset the two readings of PEP 495 (`fold`) differ; in a gap the reading `fold=0` has the
    smaller offset, and the instant of the change lies between the two readings.
    """
    before, after = (wall.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
    naive = wall.replace(tzinfo=UTC, fold=0) - EPOCH
    if before >= after:
        return (naive - before).total_seconds()
    low = int((naive - after).total_seconds()) - 1
    high = int((naive - before).total_seconds()) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if (EPOCH + timedelta(seconds=middle)).astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return float(high)


def format_utc(at: float) -> str:
    """RFC 3339 in UTC, `2026-03-08T07:00:00Z`; milliseconds only where they are not zero."""
    whole, millis = divmod(round(at * 1000), 1000)
    text = (EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text:0>19}.{millis:03d}Z" if millis else f"{text:0>19}Z"


def format_local(at: float, zone: tzinfo, *, now: float) -> str:
    """Wall time for people: `18:30:05` today, `Mar 08 18:30` in the year of now, else `2025-03-08 18:30`."""
    wall, present = datetime.fromtimestamp(at, zone), datetime.fromtimestamp(now, zone)
    if wall.date() == present.date():
        return wall.strftime("%H:%M:%S")
    return wall.strftime("%b %d %H:%M" if wall.year == present.year else "%Y-%m-%d %H:%M")


def format_ago(at: float, *, now: float) -> str:
    """How long ago or ahead, in its largest unit: `3m ago`, `in 2h`, `now` within a second."""
    distance = abs(now - at)
    if distance < 1:
        return "now"
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if distance >= seconds:
            amount = f"{int(distance // seconds)}{unit}"
            break
    return f"{amount} ago" if at < now else f"in {amount}"


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    """The names of the zone database, by exact case: a file system may be blind to it."""
    from importlib import resources  # takes longer to import than all else here, and few name a zone

    return frozenset(resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


@lru_cache(maxsize=64)
def load_zone(name: str) -> ZoneInfo:
    """The zone of exactly this name.

    Raises UsageError for any other text (quotes, paths, wrong case, offsets such as `UTC+3`) with the nearest
    name as hint. No file outside the zone database is opened: the name is looked up in its list first.
    """
    if name in _zone_names():
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UsageError(
                f"the zone {name} cannot be read on this machine: {error}", hint="install tzdata anew"
            ) from error
    if not name.strip():
        raise UsageError("a time zone is empty", hint="write it like Europe/Berlin or UTC")
    raise UsageError(f"{name!r} is not a time zone", hint=_zone_hint(name))


def _zone_hint(name: str) -> str:
    bare = name.strip().strip("'\"").strip()
    offset = _OFFSET_NAME.fullmatch(bare.upper())
    if offset and int(offset[2]) <= 12:
        flipped = "-" if offset[1] == "+" else "+"
        return f"an offset is written Etc/GMT{flipped}{int(offset[2])}, with the sign turned round"
    if _ABBREVIATION.fullmatch(bare.upper()) and bare.upper() not in _zone_names():
        return "an abbreviation names no zone, its rules differ from place to place: write it like Europe/Berlin"
    near = suggest(bare, sorted(_zone_names())) if _ZONE_NAME.fullmatch(bare) else None
    return f"did you mean {near}?" if near else "write it like Europe/Berlin or UTC"
