"""Starts the daemon as a process of its own and waits until it says that it is ready.

With the client's own interpreter and package, never by a search of PATH. The options are those of
`daemon/detach`; the two rooms know each other only by them. When to start one is decided in `gateway`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import msgspec

from cronoq_cli.client import head_start
from cronoq_cli.client.connection import Connection, ConnectionLost, find_connection
from cronoq_cli.client.daemon_command import build_command, build_environment, build_options
from cronoq_cli.config.paths import Paths, prepare_dirs
from cronoq_cli.errors import EXAMINE, CronoqError, NoDaemonError
from cronoq_cli.logs.files import open_regular
from cronoq_cli.wire.codec import ErrorMessage, RemoteError
from cronoq_cli.wire.requests import DaemonStatus

READY_WITHIN_S = 120.0
"""A store may have to be migrated first; a daemon that is silent for so long hangs."""
RIVAL_WITHIN_S = 30.0
SOCKET_WITHIN_S = 2.0
"""A daemon that says it serves, and cannot be connected to for so long, has lost its socket."""
_LOOK_S = 0.05
_ALREADY = "already-running"
"""The code with which a daemon says that another one holds its store."""


@dataclass(slots=True)
class Launch:
    """How a daemon came to run: `started` by us, or there already; `about` is its status document."""

    started: bool
    about: dict[str, Any] = field(default_factory=dict)


def launch_daemon(paths: Paths, env: Mapping[str, str], *, standby: bool = False) -> Launch:
    """Start a daemon unless one runs, and wait until it serves. Racing clients start one between them.

    With `standby` one is started in any case and waits for its turn. Raises NoDaemonError, and what the daemon
    itself says when it cannot start (invalid configuration, unreadable store).
    """
    prepare_dirs(paths)
    with _one_at_a_time(paths), _no_head_start_left():
        deadline = time.monotonic() + RIVAL_WITHIN_S
        while True:
            running = None if standby else _find_running(paths)
            if running is not None:
                return running
            if not standby and (served := _find_service(paths, env)) is not None:
                return served
            try:
                return Launch(started=True, about=_start(paths, env, standby=standby))
            except RemoteError as error:
                # Someone else starts one (or an old one is about to end): it is ready, or gone, in a moment.
                if error.code != _ALREADY or time.monotonic() > deadline:
                    raise
                _await_rival(paths, deadline)


def _find_running(paths: Paths) -> Launch | None:
    connection = find_connection(paths)
    if connection is None:
        return None
    with connection:
        return Launch(started=False, about=find_status(connection))


def _find_service(paths: Paths, env: Mapping[str, str]) -> Launch | None:
    """The daemon that the user's systemd has started, where it is installed as its service; None: start one here."""
    from cronoq_cli.client.unit import start_service

    was_stopped = os.path.lexists(os.fsencode(paths.stopped_mark))
    if not start_service(paths, env):
        return None
    running = _find_running(paths)
    return running and Launch(started=True, about={**running.about, "was_stopped": was_stopped})


def find_status(connection: Connection) -> dict[str, Any]:
    """The status document of the daemon, empty when it does not say."""
    try:
        return connection.ask(DaemonStatus()).doc
    except (ConnectionLost, CronoqError):
        return {}


@contextlib.contextmanager
def _no_head_start_left() -> Iterator[None]:
    """A client may go on for hours with the daemon that another one has started."""
    try:
        yield
    finally:
        head_start.drop()


@contextlib.contextmanager
def _one_at_a_time(paths: Paths) -> Iterator[None]:
    """Twenty clients that need a daemon start one process, not twenty of which nineteen give up."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(os.fsencode(os.path.join(paths.state_dir, "launch.lock")), flags, 0o600)
    except OSError as error:
        raise NoDaemonError(f"cannot start a daemon in {paths.state_dir}: {error.strerror}", hint=EXAMINE) from error
    try:
        with contextlib.suppress(OSError):  # no locks on this file system: the daemon's own lock decides
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _await_rival(paths: Paths, deadline: float) -> None:
    """Return when another daemon listens, or the one that holds the lock seems gone, or the time is over.

    Raises NoDaemonError for one whose socket is gone: that comes back by no waiting.
    """
    holder = _read_holder(paths).get("pid")
    began = time.monotonic()
    while time.monotonic() < deadline:
        connection = find_connection(paths)
        if connection is not None:
            connection.close()
            return
        if holder is None or not os.path.exists(f"/proc/{holder}"):
            return
        if time.monotonic() > began + SOCKET_WITHIN_S and "serving" in _read_holder(paths):
            raise NoDaemonError(
                f"a daemon runs, with pid {holder}, but its socket {paths.socket} was removed",
                hint=f"kill -HUP {holder} makes it open the socket again",
            )
        time.sleep(_LOOK_S)


def _read_holder(paths: Paths) -> dict[str, Any]:
    """What the lock file says of its holder: good enough to guess when to look again."""
    try:
        with open_regular(os.fsencode(paths.lock_file)) as file:
            found = json.loads(file.read(4096))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _start(paths: Paths, env: Mapping[str, str], *, standby: bool) -> dict[str, Any]:
    """Start the process; its status document once it is ready. Raises RemoteError or NoDaemonError."""
    options = ["--standby"] if standby else []
    ahead = head_start.take(env)
    reading = None if ahead is None else ahead.give(build_options(paths, *options), paths.daemon_log)
    if reading is None:
        reading = _start_anew(paths, env, options)
    with open(reading, "rb", buffering=0) as pipe:
        line = _read_line(pipe.fileno(), time.monotonic() + READY_WITHIN_S)
    word, _, rest = line.partition(b" ")
    if word == b"ready":
        return _parse_about(rest)
    if word == b"error":
        raise RemoteError(msgspec.convert(_parse_about(rest), ErrorMessage))
    raise NoDaemonError("the daemon ended while it started", hint=_find_last_words(paths))


def _start_anew(paths: Paths, env: Mapping[str, str], options: list[str]) -> int:
    """Start the process; the descriptor on which it says that it is ready. Raises NoDaemonError."""
    reading, writing = os.pipe()
    try:
        _spawn(build_command(paths, "--ready-fd", str(writing), *options), paths, env, writing)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _spawn(command: list[str], paths: Paths, env: Mapping[str, str], ready: int) -> None:
    """Run the command until it has put itself into the background; what it prints early goes to its log."""
    import subprocess  # only who starts a daemon needs it

    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        log = os.open(os.fsencode(paths.daemon_log), flags, 0o600)
        try:
            subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=build_environment(env),
                pass_fds=(ready,),
                start_new_session=True,
            )
        finally:
            os.close(log)
    except OSError as error:
        where = error.filename or command[0]
        raise NoDaemonError(
            f"the daemon cannot be started: {os.fsdecode(where)}: {error.strerror}", hint=EXAMINE
        ) from error


def _read_line(descriptor: int, deadline: float) -> bytes:
    """The line that came, or what came of it before the end. Raises NoDaemonError after the deadline."""
    line = bytearray()
    while not line.endswith(b"\n"):
        ready, _, _ = select.select((descriptor,), (), (), max(deadline - time.monotonic(), 0))
        if not ready:
            raise NoDaemonError(
                f"the daemon did not get ready within {READY_WITHIN_S:.0f} s", hint="its log may say why: daemon.log"
            )
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        line += part
    return bytes(line)


def _parse_about(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _find_last_words(paths: Paths) -> str:
    """The end of the daemon's log, where a process that could not even start has left its reason."""
    try:
        with open(os.fsencode(paths.daemon_log), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 4096, 0))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return f"see {paths.daemon_log}"
    said = [line for line in lines if line]
    return f"{said[-1][:200]}; see {paths.daemon_log}" if said else f"see {paths.daemon_log}"


def become_daemon(paths: Paths, env: Mapping[str, str], *, standby: bool = False) -> NoReturn:
    """Replace this process by a daemon in the foreground. Raises NoDaemonError when that fails."""
    command = build_command(paths, "--foreground", *(["--standby"] if standby else []))
    try:
        os.execve(command[0], command, build_environment(env, foreground=True))
    except OSError as error:
        raise NoDaemonError(f"the daemon cannot be started: {command[0]}: {error.strerror}", hint=EXAMINE) from error
