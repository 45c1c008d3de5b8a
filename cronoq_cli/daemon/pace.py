"""Where commits are made: in the loop while they are fast, in a thread beside it while they are slow. Pure.

A thread costs processor time and gains nothing on a fast disk; in the loop everybody waits for a slow one.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

Choice = Literal["auto", "loop", "thread"]

SLOW_S = 0.002
"""A commit that takes longer, beyond what its rows cost, is slow: an answer should not take that long."""
ROW_S = 40e-6
"""What one row may cost of processor time: a long commit of many rows says nothing of the disk."""
WINDOW = 32
MOST_SLOW = 3
SLOW_TOGETHER_S = 0.04
"""So many slow ones of the last WINDOW, which took so long together, are no accident any more. Most fast disks have
commits of 2 to 4 ms among a hundred, and the thread makes each answer half as long again: it must be worth it."""
TRIAL_S = 0.01
"""So long may the slow commits of a trial take together."""
BESIDE = 8
"""Of so many commits beside the loop the fastest must be fast before the loop is tried again: what a commit takes there
may be the waiting for the interpreter, but never is less than what the disk takes."""
REST_S = 10.0
LONGEST_REST_S = 300.0
"""How long commits are made beside the loop at least: doubled each time the loop was tried in vain."""


class Pace:
    """Goes by what commits take. `choice`: what the configuration says; auto: go by it."""

    def __init__(self, choice: Choice = "auto") -> None:
        self.choice = choice
        self._beside = False
        self._on_trial = False
        self._slow: deque[float] = deque(maxlen=WINDOW)  # what slow commits took; 0: it was fast
        self._took: deque[float] = deque(maxlen=BESIDE)
        self._rest_s = REST_S
        self._until = 0.0

    def decide_beside(self, now: float) -> bool:
        """Whether the next commit is made in the thread (`now`: seconds of a clock that only goes on)."""
        if self.choice != "auto":
            return self.choice == "thread"
        if self._beside and now >= self._until and len(self._took) == BESIDE and min(self._took) < SLOW_S:
            self._beside, self._on_trial = False, True
            self._slow.clear()
        return self._beside

    def note(self, took_s: float, rows: int, now: float) -> bool:
        """Take in how long a commit of so many rows took; whether it is this one that sends commits to the thread."""
        if self.choice != "auto":
            return False
        over_s = took_s - rows * ROW_S
        if self._beside:
            self._took.append(over_s)
            return False
        self._slow.append(over_s if over_s > SLOW_S else 0.0)
        if self._is_slow():
            self._rest_s = min(self._rest_s * 2, LONGEST_REST_S) if self._on_trial else REST_S
            self._beside, self._on_trial = True, False
            self._until = now + self._rest_s
            self._took.clear()
            return True
        if len(self._slow) == WINDOW:
            self._on_trial = False
        return False

    def _is_slow(self) -> bool:
        """Whether what was slow lately sends commits to the thread."""
        together = sum(self._slow)
        if self._on_trial:
            return together > TRIAL_S
        return together > SLOW_TOGETHER_S and sum(took > 0 for took in self._slow) >= MOST_SLOW
