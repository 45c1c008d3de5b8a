"""What the clocks of a machine say together, and what it means when they part: a step, a suspend. Values only.

CLOCK_REALTIME shows the time of day and may be set. CLOCK_MONOTONIC counts time awake, CLOCK_BOOTTIME also time asleep;
neither can be set, and all three are slewed together, so that only a jump parts them (clock_gettime(2)).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.moment import format_utc

LEAST_JUMP_S = 1.0
"""A smaller parting is a correction nobody needs to read of; timers follow it all the same."""


class ClockReading(NamedTuple):
    """All clocks at one moment, in seconds: the time of day (unix), time awake, time since boot."""

    wall: float
    awake: float
    boot: float

    @property
    def asleep(self) -> float:
        """How long the machine was suspended since it booted."""
        return self.boot - self.awake


class JumpKind(StrEnum):
    """What happened to the clock; the words are types in the event history."""

    STEPPED = "clock-stepped"
    RESUMED = "resumed"
    FROZEN = "frozen"


class Jump(NamedTuple):
    """One jump: `by_s` seconds that were not lived through (negative: they come again); what follows, in words."""

    kind: JumpKind
    by_s: float
    message: str


def decide_jumps(before: ClockReading, after: ClockReading) -> list[Jump]:
    """What happened between two readings: a suspend, a step of the wall clock, both, or nothing."""
    jumps = []
    slept_s = after.asleep - before.asleep
    if slept_s >= LEAST_JUMP_S:
        jumps.append(_describe_sleep(slept_s, after))
    stepped_s = (after.wall - after.boot) - (before.wall - before.boot)
    if abs(stepped_s) >= LEAST_JUMP_S:
        jumps.append(_describe_step(stepped_s, after))
    return jumps


def _describe_sleep(slept_s: float, after: ClockReading) -> Jump:
    message = (
        f"the machine was suspended for {format_duration(round(slept_s))}, until {format_utc(math.floor(after.wall))}; "
        "what recurs and fell due meanwhile is left to catch-up, time limits and intervals did not count it"
    )
    return Jump(JumpKind.RESUMED, slept_s, message)


def _describe_step(stepped_s: float, after: ClockReading) -> Jump:
    to, length = format_utc(math.floor(after.wall)), format_duration(round(abs(stepped_s)))
    if stepped_s > 0:
        follows = "what recurs and would have fallen due between is left to catch-up"
        return Jump(JumpKind.STEPPED, stepped_s, f"the clock was set forward by {length}, to {to}; {follows}")
    follows = "times of day come again, but nothing that was decided is repeated"
    return Jump(JumpKind.STEPPED, stepped_s, f"the clock was set back by {length}, to {to}; {follows}")


def describe_freeze(late_s: float, after: ClockReading) -> Jump:
    """The jump of a process that stood still, known by a wake-up that came `late_s` too late."""
    message = (
        f"the daemon stood still: a wake-up came {format_duration(round(late_s))} late, at "
        f"{format_utc(math.floor(after.wall))}; what recurs and fell due meanwhile is left to catch-up"
    )
    return Jump(JumpKind.FROZEN, late_s, message)
