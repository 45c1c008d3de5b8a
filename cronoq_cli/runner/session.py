"""The runner's side of the socket: who may connect, which connection counts, and reports sent in groups.

What orders mean is decided elsewhere.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Final

from cronoq_cli.errors import ProtocolError
from cronoq_cli.runner.loop import READABLE, WRITABLE, Loop, Timer
from cronoq_cli.wire.runner import (
    VERSION,
    Decoder,
    Event,
    Message,
    Order,
    encode_frame,
    format_frame,
)
from cronoq_cli.wire.sockets import get_peer_uid

Report = str | Callable[[], str | None]
"""The text of a report, or what gives it when it is sent: None when by then there is nothing more to tell."""

_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_PAUSE_S: Final = 1.0
_HELD_S: Final = 0.01
_NEVER: Final = float("inf")
# Small enough for the C library to have it at hand; a larger block would be mapped and unmapped for each frame.
_RECEIVED_BYTES: Final = 64 * 1024
# A frame of reports is closed at about this many characters; far below the maximum of the protocol.
_FRAME_CHARACTERS: Final = 4 * 1024 * 1024
_MOST_PENDING: Final = 500_000
_MOST_UNOPENED: Final = 8


class Peer:
    """One connection; it counts once its first message, "open", was accepted."""

    __slots__ = ("decoder", "descriptor", "out", "socket", "writing")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.descriptor = connection.fileno()
        self.decoder = Decoder()
        self.out = bytearray()
        self.writing = False


class Session:
    """Listens, and talks with the newest daemon that may give orders.

    `on_open` is called for an accepted "open" before anything else of it, `on_order` for every later message.
    """

    def __init__(
        self,
        loop: Loop,
        listener: socket.socket,
        on_open: Callable[[Message], None],
        on_order: Callable[[Message], None],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._on_open = on_open
        self._on_order = on_order
        self._peer: Peer | None = None
        self._unopened: list[Peer] = []
        self._pending: list[Report] = []
        self._due_at = _NEVER
        self._sent_at = 0.0
        self._timer: Timer | None = None
        self.epoch = -1
        listener.setblocking(False)
        loop.watch(listener.fileno(), self._accept)

    @property
    def connected(self) -> bool:
        """Whether a daemon listens."""
        return self._peer is not None

    def say(self, report: str, *, at_once: bool = False) -> None:
        """Queue a report, to be sent at the latest 10 ms after those before it; dropped without a connection, since a
        hello tells it again."""
        if self._peer is not None:
            self._pending.append(report)
            self._due_at = 0.0 if at_once else min(self._due_at, self._sent_at + _HELD_S)

    def say_later(self, reports: Iterable[Report]) -> None:
        """Queue reports which nobody waits for: they go with the next that are sent, or in 10 ms."""
        if self._peer is not None:
            self._pending.extend(reports)
            self._due_at = min(self._due_at, time.monotonic() + _HELD_S)

    def settle(self, *, quiet: bool) -> None:
        """Send what is due; all there is when nothing else runs."""
        if not self._pending or self._peer is None:
            return
        if len(self._pending) > _MOST_PENDING:
            self._drop(self._peer)  # a daemon that does not read; its next hello tells everything
            return
        if len(self._peer.out) > _FRAME_CHARACTERS:
            return  # kept here until the socket has taken what was sent before
        now = time.monotonic()
        if quiet or now >= self._due_at:
            self._send_pending(now)
        elif self._timer is None or self._timer.cancelled or self._timer.at > self._due_at:
            if self._timer is not None:
                self._timer.cancel()
            # What is still pending when it fires is due then, and sent by the turn's own settle.
            self._timer = self._loop.call_at(self._due_at, _send_in_settle)

    def close(self) -> None:
        """Close everything; nothing can connect any more."""
        if self._pending:
            self._send_pending(time.monotonic())
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()
        for peer in (self._peer, *self._unopened):
            if peer is not None:
                self._drop(peer)

    def _send_pending(self, now: float) -> None:
        reports, self._pending = self._pending, []
        self._due_at = _NEVER
        self._sent_at = now
        peer = self._peer
        if peer is None:
            return
        texts = [text for report in reports if (text := report if isinstance(report, str) else report()) is not None]
        start = size = 0
        for index, text in enumerate(texts):
            size += len(text)
            if size >= _FRAME_CHARACTERS:
                peer.out += format_frame(texts[start : index + 1])
                start, size = index + 1, 0
        if start < len(texts):
            peer.out += format_frame(texts[start:])
        self._push(peer)

    def _accept(self, _events: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in _LACKING:
                self._pause_accepting()
            return
        connection.setblocking(False)
        if get_peer_uid(connection) != os.geteuid():
            connection.close()
            return
        peer = Peer(connection)
        self._unopened.append(peer)
        if len(self._unopened) > _MOST_UNOPENED:
            self._drop(self._unopened[0])
        self._watch(peer)

    def _pause_accepting(self) -> None:
        """Without a free descriptor the listener stays readable: looked at again in a moment, not at once."""
        self._loop.unwatch(self._listener.fileno())
        self._loop.call_after(_PAUSE_S, lambda: self._loop.watch(self._listener.fileno(), self._accept))

    def _serve(self, peer: Peer, events: int) -> None:
        if events & WRITABLE:
            self._push(peer)
        if events & ~WRITABLE and peer.socket.fileno() >= 0:
            self._receive(peer)

    def _receive(self, peer: Peer) -> None:
        try:
            data = peer.socket.recv(_RECEIVED_BYTES)
            messages = peer.decoder.feed(data)
        except BlockingIOError:
            return
        except (OSError, ProtocolError):
            self._drop(peer)
            return
        if not data:
            self._drop(peer)
            return
        for message in messages:
            if peer is not self._peer and not self._open(peer, message):
                return
            elif message.get("order") != Order.OPEN:
                self._on_order(message)

    def _open(self, peer: Peer, message: Message) -> bool:
        """Whether the connection counts from now on."""
        epoch = message.get("epoch")
        if message.get("order") != Order.OPEN or type(epoch) is not int:
            self._drop(peer)
            return False
        if epoch < self.epoch or message.get("version") != VERSION:
            self._refuse(peer)
            return False
        if self._peer is not None:
            self._drop(self._peer)
        self._unopened.remove(peer)
        self._peer = peer
        self.epoch = epoch
        self._pending.clear()
        self._on_open(message)
        return True

    def _refuse(self, peer: Peer) -> None:
        """Say why, once and without waiting, and close."""
        refusal = {"event": Event.REFUSED, "epoch": self.epoch, "version": VERSION}
        try:
            peer.socket.send(encode_frame([refusal]))
        except OSError:
            pass
        self._drop(peer)

    def _push(self, peer: Peer) -> None:
        """Write what the socket takes, and watch for room while something is left."""
        try:
            while peer.out:
                with memoryview(peer.out) as view:
                    sent = peer.socket.send(view[:_FRAME_CHARACTERS])
                del peer.out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(peer)
            return
        if peer.writing != bool(peer.out):
            peer.writing = bool(peer.out)
            self._watch(peer)

    def _watch(self, peer: Peer) -> None:
        wanted = READABLE | WRITABLE if peer.writing else READABLE
        self._loop.watch(peer.descriptor, lambda events: self._serve(peer, events), wanted)

    def _drop(self, peer: Peer) -> None:
        self._loop.unwatch(peer.descriptor)
        peer.socket.close()
        if peer is self._peer:
            self._peer = None
            self._pending.clear()
        if peer in self._unopened:
            self._unopened.remove(peer)


def _send_in_settle() -> None:
    """The end of each turn does it."""
