"""One connection to the daemon: finds its socket, sends frames, reads answers. When to start one is `gateway`'s."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import time
from types import TracebackType
from typing import Any

from cronoq_cli.config.paths import Paths
from cronoq_cli.errors import EXAMINE, InvalidError, NoDaemonError, ProtocolError, WaitTimeoutError
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import Frame, FrameDecoder
from cronoq_cli.wire.requests import Reply, Request
from cronoq_cli.wire.sockets import connect_unix

_ABSENT = frozenset((errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR))
_CREDENTIALS = struct.Struct("3i")


class ConnectionLost(Exception):
    """The daemon went away before it answered: an event to react to. `maybe_done`: it had read the request."""

    def __init__(self, *, maybe_done: bool) -> None:
        super().__init__("the daemon went away before it answered")
        self.maybe_done = maybe_done


class Connection:
    """A connected socket of ours. Not for two threads at once."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._decoder = FrameDecoder(codec.TO_CLIENT, codec.MAX_ANSWER)
        self._frames: list[Frame] = []
        self.pid, self.uid = _read_peer(connected)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close; the daemon forgets what still waits on this connection."""
        self._socket.close()

    def ask(self, request: Request, *, as_is: bool = False, timeout_s: float | None = None) -> Reply:
        """The reply to `request`.

        Raises RemoteError when it is refused, ConnectionLost, ProtocolError, and WaitTimeoutError when `timeout_s`
        seconds passed first (the connection is of no use then).
        """
        self.send(codec.encode_request(request, as_is=as_is))
        frame = self.receive(timeout_s)
        if frame.kind == codec.REPLY:
            return codec.decode_reply(frame.payload)
        raise _unexpected(frame)

    def send(self, data: bytes) -> None:
        """Send a frame. Raises ConnectionLost, or what the daemon said instead of reading it."""
        try:
            self._socket.settimeout(None)
            self._socket.sendall(data)
        except OSError:
            frame = self._read_last_words()
            if frame is not None:
                raise _unexpected(frame) from None
            raise ConnectionLost(maybe_done=False) from None

    def _read_last_words(self) -> Frame | None:
        with contextlib.suppress(ConnectionLost, WaitTimeoutError, ProtocolError):
            return self.receive(5.0)
        return None

    def receive(self, timeout_s: float | None = None) -> Frame:
        """The next frame. Raises ConnectionLost, WaitTimeoutError, ProtocolError."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._frames:
            self._frames += self._decoder.feed(self._read(deadline))
        return self._frames.pop(0)

    def _read(self, deadline: float | None) -> bytes:
        self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        try:
            data = self._socket.recv(1 << 18)
        except TimeoutError:
            raise WaitTimeoutError("the time to wait is over", hint="what was asked for goes on") from None
        except ConnectionResetError:
            # Linux resets when the peer closed with bytes of ours unread: it never saw the whole request.
            raise ConnectionLost(maybe_done=False) from None
        except OSError:
            raise ConnectionLost(maybe_done=True) from None
        if not data:
            raise ConnectionLost(maybe_done=True)
        return data

    def receive_message(self) -> dict[str, Any]:
        """The next message of a watched stream. Raises RemoteError, ConnectionLost, ProtocolError."""
        frame = self.receive()
        if frame.kind == codec.MESSAGE:
            return codec.decode_message(frame.payload)
        raise _unexpected(frame)


def _unexpected(frame: Frame) -> Exception:
    if frame.kind == codec.ERROR:
        return codec.decode_error(frame.payload)
    return ProtocolError("the daemon answered in a way this client does not know", hint="cronoq daemon restart")


def _read_peer(connected: socket.socket) -> tuple[int, int]:
    """Process and user that listen on the other side, as the kernel knows them."""
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


def find_connection(paths: Paths) -> Connection | None:
    """A connection to the daemon of these paths, or None when none listens.

    Raises NoDaemonError when the socket is there and cannot be used, InvalidError when another user listens.
    """
    for path in dict.fromkeys((paths.socket, paths.state_socket)):
        try:
            connection = Connection(connect_unix(path))
        except OSError as error:
            if error.errno in _ABSENT:
                continue
            raise NoDaemonError(f"cannot reach the daemon at {path}: {error.strerror}", hint=EXAMINE) from error
        if connection.uid == os.geteuid():
            return connection
        connection.close()
        raise InvalidError(
            f"the daemon at {path} belongs to user {connection.uid}, not to user {os.geteuid()}",
            hint="every user has a daemon of their own: set CRONOQ_HOME",
        )
    return None


class ProcessEnd:
    """Waits until the process at the other end is gone: holds on to the process itself, not to its number."""

    def __init__(self, connection: Connection) -> None:
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # gone already, or in a pid namespace of its own
            self._descriptor = os.pidfd_open(connection.pid)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it was gone within `timeout_s` seconds (None: wait for ever)."""
        if self._descriptor is None:
            return True
        ready, _, _ = select.select((self._descriptor,), (), (), timeout_s)
        return bool(ready)

    def close(self) -> None:
        """Let go of the process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
