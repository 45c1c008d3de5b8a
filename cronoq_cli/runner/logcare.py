"""Keeps the logs of running attempts below their cap, without waking up for tasks that write nothing.

A log is looked at soon after its start and, while it grows, as often as its growth asks for. A quiet one is left to
the kernel, which tells of the next write (inotify); where that cannot be had it is looked at ever less often.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Callable
from typing import Final

from cronoq_cli.logs.cap import NoHolesError, count_kept, cut_file, decide_cut, share_cap
from cronoq_cli.model.log_cap import HEAD_KEPT, LEAST_CAP
from cronoq_cli.runner.attempt import Attempt, split_by_age
from cronoq_cli.runner.loop import Loop, Timer

_FIRST_LOOK_S: Final = 0.1
_SOONEST_S: Final = 0.05
_LATEST_S: Final = 1.0
# Without the kernel's help a quiet log is looked at so seldom at the least.
_QUIET_LATEST_S: Final = 5.0
# Of what tasks leave behind the newest logs stay under care.
_MOST_LEFT: Final = 64
_IN_MODIFY: Final = 0x2
_IN_ONESHOT: Final = 0x80000000
_EVENT: Final = struct.Struct("iIII")


class CaredLog:
    """One log file: its cap in bytes, its size at the last look, and from where on its newest part is there."""

    __slots__ = ("cap", "kept_from", "looked_at", "path", "quiet_s", "size", "timer", "watch")

    def __init__(self, path: bytes, cap: int) -> None:
        self.path = path
        self.cap = cap
        self.size = 0
        self.kept_from = HEAD_KEPT
        self.looked_at = time.monotonic()
        self.quiet_s = _LATEST_S
        self.timer: Timer | None = None
        self.watch: int | None = None


class LogCare:
    """Cuts logs; nothing of it can fail an attempt."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._fresh: list[Attempt] = []
        self._fresh_timer: Timer | None = None
        self._logs: dict[bytes, CaredLog] = {}
        self._left: dict[bytes, None] = {}
        self._inotify = _Inotify(loop, self._on_written)

    def begin(self, attempt: Attempt) -> None:
        """Care for the logs of an attempt that has just started; of a short one nothing is ever looked at."""
        if attempt.log_cap is None or not attempt.logs:
            return
        self._fresh.append(attempt)
        if self._fresh_timer is None:
            self._fresh_timer = self._loop.call_after(_FIRST_LOOK_S, self._take_fresh)

    def end(self, attempt: Attempt, size: int) -> None:
        """An attempt is over, its logs `size` bytes together: they are cut a last time; what it left behind may go on
        writing."""
        if attempt.log_cap is None or not attempt.logs:
            return
        if not attempt.left_behind and size <= LEAST_CAP and attempt.logs[0] not in self._logs:
            return  # the common case
        for path in attempt.logs:
            log = self._logs.get(path) or CaredLog(path, share_cap(attempt.log_cap, len(attempt.logs)))
            self._cut(log)
            if attempt.left_behind:
                self._keep_for_left(log)
            else:
                self._drop(log)

    def _keep_for_left(self, log: CaredLog) -> None:
        if log.path not in self._logs:
            self._logs[log.path] = log
            self._look_in(log, _FIRST_LOOK_S)
        self._left[log.path] = None
        if len(self._left) > _MOST_LEFT:
            oldest = next(iter(self._left))
            self._drop(self._logs[oldest])

    def _take_fresh(self) -> None:
        living = [attempt for attempt in self._fresh if attempt.exit is None]
        old, self._fresh = split_by_age(living, _FIRST_LOOK_S)
        self._fresh_timer = None
        if self._fresh:
            self._fresh_timer = self._loop.call_at(self._fresh[0].started_awake + _FIRST_LOOK_S, self._take_fresh)
        for attempt in old:
            cap = share_cap(attempt.log_cap or 0, len(attempt.logs))
            for path in attempt.logs:
                log = self._logs[path] = CaredLog(path, cap)
                log.looked_at -= _FIRST_LOOK_S
                self._look(log)

    def _look(self, log: CaredLog) -> None:
        """Cut what is to go, and decide how to learn of more."""
        before, then = log.size, log.looked_at
        log.timer = None
        if not self._cut(log):
            self._drop(log)
            return
        grown = log.size - before
        if grown > 0:
            log.quiet_s = _LATEST_S
            self._look_in(log, _decide_delay(log, grown, log.looked_at - then))
        else:
            self._rest(log)

    def _rest(self, log: CaredLog) -> None:
        """Nothing was written: sleep until something is."""
        log.watch = self._inotify.add(log)
        if log.watch is None:
            self._look_in(log, log.quiet_s)
            log.quiet_s = min(log.quiet_s * 2, _QUIET_LATEST_S)
        elif _measure(log.path) != log.size:
            self._inotify.remove(log.watch)  # written before the kernel began to watch
            log.watch = None
            self._look_in(log, _FIRST_LOOK_S)

    def _on_written(self, log: CaredLog) -> None:
        log.watch = None
        log.looked_at = time.monotonic()
        if log.timer is None:
            self._look_in(log, _FIRST_LOOK_S)

    def _look_in(self, log: CaredLog, delay_s: float) -> None:
        log.timer = self._loop.call_after(delay_s, lambda: self._look(log))

    def _cut(self, log: CaredLog) -> bool:
        """Cut a log that is above its cap; False when there is nothing more to be done for it."""
        size = _measure(log.path)
        log.looked_at = time.monotonic()
        if size is None:
            return False
        if size < log.size:
            log.kept_from = HEAD_KEPT  # its task has emptied it
        log.size = size
        end = decide_cut(size, log.kept_from, log.cap)
        if end is None:
            return True
        try:
            cut_file(log.path, end)
        except NoHolesError:
            return False
        except OSError:
            return True
        log.kept_from = end
        return True

    def _drop(self, log: CaredLog) -> None:
        self._logs.pop(log.path, None)
        self._left.pop(log.path, None)
        if log.timer is not None:
            log.timer.cancel()
            log.timer = None
        if log.watch is not None:
            self._inotify.remove(log.watch)
            log.watch = None


def _measure(path: bytes) -> int | None:
    try:
        return os.lstat(path).st_size
    except OSError:
        return None


def _decide_delay(log: CaredLog, grown: int, within_s: float) -> float:
    """Seconds until half of what room is left is written, at the pace of late."""
    room = log.cap - count_kept(log.size, log.kept_from)
    pace = grown / max(within_s, 0.001)
    return min(max(room / pace / 2, _SOONEST_S), _LATEST_S)


class _Inotify:
    """The kernel's word that a file was written to: once for each watch.

    Opened at once, so that a runner has as many descriptors open after its first long task as before.
    """

    def __init__(self, loop: Loop, on_written: Callable[[CaredLog], None]) -> None:
        self._loop = loop
        self._on_written = on_written
        self._logs: dict[int, CaredLog] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._open()

    def add(self, log: CaredLog) -> int | None:
        """Tell of the next write; the number of the watch, or None where the kernel has no more to give."""
        if self._descriptor is None:
            return None
        watch: int = self._libc.inotify_add_watch(self._descriptor, log.path, ctypes.c_uint32(_IN_MODIFY | _IN_ONESHOT))
        if watch < 0:
            return None
        self._logs[watch] = log
        return watch

    def remove(self, watch: int) -> None:
        """Tell nothing more of a file."""
        if self._logs.pop(watch, None) is not None:
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def _open(self) -> int | None:
        descriptor: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            return None
        self._loop.watch(descriptor, self._read)
        return descriptor

    def _read(self, _events: int) -> None:
        if self._descriptor is None:
            return
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return
        place = 0
        while place + _EVENT.size <= len(data):
            watch, mask, _cookie, length = _EVENT.unpack_from(data, place)
            place += _EVENT.size + length
            log = self._logs.pop(watch, None) if mask & _IN_MODIFY else None
            if log is not None:
                self._on_written(log)
