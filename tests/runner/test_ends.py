"""How attempts end and what their ends tell."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from cronoq_cli.runner.attempt import format_moment
from tests.runner.driver import Runner, eventually, is_alive


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 137", 137, None),
        ("exit 257", 1, None),
        ("kill -9 $$", None, 9),
        ("kill -TERM $$", None, 15),
        ("ulimit -c 0; kill -SEGV $$", None, 11),
    ],
)
def test_an_exit_code_and_a_death_by_signal_are_told_apart(
    runner: Runner, line: str, code: int | None, number: int | None
) -> None:
    ended = runner.run_shell(line)
    assert (ended["exit_code"], ended["signal"], ended["cause"]) == (code, number, None)


def test_a_thousand_short_tasks_all_end_with_their_own_code(runner: Runner) -> None:
    for start in range(0, 1000, 50):
        tokens = {runner.shell(f"exit {number % 7}"): number % 7 for number in range(start, start + 50)}
        for token, code in tokens.items():
            assert runner.wait_ended(token)["exit_code"] == code
        runner.send({"order": "forget", "tokens": list(tokens)})
    ends = [message["token"] for message in runner.seen if message["event"] == "ended"]
    assert len(ends) == len(set(ends)) == 1000
    assert runner.list_children() == []


def test_an_end_carries_times_and_usage(runner: Runner) -> None:
    before = time.time()
    ended = runner.run_shell("echo some output; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05")
    assert before <= ended["started_at"] <= ended["ended_at"] <= time.time()
    assert 0.05 <= ended["run_s"] < 10
    assert ended["cpu_user_s"] + ended["cpu_system_s"] > 0.005
    assert ended["max_rss"] > 1 << 20
    assert ended["log_size"] == len("some output\n")
    assert ended["left_behind"] == 0
    assert ended["pid"] > 1


def test_what_a_task_reports_comes_with_its_end(runner: Runner) -> None:
    line = r"""printf 'progress=0.4\nno sign\noutput.X=a=b\n=v\nmessage=\377\r\n' >> "$CRONOQ_REPORT" """
    token = runner.shell(line, vars={"CRONOQ_REPORT": str(runner.home / "reports" / "mine")})
    report = runner.home / "reports" / token
    assert runner.wait_ended(token)["report"] == []
    assert report.exists()
    token = runner.shell(
        f'ls -l {runner.home}/reports/* | cut -c1-10; CRONOQ_REPORT="$R"; {line}',
        vars={"R": runner.get_report(2)},
    )
    ended = runner.wait_ended(token)
    assert ended["report"] == [["progress", "0.4"], ["output.X", "a=b"], ["message", "\udcff"]]
    assert "-rw-------" in runner.read_log(token)
    runner.send({"order": "forget", "tokens": [token]})
    eventually(lambda: not (runner.home / "reports" / token).exists())


def test_a_report_is_read_only_up_to_its_limit(runner: Runner) -> None:
    line = 'yes "a=bcdefgh" | head -c 100000 > "$R"'
    ended = runner.run_shell(line, vars={"R": runner.get_report(1)})
    assert set(map(tuple, ended["report"])) == {("a", "bcdefgh")}
    assert len(ended["report"]) == 64 * 1024 // 10


def test_a_background_child_that_holds_the_output_does_not_delay_the_end(runner: Runner) -> None:
    began = time.monotonic()
    ended = runner.run_shell("sleep 600 & echo $!; echo done")
    assert time.monotonic() - began < 5
    assert (ended["exit_code"], ended["left_behind"]) == (0, 1)
    pid, done = runner.read_log(ended["token"]).split()
    assert done == "done"
    assert is_alive(int(pid))


def test_a_task_that_becomes_a_daemon_is_counted_and_left_alone(runner: Runner) -> None:
    ended = runner.run_shell("setsid sh -c 'echo $$; exec sleep 300' & sleep 0.2")
    assert (ended["exit_code"], ended["left_behind"]) == (0, 1)
    assert is_alive(int(runner.read_log(ended["token"])))
    assert runner.run("/bin/true")["left_behind"] == 0


def test_leftovers_are_ended_with_the_task_where_that_is_asked_for(runner: Runner) -> None:
    line = "sleep 600 & echo $!; setsid sh -c 'trap \"\" TERM; echo $$; sleep 601' & sleep 0.2; exit 5"
    ended = runner.run_shell(line, leftovers="kill", grace_s=0.2)
    assert (ended["exit_code"], ended["cause"], ended["left_behind"]) == (5, None, 0)
    pids = [word for word in runner.read_log(ended["token"]).split() if word.isdigit()]  # a shell may say "Killed"
    assert len(pids) == 2
    assert not any(is_alive(int(pid)) for pid in pids)


def test_orphans_of_tasks_are_reaped_and_never_taken_for_a_task(runner: Runner) -> None:
    line = "(setsid sh -c 'sleep 0.05; exit 9' &) ; exit 4"
    tokens = [runner.shell(line) for _ in range(50)]
    assert {runner.wait_ended(token)["exit_code"] for token in tokens} == {4}
    eventually(lambda: runner.list_children() == [])


def test_a_pipeline_with_head_ends_since_sigpipe_is_not_ignored(runner: Runner) -> None:
    ended = runner.run_shell("yes | head -1")
    assert ended["exit_code"] == 0
    assert runner.read_log(ended["token"]) == "y\n"


def test_descriptors_of_the_runner_do_not_grow(runner: Runner) -> None:
    directory = Path(f"/proc/{runner.process.pid}/fd")
    runner.run("/bin/true")
    before = len(os.listdir(directory))
    for _ in range(30):
        runner.run("/bin/true", stdin="/dev/zero")
        runner.run("/nowhere/at/all")
        runner.run("/bin/true", nice=5, stdout=str(runner.home / "o"), stderr=str(runner.home / "e"))
    assert len(os.listdir(directory)) == before


def test_a_core_dump_is_told(runner: Runner) -> None:
    ended = runner.run_shell("ulimit -c unlimited && kill -QUIT $$")
    if ended["exit_code"] is not None:
        pytest.skip("core dumps cannot be allowed here")
    assert ended["signal"] == 3
    assert isinstance(ended["core"], bool)


def test_any_finite_time_is_written_as_a_number() -> None:
    for seconds in (0.0, 0.25, 1.0, 1.5, 1796031720.123456, 1e11 + 0.5, -3.25, 1e300, 5e-324):
        assert json.loads(format_moment(seconds)) == pytest.approx(seconds, abs=1e-6)
