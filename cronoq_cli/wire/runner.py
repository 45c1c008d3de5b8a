"""The protocol between daemon and runner: message words, framing, and the incremental decoder.

A frame is a 4-byte big-endian length and JSON in UTF-8: always a list of messages, each an object with "order"
(daemon to runner) or "event" (runner to daemon). Standard library only: the runner imports this module.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final

from cronoq_cli.errors import ProtocolError

VERSION: Final = 1
MAX_FRAME: Final = 64 * 1024 * 1024
"""Largest body of a frame in bytes; a longer one is refused before it is read."""

ENVIRONMENTS_KEPT: Final = 32
"""How many environments the runner keeps, least recently used first out; a use is an env or start order."""

Message = dict[str, Any]

_HEADER: Final = struct.Struct(">I")
_quote: Final = json.encoder.encode_basestring_ascii
_decode: Final = json.JSONDecoder().raw_decode
_encode: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class Order(StrEnum):
    """What the daemon tells the runner."""

    OPEN = "open"
    LANES = "lanes"
    ENV = "env"
    START = "start"
    STOP = "stop"
    REVOKE = "revoke"
    SIGNAL = "signal"
    FIND = "find"
    FORGET = "forget"
    CLOSE = "close"


class Event(StrEnum):
    """What the runner tells the daemon."""

    HELLO = "hello"
    STARTED = "started"
    ENDED = "ended"
    REVOKED = "revoked"
    KEPT = "kept"
    UNKNOWN = "unknown"
    FOUND = "found"
    REFUSED = "refused"


class Cause(StrEnum):
    """Why the runner ended an attempt; a task that exits by itself has none."""

    TIME_LIMIT = "time limit"
    KILL_AT = "kill-at"
    HEARTBEAT = "heartbeat"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    SPAWN = "spawn"


class ErrorKind(StrEnum):
    """What kept an attempt from starting (cause "spawn")."""

    COMMAND = "command"
    DIRECTORY = "directory"
    STDIN = "stdin"
    OUTPUT = "output"
    MACHINE = "machine"


def encode_text(text: str) -> bytes:
    """The operating system's bytes of a string, whatever locale the runner was started in.

    Raises UnicodeEncodeError for a surrogate that stands for no byte.
    """
    return text.encode("utf-8", "surrogateescape")


def format_message(message: Message) -> str:
    """One message as JSON text, lone surrogates escaped."""
    return _encode(message)


def format_value(value: Any) -> str:
    """Any value of a message as JSON text."""
    return _encode(value)


def format_text(text: str | None) -> str:
    """A string, or null, as JSON text: for the few messages that are written by hand because they are many."""
    return "null" if text is None else _quote(text)


def format_frame(texts: Iterable[str]) -> bytes:
    """A whole frame from messages that are JSON text already. Raises ProtocolError above MAX_FRAME."""
    return frame_body(("[" + ",".join(texts) + "]").encode("ascii"))


def frame_body(body: bytes) -> bytes:
    """A whole frame from a list of messages that is JSON already. Raises ProtocolError above MAX_FRAME."""
    if len(body) > MAX_FRAME:
        raise ProtocolError(f"a frame of {len(body)} bytes is too long", hint=f"at most {MAX_FRAME} bytes in one frame")
    return _HEADER.pack(len(body)) + body


def encode_frame(messages: Iterable[Message]) -> bytes:
    """A whole frame from messages. Raises ProtocolError above MAX_FRAME."""
    return format_frame(map(_encode, messages))


class Decoder:
    """Turns the bytes of a connection into messages, however they were cut on the way."""

    __slots__ = ("_buffer", "_load")

    def __init__(self, load: Callable[[bytes], Any] | None = None) -> None:
        """`load` reads JSON, raising ValueError; the standard library does where a peer has nothing faster."""
        self._buffer = bytearray()
        self._load = load or _load

    def feed(self, data: bytes) -> list[Message]:
        """The messages completed by `data`, in order.

        Raises ProtocolError for what is not this protocol; the connection is of no use afterwards.
        """
        buffer = self._buffer
        whole = len(data) - _HEADER.size
        if not buffer and 0 <= whole <= MAX_FRAME and _HEADER.unpack_from(data)[0] == whole:
            return _parse_body(data[_HEADER.size :], self._load)  # one frame, as mostly
        buffer += data
        messages: list[Message] = []
        start = 0
        while len(buffer) - start >= _HEADER.size:
            (length,) = _HEADER.unpack_from(buffer, start)
            if length > MAX_FRAME:
                raise ProtocolError(f"a frame of {length} bytes was announced", hint=f"at most {MAX_FRAME}")
            end = start + _HEADER.size + length
            if len(buffer) < end:
                break
            messages += _parse_body(bytes(buffer[start + _HEADER.size : end]), self._load)
            start = end
        del buffer[:start]
        return messages


def _load(body: bytes) -> Any:
    """As json.loads, which first looks for blanks round the value: our peers write none. Raises ValueError."""
    text = body.decode("utf-8")
    try:
        value, end = _decode(text)
    except ValueError:
        end = -1
    return value if end == len(text) else json.loads(text)


def _parse_body(body: bytes, load: Callable[[bytes], Any]) -> list[Message]:
    try:
        messages = load(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a frame is not JSON: {error}") from None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ProtocolError("a frame is not a list of objects")
    return messages
