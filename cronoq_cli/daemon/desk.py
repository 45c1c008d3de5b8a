"""What every handler works with: the scheduler, the selector, the settings, and the way a task is described.

Handlers are functions of a desk and a request; this module decides nothing of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from cronoq_cli.config.paths import Paths
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.config.space import decide_guard, read_space
from cronoq_cli.daemon.orders import DEFAULT_SHELL
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.daemon.selection import Selecting
from cronoq_cli.engine.blockers import tell_briefly
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.errors import InvalidError, NotFoundError, TryLaterError
from cronoq_cli.logs.cap import can_cut
from cronoq_cli.logs.files import read_end
from cronoq_cli.model.ids import describe_missing, hint_for_id
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.places import log_places, report_name
from cronoq_cli.model.snapshot import Defaults, describe_task
from cronoq_cli.model.task import AttemptRecord, Edge, TaskRecord
from cronoq_cli.model.words import format_size, hint_for

SPACE_CHECK_S = 1.0
_NO_POOL = PoolSettings(workers=0)
_REPORT_TAIL = 4096
MOST_BATCHES = 1024
"""Of so many batches the last id is kept at hand."""


class Desk:
    """One daemon's desk."""

    def __init__(self, scheduler: Scheduler, settings: Settings, paths: Paths) -> None:
        self.scheduler = scheduler
        self.settings = settings
        self.paths = paths
        self.selecting = Selecting(scheduler)
        self._space_checked_at = float("-inf")
        self._holes: bool | None = None
        self._batch_ends: dict[int, int | None] = {}

    def now(self) -> Now:
        """The present moment on both clocks."""
        return self.scheduler.clock()

    def pool_settings(self, name: str) -> PoolSettings:
        """What the configuration says of a pool; nothing for one that is configured no more."""
        return self.settings.pools.get(name, _NO_POOL)

    def get_pool_settings(self, name: str) -> PoolSettings:
        """What the configuration says of a pool. Raises InvalidError for an unknown one."""
        found = self.settings.pools.get(name)
        if found is None:
            known = list(self.settings.pools)
            raise InvalidError(f"unknown pool {name!r}", hint=hint_for(name, known), code="unknown-pool")
        return found

    def get_record(self, task_id: int) -> TaskRecord:
        """A task as it stands. Raises NotFoundError."""
        record = self.scheduler.find_record(task_id)
        if record is None:
            raise NotFoundError(
                describe_missing(task_id, task_id), hint=hint_for_id(task_id, self.scheduler.engine.state.next_id - 1)
            )
        return record

    def find_status(self, task_id: int) -> Status | None:
        """The status of a task, None when it is unknown."""
        task = self.scheduler.find_live(task_id)
        if task is not None:
            return task.status
        record = self.scheduler.find_record(task_id)
        return None if record is None else record.status

    def check_space(self) -> None:
        """Raises TryLaterError when the state directory's file system is fuller than the guard allows."""
        now = self.now().awake
        if now - self._space_checked_at < SPACE_CHECK_S:
            return
        try:
            free, total = read_space(self.paths.state_dir)
        except OSError as error:
            raise TryLaterError(
                f"the state directory cannot be seen: {error.strerror}", hint="cronoq doctor", code="no-space"
            ) from error
        guard = decide_guard(self.settings.logs.min_free, total)
        if free < guard:
            raise TryLaterError(
                f"no space: {format_size(free)} free in {self.paths.state_dir}, {format_size(guard)} must stay free",
                hint="make room, or lower logs.min_free",
                code="no-space",
            )
        self._space_checked_at = now

    def can_cut_logs(self) -> bool:
        """Whether the file system of the logs can cut them; tried once in the life of the daemon."""
        if self._holes is None and os.path.isdir(self.paths.logs_dir):
            self._holes = can_cut(self.paths.logs_dir)
        return self._holes is not False

    # -- describing ----------------------------------------------------------------------------------------------

    def describe(
        self, record: TaskRecord, *, attempts: Sequence[AttemptRecord] | None = None, **facts: Any
    ) -> dict[str, Any]:
        """The document of a task, with what only the engine knows: why it waits, its pid, its progress."""
        live, now = self.scheduler.find_live(record.id), self.now()
        pool = self.pool_settings(record.spec.pool)
        if live is not None and live.is_waiting:
            record.reason = tell_briefly(self.scheduler.engine.state, live, now)
            if live.open_edges or record.spec.after:
                facts.setdefault("edges", self._list_open_edges(live.id))
        if record.status is Status.RUNNING:
            record.progress = self._read_progress(record) or record.progress
            facts.setdefault("expected_s", self._find_expected_s(record))
        record.log = self.find_log(record)
        for attempt in attempts or ():
            attempt.log, attempt.stderr_log = self.find_logs(record, attempt.number)
        facts["defaults"] = _find_defaults(pool.shell, pool.retries, pool.timeout_s, pool.on_lost)
        if attempts is not None:
            facts["attempts"] = attempts
        if record.batch is not None:
            facts["batch_end"] = self._find_batch_end(record.batch)
        return describe_task(record, now=now.wall, pid=None if live is None else live.pid, **facts)

    def _list_open_edges(self, task_id: int) -> list[Edge]:
        """What a task waits for; what has been met meanwhile, but is not committed, stands there too."""
        if self.scheduler.only_committed:
            return self.scheduler.store.list_edges(task_id)
        return self.scheduler.engine.state.graph.list_open(task_id)

    def _find_expected_s(self, record: TaskRecord) -> float | None:
        """How long a task is expected to run: its estimate, else what was learned of its kind; None without any."""
        if record.spec.estimate_s is not None:
            return record.spec.estimate_s
        known = self.scheduler.engine.state.run_times.find_run_time(record.spec.pool, record.spec.kind)
        return None if known is None or not known.count else known.expected_s

    def explain_waiting(self, task: LiveTask) -> str | None:
        """Why a task waits, in a few words."""
        return tell_briefly(self.scheduler.engine.state, task, self.now())

    def _find_batch_end(self, first: int) -> int | None:
        """The last id of the batch that begins with `first`; it never changes, and listings ask for it again."""
        if first not in self._batch_ends:
            live = self.scheduler.engine.state.batches.get(first)
            batch = self.scheduler.store.find_batch(first) if live is None else live.record
            if len(self._batch_ends) >= MOST_BATCHES:
                self._batch_ends.clear()
            self._batch_ends[first] = None if batch is None else batch.last
        return self._batch_ends[first]

    def find_log(self, record: TaskRecord) -> str | None:
        """Where the standard output of the newest attempt is, or None before the first."""
        return self.find_logs(record, record.attempt)[0] if record.attempt else None

    def find_logs(self, record: TaskRecord, attempt: int) -> tuple[str, str | None]:
        """Where an attempt's standard output is, and its standard error when that is apart."""
        return log_places(record.spec, self.paths.logs_dir, record.id, attempt)

    def _read_progress(self, record: TaskRecord) -> str | None:
        """The last progress a running task has reported; its report file is read when somebody asks."""
        path = os.path.join(self.paths.logs_dir, report_name(record.id, record.attempt))
        try:
            lines = read_end(path, _REPORT_TAIL).decode("utf-8", "replace").split("\n")
        except OSError:
            return None
        found = [line.removeprefix("progress=") for line in lines[:-1] if line.startswith("progress=")]
        return found[-1].strip() if found else None


@lru_cache(maxsize=256)
def _find_defaults(shell: str | None, retries: int | None, timeout_s: float | None, on_lost: str | None) -> Defaults:
    """What a pool that says this gives its tasks."""
    return Defaults(shell or DEFAULT_SHELL, retries or 0, timeout_s, on_lost or "count")
