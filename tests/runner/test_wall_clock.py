"""`--kill-at` in the runner when the wall clock is set, on a clock moved by hand."""

from __future__ import annotations

import time

import pytest

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.limits import Limits
from cronoq_cli.runner.loop import Loop
from cronoq_cli.wire.runner import Cause


@pytest.mark.parametrize(("by_s", "is_over"), [(7200.0, True), (-7200.0, False), (60.0, False)])
def test_kill_at_follows_a_clock_that_was_set(by_s: float, is_over: bool) -> None:
    wall = [1_000_000.0]
    expired: list[str] = []
    loop = Loop()
    limits = Limits(loop, lambda attempt, cause: expired.append(cause), wall=lambda: wall[0])
    attempt = Attempt({"token": "t", "kill_at": wall[0] + 3600}, None)
    limits.arm(attempt)
    assert attempt.timers is not None
    assert attempt.timers[Cause.KILL_AT].at > time.monotonic() + 10
    wall[0] += by_s
    limits.follow_wall()
    loop.turn_again()
    loop.run(loop.stop)
    assert expired == [Cause.KILL_AT] * is_over
    limits.disarm(attempt)
    limits.follow_wall()
    assert attempt.timers is None
