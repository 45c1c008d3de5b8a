"""How much a soft deadline adds to a score. The rest of the score is in engine/lanes, learned run times in
engine/statistics.
"""

from __future__ import annotations

import msgspec


class Urgency(msgspec.Struct, frozen=True):
    """The numbers of specification section 4: `at_start` points at slack 0, then `rate` a second up to `late_most`."""

    window_s: float = 5.0
    at_start: float = 5000.0
    rate: float = 10.0
    late_most: float = 3000.0

    @property
    def most(self) -> float:
        """The most that a deadline can ever add."""
        return self.at_start + self.late_most


URGENCY = Urgency()


def decide_urgency(deadline: float, expected_s: float, now: float, urgency: Urgency = URGENCY) -> float:
    """The points that a soft deadline adds at the moment `now` (specification section 4).

    Latest start = deadline - expected run time, slack = latest start - now, horizon = max(window, expected run
    time). 0 while slack > horizon, rising linearly to `at_start` at slack 0, then `rate` a second more, up to
    `late_most`. `deadline` and `now` are moments on one clock, seconds.
    """
    slack_s = deadline - expected_s - now
    if slack_s <= 0.0:
        return urgency.at_start + min(-slack_s * urgency.rate, urgency.late_most)
    horizon_s = max(urgency.window_s, expected_s)
    if slack_s >= horizon_s:
        return 0.0
    return urgency.at_start * (1.0 - slack_s / horizon_s)
