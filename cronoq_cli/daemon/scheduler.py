"""The one door: event -> engine -> commit -> perform -> answer.

Everything that happens in one turn of the loop, or while a commit is under way, shares the next commit. Nothing is
performed and nobody is answered before what it rests on is durable. The commit itself is in `committing`, what
requests mean in `handlers`, the runner's side in `runners`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from heapq import merge
from typing import Any, TypeVar

from cronoq_cli.daemon.commits import OUT_OF_MEMORY, Commits
from cronoq_cli.daemon.committing import Batch, Committing
from cronoq_cli.daemon.parked import AwaitCommit, AwaitRoom, AwaitWrite, Call, Done, NotYet, Parked, Ticket, Unsettled
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import LeasesRevoked, LeasesSettled, RunnerGone, TimePassed
from cronoq_cli.errors import TryLaterError
from cronoq_cli.model.notice import Notice
from cronoq_cli.model.ping import Ping
from cronoq_cli.model.task import Transition
from cronoq_cli.store.contract import NewTasks

T = TypeVar("T")

LONGEST_SLEEP_S = 60.0
"""A timer never sleeps longer: a changed wall clock is noticed at the latest then."""


class Scheduler(Committing):
    """Drives one engine. `on_commit` is told the transitions of each commit, `on_notices` and `on_pings` what others
    are to be told of it."""

    def __init__(self, commits: Commits, load: Callable[[], Engine], clock: Callable[[], Now]) -> None:
        super().__init__(commits, load, clock)
        self.on_commit: Callable[[Iterable[Transition]], None] = lambda transitions: None
        self.on_turn: Callable[[], None] = lambda: None
        self.on_notices: Callable[[list[Notice]], None] = lambda notices: None
        self.on_pings: Callable[[list[tuple[str, Ping]]], None] = lambda pings: None
        self.on_wake: Callable[[], object] = lambda: None
        self.on_ended: Callable[[], None] = lambda: None
        self._parked = Parked()
        self._timer: asyncio.TimerHandle | None = None

    # -- the door ------------------------------------------------------------------------------------------------

    def run(self, call: Callable[[], T], done: Callable[[T | BaseException], None]) -> Callable[[], None] | None:
        """Run `call` and hand its result to `done` when what it changed is committed.

        A call that must wait (Unsettled, NotYet) has changed nothing and is run again; what forgets it is returned."""
        ticket = Ticket()
        self._run(call, done, ticket)
        return None if ticket.number is None else lambda: self._forget(ticket)

    def _run(self, call: Call, done: Done, ticket: Ticket) -> None:
        self._needs_commit = False
        try:
            result: Any = call()
        except AwaitWrite as reason:
            self.write_later(reason.job, lambda outcome: self._run_with(outcome, call, done, ticket))
            return
        except (Unsettled, NotYet, AwaitRoom, AwaitCommit) as reason:
            self._parked.add(reason, call, done, ticket)
            if isinstance(reason, Unsettled):
                self.apply(LeasesRevoked(ids=list(reason.ids)))
            return
        except MemoryError as error:
            result = self._give_up_turn(error) if self._has_pending else TryLaterError(OUT_OF_MEMORY)
        except BaseException as error:  # handed to the one who asked, who knows what to say of it
            result = error
        finally:
            needs_commit, self._needs_commit = self._needs_commit, False
        if not needs_commit or self.is_settled:
            done(result)
        else:
            self._answers.append((done, result))
            self._schedule_flush()

    def _run_with(self, outcome: Any, call: Call, done: Done, ticket: Ticket) -> None:
        self._outcome = [outcome]
        try:
            self._run(call, done, ticket)
        finally:
            self._outcome = []

    def _forget(self, ticket: Ticket) -> None:
        """The one who asked is gone."""
        reason = self._parked.forget(ticket.number)
        if isinstance(reason, Unsettled):
            self.apply(LeasesSettled(list(reason.ids)))

    def settle_parked(self) -> None:
        """Run again what waited for leases that are settled now (called after the runner's reports, and commits)."""
        if self._batch is not None:
            return  # it could not be run yet, and its leases are kept back for it
        for reason, call, done, ticket in self._parked.take_settled(self._is_leased):
            self._run(call, done, ticket)
            self.apply(LeasesSettled(list(reason.ids)))

    def release_parked(self, number: int) -> None:
        """Run again what waits for this task number."""
        for call, done, ticket in self._parked.take_ended([number]):
            self._run(call, done, ticket)

    def _is_leased(self, task_id: int) -> bool:
        task = self.engine.find(task_id)
        return task is not None and task.leased and not task.leaving

    # -- after a commit ------------------------------------------------------------------------------------------

    def _finish_turn(self, batch: Batch) -> None:
        effects = batch.effects
        if effects.resized and self.performer is not None:
            self.performer.resize()
        if effects.actions and self.performer is not None:
            self.performer.perform(effects.actions)
        for done, result in batch.answers:
            done(result)
        if effects.notices:
            self.on_notices(effects.notices)
        if effects.pings:
            self.on_pings(effects.pings)
        if effects.transitions or batch.changes.bulks:
            self.on_commit(_merge_events(effects.transitions, batch.changes.bulks))
        if effects.ended:
            self.on_ended()
            for call, done, ticket in self._parked.take_ended(effects.ended):
                self._run(call, done, ticket)
        self._let_in()
        self._arm()
        self.on_turn()

    def _let_in(self) -> None:
        """Let submitters that wait for room try again, first come first served, as long as they get in."""
        while (found := self._parked.find_first_for_room(self._has_room)) is not None:
            call, done, ticket = found
            self._run(call, done, ticket)
            if ticket.number is not None:
                return

    def _has_room(self, name: str) -> bool:
        state = self.engine.state
        pool = state.pools.get(name)
        if pool is None or pool.plan.max_pending is None or pool.pending < pool.plan.max_pending:
            total = sum(one.pending for one in state.pools.values())
            return state.max_pending is None or total < state.max_pending
        return False

    def _run_waiting(self) -> None:
        for call, done, ticket in self._parked.take_committed():
            self._run(call, done, ticket)
        self.settle_parked()

    # -- time ------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait_s = self.engine.next_due_s(self.clock())
        if wait_s is not None and not self._closed:
            delay_s = min(wait_s, LONGEST_SLEEP_S)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)

    def hear_first(self) -> None:
        """Nothing is decided or started until every runner has said anew what it knows: what ended while we stood still
        is in nobody's way."""
        if self.refusing is None:
            self.apply(RunnerGone())
            if self.performer is not None:
                self.performer.ask_again()

    def _wake(self) -> None:
        self._timer = None
        if self.refusing is None:
            self.on_wake()
            self.apply(TimePassed())

    def start(self) -> None:
        """Begin to keep time."""
        self._schedule_flush()

    def close(self) -> None:
        """Write nothing more: what is pending is dropped (it is committed already, or was refused)."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().close()


def _merge_events(transitions: list[Transition], bulks: list[NewTasks]) -> Iterable[Transition]:
    """All lines of history of a commit in their order; those of bulks are made as they are asked for."""
    if not bulks:
        return transitions
    return merge(transitions, *(bulk.iter_events() for bulk in bulks), key=lambda event: event.seq)
