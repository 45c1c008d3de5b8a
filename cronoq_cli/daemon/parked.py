"""Requests that wait: for leases to come back, or for tasks to end. They have changed nothing and are run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Done = Callable[[Any], None]
Call = Callable[[], Any]


class Unsettled(Exception):
    """Raised by a handler, before any change, when leased tasks must come back from the runner first."""

    def __init__(self, ids: Iterable[int]) -> None:
        super().__init__("leases must come back first")
        self.ids = tuple(ids)


class NotYet(Exception):
    """Raised by a handler that has to be run again when one of these tasks ends."""

    def __init__(self, ids: Iterable[int]) -> None:
        super().__init__("tasks have not ended yet")
        self.ids = tuple(ids)


class Parked:
    """What waits, found by the tasks it waits for."""

    def __init__(self) -> None:
        self._next = 0
        self._entries: dict[int, tuple[Unsettled | NotYet, Call, Done]] = {}
        self._by_task: dict[int, set[int]] = {}
        self._unsettled: set[int] = set()

    def add(self, reason: Unsettled | NotYet, call: Call, done: Done) -> int:
        """Keep a call; returns its number."""
        self._next += 1
        self._entries[self._next] = (reason, call, done)
        if isinstance(reason, NotYet):
            for task_id in reason.ids:
                self._by_task.setdefault(task_id, set()).add(self._next)
        else:
            self._unsettled.add(self._next)
        return self._next

    def forget(self, number: int) -> Unsettled | NotYet | None:
        """Drop an entry (its client went away); why it waited, or None when it waits no more."""
        entry = self._entries.pop(number, None)
        if entry is None:
            return None
        reason = entry[0]
        self._unsettled.discard(number)
        if isinstance(reason, NotYet):
            for task_id in reason.ids:
                waiting = self._by_task.get(task_id)
                if waiting is not None:
                    waiting.discard(number)
                    if not waiting:
                        del self._by_task[task_id]
        return reason

    def take_ended(self, ended: Iterable[int]) -> Iterator[tuple[Call, Done]]:
        """What waited for one of these tasks to end, removed."""
        numbers = sorted({number for task_id in ended for number in self._by_task.get(task_id, ())})
        for number in numbers:
            _, call, done = self._entries[number]
            self.forget(number)
            yield call, done

    def take_settled(self, is_leased: Callable[[int], bool]) -> list[tuple[Unsettled, Call, Done]]:
        """What waited for leases none of which is out any more, removed."""
        settled: list[tuple[Unsettled, Call, Done]] = []
        for number in sorted(self._unsettled):
            reason, call, done = self._entries[number]
            if isinstance(reason, Unsettled) and not any(map(is_leased, reason.ids)):
                self.forget(number)
                settled.append((reason, call, done))
        return settled
