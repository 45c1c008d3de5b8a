"""The one tree of errors, and the exit statuses they end in.

Every error carries a code for programs, a message for people, a hint what would be right, and the exit status
of the specification (section 11). This module imports nothing of the package.
"""

from __future__ import annotations

import errno
from enum import IntEnum

LACKING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors by which the machine says that it has no more of something; nobody's input is to blame."""


class ExitStatus(IntEnum):
    """Exit statuses of ordinary verbs; what `run` and `wait` make of them stands in `commands/outcome`."""

    OK = 0
    NO = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    NO_DAEMON = 5
    PROTOCOL = 6
    INVALID = 7
    TRY_LATER = 75
    TIMED_OUT = 124
    INTERNAL = 125
    INTERRUPTED = 130


EXAMINE = "cronoq doctor looks at files, socket and daemon"
START = "start one with: cronoq daemon start"
QUEUE_ONE = "cronoq submit -- COMMAND queues one"
"""Hints that several errors have in common."""


class CronoqError(Exception):
    """Anything cronoq refuses or fails at, ready to be printed as one line.

    `code` is a stable word for programs, `message` says what was wrong and where, `hint` what would be right.
    """

    code = "internal"
    exit = ExitStatus.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def line(self) -> str:
        """The error as one line of text, the hint behind it."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(CronoqError):
    """The words alone show that it is wrong: option, duration, time, key."""

    code = "usage"
    exit = ExitStatus.USAGE


class NotFoundError(CronoqError):
    """Nothing matched, or no task has that id or key."""

    code = "not-found"
    exit = ExitStatus.NOT_FOUND


class ConflictError(CronoqError):
    """Refused in this state."""

    code = "conflict"
    exit = ExitStatus.CONFLICT


class NoDaemonError(CronoqError):
    """No daemon runs and none could be started."""

    code = "no-daemon"
    exit = ExitStatus.NO_DAEMON


class ProtocolError(CronoqError):
    """The peer speaks another protocol version, or no protocol of ours at all."""

    code = "protocol"
    exit = ExitStatus.PROTOCOL


class InvalidError(CronoqError):
    """What needs configuration, store or a file's content to be judged: unknown pool, cycle, bad batch line."""

    code = "invalid"
    exit = ExitStatus.INVALID


class TryLaterError(CronoqError):
    """Full, draining, or no space: the same request may succeed later."""

    code = "try-later"
    exit = ExitStatus.TRY_LATER


class WaitTimeoutError(CronoqError):
    """The waiting ended before the task did."""

    code = "timeout"
    exit = ExitStatus.TIMED_OUT


class StoreError(CronoqError):
    """The store cannot be read or written."""

    code = "store"
    exit = ExitStatus.INVALID


class StoreBusyError(StoreError):
    """Another process holds the write lock: the same commit may succeed at once."""

    code = "store-busy"
    exit = ExitStatus.TRY_LATER


class StoreFullError(StoreError):
    """No space, or the disk refuses to write: nothing of this commit is stored."""

    code = "no-space"
    exit = ExitStatus.TRY_LATER


class FencedError(StoreError):
    """Another daemon leads this store now: this one must stop and write nothing more."""

    code = "fenced"
    exit = ExitStatus.CONFLICT
