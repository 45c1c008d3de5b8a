"""Which finished tasks go, decided over what a store found, the same for every store. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

Ended = tuple[float, int]
"""When a task ended (unix seconds), and its id."""

EVENTS_A_TASK = 8
"""Transitions kept for each finished task that may be kept: more than the few a task makes, so that the history of
tasks still there is rarely cut, and the whole is bounded."""


def decide_pruned(candidates: Iterable[Iterable[Ended]], needed: Callable[[int], bool], limit: int) -> list[int]:
    """Up to `limit` ids from the candidates' streams (each sorted, they may overlap), oldest end first, without
    those that are still needed."""
    chosen: list[int] = []
    last: Ended | None = None
    for item in heapq.merge(*candidates):
        if len(chosen) >= limit:
            break
        if item != last and not needed(item[1]):
            chosen.append(item[1])
        last = item
    return chosen


def decide_oldest_seq(last_seq: int, most_finished: int) -> int:
    """The seq up to which transitions may go when at most so many finished tasks are kept."""
    return last_seq - EVENTS_A_TASK * max(most_finished, 1000)
