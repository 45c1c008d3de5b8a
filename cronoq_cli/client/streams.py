"""What only the client can do with a daemon: wait and follow across its restarts, start it, become it, stop it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from cronoq_cli.client.connection import Connection, ConnectionLost, ProcessEnd, find_connection
from cronoq_cli.client.gateway import GOING_S, SocketGateway
from cronoq_cli.client.launch import become_daemon
from cronoq_cli.errors import EXAMINE, START, ExitStatus, NoDaemonError, WaitTimeoutError
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import RemoteError
from cronoq_cli.wire.requests import Reply, Request, Selector, WaitTasks, Watch

if TYPE_CHECKING:
    from cronoq_cli.client.housekeeping import ClientHousekeeping
    from cronoq_cli.commands.context import Context
    from cronoq_cli.commands.planning import QueueSnapshot

RECONNECT_S = 30.0
"""How long a waiting client looks for a daemon that went away (specification section 2)."""
START_AFTER_S = 1.0
"""How long somebody else has to bring the daemon back before a waiting client starts one itself."""
LAST_WORD_S = 10.0
"""How long the daemon may take to say at the end of the time whether the tasks have ended."""
_LOOK_S = 0.05


class ClientStreams:
    """The client's abilities, over one gateway; `watch` may be used from a thread of its own."""

    def __init__(self, gateway: SocketGateway) -> None:
        self._gateway = gateway

    # Waiting

    def wait(self, request: Request, timeout_s: float | None) -> Reply:
        """The reply to a request that takes its time, asked again when the daemon comes back.

        `timeout_s` limits the whole. Raises WaitTimeoutError, NoDaemonError when the daemon stays away for 30 s, and
        what the daemon answers.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        connection = self._reach(request)
        while True:
            with connection:
                try:
                    left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
                    return connection.ask(request, as_is=self._gateway.as_is, timeout_s=left)
                except ConnectionLost:
                    pass
                except WaitTimeoutError:
                    return self._ask_for_the_last_word(request)
                except RemoteError as error:
                    if not self._gateway.recover(connection, error):
                        raise
            connection = self._reach_again(request, deadline)

    def _ask_for_the_last_word(self, request: Request) -> Reply:
        """The reply at the end of the time: the answer may have been on its way. Raises WaitTimeoutError."""
        connection = find_connection(self._gateway.paths)
        if connection is None:
            raise WaitTimeoutError("the time to wait is over, and no daemon runs", hint=START)
        if isinstance(request, WaitTasks):
            request = WaitTasks(select=request.select, any=request.any, now=True, brief=request.brief)
        with connection:
            try:
                return connection.ask(request, as_is=self._gateway.as_is, timeout_s=LAST_WORD_S)
            except ConnectionLost:
                raise WaitTimeoutError("the time to wait is over, and the daemon went away", hint=EXAMINE) from None
            except RemoteError as error:
                if error.exit == ExitStatus.TIMED_OUT:
                    raise WaitTimeoutError(error.message, hint=error.hint) from None
                raise

    def _reach(self, request: Request) -> Connection:
        """The first connection: a daemon is started at once where there is none."""
        return find_connection(self._gateway.paths) or self._gateway.start_for(request)

    def _reach_again(self, request: Request, deadline: float | None) -> Connection:
        """A connection after one was lost, within 30 s and the deadline. Raises NoDaemonError, WaitTimeoutError."""
        lost_at = time.monotonic()
        while True:
            connection = find_connection(self._gateway.paths)
            if connection is not None:
                return connection
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise WaitTimeoutError("the time to wait is over, and no daemon runs", hint=START)
            if now - lost_at >= RECONNECT_S:
                raise NoDaemonError(
                    f"the daemon went away and did not come back within {RECONNECT_S:.0f} s",
                    hint="start it with: cronoq daemon start",
                )
            if now - lost_at >= START_AFTER_S and self._gateway.may_start(request):
                return self._gateway.start_for(request)
            time.sleep(_LOOK_S)

    def watch(self, request: Request, note: Callable[[str], None] | None = None) -> Iterator[dict[str, Any]]:
        """The messages of a stream, in order and each once, also across restarts of the daemon.

        `note` is told `lost` when the daemon went away and `back` when the stream goes on. Raises NoDaemonError when
        the daemon stays away for 30 s, and what it answers.
        """
        watch = cast(Watch, request)
        connection = self._reach(watch)
        first = True
        while True:
            with connection:
                try:
                    connection.send(codec.encode_request(watch, as_is=self._gateway.as_is))
                    while True:
                        message = connection.receive_message()
                        watch = _go_on_behind(watch, message)
                        if first or "watching" not in message:
                            first = False
                            yield message
                        elif note is not None:
                            note("back")
                except ConnectionLost:
                    if note is not None:
                        note("lost")
                except RemoteError as error:
                    if not self._gateway.recover(connection, error):
                        raise
            connection = self._reach_again(watch, None)

    # The queue

    def load_queue(self) -> QueueSnapshot:
        """The queue as it is stored now, and the configuration. Raises InvalidError, StoreError."""
        from cronoq_cli.client.offline import load_snapshot  # only who simulates needs the store

        return load_snapshot(self._gateway.paths)

    # The dashboard

    def show_dashboard(self, context: Context, *, read_only: bool) -> int:
        """Show the dashboard until it is left; the exit status. Raises NoDaemonError when none may be started."""
        from cronoq_cli.client.dashboard.app import run_dashboard  # Textual is for this alone
        from cronoq_cli.commands.render.style import style_of

        self._reach(Watch()).close()
        # What is asked and what is listened to go through gateways of their own: each is used on a thread of its own.
        notes: list[str] = []
        gateways = [SocketGateway(lambda: self._gateway.paths, self._gateway.env, notes.append) for _ in range(2)]
        try:
            return run_dashboard(gateways[0], ClientStreams(gateways[1]).watch, style_of(context), read_only=read_only)
        finally:
            for text in dict.fromkeys(notes):
                self._gateway.note(text)

    # Programs for the caller

    def edit_text(self, text: str, suffix: str) -> str:
        """The text as the caller's editor leaves it. Raises InvalidError when the editor fails."""
        from cronoq_cli.client import programs  # brings subprocess along, for those few who need it

        return programs.edit_text(text, suffix, self._gateway.env)

    def ask_yes(self, question: str) -> bool:
        """Whether the person at the terminal says yes; without a terminal nobody does."""
        from cronoq_cli.client import programs

        return programs.ask_yes(question)

    def read_crontab(self) -> bytes:
        """The caller's crontab; empty when there is none. Raises InvalidError."""
        from cronoq_cli.client import programs

        return programs.read_crontab()

    def write_crontab(self, data: bytes) -> None:
        """Make this the caller's crontab. Raises InvalidError when it was not taken."""
        from cronoq_cli.client import programs

        programs.write_crontab(data)

    def keep_copy(self, data: bytes, name: str) -> str:
        """Keep a copy in a private file beside the store; its path."""
        from cronoq_cli.client import programs

        return programs.keep_copy(self._gateway.paths.state_dir, data, name)

    # The files of a cronoq

    def housekeeping(self) -> ClientHousekeeping:
        """What is done with the files themselves."""
        from cronoq_cli.client.housekeeping import ClientHousekeeping  # brings SQLite along

        return ClientHousekeeping(self._gateway.paths, self._gateway.env)

    # The daemon's life

    def start_daemon(self, *, standby: bool = False) -> dict[str, Any]:
        """Start a daemon unless one runs: its status document, with `started`. Raises NoDaemonError."""
        return self._gateway.launch(standby=standby)

    def run_daemon(self, *, standby: bool = False) -> int:
        """Become the daemon: this process is replaced, and its exit status is the daemon's."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        become_daemon(self._gateway.paths, self._gateway.env, standby=standby)

    def stop_daemon(self, request: Request) -> Reply:
        """Have the daemon stop as `request` says, and return when its process is gone. Raises NoDaemonError."""
        connection = find_connection(self._gateway.paths)
        if connection is None:
            raise NoDaemonError("no daemon runs", hint="there is nothing to stop")
        self._gateway.forget_connection()
        end = ProcessEnd(connection)
        try:
            with connection:
                reply = _ask_to_stop(connection, request, end)
            if end.wait(GOING_S):
                reply.doc["daemon"] = {**reply.doc.get("daemon", {}), "state": "idle"}  # not what it was on its way out
            else:
                reply.notes.append(f"the daemon (process {connection.pid}) has answered but is still there")
            return reply
        finally:
            end.close()


def _ask_to_stop(connection: Connection, request: Request, end: ProcessEnd) -> Reply:
    """The daemon's reply; one that ends without it (stopped twice, or killed) has stopped all the same."""
    try:
        return connection.ask(request)
    except ConnectionLost:
        if end.wait(GOING_S):
            return Reply()
        raise NoDaemonError(
            "the daemon closed the connection and goes on running", hint="its log may say why: daemon.log"
        ) from None
    except RemoteError as error:
        if error.code == codec.STOPPING.decode() and end.wait(GOING_S):
            return Reply()
        raise


def _go_on_behind(watch: Watch, message: dict[str, Any]) -> Watch:
    """The request that goes on behind `message`, and with the tasks it meant at first."""
    after, select = watch.after_seq, watch.select
    event = message.get("event")
    if event is not None:
        after = event["seq"]
    elif after is None and isinstance(message.get("watching"), int):
        after = message["watching"]
    ids = message.get("tasks")
    if "watching" in message and select is not None and select.refs and ids:
        select = Selector(refs=[str(task_id) for task_id in ids])
    return Watch(after_seq=after, select=select, filter=watch.filter)
