"""The items of a cron field judged one by one: refused with the reason, or put into words that croniter gets right.

croniter 7.0.0 reads a range with equal ends as the whole cycle, loses the step of a range that wraps, draws `R` anew
at each parse, and its complaints name neither field nor item. The whole expression is read in `cron`.
"""

from __future__ import annotations

import re

import msgspec

from cronoq_cli.errors import InvalidError

BAD_SCHEDULE = "bad-schedule"
LONGEST_SHOWN = 40
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FULL_NAMES = {
    **{name: name[:3] for name in ("january", "february", "march", "april", "june", "july", "august")},
    **{name: name[:3] for name in ("september", "october", "november", "december")},
    **{name: name[:3] for name in ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")},
    "sept": "sep",
    "tues": "tue",
    "wednes": "wed",
    "thur": "thu",
    "thurs": "thu",
}

_ITEM = re.compile(r"(?:\*|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:/([0-9]+))?", re.ASCII)
_DRAWN = re.compile(r"[rh](?:\(.*|/.*)?", re.ASCII)
_NTH = re.compile(r"([0-9a-z]+)#([0-9]+)", re.ASCII)
_LAST_WEEKDAY = re.compile(r"l([0-7])", re.ASCII)
_NEAREST = re.compile(r"0?([1-9]|1[0-9]|2[0-8])w", re.ASCII)


class Field(msgspec.Struct, frozen=True):
    """One field: its name for people, the values from `low` to `high`, and the names of values."""

    word: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, MONTH_NAMES)
WEEKDAY = Field("weekday", 0, 6, WEEKDAY_NAMES)
FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


def refusal(field: Field, item: str, why: str, hint: str | None = None) -> InvalidError:
    """The error that names field and item, long items cut."""
    return InvalidError(f"bad schedule: {field.word} field: {shorten(item)!r} {why}", hint=hint, code=BAD_SCHEDULE)


def shorten(text: str) -> str:
    """The text, or its beginning with a mark when it is long."""
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def normalize_field(field: Field, text: str) -> str:
    """The field in lower case in words that croniter reads rightly; the same item stands in it once.

    Raises InvalidError `bad-schedule` for the first item that is no item of this field.
    """
    lower = text.lower()
    if lower == "?":
        if field not in (DAY, WEEKDAY):
            raise refusal(field, text, "is allowed in the two day fields only", "write *")
        return "*"
    items = list(dict.fromkeys(lower.split(",")))
    if field is WEEKDAY:
        _check_mixture(items)
    return ",".join(dict.fromkeys(part for item in items for part in _normalize_item(field, item, len(items))))


def _check_mixture(items: list[str]) -> None:
    special = [item for item in items if "#" in item or _LAST_WEEKDAY.fullmatch(item)]
    if special and len(special) < len(items):
        plain = next(item for item in items if item not in special)
        raise refusal(WEEKDAY, special[0], f"cannot stand in one list with {shorten(plain)!r}", "make two schedules")


def _normalize_item(field: Field, item: str, count: int) -> list[str]:
    """The item as one or several that croniter reads rightly."""
    if not item:
        raise refusal(field, item, "is an empty item", "a comma stands at the end or twice")
    if special := _find_special(field, item, count):
        return [special]
    match = _ITEM.fullmatch(item)
    if match is None:
        raise _malformed(field, item)
    low_text, high_text, step_text = match.groups()
    step = _step_of(field, item, step_text)
    if low_text is None:
        return [item]
    low = _value_of(field, item, low_text)
    if high_text is None:
        low %= 7 if field is WEEKDAY else 100
        return [f"{low}/{step}" if step_text else str(low)]
    high = _value_of(field, item, high_text)
    return _normalize_range(field, low, high, step)


def _normalize_range(field: Field, low: int, high: int, step: int) -> list[str]:
    """Equal ends are one value; a range that runs backwards wraps, its step going on over the end."""
    if field is WEEKDAY and low == 0 and high == 7:
        return [f"0-6/{step}"]
    low, high = (low % 7, high % 7) if field is WEEKDAY else (low, high)
    if low == high:
        return [str(low)]
    if low < high:
        return [f"{low}-{high}/{step}"]
    span = range(low, high + field.size + 1, step)
    return [str((value - field.low) % field.size + field.low) for value in span]


def _value_of(field: Field, item: str, text: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.low
    if not text.isdigit():
        hint = f"write {FULL_NAMES[text]}" if FULL_NAMES.get(text) in field.names else _hint(field)
        raise refusal(field, item, f"is no {field.word}" if text == item else f"holds {text!r}, no {field.word}", hint)
    highest = 7 if field is WEEKDAY else field.high
    if len(text) > 9 or not field.low <= int(text) <= highest:
        raise refusal(field, item, f"is not within {field.low} to {highest}")
    return int(text)


def _step_of(field: Field, item: str, text: str | None) -> int:
    if text is None:
        return 1
    if not text.strip("0"):
        raise refusal(field, item, "has a step of zero", "a step is 1 or more")
    if len(text.lstrip("0")) > 9:
        raise refusal(field, item, "has a step beyond all bounds", f"the field has {field.size} values")
    return int(text)


def _hint(field: Field) -> str:
    names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"{field.low} to {field.high}{names}, *, lists a,b, ranges a-b, steps */n"


def _malformed(field: Field, item: str) -> InvalidError:
    if re.fullmatch(r"-[0-9]+", item):
        return refusal(field, item, "is negative", _hint(field))
    if item.count("-") > 1:
        return refusal(field, item, "has more than one -", "a range is written a-b")
    if item.startswith("-") or item.endswith("-") or "-/" in item:
        return refusal(field, item, "is a range with one end missing", "a range is written a-b")
    if item.endswith("/") or item.count("/") > 1:
        return refusal(field, item, "has no proper step", "a step is written */n or a-b/n")
    if "?" in item:
        return refusal(field, item, "mixes ? with something else", "? stands alone in a day field")
    return refusal(field, item, "cannot be read", _hint(field))


def _find_special(field: Field, item: str, count: int) -> str | None:
    """`L`, `15W`, `FRI#2` and `L5` where they may stand, as croniter spells them; raises where they may not."""
    if _DRAWN.fullmatch(item):
        raise refusal(field, item, "would be drawn anew at each reading", "write the value itself, or use --jitter")
    if field is WEEKDAY:
        return _find_special_weekday(item)
    if field is DAY:
        return _find_special_day(item, count)
    if "#" in item or re.fullmatch(r"l|l?[0-9]+[lw]|l[0-9]+", item):
        raise refusal(field, item, "is meant for the day fields", _hint(field))
    return None


def _find_special_day(item: str, count: int) -> str | None:
    if item == "l":
        return item
    if match := _NEAREST.fullmatch(item):
        if count > 1:
            raise refusal(DAY, item, "stands in a list", "W takes one single day, such as 15W")
        return f"{match[1]}w"
    if re.fullmatch(r"w[0-9]+", item):
        raise refusal(DAY, item, "has its W in front", f"write {item[1:]}W")
    if re.fullmatch(r"[0-9]+w", item):
        raise refusal(DAY, item, "is no day that each month has", "W takes the days 1 to 28, such as 15W")
    if re.fullmatch(r"lw|wl|l[-/].*|.*-l(?:/.*)?", item):
        raise refusal(DAY, item, "is not supported", "L stands alone for the last day of the month")
    return None


def _find_special_weekday(item: str) -> str | None:
    if _LAST_WEEKDAY.fullmatch(item):
        return item
    if re.fullmatch(r"([0-7]|sun|mon|tue|wed|thu|fri|sat)l", item):
        number = item[0] if item[0].isdigit() else str(WEEKDAY_NAMES.index(item[:3]))
        raise refusal(WEEKDAY, item, "has its L behind", f"the last one of a month is written L{number}")
    if item == "l" or (item.startswith("l") and item[1:] in WEEKDAY_NAMES):
        number = str(WEEKDAY_NAMES.index(item[1:])) if item[1:] else "5"
        raise refusal(WEEKDAY, item, "has no weekday number", f"the last one of a month is written L{number}")
    if "#" not in item:
        return None
    match = _NTH.fullmatch(item)
    if match is None:
        raise refusal(WEEKDAY, item, "cannot be read", "the second Friday is written FRI#2 or 5#2")
    if len(match[2]) > 9 or not 1 <= int(match[2]) <= 5:
        raise refusal(WEEKDAY, item, "has no such week", "a month has a first to fifth one: #1 to #5")
    return f"{_value_of(WEEKDAY, item, match[1]) % 7}#{int(match[2])}"
