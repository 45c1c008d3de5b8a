"""The stop ladder, limits, and that nothing of a tree survives."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.runner.driver import Runner, eventually, is_alive, list_of_attempt


def start_tree(runner: Runner, line: str, ready: int, **fields: object) -> tuple[str, list[int]]:
    """Start a shell line that writes `ready` pids; its token and these pids."""
    token = runner.shell(line, **fields)
    runner.wait_for("started", token)
    pids = eventually(lambda: (found := runner.read_log(token).split())[ready - 1 :] and found)
    return token, [int(word) for word in pids]


def wait_over(runner: Runner, token: str) -> dict[str, object]:
    """What became of an attempt: its end, or that it was taken back before its start."""
    return runner.wait(lambda message: message["event"] in ("ended", "revoked") and message["token"] == token)


@pytest.mark.parametrize(
    "line",
    [
        "sleep 1000 & echo $!; sleep 1001 & echo $!; echo $$; wait",
        "setsid sh -c 'echo $$; sleep 1000' & setsid sh -c 'echo $$; exec sleep 1000' & echo $$; wait",
        "(setsid sh -c 'echo $$; sleep 1000; :' &); sleep 0.1; (setsid sleep 999 & echo $!) ; echo $$; sleep 1000",
        "env -i setsid sh -c 'echo $$; sleep 1000' & sh -c 'env -i sleep 1000 & echo $!; wait' & echo $$; wait",
        "(env -i setsid sh -c 'echo $$; sleep 9; :'&); (env -i setsid sh -c 'echo $$; sleep 9 >&2'&); echo $$; sleep 9",
        "exec bash -c 'set -m; sleep 1000 & echo $!; sleep 1001 & echo $!; echo $$; wait'",
    ],
)
def test_a_stop_ends_the_whole_tree(runner: Runner, line: str) -> None:
    token, pids = start_tree(runner, line, 3)
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    ended = runner.wait_ended(token)
    assert ended["cause"] == "cancelled"
    assert ended["signal"] == 15
    assert [pid for pid in pids if is_alive(pid)] == []
    assert list_of_attempt(token) == []
    eventually(lambda: runner.list_children() == [])


def test_what_ignores_the_signal_is_killed_after_the_grace(runner: Runner) -> None:
    line = (
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' &); "
        "echo $$; sleep 1000; sleep 1000"
    )
    token, pids = start_tree(runner, line, 2, grace_s=0.4)
    began = time.monotonic()
    runner.send({"order": "stop", "token": token, "cause": "interrupted"})
    ended = runner.wait_ended(token)
    assert 0.35 < time.monotonic() - began < 5
    assert (ended["signal"], ended["cause"]) == (9, "interrupted")
    assert not any(map(is_alive, pids))
    assert list_of_attempt(token) == []


def test_the_end_is_told_only_when_the_tree_is_gone(runner: Runner) -> None:
    line = "(trap '' TERM; echo $$; exec setsid sleep 1000) & sleep 0.1; echo $$; exec sleep 1000"
    token, _ = start_tree(runner, line, 2, grace_s=0.5)
    began = time.monotonic()
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    ended = runner.wait_ended(token)
    assert ended["signal"] == 15
    assert time.monotonic() - began > 0.45
    assert ended["run_s"] < time.time() - ended["started_at"] - 0.4


def test_a_second_stop_hurries(runner: Runner) -> None:
    token, _ = start_tree(runner, "trap '' TERM; echo $$; while :; do sleep 1; done", 1, grace_s=600)
    runner.send({"order": "stop", "token": token, "grace_s": 600, "cause": "interrupted"})
    runner.send({"order": "stop", "token": token, "grace_s": 0, "cause": "interrupted"})
    assert runner.wait_ended(token)["signal"] == 9


def test_a_task_that_tidies_up_on_the_signal_keeps_its_exit_code(runner: Runner) -> None:
    line = "trap 'echo tidied; exit 0' TERM; echo $$; while :; do sleep 0.05; done"
    token, _ = start_tree(runner, line, 1)
    runner.send({"order": "stop", "token": token, "signal": 15, "grace_s": 10, "cause": "interrupted"})
    ended = runner.wait_ended(token)
    assert (ended["exit_code"], ended["cause"]) == (0, "interrupted")
    assert runner.read_log(token).endswith("tidied\n")


def test_a_stopped_task_acts_on_the_signal(runner: Runner) -> None:
    token, (pid,) = start_tree(runner, "trap 'exit 7' TERM; echo $$; kill -STOP $$; sleep 1", 1, grace_s=60)
    eventually(lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] == "T")
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    assert runner.wait_ended(token)["exit_code"] == 7


def test_an_interrupt_reaches_a_plain_sleep(runner: Runner) -> None:
    token = runner.start("/bin/sleep", "1000", stop_signal=2)
    runner.wait_for("started", token)
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    assert runner.wait_ended(token)["signal"] == 2


def test_tasks_stopped_at_any_moment_have_exactly_one_end(runner: Runner) -> None:
    tokens = []
    for number in range(150):
        token = runner.start("/bin/sleep", f"{(number % 15) / 1000}")
        runner.send({"order": "stop", "token": token, "cause": "cancelled"})
        tokens.append(token)
    last = {}
    for token in tokens:
        last[token] = wait_over(runner, token)
    runner.run("/bin/true")
    finals = [m["token"] for m in runner.seen if m["event"] in ("ended", "revoked") and m["token"] in last]
    told = {token: finals.count(token) for token in tokens}
    # A stop of what has ended already repeats the end; nothing is both taken back and run.
    assert all(count >= 1 for count in told.values())
    for token in tokens:
        kinds = {
            (m["event"], m.get("ended_at"))
            for m in runner.seen
            if m["event"] in ("ended", "revoked") and m.get("token") == token
        }
        assert len(kinds) == 1


def test_stops_right_after_the_start_never_hit_the_runner(runner: Runner) -> None:
    for _ in range(50):
        token = runner.start("/bin/sleep", "100")
        runner.send({"order": "stop", "token": token, "grace_s": 0, "cause": "cancelled"})
        outcome = wait_over(runner, token)
        assert outcome["event"] == "revoked" or outcome["signal"] == 9
    assert runner.process.poll() is None


def test_a_task_that_exits_by_itself_has_no_cause(runner: Runner) -> None:
    gate = runner.home / "gate"
    token = runner.shell(f"until [ -e {gate} ]; do sleep 0.01; done; exit 0")
    pid = runner.wait_for("started", token)["pid"]
    gate.touch()
    eventually(lambda: not is_alive(pid))
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    ended = runner.wait_ended(token)
    assert (ended["exit_code"], ended["cause"]) == (0, None)


def test_a_time_limit_ends_the_tree(runner: Runner) -> None:
    token, pids = start_tree(runner, "setsid sleep 1000 & echo $!; echo $$; wait", 2, timeout_s=0.3)
    ended = runner.wait_ended(token)
    assert (ended["cause"], ended["signal"]) == ("time limit", 15)
    assert 0.3 <= ended["run_s"] < 3
    assert not any(map(is_alive, pids))


def test_kill_at_follows_the_wall_clock(runner: Runner) -> None:
    ended = runner.run("/bin/sleep", "1000", kill_at=time.time() + 0.3)
    assert ended["cause"] == "kill-at"
    ended = runner.run("/bin/sleep", "1000", kill_at=time.time() - 5)
    assert ended["cause"] == "kill-at"


def test_a_silent_task_loses_its_lease_and_one_that_shows_life_keeps_it(runner: Runner) -> None:
    silent = runner.shell("echo once; sleep 1000", heartbeat_s=0.4)
    writing = runner.shell("for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done", heartbeat_s=0.6)
    report = runner.get_report(3)
    reporting = runner.shell(f"for i in 1 2 3 4 5 6; do echo progress=$i >> {report}; sleep 0.2; done", heartbeat_s=0.6)
    ended = runner.wait_ended(silent)
    assert ended["cause"] == "heartbeat"
    assert 0.35 < ended["run_s"] < 3
    assert runner.wait_ended(writing)["cause"] is None
    assert runner.wait_ended(reporting)["cause"] is None


def test_one_signal_goes_to_the_tree_of_a_running_task(runner: Runner) -> None:
    line = (
        "trap 'echo main' USR1; sh -c 'trap \"echo child; exit\" USR1; echo $$; while :; do sleep 0.02; done' & "
        "echo $$; wait; wait; exit 6"
    )
    token, _ = start_tree(runner, line, 2)
    time.sleep(0.05)  # the traps are set after the pids are written only in the child
    runner.send({"order": "signal", "token": token, "signal": 10})
    eventually(lambda: "main" in runner.read_log(token))
    assert runner.wait_ended(token)["exit_code"] == 6
    assert runner.read_log(token).count("child") == 1
    runner.send({"order": "signal", "token": "nobody", "signal": 10})
    runner.wait_for("unknown", "nobody")


def test_many_tasks_are_stopped_together(runner: Runner) -> None:
    runner.send({"order": "lanes", "lanes": {"default": 60}})
    tokens = [runner.shell("sleep 1000 & wait") for _ in range(60)]
    for token in tokens:
        runner.wait_for("started", token)
    runner.send(*[{"order": "stop", "token": token, "cause": "interrupted"} for token in tokens])
    for token in tokens:
        assert runner.wait_ended(token)["cause"] == "interrupted"
    eventually(lambda: runner.list_children() == [])


def test_a_process_that_keeps_forking_is_ended(runner: Runner) -> None:
    line = "echo $$; spawn() { while :; do setsid sh -c 'sleep 0.05 & exec sleep 0.05' & sleep 0.01; done; }; spawn"
    token, _ = start_tree(runner, line, 1, grace_s=0.1)
    runner.send({"order": "stop", "token": token, "cause": "cancelled"})
    runner.wait_ended(token)
    assert list_of_attempt(token) == []


def test_waiting_is_quiet(runner: Runner) -> None:
    """A runner with a sleeping task does not wake up."""
    runner.shell("sleep 1000", timeout_s=1000, kill_at=time.time() + 1000)
    time.sleep(0.3)

    def read_switches() -> int:
        text = Path(f"/proc/{runner.process.pid}/status").read_text()
        return int(text.split("voluntary_ctxt_switches:")[1].split()[0])

    before = read_switches()
    time.sleep(1.0)
    assert read_switches() - before <= 1
