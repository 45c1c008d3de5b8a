"""The runner's journal: append-only JSON lines that let another runner take over after a SIGKILL.

The living runner holds an OS lock on the file for its whole life. What the records mean is decided elsewhere.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_COMPACT_AT_BYTES: Final = 1024 * 1024
_RETRY_S: Final = 1.0

Record = dict[str, Any]


def open_locked(path: bytes, flags: int) -> int | None:
    """A descriptor of the file with its lock held, or None when a living runner holds it.

    Raises OSError; also for a link, a pipe or whatever else is no file that somebody has put there."""
    while True:
        descriptor = os.open(path, flags | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is no file", os.fsdecode(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A compaction may have put another file in its place between the opening and the lock.
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                os.close(descriptor)
                raise
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def read_records(descriptor: int) -> Iterator[Record]:
    """The whole records of a journal; a torn line at the end, or any that is no record, is passed over."""
    with open(descriptor, "rb", closefd=False) as stream:
        stream.seek(0)
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


class Journal:
    """Appends lines; what the disk refuses stays in memory, in order, and is tried again.

    `list_live` gives the lines that still matter; the file is rewritten with them when it has grown.
    """

    def __init__(self, path: bytes, descriptor: int, list_live: Callable[[], Iterable[str]]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._list_live = list_live
        self._lines: list[str] = []
        self._unwritten = b""
        self._size = os.fstat(descriptor).st_size
        self._compact_at = max(_COMPACT_AT_BYTES, 2 * self._size)
        self._retry_at = 0.0
        self.trouble: OSError | None = None

    def append(self, line: str) -> None:
        """Keep a line for the next flush."""
        self._lines.append(line)

    def flush(self) -> bool:
        """Whether everything appended so far is in the file now."""
        if self._lines:
            self._unwritten += ("\n".join(self._lines) + "\n").encode("ascii")
            self._lines.clear()
        if self._unwritten:
            self._write()
        if self._size > self._compact_at and not self._unwritten:
            self._compact()
        return not self._unwritten

    @property
    def retry_in_s(self) -> float | None:
        """Seconds until a refused write should be tried again; None when nothing is unwritten."""
        return max(self._retry_at - time.monotonic(), 0.0) if self._unwritten else None

    def _write(self) -> None:
        try:
            while self._unwritten:
                written = os.write(self._descriptor, self._unwritten)
                self._size += written
                self._unwritten = self._unwritten[written:]
            self.trouble = None
        except OSError as error:
            self.trouble = error
            self._retry_at = time.monotonic() + _RETRY_S

    def _compact(self) -> None:
        """Put a file with the live lines in place of this one; on trouble simply stay with the large one."""
        text = "".join(line + "\n" for line in self._list_live()).encode("ascii")
        self._compact_at = max(_COMPACT_AT_BYTES, 2 * len(text))
        if len(text) * 2 > self._size:
            return
        new_path = self.path + b".new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            _remove(new_path)
            descriptor = os.open(new_path, flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.write(descriptor, text) != len(text):
                    raise OSError("short write")
                os.rename(new_path, self.path)
            except OSError:
                os.close(descriptor)
                raise
        except OSError:
            self._compact_at = 2 * self._size
            return
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._size = len(text)

    def remove(self) -> None:
        """Delete the file; the runner leaves and nothing in it matters any more."""
        try:
            os.unlink(self.path)
        finally:
            os.close(self._descriptor)


def _remove(path: bytes) -> None:
    """What an earlier try has left, or somebody has put there; a link's target stays."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
