"""What a task's descriptors 0, 1 and 2 are: the files are opened here, so that an error has a name."""

from __future__ import annotations

import os
from typing import Final

from cronoq_cli.errors import LACKING
from cronoq_cli.runner.attempt import StartError
from cronoq_cli.runner.report import open_making_parents
from cronoq_cli.wire.runner import ErrorKind, Message, encode_text

RUNNER_UMASK: Final = 0o077

_OUTPUT_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY
# A log is ours: a link in its place, which another task may have put there, is not followed.
_LOG_FLAGS: Final = _OUTPUT_FLAGS | os.O_NOFOLLOW
# A pipe without a reader must not stop the runner at the opening.
_FILE_FLAGS: Final = _OUTPUT_FLAGS | os.O_NONBLOCK
# The fields of an order that make anything but one log of its output.
_REDIRECTIONS: Final = frozenset({"stdin", "stdout", "stderr", "stderr_log"})
_INPUT_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


class SpawnError(Exception):
    """An attempt that cannot be started; `error` is what the daemon is told."""

    def __init__(self, error: StartError) -> None:
        super().__init__(error.message)
        self.error = error


def refuse(kind: str, message: str, error: OSError | None = None, exit_code: int | None = None) -> SpawnError:
    """The exception for a start that fails; what the machine lacks outranks `kind`."""
    number = error.errno if error is not None else None
    if number in LACKING:
        return SpawnError(StartError(ErrorKind.MACHINE, number, f"{message} ({os.strerror(number or 0)})"))
    return SpawnError(StartError(kind, number, message, exit_code))


class Streams:
    """Three open descriptors for one spawn; `close` when the process has its copies."""

    __slots__ = ("_opened", "actions", "logs")

    def __init__(self, order: Message, null: int) -> None:
        """Opens what the order names. Raises SpawnError with nothing left open."""
        self._opened: list[int] = []
        self.logs: tuple[bytes, ...] = ()
        if _REDIRECTIONS.isdisjoint(order):
            log = self._open_log(order.get("log"))
            self.actions = ((null, 0), (log, 1), (log, 2))
            return
        try:
            stdin = self._open_input(order.get("stdin"), null)
            stdout, stderr = self._open_outputs(order)
        except BaseException:
            self.close()
            raise
        self.actions = ((stdin, 0), (stdout, 1), (stderr, 2))

    def close(self) -> None:
        """Close the runner's copies."""
        for descriptor in self._opened:
            os.close(descriptor)
        self._opened.clear()

    def _open_input(self, path: str | None, null: int) -> int:
        if path is None:
            return null
        try:
            descriptor = os.open(encode_text(path), _INPUT_FLAGS)
        except OSError as error:
            raise refuse(ErrorKind.STDIN, f"cannot read stdin from {path}: {error.strerror}", error) from None
        self._opened.append(descriptor)
        os.set_blocking(descriptor, True)
        return descriptor

    def _open_outputs(self, order: Message) -> tuple[int, int]:
        log, stderr_log = order.get("log"), order.get("stderr_log")
        stdout_file, stderr_file = order.get("stdout"), order.get("stderr")
        if stdout_file:
            stdout = self._open_file(stdout_file, order)
        else:
            stdout = self._open_log(log)
        if stderr_file:
            stderr = stdout if stderr_file == stdout_file else self._open_file(stderr_file, order)
        elif stderr_log:
            stderr = self._open_log(stderr_log)
        else:
            stderr = self._open_log(log) if stdout_file else stdout
        return stdout, stderr

    def _open_log(self, path: str | None) -> int:
        if not path:
            raise refuse(ErrorKind.OUTPUT, "the start names no log")
        raw = encode_text(path)
        try:
            descriptor = open_making_parents(raw, _LOG_FLAGS, 0o600)
        except OSError as error:
            raise refuse(ErrorKind.OUTPUT, f"cannot open the log {path}: {error.strerror}", error) from None
        self._opened.append(descriptor)
        self.logs += (raw,)
        return descriptor

    def _open_file(self, path: str, order: Message) -> int:
        """A file the user named: made with the task's own umask, as the task's shell would make it."""
        before = os.umask(get_umask(order))
        try:
            descriptor = os.open(encode_text(path), _FILE_FLAGS, 0o666)
        except OSError as error:
            raise refuse(ErrorKind.OUTPUT, f"cannot write to {path}: {error.strerror}", error) from None
        finally:
            os.umask(before)
        self._opened.append(descriptor)
        os.set_blocking(descriptor, True)
        return descriptor


def get_umask(order: Message) -> int:
    """The umask of a task's processes."""
    umask = order.get("umask")
    return RUNNER_UMASK if umask is None else int(umask)


def measure_files(paths: tuple[bytes, ...]) -> int:
    """Bytes in these files together; a missing one has none."""
    size = 0
    for path in paths:
        try:
            size += os.stat(path).st_size
        except OSError:
            continue
    return size
