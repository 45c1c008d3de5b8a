"""Lanes, connections that come and go, acknowledgement, and what no daemon would send."""

from __future__ import annotations

import itertools
import json
import os
import socket
import stat
import struct
import sys
import time
from pathlib import Path

import pytest

from cronoq_cli.wire.runner import Decoder, encode_frame
from cronoq_cli.wire.sockets import connect_unix
from tests.runner.driver import Runner, eventually, is_alive, running


def test_a_lane_starts_in_order_as_slots_become_free(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"one": 1}})
    gate = runner.home / "gate"
    line = f"until [ -e {gate} ]; do sleep 0.01; done"
    tokens = [runner.shell(line, lane="one") for _ in range(4)]
    wide = runner.start("/bin/true", lane="other", width=3)
    runner.wait_ended(wide)
    begun = [m["token"] for m in runner.seen if m["event"] in ("started", "ended")]  # a start may be told with its end
    assert list(dict.fromkeys(begun)) == [tokens[0], wide]
    gate.touch()
    ends = [runner.wait_ended(token) for token in tokens]
    for earlier, later in itertools.pairwise(ends):
        assert earlier["ended_at"] <= later["started_at"]


def test_the_next_start_of_a_slot_goes_before_the_end_is_written_up(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"one": 1}})
    first, second = (runner.start("/bin/sleep", "0.1", lane="one") for _ in range(2))
    for token in (first, second):
        runner.wait_ended(token)
    records = [json.loads(line) for line in runner.journal.read_text().splitlines()]
    told = [(record.get("record") or record["event"], record.get("token")) for record in records]
    assert told.index(("begin", first)) < told.index(("begin", second)) < told.index(("ended", first))
    assert told.index(("ended", first)) < told.index(("ended", second))


def test_a_start_is_told_in_a_moment_unless_its_end_is_told_with_it(runner: Runner) -> None:
    short = [runner.start("/bin/true") for _ in range(40)]
    for token in short:
        runner.wait_ended(token)
    gate = runner.home / "gate"
    long = runner.shell(f"until [ -e {gate} ]; do sleep 0.01; done")
    runner.wait_for("started", long)
    gate.touch()
    runner.wait_ended(long)
    told = [(m["event"], m["token"]) for m in runner.seen if m.get("token")]
    assert len(told) == len(set(told))
    assert all(("started", token) not in told[told.index(("ended", token)) :] for token in short)
    assert [m["token"] for m in runner.seen if m["event"] == "ended"][-1] == long


def test_a_wide_task_waits_for_enough_slots_and_is_not_overtaken(runner: Runner) -> None:
    first = runner.start("/bin/sleep", "0.2", width=2)
    wide = runner.start("/bin/true", width=4)
    small = runner.start("/bin/true", width=1)
    starts = [runner.wait_ended(token)["started_at"] for token in (first, wide, small)]
    assert starts == sorted(starts)


def test_a_raised_capacity_starts_what_waits(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"shut": 0}})
    token = runner.start("/bin/true", lane="shut")
    assert runner.run("/bin/true")["exit_code"] == 0
    assert not [m for m in runner.seen if m.get("token") == token]
    runner.send({"order": "lanes", "lanes": {"shut": 1}})
    assert runner.wait_ended(token)["exit_code"] == 0


def test_a_waiting_start_is_taken_back_and_a_running_one_is_kept(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"one": 1}})
    running_one = runner.start("/bin/sleep", "1000", lane="one")
    waiting, stopped, third = (runner.start("/bin/true", lane="one") for _ in range(3))
    runner.wait_for("started", running_one)
    runner.send({"order": "revoke", "token": waiting}, {"order": "revoke", "token": running_one})
    runner.send({"order": "stop", "token": stopped, "cause": "cancelled"}, {"order": "revoke", "token": "x"})
    runner.wait_for("revoked", waiting)
    runner.wait_for("kept", running_one)
    runner.wait_for("revoked", stopped)
    runner.wait_for("unknown", "x")
    runner.send({"order": "stop", "token": running_one, "grace_s": 0, "cause": "cancelled"})
    runner.wait_ended(third)
    assert not [m for m in runner.seen if m["event"] == "started" and m["token"] in (waiting, stopped)]
    runner.send({"order": "revoke", "token": third})
    runner.wait_for("kept", third)


def test_a_start_given_twice_runs_once(runner: Runner) -> None:
    token = runner.shell("echo ran; sleep 0.2")
    runner.start("/bin/echo", "never", token=token)
    runner.wait_ended(token)
    seen = len(runner.seen)
    runner.start("/bin/echo", "never", token=token)
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    eventually(lambda: (runner.receive(), len(runner.seen) >= seen + 2)[1])
    ends = [m for m in runner.seen if m["event"] == "ended"]
    assert all(end == ends[0] for end in ends)
    assert runner.read_log(token) == "ran\n"


def test_ends_are_kept_over_the_loss_of_the_daemon_until_they_are_forgotten(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"one": 1}})
    long = runner.start("/bin/sleep", "1000", lane="one")
    waiting = runner.start("/bin/true", lane="one")
    short = runner.shell("sleep 0.1; exit 5")
    runner.wait_for("started", short)
    runner.disconnect()
    eventually(lambda: '"exit_code":5' in runner.journal.read_text())
    hello = runner.connect(epoch=2, one=1)
    assert [record["token"] for record in hello["running"]] == [long]
    assert hello["waiting"] == [waiting]
    assert [(end["token"], end["exit_code"]) for end in hello["ended"]] == [(short, 5)]
    assert hello["epoch"] == 2
    runner.send({"order": "forget", "tokens": [short, "never heard of", long]})
    runner.run("/bin/true")
    runner.disconnect()
    hello = runner.connect(epoch=2, one=1)
    assert short not in [end["token"] for end in hello["ended"]]
    assert [record["token"] for record in hello["running"]] == [long]


def test_an_end_told_twice_may_be_acknowledged_twice_in_one_message(runner: Runner) -> None:
    first, second = runner.shell("exit 1"), runner.shell("exit 2")
    runner.wait_ended(first)
    runner.wait_ended(second)
    runner.send({"order": "forget", "tokens": [first, first, second]})
    runner.disconnect()
    assert runner.connect(epoch=2)["ended"] == []


def test_a_connection_reset_is_survived(runner: Runner) -> None:
    for _ in range(5):
        token = runner.shell("seq 100")
        # Unread data at the close makes the kernel send a reset instead of an end of file.
        eventually(runner.get_log(token).exists)
        runner.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        runner.disconnect()
        runner.connect()
    assert runner.run("/bin/true")["exit_code"] == 0


def test_an_older_epoch_is_refused_and_a_newer_one_replaces(runner: Runner) -> None:
    old = runner.connection
    assert runner.connect(epoch=5)["event"] == "hello"
    while old.recv(1 << 16):
        pass
    newest, seen = runner.connection, list(runner.seen)
    refusal = runner.connect(epoch=4)
    assert (refusal["event"], refusal["epoch"]) == ("refused", 5)
    assert runner.connection.recv(10) == b""
    runner.connection, runner.seen = newest, seen
    assert runner.run("/bin/true")["exit_code"] == 0


def test_another_version_of_the_protocol_is_refused(runner: Runner) -> None:
    with connect_unix(str(runner.socket), timeout_s=5) as connection:
        connection.sendall(encode_frame([{"order": "open", "version": 99, "epoch": 1}]))
        assert Decoder().feed(connection.recv(1 << 16))[0]["event"] == "refused"


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", 5) + b"[1,2]",
        struct.pack(">I", 2) + b"{}",
        struct.pack(">I", 4) + b"\xff\xfe\xfd\xfc",
        struct.pack(">I", (64 << 20) + 1),
        struct.pack(">I", 200_000) + b"[" * 200_000,
        encode_frame([{"order": "stop", "token": "x"}]),
        encode_frame([{"order": "open", "version": 1, "epoch": "high"}]),
    ],
)
def test_garbage_closes_its_connection_and_nothing_else(runner: Runner, garbage: bytes) -> None:
    with connect_unix(str(runner.socket), timeout_s=5) as connection:
        connection.sendall(garbage)
        assert connection.recv(1 << 16) == b"" or b"epoch" in garbage
    assert runner.run("/bin/true")["exit_code"] == 0


def test_malformed_orders_change_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as runner:
        runner.connect()
        runner.send({"order": "dance"}, {"no": "order"}, {"order": "stop"}, {"order": "lanes", "lanes": 3})
        runner.send({"order": "signal", "token": "t", "signal": "x"}, {"order": "forget", "tokens": None})
        assert runner.run("/bin/true")["exit_code"] == 0
        assert runner.read_trouble().count("malformed order") == 6


def test_frames_may_arrive_in_any_pieces(runner: Runner) -> None:
    data = encode_frame(runner.build_start("piece:1:1", ("/bin/true",)))
    for position in range(0, len(data), 7):
        runner.connection.sendall(data[position : position + 7])
    assert runner.wait_ended("piece:1:1")["exit_code"] == 0


def test_a_daemon_that_does_not_read_stops_nothing(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"default": 8}})
    runner.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    tokens = [runner.start("/nowhere/" + "x" * 3000) for _ in range(400)]
    last = runner.start("/bin/true")
    eventually(lambda: f'"token":"{last}"' in runner.journal.read_text().split('"ended"')[-1])
    for token in [*tokens, last]:
        runner.wait_ended(token)


def test_the_socket_is_the_owners_also_behind_a_long_path(tmp_path: Path) -> None:
    home = tmp_path / ("d" * 100) / ("e" * 100)
    home.mkdir(parents=True)
    with running(home) as runner:
        assert len(str(runner.socket)) > 200
        runner.connect()
        assert runner.run("/bin/true")["exit_code"] == 0
        assert stat.S_IMODE(runner.socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(runner.journal.stat().st_mode) == 0o600


def test_a_closed_runner_finishes_what_runs_and_leaves_nothing(runner: Runner) -> None:
    running_one = runner.shell("sleep 0.2; exit 3")
    runner.wait_for("started", running_one)
    runner.send({"order": "close"})
    late = runner.start("/bin/true")
    runner.wait_for("revoked", late)
    assert runner.wait_ended(running_one)["exit_code"] == 3
    assert runner.process.poll() is None
    runner.send({"order": "forget", "tokens": [running_one]})
    assert runner.process.wait(timeout=10) == 0
    assert not runner.journal.exists()
    assert not runner.socket.exists()
    assert not runner.journal.with_suffix(".log").exists()


def test_a_closed_runner_that_another_daemon_opens_takes_its_starts(runner: Runner) -> None:
    running_one = runner.shell("sleep 1000")
    runner.wait_for("started", running_one)
    runner.send({"order": "close"})
    runner.disconnect()
    runner.connect(epoch=2)
    assert runner.run("/bin/true")["exit_code"] == 0
    runner.send({"order": "stop", "token": running_one, "cause": "cancelled"})
    runner.wait_ended(running_one)


def test_only_an_idle_runner_goes_on_sigterm(runner: Runner) -> None:
    token = runner.start("/bin/sleep", "1000")
    pid = runner.wait_for("started", token)["pid"]
    for number in (15, 1, 2, 3, 10, 12, 13, 14):
        os.kill(runner.process.pid, number)
    runner.run("/bin/true")
    assert is_alive(pid)
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    runner.wait_ended(token)
    runner.send({"order": "forget", "tokens": [m["token"] for m in runner.seen if m["event"] == "ended"]})
    runner.send({"order": "revoke", "token": "x"})
    runner.wait_for("unknown", "x")
    os.kill(runner.process.pid, 15)
    assert runner.process.wait(timeout=10) == 0


def test_the_runner_is_cut_loose_from_its_starter(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with running(tmp_path, kept_descriptors=(writer,)) as runner:
        os.close(writer)
        assert os.read(reader, 1) == b""  # nobody holds the writing end any more
        fields = Path(f"/proc/{runner.process.pid}/stat").read_text().rpartition(")")[2].split()
        assert int(fields[3]) == runner.process.pid
        assert os.readlink(f"/proc/{runner.process.pid}/cwd") == "/"
    os.close(reader)


def test_a_journal_with_something_in_it_is_not_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "r1.journal").write_text("{}\n")
    with running(tmp_path, stderr=-3) as runner:
        assert runner.ready == b""
        assert runner.process.wait(timeout=10) == 4


def test_nothing_is_imported_after_the_runner_is_ready(tmp_path: Path) -> None:
    with running(tmp_path, "r1", flags=("-X", "importtime"), stderr=-3) as runner:
        runner.connect()
        token = runner.shell("setsid sleep 100 & echo x >&2; sleep 100", timeout_s=100, heartbeat_s=50)
        runner.wait_for("started", token)
        runner.run("nothing", nice=3)
        runner.run("/bin/true", nice=3, rlimits={"core": 0})
        runner.send({"order": "find", "journal": str(tmp_path / "none.journal")})
        runner.send({"order": "stop", "token": token, "cause": "cancelled"})
        runner.wait_ended(token)
        runner.send({"order": "nonsense"})
        runner.run("/bin/true")
        told = runner.read_trouble()
        assert "nonsense" in told
        assert "import time" not in told


def test_the_runner_stays_small(runner: Runner) -> None:
    text = Path(f"/proc/{runner.process.pid}/status").read_text()
    assert int(text.split("VmHWM:")[1].split()[0]) < 20_000, sys.version


def test_a_quick_end_of_a_lone_task_is_told_at_once(runner: Runner) -> None:
    runner.run("/bin/true")
    waits = []
    for _ in range(10):
        began = time.monotonic()
        runner.run("/bin/true")
        waits.append(time.monotonic() - began)
    assert min(waits) < 0.02
