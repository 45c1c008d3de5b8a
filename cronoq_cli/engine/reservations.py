"""Fixed starts of one pool: what is reserved, whether one more may be, and which start a task would spoil now.

What becomes of a start that is late is the miss policy's (timers and ends); nothing here stops a running task.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cronoq_cli.errors import ConflictError
from cronoq_cli.model.moment import format_utc

INSTANT_S = 0.001
"""The least time a reservation takes: two starts at one instant meet, whatever is expected of them."""


class Reservation(NamedTuple):
    """Slots for one fixed start: from `start_at` (unix seconds) for the expected run time. Ordered by start."""

    start_at: float
    task_id: int
    slots: int
    expected_s: float

    @property
    def end_at(self) -> float:
        """When its slots should be free again."""
        return self.start_at + self.expected_s


def _start_of(reservation: Reservation) -> float:
    return reservation.start_at


def decide_limit(reservable_fraction: float, most_workers: int) -> int:
    """Slots that may be reserved at one instant: max(1, floor(fraction × max workers)) (specification section 5)."""
    return max(1, int(reservable_fraction * most_workers + 1e-9))


class Reservations:
    """The reservations of one set of workers; `planned`: in order of their starts, to be read.

    Finding a place among them costs O(log n)."""

    __slots__ = ("_by_task", "_longest_s", "planned")

    def __init__(self) -> None:
        self.planned: list[Reservation] = []
        self._by_task: dict[int, Reservation] = {}
        self._longest_s = 0.0

    def __len__(self) -> int:
        return len(self.planned)

    def check(self, start_at: float, slots: int, expected_s: float, limit: int) -> None:
        """Refuses a start at which more than `limit` slots would be reserved here. Raises ConflictError."""
        check_reservable([self], Reservation(start_at, 0, slots, max(expected_s, INSTANT_S)), limit, "here")

    def list_meeting(self, start_at: float, end_at: float) -> list[Reservation]:
        """The reservations that hold slots at some instant of the time given.

        Only those that begin before its end, and no earlier than the longest ago that could still run, are looked at.
        Where one ends as the other begins, they do not meet.
        """
        first = bisect_left(self.planned, start_at - self._longest_s, key=_start_of)
        behind = bisect_left(self.planned, end_at, key=_start_of)
        return [reservation for reservation in self.planned[first:behind] if reservation.end_at > start_at]

    def add(self, task_id: int, start_at: float, slots: int, expected_s: float) -> None:
        """Reserve slots for a task; an earlier reservation of the same task is replaced."""
        self.remove(task_id)
        reservation = Reservation(start_at, task_id, slots, max(expected_s, INSTANT_S))
        insort(self.planned, reservation)
        self._by_task[task_id] = reservation
        self._longest_s = max(self._longest_s, reservation.expected_s)

    def put_back(self, reservation: Reservation) -> None:
        """Reserve again what was removed, just as it was."""
        self.add(reservation.task_id, reservation.start_at, reservation.slots, reservation.expected_s)

    def remove(self, task_id: int) -> None:
        """The task has started, or will not start: its slots are not reserved any more, if they were."""
        reservation = self._by_task.pop(task_id, None)
        if reservation is None:
            return
        del self.planned[bisect_left(self.planned, reservation)]
        if not self.planned:
            self._longest_s = 0.0

    def find(self, task_id: int) -> Reservation | None:
        """The reservation of this task, or None."""
        return self._by_task.get(task_id)

    def upcoming(self, now: float, max_hold_s: float) -> list[Reservation]:
        """The reservations for which freed workers may be kept now: from start - max_hold on, overdue ones too."""
        return self.planned[: bisect_right(self.planned, now + max_hold_s, key=_start_of)]

    def count_slots(self, now: float, horizon_s: float) -> int:
        """Slots of the reservations that start within the horizon (a term of the demand in autoscale)."""
        return sum(reservation.slots for reservation in self.upcoming(now, horizon_s))


def check_reservable(those: Iterable[Reservations], wanted: Reservation, limit: int, where: str) -> None:
    """Refuses a reservation with which, `where`, more than `limit` slots would be reserved by all of those at some
    instant. Raises ConflictError."""
    if wanted.slots > limit:
        raise ConflictError(
            f"a fixed start of {wanted.slots} slots is more than the {limit} that may be reserved {where}",
            hint="take fewer --slots, or raise the pool's reservable_fraction",
            code="reservation-conflict",
        )
    meeting = [one for each in those for one in each.list_meeting(wanted.start_at, wanted.end_at)]
    peak, peak_at = _find_peak(meeting, wanted.start_at)
    if peak + wanted.slots > limit:
        raise ConflictError(
            f"{peak} of the {limit} slots that may be reserved {where} are taken at {format_utc(peak_at)}",
            hint=f"this start needs {wanted.slots}; choose another time",
            code="reservation-conflict",
        )


def _find_peak(meeting: Iterable[Reservation], start_at: float) -> tuple[int, float]:
    """The most slots reserved at one instant from the start given on, and the first such instant."""
    steps: list[tuple[float, int]] = []
    for reservation in meeting:
        steps.append((max(reservation.start_at, start_at), reservation.slots))
        steps.append((reservation.end_at, -reservation.slots))
    steps.sort()
    taken, peak, peak_at = 0, 0, start_at
    for at, slots in steps:
        taken += slots
        if taken > peak:
            peak, peak_at = taken, at
    return peak, peak_at


class Candidate(NamedTuple):
    """A task that could start now, or one that runs: its slots, and when by its expected run time they are free."""

    slots: int
    expected_end_at: float


def decide_hold(
    free_now: int, running: Iterable[tuple[int, float]], candidate: Candidate, upcoming: Sequence[Reservation]
) -> int | None:
    """The task whose fixed start a candidate would spoil if it started now, or None: then it may start.

    From start - max_hold on, freed workers are kept when by expected run times too few would be free at the start
    (specification section 5). So a candidate that should end by the start harms nothing, and one that outlasts it
    does when, with it, fewer slots are free then than the fixed start needs, even where without it there were too
    few already: what is kept shortens the delay. Fixed starts before it, expected to run still, count as running.
    `running`: (slots, expected end) of what runs; one past its expected end counts as about to end.
    """
    ends = [*running]
    for reservation in upcoming:
        if candidate.expected_end_at > reservation.start_at:
            ended = sum(slots for slots, end_at in ends if end_at <= reservation.start_at)
            if free_now + ended - candidate.slots < reservation.slots:
                return reservation.task_id
        free_now -= reservation.slots
        ends.append((reservation.slots, reservation.end_at))
    return None
