"""What a soft deadline adds to a score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.model.urgency import URGENCY, Urgency, decide_urgency

MOMENTS = st.floats(-1e6, 1e6, allow_nan=False)
LENGTHS = st.floats(0, 1e5, allow_nan=False)


@pytest.mark.parametrize(
    ("deadline", "expected_s", "now", "points"),
    [
        (1000, 2, 0, 0),
        (1000, 2, 992.9, 0),
        (1000, 2, 993, 0),  # slack 5 = the window
        (1000, 2, 995.5, 2500),
        (1000, 2, 997, 4000),
        (1000, 2, 998, 5000),
        (1000, 2, 999, 5010),
        (1000, 2, 1298, 8000),
        (1000, 2, 99_999, 8000),
        (1000, 100, 799, 0),
        (1000, 100, 800, 0),  # slack 100 = the expected run time, which is longer than the window
        (1000, 100, 825, 1250),
        (1000, 100, 900, 5000),
        (1000, 0, 1000, 5000),
    ],
)
def test_urgency_follows_the_slack(deadline: float, expected_s: float, now: float, points: float) -> None:
    assert decide_urgency(deadline, expected_s, now) == pytest.approx(points)


def test_a_deadline_that_came_with_no_time_left_is_overdue_at_once() -> None:
    assert decide_urgency(deadline=60, expected_s=90, now=0) == 5300


def test_the_numbers_can_be_set() -> None:
    mild = Urgency(window_s=10, at_start=100, rate=1, late_most=50)
    assert [decide_urgency(100, 0, now, mild) for now in (90, 95, 100, 120, 900)] == [0, 50, 100, 120, 150]
    assert mild.most == 150


@given(MOMENTS, LENGTHS, MOMENTS, LENGTHS)
def test_urgency_never_falls_as_time_passes_and_stays_in_bounds(
    deadline: float, expected_s: float, now: float, later_s: float
) -> None:
    before = decide_urgency(deadline, expected_s, now)
    after = decide_urgency(deadline, expected_s, now + later_s)
    assert 0 <= before <= after <= URGENCY.most
