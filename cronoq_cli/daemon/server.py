"""The daemon's end of the client socket: listens for the owner's clients, bounds their number, and ends.

What one client says and gets stands in `connection`, what it means in the application.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import socket

import msgspec

from cronoq_cli.daemon.connection import Application, Connection, Limits
from cronoq_cli.errors import ConflictError, CronoqError, InvalidError
from cronoq_cli.wire.sockets import bind_unix, connect_unix

__all__ = ["Application", "Limits", "Server"]

log = logging.getLogger(__name__)

_BACKLOG = 1024


class Server:
    """Serves the application to the owner's clients on listening Unix sockets."""

    def __init__(self, application: Application, limits: Limits | None = None) -> None:
        self.application = application
        self.limits = limits or _fit_descriptors(Limits())
        self.half_messages = 0
        self.heard_at = float("-inf")
        self._connections: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._listeners: list[asyncio.Server] = []
        self._files: dict[str, tuple[int, int] | None] = {}
        self._opening: set[asyncio.Task[None]] = set()

    async def open(self, *paths: str) -> None:
        """Listen at each of `paths`, for the owner alone; a dead daemon's socket there is replaced.

        The caller holds the instance lock: it alone gives the right to the paths. Raises InvalidError where there
        can be no socket, and ConflictError where a daemon of another store serves that path; then nothing listens
        and no file is left.
        """
        try:
            for path in dict.fromkeys(paths):
                _refuse_living(path)
                await self.serve(self._bind(path))
        except BaseException:
            self._close_listeners()
            raise

    def _bind(self, path: str) -> socket.socket:
        try:
            listener = bind_unix(path, backlog=_BACKLOG)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InvalidError(f"{path} is in the way: it is no socket", hint="move it away") from error
            raise InvalidError(
                f"cannot open the socket {path}: {error.strerror}", hint="cronoq doctor looks at its directory"
            ) from error
        self._files[path] = _find_identity(path)
        return listener

    def reopen(self) -> None:
        """Listen again where the file of a socket was removed while we serve it."""
        for path in [path for path in self._files if _find_identity(path) is None]:
            try:
                listener = self._bind(path)
            except CronoqError as error:
                log.error("%s", error.line())
                continue
            log.warning("the socket %s was gone and is open again", path)
            task = asyncio.get_running_loop().create_task(self.serve(listener))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def serve(self, listener: socket.socket) -> None:
        """Listen on a socket that is bound already (and owned from now on)."""
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: Connection(self), sock=listener, backlog=_BACKLOG)
        self._listeners.append(server)

    async def close(self) -> None:
        """Accept nothing more, let answers under way reach their readers, close every connection.

        Requests not begun are sent back as `stopping`: their clients may safely ask again. The socket files
        are removed. A reader that does not read is waited for at most `limits.flush_s`.
        """
        self._close_listeners()
        for connection in list(self._connections):
            connection.finish()
        if self._connections:
            waiting = [asyncio.ensure_future(connection.gone.wait()) for connection in self._connections]
            _, late = await asyncio.wait(waiting, timeout=self.limits.flush_s)
            for future in late:
                future.cancel()
        for connection in list(self._connections):
            connection.cut()

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        for path, identity in self._files.items():
            if _find_identity(path) == identity:  # never the socket of whoever came after us
                with contextlib.suppress(OSError):
                    os.unlink(os.fsencode(path))
        self._files.clear()

    # Book-keeping of the connections

    def enter(self, connection: Connection) -> None:
        """Count a new connection."""
        self._connections[connection] = None
        self.rest(connection)

    def leave(self, connection: Connection) -> None:
        """Count a connection no more."""
        self._connections.pop(connection, None)
        self._idle.pop(connection, None)

    def rest(self, connection: Connection) -> None:
        """The connection waits for its client; of too many such the one that waits longest is cut."""
        self._idle.pop(connection, None)
        self._idle[connection] = None
        if len(self._idle) > self.limits.idle_connections:
            oldest = next(iter(self._idle))
            del self._idle[oldest]
            oldest.cut()

    def wake(self, connection: Connection) -> None:
        """The connection is at work and not to be cut for others."""
        self._idle.pop(connection, None)


def _refuse_living(path: str) -> None:
    try:
        connect_unix(path, timeout_s=5.0).close()
    except OSError:
        return
    raise ConflictError(
        f"the daemon of another state directory serves {path}",
        hint="set CRONOQ_HOME to keep everything of one daemon together",
    )


def _find_identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(os.fsencode(path))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _fit_descriptors(limits: Limits) -> Limits:
    """`limits` with at most half of this process's descriptors for idle connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft // 2 >= limits.idle_connections:
        return limits
    return msgspec.structs.replace(limits, idle_connections=max(soft // 2, 16))
