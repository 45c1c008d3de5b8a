"""Starting a task's main process: directory, streams, environment, the search along its own PATH."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from typing import Final

from cronoq_cli.errors import LACKING
from cronoq_cli.runner.attempt import Attempt, StartError
from cronoq_cli.runner.cspawn import CSpawn
from cronoq_cli.runner.environment import CStrings, NulError, TaskEnvironment
from cronoq_cli.runner.forkexec import fork_exec, parse_limits
from cronoq_cli.runner.report import Reports
from cronoq_cli.runner.streams import RUNNER_UMASK, SpawnError, Streams, get_umask, refuse
from cronoq_cli.wire.runner import ErrorKind, Message, encode_text

IGNORED_SIGNALS: Final = tuple(
    getattr(signal, f"SIG{name}") for name in "HUP INT QUIT PIPE USR1 USR2 ALRM XFSZ TSTP TTIN TTOU".split()
)
"""What the runner itself ignores, and every task gets back at its default."""

TOKEN_VARIABLE: Final = "CRONOQ_TOKEN"
SLOT_VARIABLE: Final = "CRONOQ_SLOT"

# So many starts are prepared before the first of them is made.
_PREPARED: Final = 4
_NOT_HERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT})


class Launch:
    """All that is made for one start before its process."""

    __slots__ = ("argv", "attempt", "environment", "order", "streams")

    def __init__(
        self, attempt: Attempt, order: Message, argv: CStrings, environment: TaskEnvironment, streams: Streams
    ) -> None:
        self.attempt = attempt
        self.order = order
        self.argv = argv
        self.environment = environment
        self.streams = streams


class Spawner:
    """Starts processes, moving the runner itself into the directory and umask of each, and back afterwards."""

    def __init__(self, reports: Reports) -> None:
        self._fast = CSpawn()
        self._reports = reports
        self._null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self._directory = "/"
        self._umask = RUNNER_UMASK
        self._words: list[str] | None = None
        self._argv = CStrings([])
        self._nice = os.getpriority(os.PRIO_PROCESS, 0)

    def start(self, attempts: list[Attempt]) -> list[tuple[Attempt, StartError]]:
        """Start these main processes, leaders of sessions of their own: those that could not be, with the reason.

        The others have their pid, log files and moments of the start. A few are prepared together: each new process
        drives the runner out of the processor's caches, and what is repeated without one between is far quicker.
        """
        refused: list[tuple[Attempt, StartError]] = []
        for at in range(0, len(attempts), _PREPARED):
            launches = []
            for place, attempt in enumerate(attempts[at : at + _PREPARED]):
                try:
                    launches.append(self._prepare(attempt, attempt.order or {}, place))
                except Exception as error:
                    refused.append((attempt, _explain_failure(error)))
            for launch in launches:
                try:
                    self._spawn(launch)
                except Exception as error:
                    refused.append((launch.attempt, _explain_failure(error)))
        self._leave()
        return refused

    def _leave(self) -> None:
        """Back to `/`, so that no file system is kept busy by the runner, and to its own umask."""
        self._take_umask(RUNNER_UMASK)
        if self._directory != "/":
            os.chdir("/")
            self._directory = "/"

    def _prepare(self, attempt: Attempt, order: Message, place: int) -> Launch:
        argv = self._read_argv(order["argv"])
        environment = self._build_environment(attempt, order, place)
        self._enter(order["cwd"])
        if self._umask & 0o700:
            self._take_umask(RUNNER_UMASK)  # that of the start before would take rights to our own files from us
        if attempt.report is not None:
            self._make_report(attempt.report)
        streams = Streams(order, self._null)
        attempt.logs = streams.logs
        return Launch(attempt, order, argv, environment, streams)

    def _spawn(self, launch: Launch) -> None:
        attempt = launch.attempt
        try:
            self._enter(launch.order["cwd"])
            self._take_umask(get_umask(launch.order))
            at, awake = time.time(), time.monotonic()
            attempt.pid = self._execute(launch)
            attempt.started_at, attempt.started_awake = at, awake
        finally:
            launch.streams.close()

    def _read_argv(self, words: list[str]) -> CStrings:
        """The command, often that of the start before. Raises SpawnError when it can be none."""
        if words != self._words:
            if not words:
                raise refuse(ErrorKind.COMMAND, "there is no command", exit_code=126)
            try:
                self._argv = CStrings(words)
            except NulError:
                raise refuse(
                    ErrorKind.COMMAND, "cannot be executed: a NUL byte in an argument", exit_code=126
                ) from None
            self._words = words
        return self._argv

    def _take_umask(self, umask: int) -> None:
        if umask != self._umask:
            os.umask(umask)
            self._umask = umask

    def _build_environment(self, attempt: Attempt, order: Message, place: int) -> TaskEnvironment:
        if attempt.environment is None:
            raise refuse(ErrorKind.MACHINE, f"the environment {order.get('env')} was never sent")
        own = dict(order.get("vars") or ())
        if attempt.slot is not None:
            own[SLOT_VARIABLE] = str(attempt.slot)
        own[TOKEN_VARIABLE] = attempt.token
        return attempt.environment.extend(own, place)

    def _enter(self, path: str) -> None:
        if path == self._directory:
            return  # by the start before, a moment ago: between such groups of starts the runner goes back to `/`
        try:
            os.chdir(encode_text(path))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                message = f"working directory missing: {path}"
            else:
                message = f"working directory cannot be entered: {path}: {error.strerror}"
            raise refuse(ErrorKind.DIRECTORY, message, error) from None
        self._directory = path

    def _make_report(self, path: bytes) -> None:
        try:
            self._reports.make(path)
        except OSError as error:
            text = path.decode("utf-8", "replace")
            message = f"cannot make the report file {text}: {error.strerror}"
            raise refuse(ErrorKind.OUTPUT, message, error) from None

    def _execute(self, launch: Launch) -> int:
        """Try the candidates as execvp does: go on where there is nothing, remember a refusal."""
        name, refused, environment = launch.argv.strings[0], None, launch.environment
        for path in _list_candidates(name, environment):
            try:
                return self._launch(path, launch.argv, launch)
            except OSError as error:
                if error.errno == errno.ENOEXEC:
                    return self._run_script(path, launch)
                if error.errno == errno.EACCES:
                    refused = path
                elif error.errno not in _NOT_HERE:
                    raise _explain(name, error) from None
        raise _explain_absence(name, refused or _find_refused(name, environment), environment)

    def _run_script(self, path: bytes, launch: Launch) -> int:
        """A text file without a first line that names an interpreter is the shell's."""
        words = launch.order["argv"]
        argv = CStrings(["/bin/sh", path.decode("utf-8", "surrogateescape"), *words[1:]])
        try:
            return self._launch(b"/bin/sh", argv, launch)
        except OSError as error:
            raise _explain(encode_text(words[0]), error) from None

    def _launch(self, path: bytes, argv: CStrings, launch: Launch) -> int:
        nice, limits = launch.order.get("nice"), launch.order.get("rlimits")
        actions, environment = launch.streams.actions, launch.environment
        if limits or (nice is not None and nice != self._nice) or not self._fast.usable:
            pairs = environment.list_pairs()
            return fork_exec(path, argv.strings, pairs, actions, nice, parse_limits(limits or {}))
        return self._fast.spawn(path, argv, environment.strings, actions)


def _list_places(name: bytes, environment: TaskEnvironment) -> Iterator[bytes]:
    """Every path that could be meant; an empty part of PATH is the task's own directory."""
    if b"/" in name:
        yield name
    elif name:
        for directory in environment.search_path.split(b":"):
            yield directory + b"/" + name if directory else b"./" + name


def _list_candidates(name: bytes, environment: TaskEnvironment) -> Iterator[bytes]:
    """The places where something executable is, as far as can be told before executing it: the only one is tried
    anyway."""
    if b"/" in name:
        return iter((name,))
    return (path for path in _list_places(name, environment) if os.access(path, os.X_OK))


def _find_refused(name: bytes, environment: TaskEnvironment) -> bytes | None:
    """The first place where there is something, though it cannot be executed."""
    return next((path for path in _list_places(name, environment) if os.path.lexists(path)), None)


def _explain_failure(error: Exception) -> StartError:
    """Why a start failed. A malformed order must be answered too, or the daemon would wait for it for ever."""
    if isinstance(error, SpawnError):
        return error.error
    if isinstance(error, ValueError):
        return StartError(ErrorKind.COMMAND, None, f"cannot be executed: {error}", 126)
    return StartError(ErrorKind.COMMAND, None, f"cannot be started: {type(error).__name__}: {error}", 126)


def _explain(name: bytes, error: OSError) -> Exception:
    text = name.decode("utf-8", "surrogateescape")
    if error.errno in LACKING:
        return refuse(ErrorKind.MACHINE, f"cannot start {text}", error)
    if error.errno == errno.E2BIG:
        return refuse(ErrorKind.COMMAND, f"argument list too long: {text}", error, 126)
    return refuse(ErrorKind.COMMAND, f"cannot execute {text}: {error.strerror}", error, 126)


def _explain_absence(name: bytes, refused: bytes | None, environment: TaskEnvironment) -> Exception:
    text = name.decode("utf-8", "surrogateescape")
    if refused is None and b"/" in name:
        missing = FileNotFoundError(errno.ENOENT, "")
        return refuse(ErrorKind.COMMAND, f"command not found: {text}", missing, 127)
    if refused is None:
        path = environment.search_path.decode("utf-8", "surrogateescape")
        missing = FileNotFoundError(errno.ENOENT, "")
        return refuse(ErrorKind.COMMAND, f"command not found: {text} (PATH={path})", missing, 127)
    place = refused.decode("utf-8", "surrogateescape")
    if os.access(refused, os.X_OK) and not os.path.isdir(refused):
        missing = FileNotFoundError(errno.ENOENT, "")
        return refuse(ErrorKind.COMMAND, f"cannot execute {place}: its interpreter is missing", missing, 126)
    denied = PermissionError(errno.EACCES, "")
    why = "is a directory" if os.path.isdir(refused) else "permission denied"
    return refuse(ErrorKind.COMMAND, f"cannot execute {place}: {why}", denied, 126)
