"""Waiting and following across the daemon's restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.client import streams as streams_module
from cronoq_cli.errors import CronoqError, NoDaemonError, WaitTimeoutError
from cronoq_cli.wire.requests import DaemonStop, ListTasks, Selector, Submit, WaitTasks, Watch
from tests.client.harness import PATIENCE_S, Client

WAIT = WaitTasks(select=Selector(all=True))
SUBMIT = Submit(specs=[])


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def wait_until_parked(client: Client, future: Future[Any]) -> None:
    """Return when the daemon has had the request: a later one on another connection was answered."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not future.running():
        pass
    for _ in range(20):
        Client(Path(client.paths.state_dir)).gateway.ask(ListTasks())
    assert not future.done()


def test_a_wait_starts_a_daemon_and_is_answered_when_it_has_happened(client: Client, pool: ThreadPoolExecutor) -> None:
    client.start()
    waiting = pool.submit(client.streams.wait, WAIT, None)
    wait_until_parked(client, waiting)
    client.gateway.ask(SUBMIT)
    assert waiting.result(PATIENCE_S).doc["submitted"] == 1


def test_what_has_happened_already_is_answered_at_once(client: Client) -> None:
    client.gateway.ask(SUBMIT)
    assert client.streams.wait(WAIT, 0).doc["submitted"] == 1


def test_a_wait_ends_with_its_own_time_limit(client: Client) -> None:
    with pytest.raises(WaitTimeoutError) as caught:
        client.streams.wait(WAIT, 0.05)
    assert caught.value.exit == 124


@pytest.mark.parametrize("end", ["kill", "restart"])
def test_a_wait_goes_on_with_the_next_daemon(
    client: Client, pool: ThreadPoolExecutor, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "START_AFTER_S", 1000.0)
    client.start()
    other = Client(Path(client.paths.state_dir))
    waiting = pool.submit(other.streams.wait, WAIT, None)
    wait_until_parked(client, waiting)
    if end == "kill":
        client.kill()
    else:
        client.streams.stop_daemon(DaemonStop(mode="keep", restart=True))
    client.start()
    client.gateway.ask(SUBMIT)
    assert waiting.result(PATIENCE_S).doc["submitted"] == 1
    assert len(client.starts) == 2


def test_a_wait_brings_a_crashed_daemon_back_itself(
    client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "START_AFTER_S", 0.05)
    client.start()
    other = Client(Path(client.paths.state_dir))
    waiting = pool.submit(other.streams.wait, WAIT, None)
    wait_until_parked(client, waiting)
    client.kill()
    eventually(lambda: len(client.starts) == 2)
    client.gateway.ask(SUBMIT)
    assert waiting.result(PATIENCE_S).doc["submitted"] == 1


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_wait_gives_up_when_the_daemon_was_stopped_and_stays_away(
    client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "RECONNECT_S", 0.2)
    monkeypatch.setattr(streams_module, "START_AFTER_S", 0.0)
    client.start()
    waiting = pool.submit(client.streams.wait, WAIT, None)
    wait_until_parked(client, waiting)
    Client(Path(client.paths.state_dir)).streams.stop_daemon(DaemonStop())
    with pytest.raises(NoDaemonError, match="did not come back"):
        waiting.result(PATIENCE_S)
    assert len(client.starts) == 1


def test_the_time_limit_holds_while_no_daemon_runs(
    client: Client, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "START_AFTER_S", 1000.0)
    client.start()
    waiting = pool.submit(client.streams.wait, WAIT, 1.0)
    wait_until_parked(client, waiting)
    Client(Path(client.paths.state_dir)).kill()
    with pytest.raises(WaitTimeoutError):
        waiting.result(PATIENCE_S)


def test_a_stream_goes_on_behind_the_last_message_seen(client: Client) -> None:
    client.start()
    notes: list[str] = []
    stream = iter(client.streams.watch(Watch(), notes.append))
    assert next(stream) == {"watching": 0, "tasks": None}
    client.gateway.ask(SUBMIT)
    assert next(stream) == {"event": {"seq": 1}}
    assert notes == []
    client.streams.stop_daemon(DaemonStop(mode="keep", restart=True))
    for _ in range(3):
        client.gateway.ask(SUBMIT)  # counts from 1 again: what the stream has seen is not repeated
    assert [next(stream) for _ in range(2)] == [{"event": {"seq": 2}}, {"event": {"seq": 3}}]
    assert notes == ["lost", "back"]
    stream.close()  # type: ignore[attr-defined]


def test_following_again_means_the_same_tasks() -> None:
    watch = streams_module._go_on_behind(Watch(select=Selector(refs=["last"])), {"watching": 9, "tasks": [4]})
    assert watch == Watch(after_seq=9, select=Selector(refs=["4"]))
    assert streams_module._go_on_behind(watch, {"event": {"seq": 12}}) == Watch(after_seq=12, select=watch.select)


def test_a_refusal_ends_a_wait(client: Client) -> None:
    client.start()
    with pytest.raises(CronoqError) as caught:
        client.streams.wait(ListTasks(limit=0), None)
    assert caught.value.exit == 3


def test_stopping_a_daemon_that_dies_over_it_is_a_stop(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from cronoq_cli.client.connection import Connection

    client.start()
    ask = Connection.ask

    def kill_first(self: Connection, request: Any, **more: Any) -> Any:
        client.kill()
        return ask(self, request, **more)

    monkeypatch.setattr(Connection, "ask", kill_first)
    assert client.streams.stop_daemon(DaemonStop()).exit == 0
