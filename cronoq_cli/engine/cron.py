"""Cron expressions: text to value, and the instants of a value in a zone, forwards and backwards the same.

The one place that knows croniter: what it gets wrong is put right here and in `cron_items` (fields) and `cron_days`
(days). Changes of the offset follow the rules of Debian's cron (specification section 7). No clock.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, NoReturn

from cronoq_cli.engine import cron_items
from cronoq_cli.engine.cron_days import DAY_S, ever_fires, find_next_wall, find_previous_wall
from cronoq_cli.engine.cron_items import BAD_SCHEDULE, FIELDS, normalize_field, shorten
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.cron_expression import CronExpression, DayRule
from cronoq_cli.model.moment import EPOCH, LATEST_AT, resolve_wall
from cronoq_cli.model.words import hint_for

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
REBOOT, EVERY = "@reboot", "@every"
LONGEST_TEXT = 100_000
EXAMPLE = "five fields such as '30 2 * * *': minute, hour, day of month, month, weekday"

EARLIEST_AT = -5_000_000_000.0
"""In the year 1811: before it there were no time zones to speak of."""
NEAR_S = 3 * DAY_S
"""Two instants this close have at most one change of the offset between them; and no change is larger (a move over
the date line is one of 24 hours)."""


def parse_cron(text: str, *, seconds: bool = False) -> CronExpression:
    """The expression of five fields, a macro, or with `seconds` six fields, seconds first.

    Raises InvalidError `bad-schedule`, naming field and item, for what cannot be read, would be drawn anew at each
    reading, has no time (`@reboot`, `@every`), or never fires.
    """
    return _parse(text, seconds)


@lru_cache(maxsize=4096)
def _parse(text: str, seconds: bool) -> CronExpression:
    _check_characters(text)
    fields = _split(text, seconds)
    marked = fields if seconds and len(fields) == 6 else ("0", *fields)
    normal = [normalize_field(field, part) for field, part in zip(FIELDS, marked, strict=True)]
    sets, nth = _expand(" ".join(normal), text)
    days = _day_rule(marked, normal, sets, nth)
    expression = CronExpression(
        text=text.strip(),
        fields=fields,
        seconds=_values(sets[5], 0),
        minutes=_values(sets[0], 1),
        hours=_values(sets[1], 2),
        months=_values(sets[3], 4),
        days=days,
        real_time=marked[1].startswith("*") or marked[2].startswith("*"),
    )
    if not ever_fires(expression.months, days):
        _refuse(f"{shorten(text.strip())!r} never fires: no month of it has such a day")
    return expression


def _refuse(message: str, hint: str | None = None) -> NoReturn:
    raise InvalidError(f"bad schedule: {message}", hint=hint, code=BAD_SCHEDULE)


def _check_characters(text: str) -> None:
    """Only printable ASCII, blanks and tabs: what is pasted from a page often only looks like it."""
    if len(text) > LONGEST_TEXT:
        _refuse(f"it has {len(text)} characters", f"at most {LONGEST_TEXT}")
    for place, char in enumerate(text, 1):
        if not (char == "\t" or " " <= char <= "~"):
            name = unicodedata.name(char, "control character")
            _refuse(
                f"character {place} is U+{ord(char):04X} ({name.lower()})",
                "only plain digits, letters, signs, blanks and tabs are read",
            )


def _split(text: str, seconds: bool) -> tuple[str, ...]:
    """The fields, a macro written out. Raises for kinds without a time, unknown macros and wrong counts."""
    words = text.split()
    if not words:
        _refuse("it is empty", EXAMPLE)
    if words[0].startswith("@"):
        return _split_macro(words)
    if seconds and len(words) != 6:
        _refuse(f"{len(words)} fields where six are wanted", "with --seconds the first of six fields is the seconds")
    if len(words) == 6 and not seconds:
        _refuse("six fields", "five fields are minutes; for seconds first add --seconds")
    if not seconds and len(words) != 5:
        _refuse(f"{len(words)} field{'s' * (len(words) != 1)} where five are wanted", EXAMPLE)
    return tuple(words)


def _split_macro(words: list[str]) -> tuple[str, ...]:
    word = words[0].lower()
    if word == REBOOT:
        _refuse("@reboot is not a time: it runs once after each boot of the machine", "it has no next run to show")
    if word == EVERY:
        _refuse("@every is not a time: it runs by elapsed time", "it has no wall times to show")
    if word not in MACROS:
        _refuse(f"unknown macro {shorten(words[0])!r}", hint_for(word, [*MACROS, REBOOT, EVERY]))
    if len(words) > 1:
        _refuse(f"something stands behind {word}: {shorten(words[1])!r}", "a macro stands alone")
    return tuple(MACROS[word].split())


def _expand(normal: str, text: str) -> tuple[list[list[int | str]], dict[int, set[int | str]]]:
    """The sets of croniter for six fields, seconds first; in its answer the seconds come last."""
    from croniter import croniter  # type: ignore[import-untyped]

    parser: Any = croniter
    try:
        expanded, nth = parser.expand(normal, second_at_beginning=True)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidError(
            f"bad schedule: {shorten(text.strip())!r} cannot be read", hint=EXAMPLE, code=BAD_SCHEDULE
        ) from error
    return expanded, nth


def _values(found: list[int | str], field: int) -> tuple[int, ...]:
    """The numbers of a set, sorted; any star in it means all values of the field."""
    if "*" in found:
        bounds = FIELDS[field]
        return tuple(range(bounds.low, bounds.high + 1))
    return tuple(sorted({value for value in found if isinstance(value, int)}))


def _day_rule(
    marked: tuple[str, ...], normal: list[str], sets: list[list[int | str]], nth: dict[int, set[int | str]]
) -> DayRule:
    """Both day fields as one rule: croniter drops one of them beside W, # and L, so it is not asked for days."""
    day, weekday = marked[3], marked[5]
    nearest = normal[3].endswith("w")
    values = _values(sets[2], 3)
    return DayRule(
        days=() if nearest else values,
        last_day="l" in sets[2],
        nearest=values if nearest else (),
        weekdays=() if nth else _values(sets[4], 5),
        nth=tuple(sorted((d, n) for d, all_n in nth.items() for n in all_n if isinstance(n, int))),
        last_weekdays=tuple(sorted(d for d, all_n in nth.items() if "l" in all_n)),
        both=day[0] in "*?" or weekday[0] in "*?",
    )


def list_notes(expression: CronExpression) -> list[str]:
    """What people often take for something else: steps that do not divide the field, both day fields, `* 2`."""
    minute, hour, day, _, weekday = expression.fields[-5:]
    notes = []
    for field, text in zip(FIELDS[-5:], expression.fields[-5:], strict=True):
        notes += [note for item in text.split(",") if (note := _find_step_note(field, item))]
    rule = expression.days
    if not rule.both:
        notes.append(f"day of month {day} and weekday {weekday} are both set: it runs when either matches")
    elif day[0] in "*?" and len(day) > 1 and not rule.any_weekday:
        notes.append(f"day of month {day} begins with a star: it runs only when the weekday matches as well")
    elif weekday[0] in "*?" and len(weekday) > 1 and not rule.any_day_of_month:
        notes.append(f"weekday {weekday} begins with a star: it runs only when the day of month matches as well")
    if minute == "*" and len(expression.hours) < 24:
        notes.append(f"it runs every minute of hour {hour}; write 0 as the minute to run once an hour")
    return notes


def _find_step_note(field: cron_items.Field, item: str) -> str | None:
    star, slash, step_text = item.partition("/")
    if star != "*" or not slash or field.size % int(step_text) == 0:
        return None
    step = int(step_text)
    if step >= field.size:
        return f"{field.word} {item}: the step is longer than the field, it means {field.low} alone"
    values = list(range(field.low, field.high + 1, step))
    shown = ", ".join(map(str, values if len(values) < 6 else [*values[:3], "...", values[-1]]))
    return f"{field.word} {item} means {shown}, then from {values[0]} again: not an even interval"


def next_after(expression: CronExpression, after: float, zone: tzinfo) -> float | None:
    """The first instant (unix seconds) strictly later than `after`; None at the end of the calendar."""
    base = math.floor(after)
    if not EARLIEST_AT <= base <= LATEST_AT:
        return None
    try:
        if expression.real_time:
            return _next_real_time(expression, base, zone)
        wall = find_next_wall(expression, frontier(base, zone))
        return None if wall is None else _instant_of(wall, zone)
    except (OverflowError, ValueError):
        return None


def previous_before(expression: CronExpression, before: float, zone: tzinfo) -> float | None:
    """The last instant (unix seconds) strictly earlier than `before`; None at the beginning of the calendar."""
    base = math.ceil(before) - 1
    if not EARLIEST_AT <= base <= LATEST_AT:
        return None
    try:
        if expression.real_time:
            return _previous_real_time(expression, base, zone)
        wall = find_previous_wall(expression, frontier(base, zone) + 1)
        return None if wall is None else _instant_of(wall, zone)
    except (OverflowError, ValueError):
        return None


def iterate_after(expression: CronExpression, after: float, zone: tzinfo) -> Iterator[float]:
    """All instants strictly later, in order."""
    at: float | None = after
    while at is not None and (at := next_after(expression, at, zone)) is not None:
        yield at


def list_next(expression: CronExpression, n: int, after: float, zone: tzinfo) -> list[float]:
    """The next `n` instants; fewer at the end of the calendar."""
    return [at for _, at in zip(range(n), iterate_after(expression, after, zone), strict=False)]


def offset_at(at: int, zone: tzinfo) -> int:
    """Seconds that the local clock is ahead of UTC."""
    offset = datetime.fromtimestamp(at, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _instant_of(wall: int, zone: tzinfo) -> float:
    """A fixed wall time's instant: the first of two, or the first instant after the gap it lies in."""
    return resolve_wall((EPOCH + timedelta(seconds=wall)).replace(tzinfo=None), zone)


def frontier(at: int, zone: tzinfo) -> int:
    """The latest wall time whose instant, taken as fixed, is `at` or earlier.

    That is the local time itself, and in the second pass of a repeated stretch the end of that stretch. Next and
    previous both start from here, which makes them two readings of one list.
    """
    local = datetime.fromtimestamp(at, zone)
    wall = int((local.replace(tzinfo=UTC, fold=0) - EPOCH).total_seconds())
    if not local.fold:
        return wall
    first = int(resolve_wall(local.replace(tzinfo=None, fold=0), zone))
    change = find_change(first, at, zone)
    return change - 1 + offset_at(change - 1, zone)


def find_change(low: int, high: int, zone: tzinfo) -> int:
    """The first second of a changed offset in (low, high], whose offsets differ."""
    before = offset_at(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _next_real_time(expression: CronExpression, base: int, zone: tzinfo) -> float | None:
    """The next second whose local time matches, walking over stretches of one offset."""
    while True:
        offset = offset_at(base, zone)
        wall = find_next_wall(expression, base + offset)
        if wall is None:
            return None
        at = wall - offset
        near = min(at, base + NEAR_S)
        if offset_at(near, zone) != offset:  # behind the change earlier wall times may come again
            base = find_change(base, near, zone)
            if _matches_at(expression, base, zone):
                return float(base)
        elif at == near:
            return float(at)
        else:
            base = wall - wall % DAY_S - 2 * DAY_S - offset  # the days before match nowhere


def _previous_real_time(expression: CronExpression, base: int, zone: tzinfo) -> float | None:
    """The latest second at `base` or before whose local time matches."""
    while True:
        offset = offset_at(base, zone)
        wall = find_previous_wall(expression, base + offset + 1)
        if wall is None:
            return None
        at = wall - offset
        near = max(at, base - NEAR_S)
        if offset_at(near, zone) != offset:
            base = find_change(near, base, zone) - 1
        elif at == near:
            return float(at)
        else:
            base = wall - wall % DAY_S + 3 * DAY_S - 1 - offset  # the days after match nowhere


def _matches_at(expression: CronExpression, at: int, zone: tzinfo) -> bool:
    wall = at + offset_at(at, zone)
    return find_next_wall(expression, wall - 1) == wall
