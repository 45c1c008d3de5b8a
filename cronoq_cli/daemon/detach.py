"""How the daemon's process is called, and what it does first: away from the caller, and a log of its own.

The client's `launch` makes the call. Importable without anything heavy, since the client waits for the fork.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from cronoq_cli.errors import ExitStatus, UsageError

LOG_BYTES = 4 * 1024 * 1024
LOG_FILES = 3
"""The log and three older ones: 16 MiB at most."""


WORDS_ON_STDIN = "--words-on-stdin"
"""The last word of a process that was started ahead of need (`client/head_start`): those that count come later."""
WORDS_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """How the daemon was called. `ready_fd`: the pipe on which the starting client waits for a word."""

    home: str | None = None
    ready_fd: int | None = None
    standby: bool = False
    foreground: bool = False


def parse_options(argv: Sequence[str]) -> DaemonOptions:
    """The options of `python -m cronoq_cli.daemon`. Raises UsageError."""
    home: str | None = None
    ready_fd: int | None = None
    flags = dict.fromkeys(("--standby", "--foreground"), False)
    words = iter(argv)
    for word in words:
        if word in flags:
            flags[word] = True
        elif word == "--home":
            home = next(words, None) or None
        elif word == "--ready-fd":
            ready_fd = _parse_descriptor(next(words, ""))
        else:
            raise UsageError(f"the daemon has no option {word!r}", hint="start it with: cronoq daemon start")
    return DaemonOptions(home, ready_fd, standby=flags["--standby"], foreground=flags["--foreground"])


def _parse_descriptor(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 3:
        raise UsageError(f"--ready-fd: {text!r} is no descriptor to tell readiness on")
    return int(text)


def await_words() -> list[str]:
    """The words that come over standard input once its writer knows that it needs a daemon; before them goes the file
    that takes what is printed from now on. Without any, or where there can be no such file, the process ends, having
    touched nothing: its client starts another one the usual way, and tells what is wrong."""
    said = b""
    while select.select((0,), (), (), WORDS_WITHIN_S)[0] and (part := os.read(0, 1 << 16)):
        said += part
    if not said.endswith(b"\n"):
        os._exit(ExitStatus.NO)
    log, *words = map(os.fsdecode, said[:-1].split(b"\0"))
    try:
        descriptor = _open_own(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError:
        os._exit(ExitStatus.NO)
    for number in (1, 2):
        os.dup2(descriptor, number)
    return words


def detach(options: DaemonOptions) -> None:
    """Leave the caller's session, directory, umask, descriptors, signal settings and `CRONOQ_*` behind.

    In the foreground session and standard output stay (a terminal's Ctrl-C, systemd's journal). Otherwise the
    process that was called ends here and a child, which can never get a terminal, goes on. To be called first of
    all: it closes every descriptor but the standard ones and `ready_fd`.
    """
    if not options.foreground:
        if os.fork() > 0:
            os._exit(0)
        with contextlib.suppress(OSError):
            os.setsid()
    os.chdir("/")
    os.umask(0o077)
    _close_descriptors(keep=options.ready_fd)
    _reset_signals()
    for name in [name for name in os.environ if name.startswith("CRONOQ_")]:
        del os.environ[name]


def _close_descriptors(keep: int | None) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    for number in (1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(null, number)
    for number in sorted(map(int, os.listdir("/proc/self/fd"))):
        if number > 2 and number != keep:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.close(number)
    if keep is not None:
        os.set_inheritable(keep, False)


def _reset_signals() -> None:
    """What `nohup`, a background shell or a masked parent left set would otherwise reach the tasks as well."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        if signal.getsignal(number) == signal.SIG_IGN:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def open_log(path: str, level: str, *, foreground: bool = False) -> None:
    """Send the process's log to `path`, rotated by size, in the foreground also to stderr; times are UTC.

    `level` is a word of `[daemon] log_level`. A disk that takes no log never stops the daemon.
    """
    logging.raiseExceptions = False
    handlers: list[logging.Handler] = [_open_file(path)]
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(_make_formatter())
        root.addHandler(handler)
    root.setLevel(level.upper())
    sys.excepthook = lambda kind, error, trace: root.critical("the daemon ends", exc_info=(kind, error, trace))


def open_hooks_log(path: str) -> logging.Logger:
    """The log of hooks and pings at `path`, rotated as the daemon's own; nothing of it goes there."""
    logger = logging.getLogger("cronoq.hooks")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
        handler.close()
    handler = _open_file(path, delay=True)
    handler.setFormatter(_make_formatter())
    logger.addHandler(handler)
    return logger


class _OwnFileHandler(logging.handlers.RotatingFileHandler):
    """Follows no link that somebody has put in the place of the log."""

    def _open(self) -> TextIOWrapper:
        opened = open(  # noqa: SIM115  -- it stays open
            self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=_open_own
        )
        assert isinstance(opened, TextIOWrapper)
        return opened


def _open_own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _open_file(path: str, *, delay: bool = False) -> logging.Handler:
    return _OwnFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", errors="backslashreplace", delay=delay
    )


def _make_formatter() -> logging.Formatter:
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    return formatter


def set_log_level(level: str) -> None:
    """Change the level of the open log (`daemon reload`)."""
    logging.getLogger().setLevel(level.upper())
