"""The client's gateway: asks the daemon, and decides what to do when there is none, or an older one.

The rules are those of the specification, section 1. Starting itself is `launch`'s, reading alone `offline`'s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cronoq_cli.client.connection import Connection, ConnectionLost, ProcessEnd, find_connection
from cronoq_cli.client.launch import launch_daemon
from cronoq_cli.config.paths import Paths
from cronoq_cli.errors import CronoqError, NoDaemonError, NotFoundError, ProtocolError
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import RemoteError
from cronoq_cli.wire.requests import (
    ANY_VERSION,
    READS,
    DaemonStatus,
    DaemonStop,
    Reply,
    Request,
    ShowWindow,
    Submit,
    WaitTasks,
    Watch,
    is_read_from_store,
)
from cronoq_cli.wire.version import VERSION, is_newer

if TYPE_CHECKING:
    from cronoq_cli.config.settings import DaemonSettings

IN_TASK_S = 10.0
"""How long a command inside a task waits for a daemon (specification section 1)."""
GOING_S = 60.0
"""How long a daemon that is on its way out is waited for."""
_LOOK_S = 0.05
_TRIES = 5
_STARTS = 3
"""The daemon that was found running, or was started, may be killed in the same moment: that is no reason to give up."""

REPEATABLE = (*READS, ShowWindow, WaitTasks, Watch, *ANY_VERSION)
"""Requests that do no harm when they are carried out twice."""


class SocketGateway:
    """Answers requests through the daemon's socket. `find` gives the paths when they are first needed.

    `note` prints a line for the caller. `unanswered`: the daemon went away over this very command line, so
    nothing that changes anything is asked again.
    """

    def __init__(
        self,
        find: Callable[[], Paths],
        env: Mapping[str, str],
        note: Callable[[str], None],
        *,
        unanswered: bool = False,
    ) -> None:
        self._find = find
        self.env = env
        self.note = note
        self._unanswered = unanswered
        self._connection: Connection | None = None
        self.as_is = False
        self._said_absent = False

    @cached_property
    def paths(self) -> Paths:
        """Where the daemon of this command line is. Raises what finding it raises."""
        return self._find()

    @cached_property
    def settings(self) -> DaemonSettings:
        """What the configuration says of the daemon. Raises InvalidError."""
        from cronoq_cli.config.loading import load_settings  # only who has to start a daemon needs it

        return load_settings(self.paths.config_file).daemon

    def ask(self, request: Request) -> Reply:
        """The reply of the daemon, started if need be, or of the store when no daemon runs and none is needed.

        Raises the error the daemon answered, NoDaemonError, ProtocolError.
        """
        for _ in range(_TRIES):
            connection = self._connection or find_connection(self.paths)
            if connection is None:
                if isinstance(request, READS):
                    return self._answer_offline(request)
                connection = self.start_for(request)
            self._connection = connection
            if is_read_from_store(request):
                return self._read(request)
            reply = self._ask_once(connection, request)
            if reply is not None:
                return reply
        raise NoDaemonError("the daemon goes away again and again", hint="its log may say why: daemon.log")

    def _ask_once(self, connection: Connection, request: Request) -> Reply | None:
        """The reply, or None when it is to be asked again."""
        self.check_unanswered(request)
        try:
            return connection.ask(request, as_is=self.as_is)
        except ConnectionLost as lost:
            self.forget_connection()
            if lost.maybe_done and not isinstance(request, REPEATABLE):
                raise _not_known() from None
        except RemoteError as error:
            if not self.recover(connection, error):
                raise
            self.forget_connection()
        except ProtocolError:
            self.forget_connection()
            raise
        return None

    def check_unanswered(self, request: Request) -> None:
        """Raises CronoqError when the daemon went away over this request already and may have done it."""
        if self._unanswered and not isinstance(request, REPEATABLE):
            raise _not_known()

    def forget_connection(self) -> None:
        """The next request makes a connection of its own."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Part from the daemon."""
        self.forget_connection()

    def recover(self, connection: Connection, error: RemoteError) -> bool:
        """Whether the request can be asked again on a new connection, after what the daemon said of itself."""
        if error.code == codec.STOPPING.decode():
            await_end(connection)
            return True
        if _is_older(error) and not self.as_is:
            self._upgrade(connection, error.daemon or "of an older version")
            self.as_is = True
            return True
        return False

    def _answer_offline(self, request: Request) -> Reply:
        try:
            reply = self._read(request)
        except NotFoundError:
            self._say_absent()  # that there is none is what the store says too
            raise
        if not isinstance(request, DaemonStatus):
            self._say_absent()
        return reply

    def _say_absent(self) -> None:
        if not self._said_absent:
            self._said_absent = True
            self.note("no daemon runs; this is what its store says")

    def _read(self, request: Request) -> Reply:
        from cronoq_cli.client.offline import answer_offline  # brings SQLite along: not for the usual way

        return answer_offline(self.paths, request, time.time())

    # A daemon where none runs

    def start_for(self, request: Request) -> Connection:
        """A connection to a daemon started for `request`, where that is allowed. Raises NoDaemonError."""
        if isinstance(request, DaemonStop):
            raise NoDaemonError("no daemon runs", hint="there is nothing to stop")
        if self.is_in_task():
            return self.await_daemon(IN_TASK_S)
        self._check_may_start(request)
        for _ in range(_STARTS):
            self.launch()
            connection = find_connection(self.paths)
            if connection is not None:
                return connection
        raise NoDaemonError("the daemon ended right after its start", hint="its log may say why: daemon.log")

    def _check_may_start(self, request: Request) -> None:
        hint = "start one with: cronoq daemon start"
        if self.env.get("CRONOQ_NO_AUTOSTART", "") not in ("", "0"):
            raise NoDaemonError("no daemon runs, and CRONOQ_NO_AUTOSTART forbids to start one", hint=hint)
        if not self.settings.autostart:
            raise NoDaemonError("no daemon runs, and daemon.autostart forbids to start one", hint=hint)
        if os.path.lexists(os.fsencode(self.paths.stopped_mark)) and not isinstance(request, Submit):
            raise NoDaemonError("the daemon was stopped", hint=hint)

    def may_start(self, request: Request) -> bool:
        """Whether `start_for` would start a daemon for `request`."""
        if self.is_in_task():
            return False
        try:
            self._check_may_start(request)
        except NoDaemonError:
            return False
        return True

    def launch(self, *, standby: bool = False) -> dict[str, Any]:
        """Start a daemon unless one runs: its status document, with `started`.

        After a wanted stop it is said how many tasks go on. Raises NoDaemonError, and what the daemon says itself.
        """
        launched = launch_daemon(self.paths, self.env, standby=standby)
        about = dict(launched.about.get("daemon", launched.about))
        if about.pop("was_stopped", False):
            count = about.get("resumed", 0)
            self.note(f"the daemon had been stopped; it resumes {count} task{'' if count == 1 else 's'}")
        return {"daemon": about, "started": launched.started}

    def is_in_task(self) -> bool:
        """Whether a task of this daemon runs this command (and not one that uses a home of its own)."""
        if not self.env.get("CRONOQ_TASK_ID"):
            return False
        task_home = self.env.get("CRONOQ_HOME")
        return not task_home or self.paths.home is None or os.path.abspath(task_home) == self.paths.home

    def await_daemon(self, patience_s: float) -> Connection:
        """A connection to the daemon that somebody else starts within `patience_s` seconds. Raises NoDaemonError."""
        deadline = time.monotonic() + patience_s
        while True:
            connection = find_connection(self.paths)
            if connection is not None:
                return connection
            if time.monotonic() >= deadline:
                raise NoDaemonError(
                    f"no daemon came back within {patience_s:.0f} s", hint="start one with: cronoq daemon start"
                )
            time.sleep(_LOOK_S)

    # An older daemon

    def _upgrade(self, connection: Connection, version: str) -> None:
        """Restart an older daemon, its tasks going on; or only say so where that is not wanted."""
        if self.is_in_task() or not self.settings.auto_upgrade:
            self.note(f"the daemon is cronoq {version}, older than this {VERSION}; renew it: cronoq daemon restart")
            return
        end = ProcessEnd(connection)
        try:
            connection.ask(DaemonStop(mode="keep", restart=True))
            end.wait(GOING_S)
        except ConnectionLost:
            end.wait(GOING_S)
        finally:
            end.close()
        launch_daemon(self.paths, self.env)
        self.note(f"restarted the daemon: it was cronoq {version}, now {VERSION}")


def _is_older(error: RemoteError) -> bool:
    """Whether the error says that the daemon is older than this client: it says so, or knows another protocol."""
    if error.code == codec.OTHER_PROTOCOL.decode():
        return is_newer(VERSION, error.daemon or "")
    return error.code == codec.NEWER_CLIENT.decode()


def await_end(connection: Connection) -> None:
    """Return when the daemon at the other end is gone, or still there after a long while."""
    end = ProcessEnd(connection)
    try:
        end.wait(GOING_S)
    finally:
        end.close()


def _not_known() -> CronoqError:
    return CronoqError(
        "the daemon went away before it answered; whether this was done is not known",
        hint="look with: cronoq ls",
        code="unanswered",
    )
