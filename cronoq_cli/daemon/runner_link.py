"""A runner as the daemon knows it, and the connection to it. What is said over it is in `runners`."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from cronoq_cli.daemon.orders import OrderMessage, SentEnvironments
from cronoq_cli.errors import ProtocolError
from cronoq_cli.wire.json_text import dump_json, load_json
from cronoq_cli.wire.runner import VERSION, Decoder, frame_body

log = logging.getLogger(__name__)


class Runner(msgspec.Struct):
    """One runner as the daemon knows it. `heard`: its hello since the last connection has come, and of one that takes
    no starts any more what it was given ahead is back (`owes`: what is not). `speaks`: the version it wants to be
    opened with; another than ours makes it a foreign one."""

    name: str
    journal: str
    socket: str
    link: Link | None = None
    heard: bool = False
    foreign: bool = False
    speaks: int = VERSION
    pid: int | None = None
    known: set[tuple[int, int]] = set()
    owes: set[tuple[int, int]] = set()
    sent: SentEnvironments = msgspec.field(default_factory=SentEnvironments)
    process: subprocess.Popen[bytes] | None = None


class Link(asyncio.Protocol):
    """One connection to a runner."""

    def __init__(self, on_messages: Callable[[list[dict[str, Any]]], None]) -> None:
        self.gone = asyncio.Event()
        self._decoder = Decoder(load_json)
        self._on_messages = on_messages
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._decoder.feed(data)
        except ProtocolError as error:
            log.error("a runner said what is no report: %s", error.message)
            self.cut()
            return
        self._on_messages(messages)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def send(self, messages: Sequence[OrderMessage]) -> None:
        """Queue messages as one frame; what cannot be sent is told again after the next hello."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame_body(dump_json(messages)))

    def cut(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()
