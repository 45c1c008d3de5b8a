"""Requests that wait: for leases to come back, for tasks to end, for room, for the commit under way. They have changed
nothing and are run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cronoq_cli.daemon.commits import Job

Done = Callable[[Any], None]
Call = Callable[[], Any]


class Unsettled(Exception):
    """Raised by a handler, before any change, when leased tasks must come back from the runner first."""

    def __init__(self, ids: Iterable[int]) -> None:
        super().__init__("leases must come back first")
        self.ids = tuple(ids)


class NotYet(Exception):
    """Raised by a handler that has to be run again when one of these tasks ends, or with `every` when all have."""

    def __init__(self, ids: Iterable[int], *, every: bool = False) -> None:
        super().__init__("tasks have not ended yet")
        self.ids = frozenset(ids)
        self.every = every


class AwaitRoom(Exception):
    """Raised by a handler, before any change, when its tasks must wait for room in a pool (overflow `wait`)."""

    def __init__(self, pool: str) -> None:
        super().__init__("there is no room yet")
        self.pool = pool


class AwaitCommit(Exception):
    """Raised, before any change, for a request that decides something while a commit is under way."""


class AwaitWrite(Exception):
    """Raised by a handler, before any change, that needs the outcome of a job on the store; run again it is there."""

    def __init__(self, job: Job) -> None:
        super().__init__("the store is to be written first")
        self.job = job


Reason = Unsettled | NotYet | AwaitRoom | AwaitCommit


class Ticket:
    """Who asked, through every time the call is run again: `number` is the present entry, `first` the first."""

    __slots__ = ("first", "number")

    def __init__(self) -> None:
        self.number: int | None = None
        self.first: int | None = None


class Parked:
    """What waits, found by the tasks it waits for."""

    def __init__(self) -> None:
        self._next = 0
        self._entries: dict[int, tuple[Reason, Call, Done, Ticket]] = {}
        self._for_room: dict[int, str] = {}
        self._by_task: dict[int, set[int]] = {}
        self._open: dict[int, int] = {}
        """How many of the tasks an entry waits for have not ended since."""
        self._unsettled: set[int] = set()
        self._for_commit: dict[int, None] = {}

    def add(self, reason: Reason, call: Call, done: Done, ticket: Ticket) -> None:
        """Keep a call; its number is on the ticket."""
        self._next += 1
        ticket.number = self._next
        ticket.first = ticket.first or self._next
        self._entries[self._next] = (reason, call, done, ticket)
        if isinstance(reason, NotYet):
            self._open[self._next] = len(reason.ids)
            for task_id in reason.ids:
                self._by_task.setdefault(task_id, set()).add(self._next)
        elif isinstance(reason, AwaitRoom):
            self._for_room[self._next] = reason.pool
        elif isinstance(reason, AwaitCommit):
            self._for_commit[self._next] = None
        else:
            self._unsettled.add(self._next)

    def forget(self, number: int | None) -> Reason | None:
        """Drop an entry (its client went away); why it waited, or None when it waits no more."""
        entry = None if number is None else self._entries.pop(number, None)
        if entry is None or number is None:
            return None
        entry[3].number = None
        reason = entry[0]
        self._unsettled.discard(number)
        self._for_room.pop(number, None)
        self._for_commit.pop(number, None)
        if isinstance(reason, NotYet):
            del self._open[number]
            for task_id in reason.ids:
                waiting = self._by_task.get(task_id)
                if waiting is not None:
                    waiting.discard(number)
                    if not waiting:
                        del self._by_task[task_id]
        return reason

    def take_ended(self, ended: Iterable[int]) -> Iterator[tuple[Call, Done, Ticket]]:
        """What waited for one of these tasks to end, removed."""
        touched: dict[int, None] = {}
        for task_id in ended:
            for number in self._by_task.pop(task_id, ()):
                touched[number] = None
                self._open[number] -= 1
        for number in sorted(touched):
            entry = self._entries.get(number)
            if entry is not None and isinstance(entry[0], NotYet) and not (entry[0].every and self._open[number]):
                _, call, done, ticket = entry
                self.forget(number)
                yield call, done, ticket

    def take_committed(self) -> list[tuple[Call, Done, Ticket]]:
        """What waited for the commit that was under way, first come first, removed."""
        found = []
        for number in list(self._for_commit):
            _, call, done, ticket = self._entries[number]
            self.forget(number)
            found.append((call, done, ticket))
        return found

    def take_settled(self, is_leased: Callable[[int], bool]) -> list[tuple[Unsettled, Call, Done, Ticket]]:
        """What waited for leases none of which is out any more, removed."""
        settled: list[tuple[Unsettled, Call, Done, Ticket]] = []
        for number in sorted(self._unsettled):
            reason, call, done, ticket = self._entries[number]
            if isinstance(reason, Unsettled) and not any(map(is_leased, reason.ids)):
                self.forget(number)
                settled.append((reason, call, done, ticket))
        return settled

    def find_first_for_room(self, has_room: Callable[[str], bool]) -> tuple[Call, Done, Ticket] | None:
        """Of what waits for room the one that came first and whose pool has some, removed."""
        able = [number for number, pool in self._for_room.items() if has_room(pool)]
        if not able:
            return None
        number = min(able, key=lambda one: self._entries[one][3].first or one)
        _, call, done, ticket = self._entries[number]
        self.forget(number)
        return call, done, ticket
