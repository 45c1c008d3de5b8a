"""What changes of the local clock do to a cron schedule in a span of time. Its words live in model/schedule_words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from functools import lru_cache

from cronoq_cli.engine.cron import find_change, offset_at
from cronoq_cli.engine.cron_days import DAY_S, find_next_wall
from cronoq_cli.model.cron_expression import EVERY_HOUR, ClockEffect, CronExpression

MOST_COUNTED = 10_000


def list_effects(expression: CronExpression, zone: tzinfo, begin: float, end: float) -> list[ClockEffect]:
    """The changes of the offset in [begin, end] that touch a wall time of the schedule, in order.

    A schedule in real time that knows no particular hour is touched by none: it goes on evenly.
    """
    if expression.real_time and expression.hours == EVERY_HOUR:
        return []
    found = (_find_effect(expression, change, zone) for change in list_changes(zone, int(begin), int(end)))
    return [effect for effect in found if effect is not None]


def iterate_changes(zone: tzinfo, begin: int, end: int) -> Iterator[int]:
    """The first second of each new offset in (begin, end]. Two changes within one day are taken for one."""
    while begin < end:
        here = min(begin + DAY_S, end)
        if offset_at(begin, zone) != offset_at(here, zone):
            yield find_change(begin, here, zone)
        begin = here


@lru_cache(maxsize=64)
def list_changes(zone: tzinfo, begin: int, end: int) -> tuple[int, ...]:
    """The same, remembered: many schedules are asked about the same year."""
    return tuple(iterate_changes(zone, begin, end))


def _find_effect(expression: CronExpression, change: int, zone: tzinfo) -> ClockEffect | None:
    before, after = change + offset_at(change - 1, zone), change + offset_at(change, zone)
    low, high = min(before, after), max(before, after)
    first = last = None
    count, wall = 0, find_next_wall(expression, low - 1)
    while wall is not None and wall < high and count < MOST_COUNTED:
        first, last, count = wall if first is None else first, wall, count + 1
        wall = find_next_wall(expression, wall)
    if first is None or last is None:
        return None
    return ClockEffect(
        at=float(change),
        missing=after > before,
        real_time=expression.real_time,
        first=first,
        last=last,
        count=count,
        runs_at=after,
    )
