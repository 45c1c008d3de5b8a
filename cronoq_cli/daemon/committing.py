"""What waits for its commit, the commit itself, and what it means when the store refuses it.

One commit is under way at a time; whatever changes meanwhile gathers for the next. Who may ask for changes, and what
follows from a commit, is the scheduler's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

from cronoq_cli.daemon.changes import collect_changes
from cronoq_cli.daemon.commits import OUT_OF_MEMORY, Commits, Job, Then, count_rows, own_up
from cronoq_cli.daemon.lookup import Counts, Lookup
from cronoq_cli.daemon.pace import Choice
from cronoq_cli.daemon.parked import AwaitCommit, AwaitWrite, Done
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Action, ClockChanged, Effects, Event
from cronoq_cli.errors import CronoqError, FencedError, StoreBusyError, StoreFullError, TryLaterError
from cronoq_cli.model.task import Transition
from cronoq_cli.store.contract import Changes

log = logging.getLogger(__name__)

BUSY_RETRY_S = 0.05
FULL_RETRY_S = (1.0, 2.0, 5.0, 10.0, 15.0)
"""Seconds between tries to write again while the disk refuses: the last one repeats."""
SPECS_KEPT = 4096
"""So many specs of new tasks stay in memory: most are started soon, and need not be read from the store then."""


class Batch(msgspec.Struct):
    """What shares one commit, from the engine's effects to the answers that wait for it."""

    effects: Effects = msgspec.field(default_factory=Effects)
    changes: Changes = msgspec.field(default_factory=Changes)
    answers: list[tuple[Done, Any]] = []


class Performer(Protocol):
    """What the scheduler sets in motion once it is committed."""

    def perform(self, actions: list[Action]) -> None:
        """Send orders to the runner."""
        ...

    def resize(self) -> None:
        """Tell the runners the pools' present sizes."""
        ...

    def ask_again(self) -> None:
        """Have every runner say once more what it knows (the engine was read anew from the store)."""
        ...

    def compare(self) -> None:
        """Compare with what the runners said, if that waited for the commit that was under way."""
        ...


class Committing(Lookup):
    """One engine over one store on one event loop. `load` makes an engine from the store, at the start and after a
    commit that the disk refused; `on_fatal` is called when this daemon must stop (fenced, store unreadable)."""

    def __init__(self, commits: Commits, load: Callable[[], Engine], clock: Callable[[], Now]) -> None:
        super().__init__(commits)
        self.clock = clock
        self.performer: Performer | None = None
        self.before_event: Callable[[], None] = lambda: None
        self.on_fatal: Callable[[CronoqError], None] = lambda error: None
        self.refusing: CronoqError | None = None
        self.commits = 0
        self._load = load
        self.engine = load()
        self._counts = self._copy_counts()
        self._answers: list[tuple[Done, Any]] = []
        self._extra = Changes()
        self._batch: Batch | None = None
        """The commit under way."""
        self._jobs: deque[tuple[Job, Then]] = deque()
        self._outcome: list[Any] = []
        """Of the job that the call under way has waited for."""
        self._flush_handle: asyncio.Handle | None = None
        self._retry: asyncio.TimerHandle | None = None
        """Until the disk is tried again."""
        self._full_tries = 0
        self._has_pending = False
        """Whether there may be something to commit that no commit under way has."""
        self._needs_commit = False
        self._step: Now | None = None
        """The moment of the events that are being applied together."""
        self._closed = False

    @abstractmethod
    def _finish_turn(self, batch: Batch) -> None:
        """Do what follows from a batch that is committed."""

    @abstractmethod
    def _run_waiting(self) -> None:
        """Run what waited for the end of the commit that was under way."""

    # -- what is to be committed ---------------------------------------------------------------------------------

    def apply(self, event: Event) -> Any:
        """Give the engine an event; what it changes is committed in this turn of the loop."""
        try:
            if self._step is not None:
                return self.engine.apply(event, self._step)
            self.before_event()
            result = self.engine.handle(event, self.clock())
        except MemoryError as error:
            raise self._give_up_turn(error) from error
        self._schedule_flush()
        return result

    @contextlib.contextmanager
    def in_one_step(self) -> Iterator[None]:
        """Within, events are of one moment, and what follows from them is done once, behind the last."""
        self.before_event()
        self._step = now = self.clock()
        try:
            yield
        finally:
            self._step = None
            try:
                self.engine.follow_up(now)
            except MemoryError as error:
                raise self._give_up_turn(error) from error
            self._schedule_flush()

    def add_rows(self, **rows: Any) -> None:
        """Have more rows written with the next commit: environments, kept input, removals."""
        for name, value in rows.items():
            kept = getattr(self._extra, name)
            kept.update(value) if isinstance(kept, dict) else kept.extend(value)
        self._schedule_flush()

    def must_commit(self) -> None:
        """The answer under way rests on changes: it waits for the commit."""
        self._needs_commit = True

    @property
    def is_settled(self) -> bool:
        """Whether the engine stands where the store does: nothing waits for a commit."""
        return self._batch is None and not self._has_pending

    @property
    def is_committing(self) -> bool:
        """Whether a commit is under way, the orders that follow from it not given yet."""
        return self._batch is not None

    def begin_deciding(self) -> None:
        """The call under way decides something by all that is known: whatever it says waits for the commit of that.

        Raises AwaitCommit while a commit is under way, whose end decides too. While the store refuses, none is: it is
        only tried."""
        if self.refusing is not None:
            return
        if self._batch is not None:
            raise AwaitCommit
        self.must_commit()

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Within, the call under way only looks: it waits for no commit, and sees nothing that a crash could undo.

        Only what the call has itself changed before, it sees: it waits for that commit anyway."""
        if self._needs_commit or self.is_settled:
            yield
            return
        with self.store.at_one_moment():
            self.only_committed = True
            try:
                yield
            finally:
                self.only_committed = False

    def write(self, job: Job) -> Any:
        """What a job on the store came to; for a handler that has changed nothing yet. Raises what the job raises, and
        AwaitWrite until it is done."""
        if not self._outcome:
            raise AwaitWrite(job)
        outcome = self._outcome.pop()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def write_later(self, job: Job, then: Then) -> None:
        """Do a job on the store as soon as all that waits is committed; its outcome, or CronoqError, goes to `then`."""
        self._jobs.append((job, then))
        self._schedule_flush()

    def choose_commits(self, choice: Choice) -> None:
        """Where commits are made from now on."""
        self._commits.pace.choice = choice

    def check_writable(self) -> None:
        """Raises TryLaterError while the store refuses to write."""
        if self.refusing is not None:
            raise TryLaterError(self.refusing.message, hint="try again when there is space", code=self.refusing.code)

    # -- committing ----------------------------------------------------------------------------------------------

    def _schedule_flush(self) -> None:
        self._has_pending = True
        if self._flush_handle is None and self._batch is None and not self._closed:
            self._flush_handle = asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Commit what is pending, then perform and answer. Called by the loop at the end of a turn."""
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        if self._batch is not None:
            return  # what is pending goes with the next commit
        self._has_pending = False
        effects = self.engine.take_effects()
        batch = Batch(effects, collect_changes(effects, self._extra), self._answers)
        self._extra, self._answers = Changes(), []
        self._batch, self._under_way = batch, effects
        if batch.changes:
            self._commit(batch, self._copy_counts())
        else:
            self._end_batch(batch)

    def flush_all(self) -> None:
        """Commit everything there is before this returns, or as far as the store lets us: for the daemon's end."""
        for _ in range(2):  # what is under way, and what has gathered behind it
            self._commits.wait()
            if self._has_pending:
                self.flush()
        self._commits.wait()

    def _commit(self, batch: Batch, counts: Counts) -> None:
        """Write a batch: `counts` are those with its changes."""
        changes = batch.changes
        self._commits.write(
            lambda store: store.commit(changes),
            lambda outcome: self._take_commit(batch, counts, outcome),
            rows=count_rows(changes),
        )

    def _take_commit(self, batch: Batch, counts: Counts, outcome: list[int] | CronoqError) -> None:
        if self._closed:
            return
        if isinstance(outcome, StoreBusyError):
            asyncio.get_running_loop().call_later(BUSY_RETRY_S, self._commit_again, batch, counts)
        elif isinstance(outcome, CronoqError):
            self._fail(outcome)
        else:
            self.commits += 1
            self._counts = counts
            self._publish(batch.effects, outcome)
            self._end_batch(batch)

    def _commit_again(self, batch: Batch, counts: Counts) -> None:
        if not self._closed:
            self._commit(batch, counts)

    def _end_batch(self, batch: Batch) -> None:
        """A batch is committed: what follows from it is done, and the next one may begin."""
        # Where a job on the store waits, nobody decides anything before: it could take the ground from that.
        self._batch, self._under_way = Batch() if self._jobs else None, None
        self._finish_turn(batch)
        if self._jobs:
            job, then = self._jobs.popleft()
            self._commits.write(job, lambda outcome: self._end_job(then, outcome))
        else:
            self._go_on()

    def _go_on(self) -> None:
        """No commit is under way any more: what waited for that is run."""
        self._run_waiting()
        if self.performer is not None and self.refusing is None:
            self.performer.compare()
        if self._has_pending:
            self._schedule_flush()

    def _end_job(self, then: Then, outcome: Any) -> None:
        if self._closed:
            return
        self._batch = None
        then(outcome)
        if self._jobs:
            self._schedule_flush()
        self._go_on()

    def _publish(self, effects: Effects, seqs: list[int]) -> None:
        for transition, seq in zip(effects.transitions, seqs, strict=False):
            transition.seq = seq
        self._full_tries = 0
        self.specs.update(effects.new)
        for bulk in effects.bulks:
            self.specs.update(enumerate(bulk.specs[:SPECS_KEPT], bulk.first))
        for task_id in effects.edited:
            self.specs.pop(task_id, None)
        for task_id in effects.ended:
            self.specs.pop(task_id, None)
        # Listed first: looking for the front again after each deletion walks over all that were deleted before.
        for task_id in list(islice(self.specs, max(0, len(self.specs) - SPECS_KEPT))):
            del self.specs[task_id]

    # -- when the store refuses ------------------------------------------------------------------------------------

    def _fail(self, error: CronoqError) -> None:
        """Nothing since the last commit is stored: everybody is told, and the engine is read anew, as after a crash."""
        answers = [*(self._batch.answers if self._batch is not None else ()), *self._answers]
        self._answers, self._extra = [], Changes()
        self._batch = self._under_way = None
        self._has_pending = False
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        if isinstance(error, FencedError) or not isinstance(error, StoreFullError):
            self.close()
            _refuse(answers, error)
            self.on_fatal(error)
            return
        if self.refusing is None:
            log.error("the store cannot be written: %s; new work is refused until it can", error.message)
        self.refusing = error
        self._reload()
        _refuse(answers, error)
        jobs, self._jobs = self._jobs, deque()
        for _, then in jobs:
            if then != self._take_probe:
                then(error)
        if self._retry is None and not self._closed:
            delay_s = FULL_RETRY_S[min(self._full_tries, len(FULL_RETRY_S) - 1)]
            self._full_tries += 1
            self._retry = asyncio.get_running_loop().call_later(delay_s, self._try_again)
        self._go_on()

    def _give_up_turn(self, error: Exception) -> TryLaterError:
        """Something broke within the door: nothing of this turn may stay in the engine. Returns what to say of it."""
        self._commits.wait()  # what is written already holds
        failure = own_up(error)
        self._fail(failure)
        return TryLaterError(failure.message, hint="nothing was queued or changed", code=failure.code)

    def _reload(self) -> None:
        self.specs.clear()
        try:
            self.engine = self._load()
            self._counts = self._copy_counts()
        except (CronoqError, MemoryError) as error:
            self.close()
            self.on_fatal(error if isinstance(error, CronoqError) else TryLaterError(OUT_OF_MEMORY))

    def _try_again(self) -> None:
        """Write one small row; when that works, have the runners say again what became of everything."""
        self._retry = None
        probe = Transition(at=self.clock().wall, type="store-writable", message="the store can be written again")
        self.write_later(lambda store: store.commit(Changes(transitions=[probe])), self._take_probe)

    def _take_probe(self, outcome: Any) -> None:
        if isinstance(outcome, CronoqError):
            self._fail(StoreFullError(outcome.message) if isinstance(outcome, StoreBusyError) else outcome)
            return
        log.info("the store can be written again")
        self.refusing = None
        self._full_tries = 0
        self.apply(ClockChanged(able_since=self.clock().wall))  # what fell due meanwhile could not be run
        if self.performer is not None:
            self.performer.ask_again()

    def close(self) -> None:
        """Write nothing more: what is pending is dropped (it is committed already, or was refused)."""
        self._closed = True
        for handle in (self._flush_handle, self._retry):
            if handle is not None:
                handle.cancel()
        self._flush_handle = self._retry = None
        self._commits.close()


def _refuse(answers: Iterable[tuple[Done, Any]], error: CronoqError) -> None:
    """Tell everybody whose answer rested on what could not be stored."""
    refusal = TryLaterError(error.message, hint="nothing was queued or changed", code=error.code)
    for done, _ in answers:
        done(refusal)
