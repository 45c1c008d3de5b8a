"""The kernel's word that the wall clock was set or the machine has slept, as a descriptor that becomes readable.

What follows from it is with daemon and runner. Standard library only; Python 3.11 has no timerfd of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from typing import Final

_TFD_NONBLOCK: Final = os.O_NONBLOCK
_TFD_CLOEXEC: Final = os.O_CLOEXEC
_TFD_TIMER_ABSTIME: Final = 1
_TFD_TIMER_CANCEL_ON_SET: Final = 2
_FAR: Final = 0x7FFF_FFFF if ctypes.sizeof(ctypes.c_long) == 4 else 1 << 40
"""Unix seconds of a moment that never comes: the timer is there only to be cancelled."""


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class ClockAlarm:
    """A timerfd that the kernel cancels when CLOCK_REALTIME jumps: by a setting, also at the end of a suspend.

    `descriptor` is readable after a jump until `accept`. Raises OSError where the kernel has no such timer.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            create = self._libc.timerfd_create
        except AttributeError as error:
            raise OSError(f"the C library has no timerfd: {error}") from error
        self.descriptor: int = create(time.CLOCK_REALTIME, _TFD_NONBLOCK | _TFD_CLOEXEC)
        if self.descriptor < 0:
            raise _last_error("timerfd_create")
        try:
            self._arm()
        except OSError:
            self.close()
            raise

    def _arm(self) -> None:
        wanted = _Itimerspec(_Timespec(0, 0), _Timespec(_FAR, 0))
        flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
        if self._libc.timerfd_settime(self.descriptor, flags, ctypes.byref(wanted), None) < 0:
            raise _last_error("timerfd_settime")

    def accept(self) -> bool:
        """Take the word and wait for the next; whether there was one."""
        try:
            os.read(self.descriptor, 8)
        except BlockingIOError:
            return False
        except OSError:  # ECANCELED: this is how it is said
            pass
        with contextlib.suppress(OSError):  # ECANCELED again: armed all the same, and readable at once
            self._arm()
        return True

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
