"""A runner killed without warning, and the next one that takes its journal over."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.driver import Runner, eventually, is_alive, list_of_attempt, running


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Runner, Runner]]:
    """Two connected runners of one home."""
    with running(tmp_path, "r1") as first, running(tmp_path, "r2") as second:
        first.connect()
        second.connect(epoch=2)
        yield first, second


def take_over(dead: Runner, second: Runner) -> dict[str, object]:
    second.send({"order": "find", "journal": str(dead.journal)})
    return second.wait(lambda message: message["event"] == "found")


def test_ends_and_trees_of_a_killed_runner_are_found(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    forgotten = first.run_shell("exit 1")["token"]
    kept = first.run_shell("echo progress=1 >> $R; exit 2", vars={"R": first.get_report(2)})
    line = "setsid sh -c 'echo $$; sleep 1000' & sleep 1000 & echo $!; echo $$; wait"
    lost = first.shell(line, grace_s=1.0)
    stubborn = first.shell("trap '' TERM; echo $$; while :; do sleep 0.1; done", grace_s=0.3)
    eventually(lambda: len(first.read_log(lost).split()) == 3 and first.read_log(stubborn))
    first.send({"order": "forget", "tokens": [forgotten]})
    eventually(lambda: '"forgot"' in first.journal.read_text())
    first.kill()
    pids = [int(word) for token in (lost, stubborn) for word in first.read_log(token).split()]
    assert all(map(is_alive, pids))
    found = take_over(first, second)
    assert (found["journal"], found["error"]) == (str(first.journal), None)
    ends = {m["token"]: m for m in second.seen if m["event"] == "ended"}
    assert set(ends) == {kept["token"], lost, stubborn}
    assert ends[kept["token"]] == kept
    for token in (lost, stubborn):
        assert (ends[token]["cause"], ends[token]["exit_code"], ends[token]["signal"]) == ("lost", None, None)
        assert ends[token]["started_at"] is not None
        assert ends[token]["log_size"] > 0
    assert not any(map(is_alive, pids))
    assert not first.journal.exists()
    assert not first.socket.exists()
    hello = second.connect(epoch=3)
    assert {end["token"] for end in hello["ended"]} == set(ends)


def test_a_task_that_ended_after_its_runner_died_is_lost(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    token = first.shell("sleep 0.2; exit 0")
    pid = first.wait_for("started", token)["pid"]
    eventually(lambda: '"pid"' in first.journal.read_text())
    first.kill()
    eventually(lambda: not is_alive(pid))
    take_over(first, second)
    assert second.wait_ended(token)["cause"] == "lost"


def test_a_double_forked_child_is_found_by_its_token(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    token = first.shell("(setsid sleep 1000 &) ; exec env -i sleep 1001")
    first.wait_for("started", token)
    eventually(lambda: len(list_of_attempt(token)) == 1)
    eventually(lambda: '"record":"pid"' in first.journal.read_text())
    main = first.wait_for("started", token)["pid"]
    eventually(lambda: b"1001" in Path(f"/proc/{main}/cmdline").read_bytes())
    first.kill()
    take_over(first, second)
    assert second.wait_ended(token)["cause"] == "lost"
    assert list_of_attempt(token) == []
    assert not is_alive(main)


def test_nothing_of_another_boot_is_signalled(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    token = first.start("/bin/sleep", "1000")
    pid = first.wait_for("started", token)["pid"]
    eventually(lambda: '"record":"pid"' in first.journal.read_text())
    first.kill()
    lines = [json.loads(line) for line in first.journal.read_text().splitlines()]
    lines[0]["boot_id"] = "another"
    first.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    take_over(first, second)
    assert second.wait_ended(token)["cause"] == "lost"
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_reused_pid_is_not_signalled(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    token = first.shell("sleep 0.05")
    first.wait_for("started", token)
    first.kill()
    innocent = second.start("/bin/sleep", "1000")
    pid = second.wait_for("started", innocent)["pid"]
    with first.journal.open("a") as stream:
        stream.write(json.dumps({"record": "pid", "token": token, "pid": pid, "ticks": 1}) + "\n")
    take_over(first, second)
    assert second.wait_ended(token)["cause"] == "lost"
    assert is_alive(pid)


def test_torn_and_foreign_lines_of_a_journal_are_passed_over(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    ended = first.run_shell("exit 2")
    first.kill()
    with first.journal.open("a") as stream:
        stream.write('7\n{"record":"begin"}\n{"record":"forgot","tokens":null}\n\0\0\n{"event":"ended","tok')
    take_over(first, second)
    assert second.wait_ended(ended["token"])["exit_code"] == 2


def test_the_journal_of_a_living_runner_is_left_alone(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    token = first.start("/bin/sleep", "1000")
    first.wait_for("started", token)
    assert take_over(first, second)["error"] == "its runner is alive"
    assert first.journal.exists()
    assert is_alive(first.wait_for("started", token)["pid"])


def test_an_absent_journal_is_found_empty(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    first.kill()
    first.journal.unlink()
    assert take_over(first, second)["error"] is None


def test_taking_over_twice_tells_the_same_once_more(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    line = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    token = first.shell(line, grace_s=0.5)
    eventually(lambda: first.read_log(token))
    first.kill()
    second.send({"order": "find", "journal": str(first.journal)})
    second.disconnect()
    hello = second.connect(epoch=3)
    assert [record["token"] for record in hello["running"]] in ([], [token])
    take_over(first, second)
    assert second.wait_ended(token)["cause"] == "lost"
    assert list_of_attempt(token) == []


def test_the_journal_is_compacted_and_still_tells_everything(pair: tuple[Runner, Runner]) -> None:
    first, second = pair
    kept = first.run_shell("exit 9")
    running_one = first.start("/bin/sleep", "1000")
    first.wait_for("started", running_one)
    long = "/nowhere/" + "x" * 4000
    for _ in range(10):
        tokens = [first.start(long) for _ in range(40)]
        for token in tokens:
            first.wait_ended(token)
        first.send({"order": "forget", "tokens": tokens})
    eventually(lambda: first.journal.stat().st_size < 1_200_000)
    first.run("/bin/true")
    first.kill()
    take_over(first, second)
    assert second.wait_ended(kept["token"])["exit_code"] == 9
    assert second.wait_ended(running_one)["cause"] == "lost"
    assert len([m for m in second.seen if m["event"] == "ended"]) == 3
