"""What jumps of the clock are, told from two readings."""

from __future__ import annotations

import pytest

from cronoq_cli.model.clock import ClockReading, JumpKind, decide_jumps, describe_freeze

DAY = 86_400.0
BEFORE = ClockReading(wall=1_772_953_200.0, awake=100.0, boot=150.0)


def after(*, lived: float = 10.0, slept: float = 0.0, set_by: float = 0.0) -> ClockReading:
    """A reading after so much of each."""
    return ClockReading(BEFORE.wall + lived + slept + set_by, BEFORE.awake + lived, BEFORE.boot + lived + slept)


@pytest.mark.parametrize("lived", [0.0, 10.0, 40 * DAY])
def test_time_that_is_lived_through_is_no_jump(lived: float) -> None:
    assert decide_jumps(BEFORE, after(lived=lived)) == []


@pytest.mark.parametrize("set_by", [0.9, -0.9])
def test_a_small_correction_is_no_jump(set_by: float) -> None:
    assert decide_jumps(BEFORE, after(set_by=set_by)) == []


def test_a_step_is_told_with_its_length_and_where_it_led() -> None:
    (jump,) = decide_jumps(BEFORE, after(set_by=DAY))
    assert (jump.kind, jump.by_s) == (JumpKind.STEPPED, DAY)
    assert jump.message.startswith("the clock was set forward by 1d, to 2026-03-09T07:00:10Z; ")
    (jump,) = decide_jumps(BEFORE, after(set_by=-3600.0))
    assert (jump.kind, jump.by_s) == (JumpKind.STEPPED, -3600.0)
    assert jump.message.startswith("the clock was set back by 1h, to 2026-03-08T06:00:10Z; ")


def test_a_suspend_is_no_step() -> None:
    (jump,) = decide_jumps(BEFORE, after(slept=8 * 3600.0))
    assert (jump.kind, jump.by_s) == (JumpKind.RESUMED, 8 * 3600.0)
    assert jump.message.startswith("the machine was suspended for 8h, until 2026-03-08T15:00:10Z; ")


def test_a_suspend_during_which_the_clock_was_set_is_both() -> None:
    kinds = [(jump.kind, jump.by_s) for jump in decide_jumps(BEFORE, after(slept=60.0, set_by=-120.0))]
    assert kinds == [(JumpKind.RESUMED, 60.0), (JumpKind.STEPPED, -120.0)]


def test_a_freeze_is_told_by_how_late_the_wake_up_came() -> None:
    jump = describe_freeze(3599.6, after())
    assert jump.kind is JumpKind.FROZEN
    assert "a wake-up came 1h late, at 2026-03-08T07:00:10Z" in jump.message
