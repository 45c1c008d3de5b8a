"""Writing the store, here or in the thread beside the loop, as `pace` says; and which connection reads may use.

What is written, and in which order, is the scheduler's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from cronoq_cli.daemon.pace import Pace
from cronoq_cli.daemon.writer_thread import NoThreadError, WriterThread
from cronoq_cli.errors import CronoqError, StoreError, StoreFullError
from cronoq_cli.store.contract import Changes, Store, StoreReader

log = logging.getLogger(__name__)

OUT_OF_MEMORY = "the daemon is out of memory"
Job = Callable[[Store], Any]
"""Writes the store."""
Then = Callable[[Any], None]
"""Takes what a job returned, or the CronoqError it ended with."""


class Thread(Protocol):
    """Where jobs are done beside the loop."""

    def submit(self, call: Callable[[], Any], deliver: Callable[[Any], None]) -> None:
        """Do `call` there; `deliver` its result or exception in the loop, later. One at a time.

        Raises NoThreadError, with nothing begun."""
        ...

    def wait(self) -> None:
        """Hold the loop until the last job is done and its outcome delivered."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Commits:
    """Writes one store. One job at a time: the next one begins when the outcome of the last was taken."""

    def __init__(self, store: Store, pace: Pace | None = None, thread: Thread | None = None) -> None:
        self.pace = pace or Pace("loop")
        self.beside = False
        """Whether the last job was given to the thread."""
        self._store = store
        self._reader: StoreReader = store
        self._thread = thread or WriterThread()

    @property
    def reader(self) -> StoreReader:
        """What reads may use, also while the thread writes."""
        return self._reader if self.beside else self._store

    def write(self, job: Job, then: Then, *, rows: int | None = None) -> None:
        """Do a job and hand its outcome to `then`: before this returns, or later in the loop.

        `rows`: how many a commit writes; of what is no commit None, nothing is learned of it."""
        self.beside = self.pace.decide_beside(time.monotonic()) and self._open_beside()
        if self.beside:
            try:
                self._thread.submit(lambda: self._do(job), lambda timed: self._take(timed, then, rows))
            except NoThreadError as error:
                log.warning("a commit is made in the loop: %s", error)
                self.beside = False
        if not self.beside:
            self._take(self._do(job), then, rows)

    def wait(self) -> None:
        """Hold the loop until the job in the thread, if there is one, is done and its outcome taken."""
        if self.beside:
            self._thread.wait()

    def close(self) -> None:
        """End the thread; what it has begun is finished first."""
        self._thread.close()

    def _open_beside(self) -> bool:
        """Whether reads have a connection of their own."""
        if self._reader is self._store:
            try:
                self._reader = self._store.open_beside()
            except StoreError as error:
                log.warning("commits stay in the loop: %s", error.message)
                self.pace.choice = "loop"
                return False
        return True

    def _do(self, job: Job) -> tuple[Any, float]:
        """The outcome of a job, and the seconds it took."""
        began = time.monotonic()
        try:
            outcome = job(self._store)
        except CronoqError as error:
            outcome = error
        except Exception as error:
            outcome = own_up(error)
        return outcome, time.monotonic() - began

    def _take(self, timed: Any, then: Then, rows: int | None) -> None:
        outcome, took_s = (own_up(timed), 0.0) if isinstance(timed, BaseException) else timed
        if rows is not None and self.pace.note(took_s, rows, time.monotonic()):
            log.info("a commit took %.0f ms: they are made beside the loop for now", took_s * 1e3)
        then(outcome)


def count_rows(changes: Changes) -> int:
    """About how many rows a commit writes."""
    tasks = len(changes.new) + len(changes.updated) + len(changes.respecced) + len(changes.removed)
    bulks = sum(len(bulk.specs) for bulk in changes.bulks)
    edges = len(changes.edges_opened) + len(changes.edges_closed)
    return tasks + bulks + edges + len(changes.attempts) + len(changes.transitions)


def own_up(error: BaseException) -> StoreFullError:
    """What an error that is none of the store's means: nothing was stored, and it is tried again later."""
    if isinstance(error, MemoryError):
        return StoreFullError(OUT_OF_MEMORY, code="no-memory")
    log.error("a commit failed by an internal error", exc_info=error)
    return StoreFullError(f"internal error in the daemon: {type(error).__name__}", code="internal")
