"""What a task finds when it starts, and what is told when it cannot start."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.runner.driver import Runner, running

ROOT = os.geteuid() == 0


def test_a_task_starts_with_all_signals_at_their_defaults(tmp_path: Path) -> None:
    def ignore_much() -> None:
        import signal

        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})

    with running(tmp_path, preexec_fn=ignore_much) as runner:
        runner.connect()
        for fields in ({}, {"nice": 7}):
            ended = runner.run("/bin/grep", "-E", "Sig(Ign|Blk)", "/proc/self/status", **fields)
            lines = runner.read_log(ended["token"]).split()
            assert lines[0] == "SigBlk:"
            assert [int(word, 16) for word in lines[1::2]] == [0, 0]


def test_a_task_leads_a_session_of_its_own_without_a_terminal(runner: Runner) -> None:
    line = "cut -d' ' -f1,5,6 /proc/self/stat; cut -d' ' -f6 /proc/$$/stat; echo $$; (: < /dev/tty) || echo none"
    ended = runner.run_shell(line)
    words = runner.read_log(ended["token"]).split()
    assert words[-1] == "none"
    assert f"\n{ended['pid']}\n{ended['pid']}\n" in runner.read_log(ended["token"])


@pytest.mark.parametrize("fields", [{}, {"nice": 3}])
def test_a_task_inherits_no_descriptor(runner: Runner, fields: dict[str, int]) -> None:
    ended = runner.run_shell("ls /proc/$$/fd; readlink /proc/$$/fd/0", **fields)
    assert runner.read_log(ended["token"]).split() == ["0", "1", "2", "/dev/null"]


def test_directory_umask_niceness_and_limits_are_the_tasks(runner: Runner) -> None:
    work = runner.home / "work"
    work.mkdir()
    ended = runner.run_shell(
        "pwd; touch made; nice; ulimit -n; ulimit -Hn",
        cwd=str(work),
        umask=0o027,
        nice=5,
        rlimits={"nofile": 77},
    )
    assert runner.read_log(ended["token"]).split() == [str(work), "5", "77", "77"]
    assert stat.S_IMODE((work / "made").stat().st_mode) == 0o640
    assert os.readlink(f"/proc/{runner.process.pid}/cwd") == "/"
    log_mode = runner.get_log(ended["token"]).stat().st_mode
    assert stat.S_IMODE(log_mode) == 0o600


def test_arguments_reach_the_task_byte_for_byte(runner: Runner) -> None:
    words = ["a b", "", "x'y", "$HOME", "*", "l1\nl2", "-n", "ü", "\udcff\udcfe"]
    ended = runner.run("/usr/bin/printf", "<%s>", *words)
    expected = "".join(f"<{word}>" for word in words).encode("utf-8", "surrogateescape")
    assert runner.get_log(ended["token"]).read_bytes() == expected


def test_the_environment_is_exactly_what_was_sent(runner: Runner) -> None:
    runner.send({"order": "env", "id": "x", "vars": ["A=1", "B=\udcff=\n", "ü=ö", "EMPTY=", "no sign", "A=2"]})
    token = runner.start("/usr/bin/env", "-0", env="x", vars={"CRONOQ_TASK_ID": "7", "EMPTY": "full"})
    runner.wait_ended(token)
    found = dict(entry.split(b"=", 1) for entry in runner.get_log(token).read_bytes().split(b"\0")[:-1])
    assert found == {
        b"A": b"2",
        b"B": b"\xff=\n",
        "ü".encode(): "ö".encode(),
        b"EMPTY": b"full",
        b"CRONOQ_SLOT": b"0",
        b"CRONOQ_TASK_ID": b"7",
        b"CRONOQ_TOKEN": token.encode(),
    }


def test_environments_drop_out_by_last_use(runner: Runner) -> None:
    for number in range(32):
        runner.send({"order": "env", "id": f"n{number}", "vars": [f"N={number}"]})
    assert runner.run("/bin/true", env="n0")["exit_code"] == 0
    runner.send({"order": "env", "id": "more", "vars": []})
    ended = runner.run("/bin/true", env="n1")
    assert (ended["cause"], ended["error"]["kind"]) == ("spawn", "machine")
    assert runner.run("/bin/true", env="n0")["exit_code"] == 0


def test_a_command_is_sought_along_the_tasks_own_path(runner: Runner) -> None:
    for place, mode in (("first", 0o644), ("second", 0o755)):
        (runner.home / place).mkdir()
        tool = runner.home / place / "tool"
        tool.write_text(f"#!/bin/sh\necho {place} $1\n")
        tool.chmod(mode)
    runner.send({"order": "env", "id": "p", "vars": ["PATH=missing:first::second"]})
    ended = runner.run("tool", "x", env="p")
    assert runner.read_log(ended["token"]) == "second x\n"


def test_a_script_without_an_interpreter_line_is_the_shells(runner: Runner) -> None:
    script = runner.home / "script"
    script.write_text("echo $0 $1\n")
    script.chmod(0o755)
    ended = runner.run("./script", "x")
    assert runner.read_log(ended["token"]) == "./script x\n"


def test_streams_go_where_they_should(runner: Runner) -> None:
    line = "cat; echo out; echo err >&2"
    source = runner.home / "input"
    source.write_bytes(b"a\nb")
    token = runner.shell(line, stdin=str(source))
    runner.wait_ended(token)
    assert runner.read_log(token) == "a\nbout\nerr\n"
    split = runner.home / "split" / "err.log"
    token = runner.shell(line, stderr_log=str(split))
    assert runner.wait_ended(token)["log_size"] == 8
    assert (runner.read_log(token), split.read_text()) == ("out\n", "err\n")
    user = runner.home / "user.txt"
    user.write_text("before\n")
    token = runner.shell(line, stdout=str(user), umask=0o027)
    runner.wait_ended(token)
    assert (user.read_text(), runner.read_log(token)) == ("before\nout\n", "err\n")
    both = runner.home / "both.txt"
    token = runner.shell(line, stdout=str(both), stderr=str(both), log=None, umask=0o027)
    runner.wait_ended(token)
    assert both.read_text() == "out\nerr\n"
    assert stat.S_IMODE(both.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("no-such-command",), 127, "command not found: no-such-command (PATH="),
        (("./no-such-file",), 127, "command not found: ./no-such-file"),
        (("./plain",), 126, "permission denied"),
        (("./bad",), 126, "its interpreter is missing"),
        (("/tmp",), 126, "is a directory"),
        (("",), 127, "command not found"),
        ((), 126, "no command"),
        (("/bin/echo", "x" * 131072), 126, "argument list too long"),
        (("/bin/echo", "a\0b"), 126, "NUL byte"),
    ],
)
def test_a_command_that_cannot_start_is_told_with_the_shells_code(
    runner: Runner, argv: tuple[str, ...], code: int, words: str
) -> None:
    (runner.home / "plain").write_text("echo no\n")
    (runner.home / "bad").write_text("#!/no/such/interpreter\n")
    (runner.home / "bad").chmod(0o755)
    ended = runner.run(*argv)
    assert (ended["cause"], ended["error"]["kind"], ended["exit_code"]) == ("spawn", "command", code)
    assert words in ended["error"]["message"]
    assert ended["started_at"] is None
    assert ended["pid"] is None


def test_what_execve_accepts_runs(runner: Runner) -> None:
    ended = runner.run("/bin/echo", "x" * 131071)
    assert ended["log_size"] == 131072
    ended = runner.run("/bin/echo", *["y"] * 100_000)
    assert ended["log_size"] == 200_000
    ended = runner.run("/bin/echo", *["z" * 100_000] * 10)
    assert ended["log_size"] == 1_000_010


def test_a_missing_directory_is_told_and_no_other_is_used(runner: Runner) -> None:
    gone = runner.home / "gone"
    ended = runner.run_shell("touch here", cwd=str(gone))
    assert (ended["cause"], ended["error"]["kind"]) == ("spawn", "directory")
    assert ended["error"]["message"] == f"working directory missing: {gone}"
    gone.write_text("a file")
    assert runner.run_shell("true", cwd=str(gone))["error"]["kind"] == "directory"
    assert not (Path("/") / "here").exists()
    assert runner.run("/bin/true")["exit_code"] == 0


def test_a_missing_input_or_output_file_has_a_kind_of_its_own(runner: Runner) -> None:
    ended = runner.run("/bin/cat", stdin=str(runner.home / "nothing"))
    assert ended["error"]["kind"] == "stdin"
    assert "nothing" in ended["error"]["message"]
    ended = runner.run("/bin/true", stdout=str(runner.home / "no" / "where"))
    assert ended["error"]["kind"] == "output"
    pipe = runner.home / "pipe"
    os.mkfifo(pipe)
    assert runner.run("/bin/true", stdout=str(pipe))["error"]["kind"] == "output"
    assert runner.run("/bin/cat", stdin=str(pipe))["exit_code"] == 0


def test_a_resource_limit_nobody_knows_is_refused(runner: Runner) -> None:
    ended = runner.run("/bin/true", rlimits={"bananas": 1})
    assert ended["error"]["message"] == "unknown resource limit: bananas"


def test_a_machine_without_more_processes_is_not_the_tasks_fault(tmp_path: Path) -> None:
    def allow_few_descriptors() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))

    with running(tmp_path, preexec_fn=allow_few_descriptors) as runner:
        runner.connect()
        pipe = runner.home / "held"
        os.mkfifo(pipe)
        kinds = set()
        for number in range(3):
            ended = runner.run("/bin/true", stdin="/dev/zero", stderr_log=str(tmp_path / f"e{number}"))
            kinds.add((ended["error"] or {}).get("kind"))
        assert kinds <= {None, "machine"}


def test_a_start_is_quick_under_a_huge_descriptor_limit(tmp_path: Path) -> None:
    def allow_many() -> None:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    with running(tmp_path, preexec_fn=allow_many) as runner:
        runner.connect()
        assert runner.run("/bin/true", nice=1)["run_s"] < 5
        assert runner.run("/bin/true")["run_s"] < 5


def test_a_malformed_start_is_answered(runner: Runner) -> None:
    runner.send({"order": "start", "token": "bad:1", "argv": 7, "cwd": "/", "width": "many"})
    ended = runner.wait_ended("bad:1")
    assert (ended["cause"], ended["error"]["kind"]) == ("spawn", "command")
    runner.send({"order": "start", "token": "bad:2", "cwd": "/", "env": None})
    assert "argv" in runner.wait_ended("bad:2")["error"]["message"]
