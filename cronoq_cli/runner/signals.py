"""Signals as a descriptor of the loop: nothing is interrupted by them, and many ends of children are one."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable
from typing import Final

from cronoq_cli.runner.loop import Loop

_SIGSET_BYTES: Final = 128
"""As large as any C library's sigset_t, its first bits the signals from 1 on."""
_INFO: Final = struct.Struct("I124x")
"""A signalfd_siginfo, of which only the number is looked at."""
_READ_BYTES: Final = 16 * _INFO.size


def watch_signals(loop: Loop, actions: dict[int, Callable[[], None]]) -> None:
    """From now on these signals, which this process then keeps blocked, call their actions from the loop.

    Raises OSError where the kernel has no descriptor for them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, actions)
    descriptor = _open_signalfd(sum(1 << (number - 1) for number in actions))

    def on_readable(_events: int) -> None:
        try:
            told = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        for number in dict.fromkeys(number for (number,) in _INFO.iter_unpack(told)):
            actions[number]()

    loop.watch(descriptor, on_readable)


def _open_signalfd(signals: int) -> int:
    """`signals` has a bit for each, from the lowest for 1 on."""
    library = ctypes.CDLL(None, use_errno=True)
    wanted = (ctypes.c_ulong * (_SIGSET_BYTES // ctypes.sizeof(ctypes.c_ulong)))(signals)
    descriptor: int = library.signalfd(-1, wanted, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"signalfd: {os.strerror(number)}")
    return descriptor
