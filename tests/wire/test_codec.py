"""Frames and messages between client and daemon: what goes in comes out, and nothing breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.errors import ConflictError, CronoqError, ExitStatus, InvalidError, ProtocolError
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import CommandLine, Frame, FrameDecoder, LineAnswer, encode_frame
from cronoq_cli.wire.requests import DaemonStatus, DaemonStop, ListTasks, Reply, Selector, Submit
from cronoq_cli.wire.version import VERSION


def texts(without: bytes) -> st.SearchStrategy[str]:
    """What the system's bytes are as text: taken out before they are decoded, since bytes that come together then
    may be a character."""
    raw = st.binary(max_size=20).map(lambda data: data.translate(None, without))
    return raw.map(lambda data: data.decode("utf-8", "surrogateescape"))


BYTES_AS_TEXT = texts(b"\0")
NAMES = texts(b"\0=").map("X".__add__)


def only_frame(data: bytes, kinds: bytes = codec.TO_DAEMON + codec.TO_CLIENT) -> Frame:
    (frame,) = FrameDecoder(kinds).feed(data)
    return frame


def payload_of(body: object) -> bytes:
    return json.dumps(body).encode()


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 30))
def test_frames_survive_any_cutting_of_the_stream(payloads: list[bytes], step: int) -> None:
    stream = b"".join(encode_frame(b"Q", payload) for payload in payloads)
    decoder = FrameDecoder(b"Q")
    frames = [frame for at in range(0, len(stream), step) for frame in decoder.feed(stream[at : at + step])]
    assert frames == [Frame(b"Q", payload) for payload in payloads]
    assert decoder.buffered == 0


@given(st.binary(max_size=300))
def test_random_bytes_give_frames_or_a_protocol_error(data: bytes) -> None:
    decoder = FrameDecoder(codec.TO_DAEMON)
    try:
        frames = decoder.feed(data)
    except ProtocolError:
        return
    assert sum(len(frame.payload) + 5 for frame in frames) + decoder.buffered == len(data)


@pytest.mark.parametrize("head", [b"\0\0\0\0A", b"\xff\xff\xff\xffQ", b"\0\0\0\x05Z", b"GET / HTTP/1.1"])
def test_a_wrong_head_is_refused_before_the_rest_arrives(head: bytes) -> None:
    with pytest.raises(ProtocolError):
        FrameDecoder(codec.TO_DAEMON).feed(head)


def test_a_half_head_is_waited_for() -> None:
    decoder = FrameDecoder(codec.TO_DAEMON)
    assert decoder.feed(b"\xff") == []
    assert decoder.buffered == 1


@given(
    st.lists(BYTES_AS_TEXT, max_size=6),
    st.dictionaries(NAMES, BYTES_AS_TEXT, max_size=6),
    BYTES_AS_TEXT,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.none() | st.integers(1, 500),
)
def test_a_command_line_of_any_bytes_comes_back_equal(
    argv: list[str], env: dict[str, str], cwd: str, ttys: tuple[bool, bool, bool], columns: int | None
) -> None:
    line = CommandLine(
        argv=argv,
        cwd=cwd,
        env=env,
        umask=0o027,
        stdin_tty=ttys[0],
        stdout_tty=ttys[1],
        stderr_tty=ttys[2],
        columns=columns,
    )
    assert codec.decode_line(only_frame(codec.encode_line(line)).payload) == line


@given(st.lists(st.binary(max_size=6), max_size=14))
def test_a_malformed_command_line_is_a_protocol_error(parts: list[bytes]) -> None:
    for payload in (b"\0".join(parts), b"\0".join([codec.LINE_MARK, *parts])):
        try:
            line = codec.decode_line(payload)
        except ProtocolError:
            continue
        assert len(line.argv) <= len(parts)


def test_another_layout_of_the_command_line_is_told_apart() -> None:
    with pytest.raises(codec.OtherLineLayout):
        codec.decode_line(b"cronoq-a2\0whatever")


@given(st.integers(0, 255), st.binary(max_size=99), st.binary(max_size=99))
def test_a_line_answer_comes_back_equal(exit_status: int, out: bytes, err: bytes) -> None:
    answer = LineAnswer(exit_status, out, err)
    assert codec.decode_line_answer(only_frame(codec.encode_line_answer(answer)).payload) == answer


@pytest.mark.parametrize("payload", [b"", b"\0\0\0", b"\0\0\0\0\x05abc"])
def test_a_cut_line_answer_is_a_protocol_error(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        codec.decode_line_answer(payload)


def test_a_submission_with_bytes_that_are_no_utf8_comes_back_equal() -> None:
    spec = TaskSpec(name="na\udcffme", command=["echo", "\udc80"], tags={"k\udcfe": "v"}, kill_at=1.5)
    request = Submit(specs=[spec], envs={"h": b"\0\xff"}, stdins={0: b"in\0put"}, batch=True)
    message = codec.decode_request(only_frame(codec.encode_request(request)).payload)
    assert message.request == request
    assert (message.client, message.as_is) == (VERSION, False)


def test_the_quick_way_reads_a_request_as_the_slow_one_does_and_refuses_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [
        TaskSpec(name=f"n{n}", command=["echo", "x"], env_changes={"A": None}, keep_s=1.0, uses={"gpu": n})
        for n in range(3)
    ]
    whole = Submit(specs=specs, envs={"h": b"\0\xff"}, stdins={2: b"in"}, batch=True, limit=2)
    bad = Submit(specs=[TaskSpec(name="na\udcffme")])
    wrong = [b'{"protocol": 1, "client": "1", "request": {"type": "submit", "specs": 3}}', b"[]", b"{", b"\xff"]
    payloads = [*(only_frame(codec.encode_request(one)).payload for one in (whole, bad, ListTasks())), *wrong]

    def read(payload: bytes) -> Any:
        try:
            return codec.decode_request(payload)
        except CronoqError as error:
            return type(error), error.message, error.hint

    quick = [read(payload) for payload in payloads]
    assert quick[0].request == whole and codec._decode_plain(payloads[0]) is not None
    monkeypatch.setattr(codec, "_decode_plain", lambda payload: None)
    assert [read(payload) for payload in payloads] == quick


def test_a_request_may_say_that_it_knows_the_daemon_is_older() -> None:
    frame = only_frame(codec.encode_request(ListTasks(), as_is=True))
    assert codec.decode_request(frame.payload).as_is


@pytest.mark.parametrize(
    "request_body",
    [
        {"type": "list", "limit": "many"},
        {"type": "list", "colour": "red"},
        {"type": "fly"},
        {"type": 7},
        {"type": "\udcff"},
        {},
        {"type": "submit", "specs": [{"name": 3}]},
        {"type": "submit", "specs": [], "envs": {"h": "not base64!"}},
        {"type": "submit", "specs": [], "stdins": {"one": ""}},
    ],
)
def test_json_of_the_wrong_shape_is_refused_as_invalid(request_body: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="malformed request"):
        codec.decode_request(payload_of({"protocol": 1, "client": VERSION, "request": request_body}))


def test_a_malformed_request_of_another_version_names_both_versions() -> None:
    with pytest.raises(InvalidError) as caught:
        codec.decode_request(payload_of({"protocol": 1, "client": "0.0.9", "request": {"type": "fly"}}))
    assert "0.0.9" in caught.value.line() and VERSION in caught.value.line()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff",
        b"[1]",
        b"{}",
        b'{"protocol":1}',
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"protocol":1,"client":"a","request":{"type":"list","limit":NaN}}',
        b'{"protocol":1,"client":"a","request":{"type":"prune","older_than_s":1e999}}',
    ],
)
def test_what_is_no_request_is_a_protocol_error_on_one_line(payload: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.decode_request(payload)
    assert "\n" not in caught.value.line()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["list", "submit", "wait", "cancel", "edit", "daemon-stop"]))
def test_any_json_is_a_request_or_refused(body: Any, kind: str) -> None:
    request = body | {"type": kind} if isinstance(body, dict) else body
    for whole in (body, {"protocol": 1, "client": "x", "request": request}):
        try:
            codec.decode_request(payload_of(whole))
        except (ProtocolError, InvalidError):
            continue


def test_another_protocol_names_both_and_what_to_do() -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.decode_request(payload_of({"protocol": 2, "client": "9.1", "request": {"type": "list"}}))
    line = caught.value.line()
    assert "protocol 2" in line and "protocol 1" in line and "9.1" in line and "cronoq daemon restart" in line
    assert caught.value.exit == ExitStatus.PROTOCOL


@pytest.mark.parametrize(
    ("body", "request_"),
    [
        ({"type": "daemon-status", "verbose": True}, DaemonStatus()),
        (
            {"type": "daemon-stop", "mode": "keep", "restart": True, "later": 1},
            DaemonStop(mode="keep", restart=True),
        ),
    ],
)
def test_status_and_stop_work_across_protocols(body: dict[str, Any], request_: Any) -> None:
    message = codec.decode_request(payload_of({"protocol": 7, "client": "9.1", "request": body}))
    assert message.request == request_


def test_a_reply_comes_back_equal() -> None:
    reply = Reply(doc={"tasks": [{"id": 1, "name": "\udcff", "x": None, "f": 0.5}]}, notes=["n"], exit=1)
    assert codec.decode_reply(only_frame(codec.encode_reply(reply)).payload) == reply


def test_an_error_comes_back_with_its_code_hint_and_exit() -> None:
    sent = ConflictError("key \udcff is taken", hint="take another")
    got = codec.decode_error(only_frame(codec.encode_error(sent)).payload)
    assert (got.code, got.message, got.hint, got.exit) == (
        "conflict",
        sent.message,
        sent.hint,
        ExitStatus.CONFLICT,
    )
    assert got.daemon == VERSION


def test_an_exit_status_of_the_future_is_an_internal_error_here() -> None:
    assert codec.decode_error(payload_of({"message": "m", "exit": 77})).exit == ExitStatus.INTERNAL


def test_a_stream_message_comes_back_equal() -> None:
    message = {"watching": 3, "tasks": [1, 2]}
    assert codec.decode_message(only_frame(codec.encode_message(message)).payload) == message


def test_a_request_that_is_too_long_is_refused_by_the_client_itself() -> None:
    request = Submit(specs=[], stdins={n: bytes(1 << 20) for n in range(50)})
    with pytest.raises(InvalidError, match="MiB"):
        codec.encode_request(request)


def test_selectors_keep_tags_without_a_value() -> None:
    request = ListTasks(select=Selector(tags={"a": None, "b": "c"}), limit=None)
    assert codec.decode_request(only_frame(codec.encode_request(request)).payload).request == request
