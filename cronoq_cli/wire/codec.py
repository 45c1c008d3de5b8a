"""Frames between client and daemon, and what is in them: bytes to typed messages and back.

Layout: 4-byte big-endian length of what follows, 1 byte kind, payload. No sockets here. What requests mean
lives in daemon/handlers; the entry file repeats the layout of frames A and R on builtins.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, TypeVar, cast, get_args

import msgspec

from cronoq_cli.errors import CronoqError, ExitStatus, InvalidError, ProtocolError
from cronoq_cli.wire.json_text import dump_json, load_json
from cronoq_cli.wire.requests import ANY_VERSION, Reply, Request
from cronoq_cli.wire.version import LINE_MARK, PROTOCOL, VERSION, is_newer

MAX_REQUEST = 64 * 1024 * 1024
"""Bytes of a frame towards the daemon."""
MAX_ANSWER = 512 * 1024 * 1024
"""Bytes of a frame towards the client: a listing of a whole long history still fits."""

LINE, REQUEST = b"A", b"Q"
LINE_ANSWER, FULL_WAY, REPLY, ERROR, MESSAGE = b"R", b"F", b"D", b"X", b"M"
TO_DAEMON = LINE + REQUEST
TO_CLIENT = LINE_ANSWER + FULL_WAY + REPLY + ERROR + MESSAGE

STREAM, NEWER_CLIENT, OTHER_PROTOCOL, STOPPING = b"stream", b"newer-client", b"protocol", b"stopping"
"""Why a command line goes back to the client (payload of F); all but the first are codes of X too."""

_HEAD = 5
T = TypeVar("T")


class Frame(NamedTuple):
    """One frame: its kind (one of the letters above) and its payload."""

    kind: bytes
    payload: bytes


class FrameDecoder:
    """Cuts a stream of bytes into frames; refuses a wrong kind or length as soon as the head is there.

    `kinds` are the letters this side accepts. After a ProtocolError the stream is lost and must be closed.
    """

    __slots__ = ("_buffer", "_kinds", "_maximum")

    def __init__(self, kinds: bytes, maximum: int = MAX_REQUEST) -> None:
        self._buffer = bytearray()
        self._kinds = kinds
        self._maximum = maximum

    @property
    def buffered(self) -> int:
        """Bytes kept of a frame that is not complete."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames completed by `data`, in order. Raises ProtocolError."""
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        at = 0
        while len(buffer) - at >= _HEAD:
            end = at + 4 + self._length(buffer, at)
            if end > len(buffer):
                break
            frames.append(Frame(bytes(buffer[at + 4 : at + 5]), bytes(memoryview(buffer)[at + _HEAD : end])))
            at = end
        if at:
            del buffer[:at]
        return frames

    def _length(self, buffer: bytearray, at: int) -> int:
        length = int.from_bytes(buffer[at : at + 4], "big")
        if length == 0 or buffer[at + 4] not in self._kinds:
            raise ProtocolError("what arrived is no message of cronoq", hint="is the peer another program?")
        if length > self._maximum:
            raise ProtocolError(f"a message of {length} bytes is too long", hint=f"at most {self._maximum} bytes")
        return length


def encode_frame(kind: bytes, *parts: bytes) -> bytes:
    """One frame of `kind` with the joined `parts` as its payload."""
    return b"".join(((1 + sum(map(len, parts))).to_bytes(4, "big"), kind, *parts))


# Forwarded command lines


class CommandLine(msgspec.Struct, frozen=True):
    """A command line as a client forwards it: its words without the program's name, and where it was typed.

    Text is surrogate-escaped. `columns` is the terminal's width, None when there is none.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    umask: int
    version: str = VERSION
    stdin_tty: bool = False
    stdout_tty: bool = False
    stderr_tty: bool = False
    columns: int | None = None


class LineAnswer(msgspec.Struct, frozen=True):
    """What a forwarded command line ends in: exit status, and the bytes for its stdout and stderr."""

    exit: int
    out: bytes
    err: bytes


class OtherLineLayout(ProtocolError):
    """A forwarded command line of another layout version: the client must go the full way."""


def encode_line(line: CommandLine) -> bytes:
    """The frame A of a command line (the entry file makes the same on builtins)."""
    flags = ("i" if line.stdin_tty else "") + ("o" if line.stdout_tty else "") + ("e" if line.stderr_tty else "")
    columns = "" if line.columns is None else str(line.columns)
    head = [
        line.version,
        flags,
        columns,
        f"{line.umask:o}",
        str(len(line.argv)),
        str(len(line.env)),
        line.cwd,
    ]
    words = [*head, *line.argv, *(f"{name}={value}" for name, value in line.env.items())]
    return encode_frame(LINE, b"\0".join([LINE_MARK, *map(os.fsencode, words)]))


def decode_line(payload: bytes) -> CommandLine:
    """The command line in a frame A. Raises OtherLineLayout, or ProtocolError when it is malformed."""
    fields = payload.split(b"\0")
    if fields[0] != LINE_MARK:
        raise OtherLineLayout("the command line is forwarded in another layout")
    try:
        version, flags, columns, umask, argc, envc, cwd = fields[1:8]
        mask, words, variables = int(umask, 8), int(argc), int(envc)
        width = int(columns) if columns else None
    except ValueError:
        raise ProtocolError("the forwarded command line has a malformed head") from None
    if min(words, variables, mask) < 0 or mask > 0o777 or len(fields) != 8 + words + variables:
        raise ProtocolError("the forwarded command line does not have the parts its head names")
    return CommandLine(
        argv=[os.fsdecode(word) for word in fields[8 : 8 + words]],
        cwd=os.fsdecode(cwd),
        env=_decode_env(fields[8 + words :]),
        umask=mask,
        version=os.fsdecode(version),
        stdin_tty=b"i" in flags,
        stdout_tty=b"o" in flags,
        stderr_tty=b"e" in flags,
        columns=width if width and width > 0 else None,
    )


def _decode_env(pairs: list[bytes]) -> dict[str, str]:
    env: dict[str, str] = {}
    for pair in pairs:
        name, found, value = os.fsdecode(pair).partition("=")
        if found and name:
            env[name] = value
    return env


def encode_line_answer(answer: LineAnswer) -> bytes:
    """The frame R of an answer."""
    head = bytes((answer.exit & 0xFF,)) + len(answer.out).to_bytes(4, "big")
    return encode_frame(LINE_ANSWER, head, answer.out, answer.err)


def decode_line_answer(payload: bytes) -> LineAnswer:
    """The answer in a frame R. Raises ProtocolError when it is malformed."""
    length = int.from_bytes(payload[1:5], "big")
    if len(payload) < 5 + length:
        raise ProtocolError("the daemon's answer is cut short")
    return LineAnswer(payload[0], payload[5 : 5 + length], payload[5 + length :])


# Requests and replies


class RequestMessage(NamedTuple):
    """A request and who makes it. `as_is`: the client knows that it is newer than the daemon, and goes on."""

    request: Request
    client: str = VERSION
    protocol: int = PROTOCOL
    as_is: bool = False


_BY_NAME: dict[Any, Any] = {kind.__struct_config__.tag: kind for kind in get_args(Request)}


class _Envelope(msgspec.Struct):
    protocol: int
    client: str
    request: dict[str, Any]
    as_is: bool = False


def encode_request(request: Request, *, as_is: bool = False) -> bytes:
    """The frame Q of `request`. Raises InvalidError when it is longer than the daemon takes."""
    body = {"protocol": PROTOCOL, "client": VERSION, "request": request}
    payload = dump_json(body | {"as_is": True} if as_is else body)
    if len(payload) >= MAX_REQUEST:
        size = len(payload) / 1024**2
        raise InvalidError(
            f"the request has {size:.0f} MiB, more than the {MAX_REQUEST // 1024**2} MiB of one message",
            hint="submit it in several parts",
        )
    return encode_frame(REQUEST, payload)


def decode_request(payload: bytes) -> RequestMessage:
    """The request in a frame Q.

    Raises ProtocolError when it is none, or of another protocol (whose `ANY_VERSION` requests are understood
    all the same), and InvalidError when our protocol carries a request of the wrong shape.
    """
    if (message := _decode_plain(payload)) is not None:
        return message
    try:
        envelope = msgspec.convert(load_json(payload), _Envelope)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise ProtocolError(f"what arrived is no request: {_one_line(error)}") from None
    if envelope.protocol != PROTOCOL:
        request = _decode_any_version(envelope)
    else:
        request = _decode_known(envelope)
    return RequestMessage(request, envelope.client, envelope.protocol, envelope.as_is)


class _PlainEnvelope(msgspec.Struct):
    protocol: int
    client: str
    request: msgspec.Raw
    as_is: bool = False


class _Tagged(msgspec.Struct):
    type: str


def _decode_plain(payload: bytes) -> RequestMessage | None:
    """The same in half the time, with no dictionary made of it; None where there is anything to say about it, or where
    only the slow way can read it."""
    try:
        envelope = msgspec.json.decode(payload, type=_PlainEnvelope)
        kind = _BY_NAME.get(msgspec.json.decode(envelope.request, type=_Tagged).type)
        if kind is None or envelope.protocol != PROTOCOL:
            return None
        request = msgspec.json.decode(envelope.request, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return RequestMessage(request, envelope.client, envelope.protocol, envelope.as_is)


def _decode_known(envelope: _Envelope) -> Request:
    try:
        # By its name: a union of all requests would be looked through anew each time.
        name = envelope.request.get("type")
        kind = _BY_NAME.get(name, Request) if isinstance(name, str) else Request
        request: Request = msgspec.convert(envelope.request, kind, str_keys=True)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        if is_newer(envelope.client, VERSION) and not envelope.as_is:
            raise newer_client(envelope.client) from None  # which may well ask for what this version does not know
        hint = None if envelope.client == VERSION else _both_versions(envelope.client)
        raise InvalidError(f"malformed request: {_one_line(error)}", hint=hint) from None
    return request


def _decode_any_version(envelope: _Envelope) -> Request:
    """Status and stop work across versions: fields this version does not know are left out."""
    for kind in ANY_VERSION:
        if kind.__struct_config__.tag == envelope.request.get("type"):
            known = {name: value for name, value in envelope.request.items() if name in kind.__struct_encode_fields__}
            try:
                return cast(Request, msgspec.convert(known | {"type": envelope.request["type"]}, kind))
            except msgspec.ValidationError:
                break
    older = "use a client as new as the daemon; status, stop and restart work with this one too"
    raise ProtocolError(
        f"the client speaks protocol {envelope.protocol}, the daemon protocol {PROTOCOL}: "
        + _both_versions(envelope.client),
        hint=_RESTART if envelope.protocol > PROTOCOL else older,
    )


def newer_client(client: str) -> ProtocolError:
    """The answer to a client of a newer version, which then restarts this daemon or asks again as it is."""
    return ProtocolError(
        f"the client is cronoq {_one_line(client)[:40]}, the daemon cronoq {VERSION}",
        hint=_RESTART,
        code=NEWER_CLIENT.decode(),
    )


_RESTART = "bring the daemon up to date with: cronoq daemon restart"


def _both_versions(client: str) -> str:
    return f"client is cronoq {_one_line(client)[:40]}, daemon is cronoq {VERSION}"


class ErrorMessage(msgspec.Struct, kw_only=True):
    """An error as it crosses the socket, with the version of the daemon that sends it."""

    code: str = "internal"
    message: str = "internal error"
    hint: str | None = None
    exit: int = int(ExitStatus.INTERNAL)
    daemon: str | None = None
    protocol: int | None = None


class RemoteError(CronoqError):
    """An error the daemon answered: prints and exits like the one raised there. `daemon` is its version."""

    def __init__(self, message: ErrorMessage) -> None:
        super().__init__(message.message, hint=message.hint, code=message.code)
        self.exit = _known_exit(message.exit)
        self.daemon = message.daemon


def _known_exit(number: int) -> ExitStatus:
    try:
        return ExitStatus(number)
    except ValueError:
        return ExitStatus.INTERNAL  # a newer daemon's status that this client has no word for


def encode_reply(reply: Reply) -> bytes:
    """The frame D of `reply`. Raises InvalidError when it is longer than a client takes."""
    payload = dump_json(reply)
    if len(payload) >= MAX_ANSWER:
        raise InvalidError("the answer is too long for one message", hint="ask for less: --limit N, --after-id ID")
    return encode_frame(REPLY, payload)


def decode_reply(payload: bytes) -> Reply:
    """The reply in a frame D. Raises ProtocolError when it is malformed."""
    return _decode_answer(payload, Reply)


def encode_error(error: CronoqError) -> bytes:
    """The frame X of `error`."""
    body = {"code": error.code, "message": error.message, "hint": error.hint, "exit": int(error.exit)}
    return encode_frame(ERROR, dump_json(body | {"daemon": VERSION, "protocol": PROTOCOL}))


def decode_error(payload: bytes) -> RemoteError:
    """The error in a frame X, ready to be raised. Raises ProtocolError when it is malformed."""
    return RemoteError(_decode_answer(payload, ErrorMessage))


def encode_message(message: dict[str, Any]) -> bytes:
    """The frame M of one message of a stream."""
    return encode_frame(MESSAGE, dump_json(message))


def decode_message(payload: bytes) -> dict[str, Any]:
    """The message of a stream in a frame M. Raises ProtocolError when it is malformed."""
    return _decode_answer(payload, dict[str, Any])


def _decode_answer(payload: bytes, kind: type[T]) -> T:
    try:
        return msgspec.convert(load_json(payload), kind)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise ProtocolError(f"the daemon's answer is malformed: {_one_line(error)}") from None


def _one_line(value: object) -> str:
    """Text of foreign origin as one printable ASCII-safe line of bounded length."""
    text = " ".join(str(value).split())[:300]
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
