"""One client of the daemon: frames in, answers out in the same order, and the bounds on what it may take.

What lines and requests mean is the application's; listening and counting connections is `server`'s. A
connection has no task, and no timer while nothing is half done.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import msgspec

from cronoq_cli.daemon.collector import LARGE, rest_collector
from cronoq_cli.errors import CronoqError, ProtocolError, TryLaterError
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import CommandLine, Frame, LineAnswer, OtherLineLayout
from cronoq_cli.wire.requests import ANY_VERSION, Reply, Request, Watch
from cronoq_cli.wire.sockets import get_peer_uid
from cronoq_cli.wire.version import VERSION, is_newer

log = logging.getLogger(__name__)
T = TypeVar("T")


class Application(Protocol):
    """What the server asks of the daemon. All methods run on the loop's thread and return at once."""

    def answer_line(self, line: CommandLine) -> LineAnswer:
        """Parse and run a forwarded command line. Raises NeedsClient when only the client can."""
        ...

    def answer(self, request: Request) -> Reply | Callable[[], Reply]:
        """Carry out a request; a reply may be put together later. Raises a CronoqError when it is refused."""
        ...

    def run(self, call: Callable[[], T], done: Callable[[T | BaseException], None]) -> Callable[[], None] | None:
        """Run `call` and hand its result or exception to `done` once what it changed is committed.

        Returns None, or while the call waits without having changed anything, what forgets it.
        """
        ...

    def watch(self, request: Watch, send: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Hand every message of the stream to `send` from now on; returns what ends that."""
        ...

    def refuse_line(self, line: CommandLine, error: CronoqError) -> LineAnswer:
        """The answer to a command line that ended in `error` outside of it (its commit failed)."""
        ...


class Limits(msgspec.Struct, frozen=True):
    """What one client, and all together, may take of the daemon. Seconds, bytes, counts."""

    half_message_s: float = 30.0
    unread_answer_s: float = 60.0
    idle_connections: int = 1000
    watch_backlog: int = 8 * 1024 * 1024
    half_messages: int = 256 * 1024 * 1024
    """Bytes of incomplete messages of all connections together."""
    flush_s: float = 5.0


class Host(Protocol):
    """What a connection knows of the server it belongs to."""

    application: Application
    limits: Limits
    half_messages: int
    """Bytes of incomplete messages of all connections."""
    heard_at: float
    """When a client has last said anything, by the monotonic clock."""

    def enter(self, connection: Connection) -> None:
        """Count a new connection."""
        ...

    def leave(self, connection: Connection) -> None:
        """Count a connection no more."""
        ...

    def rest(self, connection: Connection) -> None:
        """The connection waits for its client."""
        ...

    def wake(self, connection: Connection) -> None:
        """The connection is at work and not to be cut for others."""
        ...


class Connection(asyncio.Protocol):
    """One client: answered one request at a time. `gone` is set when the socket is closed."""

    def __init__(self, server: Host) -> None:
        self.gone = asyncio.Event()
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._decoder = codec.FrameDecoder(codec.TO_DAEMON)
        self._frames: deque[Frame] = deque()
        self._busy = False
        self._advancing = False
        self._clogged = False
        self._ending = False
        self._half = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._forget: Callable[[], None] | None = None
        self._parked: Frame | None = None

    # Called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not _is_owner(transport.get_extra_info("socket")):
            self._transport.abort()
            return
        self._server.enter(self)

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        self._server.heard_at = time.monotonic()
        try:
            frames = self._decoder.feed(data)
            self._frames.extend(frames)
            self._count_half(bool(frames))
        except CronoqError as error:
            self._reject(error)
            return
        self._advance()

    def eof_received(self) -> bool:
        return False  # the client has gone, or says nothing more and will not be answered

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        self._server.half_messages -= self._half
        self._half = 0
        self._ending = True
        self._frames.clear()
        self._server.leave(self)
        self.gone.set()
        self._call_forget()

    def pause_writing(self) -> None:
        self._clogged = True
        if self._transport is not None and not self._is_watching():
            self._await_reader(self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._clogged = False
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        self._advance()

    # Called by the server

    def finish(self) -> None:
        """Send what is to be sent and close; requests not begun, or parked, are sent back."""
        parked, self._parked = self._parked, None
        if self._forget is not None and parked is not None:
            self._frames.appendleft(parked)
        self._call_forget()
        for frame in self._frames:
            self._write(_send_back(frame))
        self._close()

    def cut(self) -> None:
        """Close at once, whatever is under way."""
        self._ending = True
        if self._transport is not None:
            self._transport.abort()

    # Frames in

    def _count_half(self, completed: bool) -> None:
        """Bound how much and how long an incomplete message may occupy."""
        grown = self._decoder.buffered - self._half
        self._half += grown
        self._server.half_messages += grown
        if grown > 0 and self._server.half_messages > self._server.limits.half_messages:
            raise TryLaterError("too many long messages arrive at the same time", hint="try again in a moment")
        if self._timer is not None and (completed or not self._half):
            self._timer.cancel()
            self._timer = None
        if self._half and self._timer is None:
            self._time_half()

    def _time_half(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._server.limits.half_message_s, self._cut_half)

    def _cut_half(self) -> None:
        if self._frames:
            self._time_half()  # it is we who do not read on, until the requests before are answered
        else:
            self._reject(ProtocolError("the rest of a message did not arrive in time"))

    def _reject(self, error: CronoqError) -> None:
        """Answer with `error` and close: nothing after it on this connection can be understood."""
        self._write(codec.encode_error(error))
        self._call_forget()
        self._close()

    def _close(self) -> None:
        self._ending = True
        self._frames.clear()
        if self._transport is not None:
            self._transport.close()

    def _advance(self) -> None:
        """Begin the next requests as far as the connection is free for them."""
        if self._advancing:
            return  # an answer came while its request was begun: the loop below goes on
        self._advancing = True
        try:
            while self._frames and not (self._busy or self._clogged or self._ending):
                self._begin(self._frames.popleft())
        finally:
            self._advancing = False
        self._settle()

    def _settle(self) -> None:
        """Read on only when no request waits for its turn, and tell the server whether we are idle."""
        if self._transport is None or self._ending or self._transport.is_closing():
            return
        if self._frames:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
        if self._busy or self._frames or self._clogged:
            self._server.wake(self)
        else:
            self._server.rest(self)

    def _begin(self, frame: Frame) -> None:
        self._busy = True
        try:
            if len(frame.payload) >= LARGE:
                rest_collector()
            if frame.kind == codec.LINE:
                self._begin_line(frame)
            else:
                self._begin_request(frame)
        except Exception as error:
            self._answer(codec.encode_error(_explain(error)))

    def _begin_line(self, frame: Frame) -> None:
        try:
            line = codec.decode_line(frame.payload)
        except OtherLineLayout:
            self._answer(codec.encode_frame(codec.FULL_WAY, codec.OTHER_PROTOCOL))
            return
        if is_newer(line.version, VERSION):
            self._answer(codec.encode_frame(codec.FULL_WAY, codec.NEWER_CLIENT))
            return
        from cronoq_cli.commands.context import NeedsClient  # of lines alone, which the start does not wait for

        application = self._server.application

        def encode(result: LineAnswer | BaseException) -> bytes:
            if isinstance(result, NeedsClient):
                return codec.encode_frame(codec.FULL_WAY, codec.STREAM)
            if isinstance(result, BaseException):
                result = application.refuse_line(line, _explain(result))
            return codec.encode_line_answer(result)

        self._run(frame, lambda: application.answer_line(line), encode)

    def _begin_request(self, frame: Frame) -> None:
        message = codec.decode_request(frame.payload)
        request = message.request
        if is_newer(message.client, VERSION) and not message.as_is and not isinstance(request, ANY_VERSION):
            raise codec.newer_client(message.client)
        application = self._server.application
        if isinstance(request, Watch):
            self._forget = application.watch(request, self._send_message)
        else:
            self._run(frame, lambda: application.answer(request), _encode_result)

    def _run(self, frame: Frame, call: Callable[[], T], encode: Callable[[T | BaseException], bytes]) -> None:
        answered = False

        def done(result: T | BaseException) -> None:
            nonlocal answered
            if answered:
                return  # by an error of `run` itself: a client gets one answer to a request
            answered, self._forget, self._parked = True, None, None
            if not self._ending:
                self._answer(_encode_safely(encode, result))

        try:
            forget = self._server.application.run(call, done)
        except Exception as error:
            done(error)
            return
        if not answered:
            self._forget, self._parked = forget, frame

    # Frames out

    def _answer(self, frame: bytes) -> None:
        self._write(frame)
        self._busy = False
        self._advance()

    def _send_message(self, message: dict[str, Any]) -> None:
        """One message of a watched stream; too slow a reader costs its own connection, never our memory."""
        if self._ending or self._transport is None:
            return
        self._write(codec.encode_message(message))
        if self._transport.get_write_buffer_size() > self._server.limits.watch_backlog:
            log.warning("a watching client reads too slowly and was cut")
            self.cut()

    def _write(self, frame: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    def _await_reader(self, size: int) -> None:
        loop = asyncio.get_running_loop()
        self._unread = loop.call_later(self._server.limits.unread_answer_s, self._check_reader, size)

    def _check_reader(self, before: int) -> None:
        self._unread = None
        if self._transport is None or not self._clogged:
            return
        size = self._transport.get_write_buffer_size()
        if size < before:
            self._await_reader(size)
        else:
            self.cut()

    def _is_watching(self) -> bool:
        return self._busy and self._forget is not None

    def _call_forget(self) -> None:
        forget, self._forget = self._forget, None
        if forget is not None:
            try:
                forget()
            except Exception:
                log.exception("a request of a client that has gone could not be forgotten")

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._unread):
            if timer is not None:
                timer.cancel()
        self._timer = self._unread = None


def _encode_safely(encode: Callable[[T | BaseException], bytes], result: T | BaseException) -> bytes:
    try:
        return encode(result)
    except Exception as error:
        return codec.encode_error(_explain(error))


def _encode_result(result: Reply | Callable[[], Reply] | BaseException) -> bytes:
    if isinstance(result, BaseException):
        return codec.encode_error(_explain(result))
    return codec.encode_reply(result if isinstance(result, Reply) else result())


def _send_back(frame: Frame) -> bytes:
    if frame.kind == codec.LINE:
        return codec.encode_frame(codec.FULL_WAY, codec.STOPPING)
    return codec.encode_error(
        TryLaterError("the daemon is stopping", hint="try again when it runs again", code=codec.STOPPING.decode())
    )


def _explain(error: BaseException) -> CronoqError:
    """The error to answer. A defect of ours is written to the log once and told in one line; we live on."""
    if isinstance(error, CronoqError):
        return error
    if isinstance(error, MemoryError):
        return TryLaterError("the daemon is out of memory", hint="ask for less at once, or try again")
    log.error("a request failed by an internal error", exc_info=error)
    said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return CronoqError(f"internal error in the daemon: {said}", hint="daemon.log has more")


def _is_owner(connection: socket.socket) -> bool:
    try:
        return get_peer_uid(connection) == os.geteuid()
    except OSError:
        return False
