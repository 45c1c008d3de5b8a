"""Becoming the runner: the process is cut loose from whoever started it, then it says that it is ready.

Everything is imported here, before that: a reinstall of the package under a living runner is harmless.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
from typing import Final

from cronoq_cli.runner.journal import open_locked
from cronoq_cli.runner.service import Service
from cronoq_cli.runner.spawn import IGNORED_SIGNALS
from cronoq_cli.runner.streams import RUNNER_UMASK
from cronoq_cli.wire.runner import encode_text
from cronoq_cli.wire.sockets import bind_unix

_USAGE: Final = "usage: python -m cronoq_cli.runner --id ID --journal PATH --socket PATH [--ready-fd N]"
_PR_SET_CHILD_SUBREAPER: Final = 36
_RT_SIGACTION: Final = {"x86_64": 13, "aarch64": 134}
"""The number of the system call by machine."""
# Hardly anything here is cyclic; the collector may look seldom.
_GARBAGE_THRESHOLD: Final = 20_000


class Words:
    """The command line."""

    __slots__ = ("journal", "ready", "runner_id", "socket")

    def __init__(self) -> None:
        self.runner_id = self.journal = self.socket = ""
        self.ready: int | None = None


class UnreadableWordsError(ValueError):
    """The command line is not one of ours."""


def parse_words(words: list[str]) -> Words:
    """The options as values. Raises UnreadableWordsError; argparse would cost more memory than the runner."""
    parsed = Words()
    pairs = iter(words)
    for name in pairs:
        value = next(pairs, None)
        if value is None:
            raise UnreadableWordsError(f"{name} needs a value")
        if name == "--id":
            parsed.runner_id = value
        elif name == "--journal":
            parsed.journal = value
        elif name == "--socket":
            parsed.socket = value
        elif name == "--ready-fd" and value.isdigit():
            parsed.ready = int(value)
        else:
            raise UnreadableWordsError(f"unknown option {name} {value}")
    if not (parsed.runner_id and os.path.isabs(parsed.journal) and os.path.isabs(parsed.socket)):
        raise UnreadableWordsError("--id and absolute paths for --journal and --socket are needed")
    return parsed


def main(words: list[str]) -> int:
    """Run until nothing is left to do; the exit status."""
    try:
        parsed = parse_words(words)
    except UnreadableWordsError as error:
        sys.stderr.write(f"cronoq runner: {error}\n{_USAGE}\n")
        return 2
    try:
        service = _prepare(parsed)
    except OSError as error:
        sys.stderr.write(f"cronoq runner: {error}\n")
        return 1
    if service is None:
        sys.stderr.write(f"cronoq runner: {parsed.journal} belongs to another runner\n")
        return 4
    trouble_path = encode_text(parsed.journal.removesuffix(".journal") + ".log")
    _detach_streams(trouble_path)
    if parsed.ready is not None:
        _tell_ready(parsed.ready)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)
    service.run(parsed.socket)
    if os.fstat(2).st_size == 0:
        with contextlib.suppress(OSError):
            os.unlink(trouble_path)
    return 0


def _prepare(parsed: Words) -> Service | None:
    """The service with its journal locked and its socket bound; None when the journal is not ours to begin."""
    _detach(parsed.ready)
    journal_path = encode_text(parsed.journal)
    journal = open_locked(journal_path, os.O_RDWR | os.O_CREAT)
    if journal is None:
        return None
    if os.fstat(journal).st_size:
        os.close(journal)
        return None
    try:
        listener = _bind(parsed.socket)
    except OSError:
        os.unlink(journal_path)
        raise
    return Service(parsed.runner_id, listener, journal_path, journal)


def _bind(path: str) -> socket.socket:
    try:
        return bind_unix(path)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {path}: {error.strerror}") from None


def _detach(ready: int | None) -> None:
    """A session of its own, cwd /, no inherited descriptor, signal or mask, and the parent of all orphans."""
    try:
        os.setsid()
    except PermissionError:
        pass  # it leads a session already
    os.chdir("/")
    os.umask(RUNNER_UMASK)
    # Listed, never counted up to the limit: that can be a thousand million.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != ready:
            try:
                os.close(int(name))
            except OSError:
                continue  # the listing's own
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _reset_reserved_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.stderr.write("cronoq runner: orphans of tasks cannot be adopted here\n")


def _reset_reserved_signals() -> None:
    """The C library keeps signals 32 and 33 to itself and lets nobody set them; a parent that used its posix_spawn
    (make does) leaves them ignored, and tasks would inherit that. So the kernel is asked directly."""
    number = _RT_SIGACTION.get(os.uname().machine)
    if number is None:
        return
    default = ctypes.create_string_buffer(64)
    for reserved in (32, 33):
        ctypes.CDLL(None).syscall(number, reserved, default, None, 8)


def _detach_streams(trouble_path: bytes) -> None:
    """Stdin and stdout are nothing; what goes wrong unforeseen is written beside the journal, where that can be."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        trouble = os.open(trouble_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        trouble = os.dup(null)
    for descriptor, number in ((null, 0), (null, 1), (trouble, 2)):
        os.dup2(descriptor, number)
    os.close(null)
    os.close(trouble)


def _tell_ready(descriptor: int) -> None:
    try:
        os.write(descriptor, b"ready\n")
    except OSError:
        pass  # whoever wanted to know is gone; the tasks to come are not
    os.close(descriptor)
