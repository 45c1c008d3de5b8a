"""The daemon's socket over a real Unix socket, with an application that is a few lines long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.daemon import connection as connection_module
from cronoq_cli.daemon.server import Limits, Server
from cronoq_cli.errors import ConflictError, CronoqError, InvalidError, TryLaterError
from cronoq_cli.wire import codec
from cronoq_cli.wire.codec import CommandLine, Frame, FrameDecoder, LineAnswer
from cronoq_cli.wire.requests import (
    Cancel,
    DaemonStatus,
    Hold,
    ListTasks,
    Reply,
    Request,
    Selector,
    WaitTasks,
    Watch,
)
from cronoq_cli.wire.sockets import bind_unix, connect_unix

PATIENCE_S = 20.0


class Parked(Exception):
    """What the application below raises for a request that must wait."""


class Application:
    """Answers lines by echoing them; lists by counting; `wait` is parked, `hold` is a defect."""

    def __init__(self) -> None:
        self.count = 0
        self.waiting: list[Callable[[Any], None]] = []
        self.forgotten = threading.Event()
        self.parked = threading.Event()
        self.watched = threading.Event()
        self.unwatched = threading.Event()
        self.send: Callable[[dict[str, Any]], None] | None = None
        self.commit_fails: CronoqError | None = None

    def answer_line(self, line: CommandLine) -> LineAnswer:
        if line.argv[:1] == ["follow"]:
            raise NeedsClient
        if line.argv[:1] == ["boom"]:
            raise RuntimeError("a defect")
        return LineAnswer(len(line.argv), os.fsencode(" ".join(line.argv)), os.fsencode(line.cwd))

    def answer(self, request: Request) -> Reply:
        if isinstance(request, WaitTasks):
            raise Parked
        if isinstance(request, Hold):
            raise RuntimeError("a defect")
        if isinstance(request, Cancel):
            raise ConflictError("not now", hint="later")
        self.count += 1
        return Reply(
            doc={
                "count": self.count,
                "pad": "x" * (request.limit or 0 if isinstance(request, ListTasks) else 0),
            }
        )

    def run(self, call: Callable[[], Any], done: Callable[[Any], None]) -> Callable[[], None] | None:
        try:
            result = call()
        except Parked:
            self.waiting.append(done)
            self.parked.set()
            return self.forgotten.set
        except Exception as error:
            result = error
        done(self.commit_fails or result)
        return None

    def watch(self, request: Watch, send: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        if request.after_seq == -1:
            raise ConflictError("no such seq")
        self.send = send
        send({"watching": 0})
        self.watched.set()
        return self.unwatched.set

    def refuse_line(self, line: CommandLine, error: CronoqError) -> LineAnswer:
        return LineAnswer(int(error.exit), b"", os.fsencode(f"cronoq: {error.line()}\n"))


class Running:
    """A server on a loop in a thread of its own."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = str(path)
        self.application = Application()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = Server(self.application, limits)
        self.do(self.server.open(self.path))

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_S)

    def call(self, work: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return work()

        return self.do(run())

    def connect(self) -> Peer:
        return Peer(connect_unix(self.path, timeout_s=PATIENCE_S))

    def close(self) -> None:
        if self.thread.is_alive():
            self.do(self.server.close())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()


class Peer:
    """A client's connection, blocking."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.decoder = FrameDecoder(codec.TO_CLIENT, codec.MAX_ANSWER)
        self.frames: list[Frame] = []

    def send(self, data: bytes) -> Peer:
        self.socket.sendall(data)
        return self

    def read(self) -> Frame | None:
        """The next frame, or None at the end."""
        while not self.frames:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.frames += self.decoder.feed(data)
        return self.frames.pop(0)

    def ask(self, request: Request) -> Frame | None:
        return self.send(codec.encode_request(request)).read()

    def error(self) -> CronoqError:
        frame = self.read()
        assert frame is not None and frame.kind == codec.ERROR
        return codec.decode_error(frame.payload)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(path: Path | None = None, **limits: Any) -> Running:
        running.append(Running(path or tmp_path / "s", Limits(**limits)))
        return running[-1]

    yield begin
    for one in running:
        one.close()


def line(*argv: str, version: str = "0.1.0") -> bytes:
    return codec.encode_line(CommandLine(argv=list(argv), cwd="/dir", env={"A": "1"}, umask=0o22, version=version))


def assert_serves(daemon: Running) -> None:
    with daemon.connect() as peer:
        frame = peer.ask(ListTasks())
        assert frame is not None and frame.kind == codec.REPLY


WAIT = WaitTasks(select=Selector(refs=["1"]))


def test_a_command_line_is_answered_with_exit_stdout_and_stderr(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        frame = peer.send(line("ls", "\udcff")).read()
        assert frame is not None and frame.kind == codec.LINE_ANSWER
        assert codec.decode_line_answer(frame.payload) == LineAnswer(2, b"ls \xff", b"/dir")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (line("follow"), codec.STREAM),
        (line("ls", version="99.0"), codec.NEWER_CLIENT),
        (codec.encode_frame(codec.LINE, b"cronoq-a9\0"), codec.OTHER_PROTOCOL),
    ],
)
def test_a_line_only_the_client_can_run_goes_the_full_way(
    start: Callable[..., Running], data: bytes, why: bytes
) -> None:
    with start().connect() as peer:
        assert peer.send(data).read() == Frame(codec.FULL_WAY, why)


def test_an_older_client_is_served(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        frame = peer.send(line("ls", version="0.0.1")).read()
        assert frame is not None and frame.kind == codec.LINE_ANSWER


def test_requests_of_one_connection_are_answered_in_order(start: Callable[..., Running]) -> None:
    daemon = start()
    with daemon.connect() as peer:
        peer.send(codec.encode_request(ListTasks()) + codec.encode_request(WAIT) + codec.encode_request(ListTasks()))
        first = peer.read()
        assert daemon.application.parked.wait(PATIENCE_S)
        assert daemon.application.count == 1
        daemon.call(lambda: daemon.application.waiting[0](Reply(doc={"woken": True})))
        rest = [peer.read(), peer.read()]
    docs = [codec.decode_reply(frame.payload).doc for frame in (first, *rest) if frame is not None]
    assert [doc.get("count") for doc in docs] == [1, None, 2]
    assert docs[1] == {"woken": True}


def test_a_refused_request_keeps_its_code_hint_and_exit(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        error = peer.send(codec.encode_request(Cancel(select=Selector(all=True)))).error()
        assert (error.code, error.hint, error.exit) == ("conflict", "later", 4)


def test_a_defect_is_logged_once_and_the_daemon_lives(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    daemon = start()
    with daemon.connect() as peer:
        error = peer.send(codec.encode_request(Hold(select=Selector(all=True)))).error()
        assert error.exit == 125 and "a defect" in error.message
        assert len([record for record in caplog.records if record.exc_info]) == 1
        frame = peer.ask(ListTasks())
        assert frame is not None and frame.kind == codec.REPLY


def test_a_line_is_always_answered_as_a_line_so_that_it_never_runs_twice(
    start: Callable[..., Running],
) -> None:
    daemon = start()
    with daemon.connect() as peer:
        frame = peer.send(line("boom")).read()
        assert frame is not None and frame.kind == codec.LINE_ANSWER
        assert codec.decode_line_answer(frame.payload).exit == 125
        daemon.application.commit_fails = TryLaterError("no space")
        frame = peer.send(line("submit")).read()
        assert frame is not None
        assert codec.decode_line_answer(frame.payload) == LineAnswer(75, b"", b"cronoq: no space\n")


def test_a_newer_client_is_told_unless_it_knows_or_asks_for_status(start: Callable[..., Running]) -> None:
    def request(kind: str, **more: Any) -> bytes:
        body = {"protocol": 1, "client": "99.0", "request": {"type": kind}} | more
        return codec.encode_frame(codec.REQUEST, json.dumps(body).encode())

    with start().connect() as peer:
        error = peer.send(request("list")).error()
        assert (error.code, error.exit) == ("newer-client", 6)
        for data in (
            request("list", as_is=True),
            request("daemon-status"),
            codec.encode_request(DaemonStatus()),
        ):
            frame = peer.send(data).read()
            assert frame is not None and frame.kind == codec.REPLY


def test_a_wait_is_forgotten_when_its_client_goes_away(start: Callable[..., Running]) -> None:
    daemon = start()
    with daemon.connect() as peer:
        peer.send(codec.encode_request(WAIT))
        assert daemon.application.parked.wait(PATIENCE_S)
        assert not daemon.application.forgotten.is_set()
    assert daemon.application.forgotten.wait(PATIENCE_S)
    daemon.call(lambda: daemon.application.waiting[0](Reply()))  # its late answer harms nobody
    assert_serves(daemon)


def test_a_watch_gets_messages_until_it_goes_away(start: Callable[..., Running]) -> None:
    daemon = start()
    with daemon.connect() as peer:
        peer.send(codec.encode_request(Watch()))
        assert daemon.application.watched.wait(PATIENCE_S)
        send = daemon.application.send
        assert send is not None
        daemon.call(lambda: send({"seq": 1}))
        frames = [peer.read(), peer.read()]
        assert [codec.decode_message(frame.payload) for frame in frames if frame] == [
            {"watching": 0},
            {"seq": 1},
        ]
        assert not daemon.application.unwatched.is_set()
    assert daemon.application.unwatched.wait(PATIENCE_S)


def test_a_refused_watch_is_an_error(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        assert peer.send(codec.encode_request(Watch(after_seq=-1))).error().code == "conflict"


def test_a_watcher_that_does_not_read_is_cut_and_others_go_on(start: Callable[..., Running]) -> None:
    daemon = start(watch_backlog=1 << 20)
    with daemon.connect() as peer:
        peer.send(codec.encode_request(Watch()))
        assert daemon.application.watched.wait(PATIENCE_S)
        send = daemon.application.send
        assert send is not None
        for _ in range(200):
            daemon.call(lambda: send({"pad": "x" * 50_000}))
        assert daemon.application.unwatched.wait(PATIENCE_S)
        assert_serves(daemon)


def test_an_answer_nobody_reads_is_dropped_after_a_while(start: Callable[..., Running]) -> None:
    daemon = start(unread_answer_s=0.05)
    with daemon.connect() as peer:
        peer.send(codec.encode_request(ListTasks(limit=30_000_000)))
        (connection,) = wait_for(lambda: list(daemon.server._connections))
        asyncio.run_coroutine_threadsafe(connection.gone.wait(), daemon.loop).result(PATIENCE_S)
        assert_serves(daemon)


def test_a_slow_reader_gets_the_whole_long_answer(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        frame = peer.ask(ListTasks(limit=3_000_000))
        assert frame is not None and len(frame.payload) > 3_000_000
        frame = peer.ask(ListTasks())
        assert frame is not None and codec.decode_reply(frame.payload).doc["count"] == 2


def wait_for(condition: Callable[[], Any]) -> Any:
    """The first true value of `condition`, asked again until it holds."""
    gate = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if value := condition():
            return value
        gate.wait(0.01)
    raise AssertionError("the condition never held")


def test_two_hundred_silent_clients_do_not_disturb_the_others(start: Callable[..., Running]) -> None:
    daemon = start()
    silent = [daemon.connect() for _ in range(200)]
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: assert_serves(daemon), range(40)):
            pass
    for peer in silent:
        frame = peer.ask(ListTasks())
        assert frame is not None and frame.kind == codec.REPLY
        peer.socket.close()


def test_half_a_message_is_cut_after_a_time_out_and_told_why(start: Callable[..., Running]) -> None:
    daemon = start(half_message_s=0.05)
    for half in (b"\0", codec.encode_request(ListTasks())[:-1]):
        with daemon.connect() as peer:
            assert "did not arrive in time" in peer.send(half).error().message
            assert peer.read() is None
    assert daemon.server.half_messages == 0


def test_a_message_cut_into_single_bytes_is_understood(start: Callable[..., Running]) -> None:
    with start().connect() as peer:
        for byte in codec.encode_request(ListTasks()):
            peer.send(bytes((byte,)))
        frame = peer.read()
        assert frame is not None and frame.kind == codec.REPLY


@pytest.mark.parametrize(
    "data",
    [
        random.Random(1).randbytes(1 << 20),
        b"\xff\xff\xff\xffQ",
        struct.pack(">I", 100 << 20) + b"Q" + bytes(1 << 20),
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
def test_nonsense_gets_an_error_and_is_cut(start: Callable[..., Running], data: bytes) -> None:
    daemon = start()
    with daemon.connect() as peer:
        with contextlib.suppress(OSError):
            peer.send(data)
        assert peer.error().code == "protocol"
        assert peer.read() is None
    assert_serves(daemon)


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"[]", b'{"protocol":1,"client":"a","request":{"type":"x"}}', b"\xff"]
)
def test_json_of_the_wrong_shape_is_refused_and_the_connection_goes_on(
    start: Callable[..., Running], payload: bytes
) -> None:
    with start().connect() as peer:
        assert peer.send(codec.encode_frame(codec.REQUEST, payload)).error().exit in (6, 7)
        frame = peer.ask(ListTasks())
        assert frame is not None and frame.kind == codec.REPLY


def test_closing_in_the_middle_leaves_nothing_behind(start: Callable[..., Running]) -> None:
    daemon = start()
    for half in (
        b"\0\0",
        codec.encode_request(ListTasks())[:9],
        line("ls"),
        codec.encode_request(ListTasks(limit=10**7)),
    ):
        with daemon.connect() as peer:
            peer.send(half)
    wait_for(lambda: not daemon.server._connections)
    assert daemon.server.half_messages == 0
    assert not daemon.server._idle
    assert_serves(daemon)


def test_incomplete_messages_of_all_clients_together_are_bounded(start: Callable[..., Running]) -> None:
    daemon = start(half_messages=1 << 20)
    whole = codec.encode_frame(codec.REQUEST, bytes(900_000))
    with daemon.connect() as first, daemon.connect() as second:
        first.send(whole[:600_000])
        wait_for(lambda: daemon.server.half_messages == 600_000)
        with contextlib.suppress(OSError):
            second.send(whole[:600_000])
        assert second.error().exit == 75
        assert_serves(daemon)


def test_of_too_many_idle_connections_the_oldest_is_cut(start: Callable[..., Running]) -> None:
    daemon = start(idle_connections=3)
    with daemon.connect() as waiter, daemon.connect() as oldest:
        waiter.send(codec.encode_request(WAIT))
        assert daemon.application.parked.wait(PATIENCE_S)
        oldest.ask(ListTasks())
        others = [daemon.connect() for _ in range(3)]
        for other in others:
            other.ask(ListTasks())
        assert oldest.read() is None
        daemon.call(lambda: daemon.application.waiting[0](Reply()))
        frame = waiter.read()
        assert frame is not None and frame.kind == codec.REPLY
        for other in others:
            other.socket.close()


def test_another_user_is_closed_without_a_word(start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "get_peer_uid", lambda _: os.geteuid() + 1)
    daemon = start()
    with daemon.connect() as peer:
        with contextlib.suppress(OSError):
            peer.send(line("ls"))
        assert peer.read() is None
    assert daemon.application.count == 0


def test_the_socket_belongs_to_the_owner_alone_and_goes_at_the_end(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    daemon = start()
    status = os.lstat(tmp_path / "s")
    assert stat.S_ISSOCK(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
    daemon.close()
    assert not (tmp_path / "s").exists()


def test_a_stale_socket_is_replaced_and_a_file_is_not(start: Callable[..., Running], tmp_path: Path) -> None:
    bind_unix(str(tmp_path / "s")).close()
    assert_serves(start())
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InvalidError, match="in the way"):
        asyncio.run(Server(Application()).open(str(tmp_path / "other"), str(tmp_path / "file")))
    assert (tmp_path / "file").read_text() == "precious"
    assert not (tmp_path / "other").exists()


def test_a_path_too_long_for_a_socket_address_works(start: Callable[..., Running], tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    assert_serves(start(deep / "cronoq.sock"))


def test_a_path_served_by_a_living_daemon_is_refused_and_left_alone(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    daemon = start()
    with pytest.raises(ConflictError, match="another state directory"):
        asyncio.run(Server(Application()).open(str(tmp_path / "other"), daemon.path))
    assert not (tmp_path / "other").exists()
    assert_serves(daemon)


def test_the_socket_of_a_successor_is_left_alone(start: Callable[..., Running], tmp_path: Path) -> None:
    daemon = start()
    successor = bind_unix(str(tmp_path / "s"))
    daemon.close()
    assert (tmp_path / "s").exists()
    successor.close()


def test_at_the_end_what_was_not_done_is_sent_back(start: Callable[..., Running]) -> None:
    daemon = start()
    with daemon.connect() as asking, daemon.connect() as watching:
        asking.send(codec.encode_request(WAIT) + line("submit") + codec.encode_request(ListTasks()))
        watching.send(codec.encode_request(Watch()))
        assert daemon.application.parked.wait(PATIENCE_S)
        assert daemon.application.watched.wait(PATIENCE_S)
        daemon.close()
        assert asking.error().code == "stopping"
        assert asking.read() == Frame(codec.FULL_WAY, codec.STOPPING)
        assert asking.error().code == "stopping"
        assert asking.read() is None
        assert watching.read() is not None
        assert watching.read() is None
    assert daemon.application.forgotten.is_set() and daemon.application.unwatched.is_set()
    assert daemon.application.count == 0


def test_at_the_end_an_answer_under_way_still_arrives(start: Callable[..., Running]) -> None:
    daemon = start()
    with daemon.connect() as peer, ThreadPoolExecutor(1) as pool:
        peer.send(codec.encode_request(ListTasks(limit=5_000_000)))
        wait_for(lambda: daemon.application.count == 1)
        closing = pool.submit(daemon.close)
        frame = peer.read()
        closing.result(PATIENCE_S)
        assert frame is not None and len(frame.payload) > 5_000_000
