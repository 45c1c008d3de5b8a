"""The slow way to start a process, for what posix_spawn cannot set: niceness and resource limits."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from cronoq_cli.runner.streams import refuse
from cronoq_cli.wire.runner import ErrorKind

Limits = list[tuple[int, int, int]]


def parse_limits(limits: Mapping[str, Any]) -> Limits:
    """(resource, soft, hard) for each named limit, never above the runner's own hard limit.

    A value is a number, a [soft, hard] pair, or null, -1 or "unlimited". Raises SpawnError for a name the
    kernel does not know.
    """
    parsed = []
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if not isinstance(number, int):
            raise refuse(ErrorKind.COMMAND, f"unknown resource limit: {name}", exit_code=126)
        highest = resource.getrlimit(number)[1]
        soft, hard = value if isinstance(value, list) else (value, value)
        hard = _lower(_parse_amount(hard), highest)
        parsed.append((number, _lower(_parse_amount(soft), hard), hard))
    return parsed


def _parse_amount(value: Any) -> int:
    return resource.RLIM_INFINITY if value in (None, -1, "unlimited") else int(value)


def _lower(value: int, highest: int) -> int:
    if highest == resource.RLIM_INFINITY:
        return value
    return highest if value == resource.RLIM_INFINITY else min(value, highest)


def fork_exec(
    path: bytes,
    argv: list[bytes],
    environment: Mapping[bytes, bytes],
    actions: Sequence[tuple[int, int]],
    nice: int | None,
    limits: Limits,
) -> int:
    """The pid of a new session's process, in the runner's present directory and umask.

    Raises OSError with the errno of what failed in the child; that child is reaped like any orphan.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
        if pid == 0:
            _become(writer, path, argv, environment, actions, nice, limits)
        os.close(writer)
        writer = -1
        trouble = os.read(reader, 16)
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    if trouble:
        raise OSError(int(trouble), os.strerror(int(trouble)))
    return pid


def _become(  # noqa: PLR0913 - the child has no room for an object of its own
    writer: int,
    path: bytes,
    argv: list[bytes],
    environment: Mapping[bytes, bytes],
    actions: Sequence[tuple[int, int]],
    nice: int | None,
    limits: Limits,
) -> None:
    """The child: never returns."""
    number = errno.EINVAL
    try:
        os.setsid()
        for signal_number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(signal_number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if nice is not None:
            _set_nice(nice)
        for which, soft, hard in limits:
            resource.setrlimit(which, (soft, hard))
        for source, target in actions:
            os.dup2(source, target)
        os.execve(path, argv, environment)
    except OSError as error:
        number = error.errno or number
    finally:
        os.write(writer, b"%d" % number)
        os._exit(127)


def _set_nice(nice: int) -> None:
    """As asked where allowed; without privileges a value below the runner's own cannot be had."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except PermissionError:
        return
