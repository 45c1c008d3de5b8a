"""What may be reserved, and when a freed worker is kept for a fixed start."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine.reservations import Candidate, Reservation, Reservations, decide_hold, decide_limit
from cronoq_cli.errors import ConflictError

WANTS = st.lists(
    st.tuples(st.integers(0, 100), st.integers(1, 3), st.integers(1, 40), st.booleans()), min_size=1, max_size=40
)


@pytest.mark.parametrize(
    ("fraction", "most", "limit"),
    [(0.5, 8, 4), (0.5, 7, 3), (0.5, 1, 1), (0, 8, 1), (0.3, 10, 3), (0.29, 100, 29), (1, 5, 5)],
)
def test_a_fraction_of_the_workers_may_be_reserved_but_always_one(fraction: float, most: int, limit: int) -> None:
    assert decide_limit(fraction, most) == limit


def test_a_reservation_beyond_the_fraction_is_refused_with_the_moment() -> None:
    reserved = Reservations()
    reserved.add(1, 1000, 1, 60)
    reserved.add(2, 1030, 1, 60)
    reserved.check(1060, 1, 60, limit=2)  # the first has ended then
    reserved.check(940, 2, 60, limit=2)
    with pytest.raises(ConflictError, match=r"2 of the 2 slots .* 1970-01-01T00:17:10") as caught:
        reserved.check(1000, 1, 60, limit=2)
    assert int(caught.value.exit) == 4
    assert caught.value.code == "reservation-conflict"
    with pytest.raises(ConflictError, match="3 slots is more than the 2"):
        reserved.check(9000, 3, 60, limit=2)


def test_starts_at_one_instant_meet_even_when_they_take_no_time() -> None:
    reserved = Reservations()
    reserved.add(1, 1000, 1, 0)
    with pytest.raises(ConflictError):
        reserved.check(1000, 1, 0, limit=1)
    reserved.check(1001, 1, 0, limit=1)


def test_a_long_reservation_is_seen_behind_many_short_ones() -> None:
    reserved = Reservations()
    reserved.add(1, 0, 1, 10_000)
    for number in range(100):
        reserved.add(2 + number, 10 * number, 1, 5)
    with pytest.raises(ConflictError):
        reserved.check(5000, 1, 5, limit=1)
    reserved.remove(1)
    reserved.check(5000, 1, 5, limit=1)


def test_a_task_has_one_reservation_and_its_end_is_free_for_others() -> None:
    reserved = Reservations()
    reserved.add(1, 1000, 2, 60)
    reserved.add(1, 2000, 1, 60)
    assert len(reserved) == 1
    assert reserved.find(1) == Reservation(2000, 1, 1, 60)
    reserved.check(1000, 2, 60, limit=2)
    reserved.remove(1)
    reserved.remove(1)
    assert reserved.find(1) is None
    assert len(reserved) == 0


def test_what_starts_soon_and_what_is_overdue_is_upcoming_in_order() -> None:
    reserved = Reservations()
    for task_id, start_at in [(1, 1300), (2, 900), (3, 1301), (4, 1000), (5, 1000)]:
        reserved.add(task_id, start_at, 1, 60)
    assert [known.task_id for known in reserved.upcoming(1000, 300)] == [2, 4, 5, 1]
    assert reserved.count_slots(1000, 0) == 3


@given(WANTS, st.integers(1, 4))
def test_exactly_what_fits_at_every_instant_is_taken(wants: list[tuple[int, int, int, bool]], limit: int) -> None:
    reserved, taken = Reservations(), dict[int, tuple[int, int, int]]()
    for task_id, (start, slots, length, goes) in enumerate(wants, 1):
        busiest = max(
            sum(other for at, other, lasts in taken.values() if at <= moment < at + lasts)
            for moment in range(start, start + length)
        )
        if busiest + slots > limit:
            with pytest.raises(ConflictError):
                reserved.check(start, slots, length, limit)
            continue
        reserved.check(start, slots, length, limit)
        reserved.add(task_id, start, slots, length)
        taken[task_id] = (start, slots, length)
        if goes:
            gone = min(taken)
            reserved.remove(gone)
            del taken[gone]
    assert len(reserved) == len(taken)


FIXED = Reservation(1000, 7, 2, 60)


@pytest.mark.parametrize(
    ("free_now", "running", "end_at", "spoilt"),
    [
        (3, [], 1001, None),  # two are still free then
        (2, [], 1001, 7),
        (1, [], 1000, None),  # over by the start
        (1, [(2, 999)], 1001, None),  # two end in time
        (1, [(1, 999)], 1001, 7),
        (1, [(2, 1001)], 1001, 7),
        (1, [(8, 5000)], 1001, 7),  # too late in any case: what is free is kept for it
    ],
)
def test_a_worker_is_kept_when_too_few_would_be_free_at_the_start(
    free_now: int, running: list[tuple[int, float]], end_at: float, spoilt: int | None
) -> None:
    assert decide_hold(free_now, running, Candidate(1, end_at), [FIXED]) == spoilt


def test_an_earlier_fixed_start_counts_as_running_for_the_later_one() -> None:
    later = Reservation(1030, 8, 2, 60)
    assert decide_hold(4, [], Candidate(1, 1010), [FIXED, later]) is None
    assert decide_hold(4, [], Candidate(1, 1040), [FIXED, later]) == 8
    assert decide_hold(4, [], Candidate(1, 1040), [FIXED, later._replace(start_at=1060)]) is None
    assert decide_hold(5, [], Candidate(1, 1040), [FIXED, later]) is None


def test_without_fixed_starts_nothing_is_kept() -> None:
    assert decide_hold(1, [], Candidate(1, 1e12), []) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_fixed_start_in_a_full_pool_of_short_tasks_begins_in_time(seed: int) -> None:
    """Four workers, an endless queue of tasks of 5 to 60 s with known run times, max_hold 5 minutes."""
    draw = random.Random(seed)
    reserved = Reservations()
    start_at, slots = draw.uniform(400, 900), draw.choice([1, 2])
    reserved.add(1, start_at, slots, 60)
    running: list[tuple[int, float]] = []
    now, idle_s = 0.0, 0.0
    while now < start_at:
        running = [(width, end_at) for width, end_at in running if end_at > now]
        free = 4 - sum(width for width, _ in running)
        length_s = draw.uniform(5, 60)
        while free and decide_hold(free, running, Candidate(1, now + length_s), reserved.upcoming(now, 300)) is None:
            running.append((1, now + length_s))
            free -= 1
            length_s = draw.uniform(5, 60)
        later = min([end_at for _, end_at in running] + [now + 1])
        idle_s += free * (min(later, start_at) - now)
        now = min(later, start_at)
    assert 4 - sum(width for width, end_at in running if end_at > start_at) >= slots
    assert idle_s < slots * 60 + 60  # and not much was left idle for it
