"""The quota and the age of logs: which go, oldest first, never one that is still written to.

The directory is read and files are deleted in a thread of their own; the loop only decides. The cap of each log is
the runner's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cronoq_cli.config.settings import LogSettings
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.model.words import format_size

log = logging.getLogger(__name__)

SOONEST_S = 60.0
"""Between two looks at all logs at least; and a look takes at most a hundredth of the time."""
TARGET = 0.9
"""Above the quota so much goes that this share of it is left, so that not each end brings the next look."""
_BLOCK = 512


class LogFile(NamedTuple):
    """One log on the disk: when it was written last (unix seconds), and the bytes it takes there."""

    changed_at: float
    taken: int
    path: str
    task: int


def list_logs(directory: str) -> list[LogFile]:
    """Every log below the log directory, in no order; what vanishes meanwhile is left out."""
    found: list[LogFile] = []
    for part in _scan(directory):
        if part.is_dir(follow_symlinks=False):
            found += [made for entry in _scan(part.path) if (made := _read_log(entry)) is not None]
    return found


def _scan(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _read_log(entry: os.DirEntry[str]) -> LogFile | None:
    task, _, rest = entry.name.partition(".")
    if not task.isdecimal() or not rest.endswith((".log", ".err")):
        return None
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return LogFile(status.st_mtime, status.st_blocks * _BLOCK, entry.path, int(task))


def decide_dropped(
    logs: Iterable[LogFile], settings: LogSettings, now: float, is_written: Callable[[int], bool]
) -> list[LogFile]:
    """The logs to delete: those older than `keep`, then the oldest until all take less than the quota.

    `is_written` tells of a task whether something of it runs: none of its logs goes.
    """
    logs = sorted(logs)
    excess = sum(entry.taken for entry in logs) - settings.quota if settings.quota else 0
    if excess > 0:
        excess += int(settings.quota * (1 - TARGET))
    dropped = []
    for entry in logs:
        too_old = settings.keep_s is not None and entry.changed_at < now - settings.keep_s
        if ((excess > 0 and entry.taken) or too_old) and not is_written(entry.task):
            dropped.append(entry)
            excess -= entry.taken
    return dropped


def delete_logs(logs: Iterable[LogFile]) -> None:
    """Delete files; what cannot go stays."""
    for entry in logs:
        try:
            os.unlink(entry.path)
        except OSError:
            continue


class LogKeeper:
    """Looks at all logs when the pruner says that something may have come to an end."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._next_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def consider(self) -> None:
        """Look now, unless that is under way or was done a moment ago."""
        loop = asyncio.get_running_loop()
        if self._task is None and loop.time() >= self._next_at:
            self._task = loop.create_task(self._look())

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        begun = time.monotonic()
        try:
            logs = await asyncio.to_thread(list_logs, self._desk.paths.logs_dir)
            dropped = decide_dropped(logs, self._desk.settings.logs, time.time(), self._is_written)
            if dropped:
                await asyncio.to_thread(delete_logs, dropped)
                freed = format_size(sum(entry.taken for entry in dropped))
                log.info("%d logs were deleted, %s: logs.quota, logs.keep", len(dropped), freed)
        finally:
            took_s = time.monotonic() - begun
            self._next_at = asyncio.get_running_loop().time() + max(SOONEST_S, took_s * 100)
            self._task = None

    def _is_written(self, task_id: int) -> bool:
        task = self._desk.scheduler.find_live(task_id)
        return task is not None and (task.has_process or task.leased)
