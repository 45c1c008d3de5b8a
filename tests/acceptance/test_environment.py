"""What tasks find around them: environment, directory, stdin, and what is kept of these."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every directory")


def read_environment(raw: bytes) -> dict[bytes, bytes]:
    """The output of `env -0`."""
    return dict(entry.split(b"=", 1) for entry in raw.split(b"\0") if entry)


# -- environment -----------------------------------------------------------------------------------------------------


def test_every_variable_comes_through_byte_for_byte(shared) -> None:
    odd = {
        b"BASH_FUNC_f%%": b"() {  echo hi\n}",
        b"NEWLINES": b"a\nb\n",
        b"BYTES": b"\xff\xfe \xc3\xbc",
        b"EMPTY": b"",
        b"LONG": b"x" * 100_000,
        b"EQUALS": b"a=b=c",
        b"n\xe4me": b"latin",
        b"with blank": b"1",
    }
    sent = {os.fsencode(name): os.fsencode(value) for name, value in shared.env.items()} | odd
    out = shared.home / "env"
    subprocess.run(
        [*shared.command, "run", "-o", str(out), "--", "/usr/bin/env", "-0"], env=sent, timeout=30, check=True
    )
    got = read_environment(out.read_bytes())
    ours = {name for name in got if name.startswith(b"CRONOQ_")}
    assert {name: value for name, value in got.items() if name not in ours} == {
        name: value for name, value in sent.items() if not name.startswith(b"CRONOQ_")
    }
    assert got[b"CRONOQ_HOME"] == os.fsencode(shared.home)
    shown = shared.show("last", "--env")["env"]
    assert shown["BYTES"].encode("utf-8", "surrogateescape") == odd[b"BYTES"]
    assert shown["NEWLINES"] == "a\nb\n"


def test_three_mebibytes_of_environment_arrive_or_are_refused_by_the_system_with_its_reason(cronoq) -> None:
    big = {f"BIG_{n}": "x" * 100_000 for n in range(31)}
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = 64 << 20
    if hard not in (resource.RLIM_INFINITY,) and hard < wanted:
        pytest.skip("the stack cannot be made large enough here")

    def widen() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))

    # A daemon with the usual stack: the system refuses such an environment, and the task says so.
    cronoq.ok("daemon", "start")
    done = cronoq("run", "--", "sh", "-c", "echo ${#BIG_30}", env=big, preexec_fn=widen)
    if soft != resource.RLIM_INFINITY and soft < 12 << 20:
        assert done.returncode == 126
        assert "too long" in done.stderr
        assert cronoq.show("last")["status"] == "failed"
    cronoq.ok("daemon", "stop")
    cronoq.ok("daemon", "start", preexec_fn=widen)
    done = cronoq("run", "--", "sh", "-c", "echo ${#BIG_30}", env=big, preexec_fn=widen)
    assert (done.returncode, done.stdout) == (0, "100000\n"), done.stderr
    # The same environment again is stored once.
    size = sum(file.stat().st_size for file in cronoq.home.glob("cronoq.db*"))
    for _ in range(3):
        cronoq.submit("--", "true", env=big, preexec_fn=widen)
    assert sum(file.stat().st_size for file in cronoq.home.glob("cronoq.db*")) - size < 2_000_000


def test_the_submitters_path_finds_the_program(shared, tmp_path) -> None:
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert shared.output("--", "only-here", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}) == "found\n"
    assert shared("run", "--", "only-here").returncode == 127


def test_options_set_take_over_and_leave_out_variables(shared, tmp_path) -> None:
    (tmp_path / "vars").write_text('FROM_FILE="a b"\n# comment\nOVER=file\n')
    words = ("-E", "SET=1", "-E", "OVER=option", "--env-file", str(tmp_path / "vars"), "--", "env")
    seen = dict(line.split("=", 1) for line in shared.output(*words, env={"KEPT": "k"}).splitlines() if "=" in line)
    assert (seen["SET"], seen["OVER"], seen["FROM_FILE"], seen["KEPT"]) == ("1", "option", "a b", "k")
    clean = shared.output("--clean-env", "-E", "TAKEN", "--", "env", env={"KEPT": "k", "TAKEN": "t"})
    assert "TAKEN=t" in clean
    assert "KEPT" not in clean


def test_the_environment_says_what_the_task_is(shared) -> None:
    seen = dict(
        line.split("=", 1)
        for line in shared.output("-n", "job", "-k", "the-key", "--retries", "2", "--", "env").splitlines()
        if line.startswith("CRONOQ_")
    )
    task = shared.show("last")
    assert seen["CRONOQ_TASK_ID"] == str(task["id"])
    assert (seen["CRONOQ_ATTEMPT"], seen["CRONOQ_MAX_ATTEMPTS"]) == ("1", "3")
    assert (seen["CRONOQ_POOL"], seen["CRONOQ_NAME"], seen["CRONOQ_KEY"]) == ("default", "job", "the-key")
    assert seen["CRONOQ_REASON"] == "submitted"


def test_a_callers_own_cronoq_variables_do_not_reach_the_task(shared) -> None:
    odd = {"CRONOQ_TASK_ID": "4711", "CRONOQ_TOKEN": "x:1:1", "CRONOQ_REPORT": "/nowhere", "CRONOQ_KEY": "old"}
    done = shared("run", "--", "env", env=odd)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("CRONOQ_"))
    assert seen["CRONOQ_TASK_ID"] == str(shared.show("last")["id"])
    assert "CRONOQ_KEY" not in seen
    assert seen["CRONOQ_TOKEN"] != "x:1:1"
    assert seen["CRONOQ_REPORT"] != "/nowhere"


def test_secrets_are_closed_to_others_and_shown_only_when_asked_for(cronoq) -> None:
    secret = {"TOKEN": "s3cret-value"}
    task_id = cronoq.submit("--", "true", env=secret, umask=0)
    cronoq.wait_for(task_id)
    for path in [cronoq.home, *cronoq.home.rglob("*")]:
        mode = path.stat().st_mode
        assert stat.S_IMODE(mode) == (0o700 if path.is_dir() else 0o600), path
    for words in (("ls",), ("ls", "--json"), ("show", task_id), ("show", task_id, "--json"), ("events", "--json")):
        assert "s3cret" not in cronoq.ok(*words)
    assert "TOKEN" in cronoq.ok("show", task_id)
    assert "s3cret-value" in cronoq.ok("show", task_id, "--env")
    assert "s3cret" not in (cronoq.home / "daemon.log").read_text()


def test_a_shell_line_is_run_by_bin_sh_whatever_the_users_shell_is_and_show_says_so(shared) -> None:
    assert shared.output("echo $0", env={"SHELL": "/bin/false"}) == "/bin/sh\n"
    assert "/bin/sh" in json.dumps(shared.show("last"))
    bash = shutil.which("bash")
    assert bash
    assert shared.output("--shell", bash, "echo ${BASH_VERSION:+bash}") == "bash\n"
    missing = shared("submit", "--shell", "/no/such/shell", "true")
    assert missing.returncode in (2, 7)
    assert "/no/such/shell" in missing.stderr


# -- working directory -----------------------------------------------------------------------------------------------


def test_a_daemon_started_in_a_directory_that_goes_away_still_runs_tasks(cronoq, tmp_path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    cronoq.ok("daemon", "start", cwd=gone)
    gone.rmdir()
    for pid in (cronoq.find_daemon(), *cronoq.list_runners()):
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert cronoq.output("--", "pwd", cwd=tmp_path) == f"{tmp_path}\n"
    assert cronoq.output("-C", "/usr", "--", "pwd") == "/usr\n"


def test_a_directory_that_is_gone_at_the_start_fails_the_attempt_and_the_task_runs_nowhere_else(
    shared, tmp_path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    task_id = shared.submit("--hold", "--retries", "1", "--backoff", "fixed:10ms", "--", "touch", "made", cwd=gone)
    gone.rmdir()
    shared.ok("release", task_id)
    task = shared.wait_for(task_id)
    assert (task["status"], task["attempt"], task["exit_code"]) == ("dead_lettered", 2, None)
    assert str(gone) in task["reason"]
    assert not Path("/made").exists()
    gone.mkdir()
    shared.ok("retry", task_id)
    assert shared.wait_for(task_id)["status"] == "succeeded"
    assert (gone / "made").exists()


@NOT_ROOT
def test_a_directory_that_may_not_be_entered_is_a_clear_reason(shared, tmp_path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0o600)
    task = shared.wait_for(shared.submit("-C", str(shut), "--", "true"))
    assert task["status"] == "failed"
    assert str(shut) in task["reason"]


def test_a_file_as_directory_is_a_clear_reason(shared, tmp_path) -> None:
    (tmp_path / "file").touch()
    task = shared.wait_for(shared.submit("-C", str(tmp_path / "file"), "--", "true"))
    assert task["status"] == "failed"
    assert f"{tmp_path}/file" in task["reason"]


def test_a_relative_directory_is_the_callers(shared, tmp_path) -> None:
    (tmp_path / "sub").mkdir()
    assert shared.output("-C", "sub", "--", "pwd", cwd=tmp_path) == f"{tmp_path}/sub\n"


def test_a_caller_whose_own_directory_is_gone_gets_a_clear_word(shared, tmp_path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = 'rmdir "$PWD"; "$@"'
    command = ["sh", "-c", line, "sh", *shared.command]

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        gone.mkdir(exist_ok=True)
        return subprocess.run(
            [*command, *words], env=shared.env, cwd=gone, capture_output=True, text=True, timeout=30, check=False
        )

    assert call("ls", "--json").returncode == 0
    elsewhere = call("run", "-C", "/usr", "--", "pwd")
    assert (elsewhere.returncode, elsewhere.stdout) == (0, "/usr\n"), elsewhere.stderr
    here = call("submit", "--", "true")
    if here.returncode == 0:
        assert str(gone) in shared.wait_for(int(here.stdout))["reason"]
    else:
        assert here.returncode in (2, 7)
        assert "directory" in here.stderr
    assert "Traceback" not in here.stderr


# -- stdin -----------------------------------------------------------------------------------------------------------


def test_a_task_that_wants_input_ends_at_once(shared) -> None:
    line = 'cat; read x; echo "<$x>"; tty; (: < /dev/tty) 2>/dev/null || echo no terminal; readlink /proc/self/fd/0'
    assert shared.output(line, timeout=10) == "<>\nnot a tty\nno terminal\n/dev/null\n"


def test_input_given_at_submission_is_the_same_on_every_attempt(shared) -> None:
    line = "cat; exit 1"
    task_id = int(
        shared.ok(
            "submit", "--stdin", "-", "--retries", "1", "--backoff", "fixed:10ms", "--", "sh", "-c", line, input="a\nb"
        )
    )
    shared.wait_for(task_id, "dead_lettered")
    assert [shared.logs(task_id, "--attempt", str(n)) for n in (1, 2)] == [b"a\nb"] * 2


def test_input_beyond_the_limit_is_refused_and_nothing_is_queued(shared) -> None:
    newest = shared.submit("--", "true")
    fits = shared("run", "--stdin", "-", "--", "wc", "-c", input="x" * (16 << 20))
    assert (fits.returncode, fits.stdout.strip()) == (0, str(16 << 20)), fits.stderr
    refused = shared("submit", "--stdin", "-", "--", "cat", input="x" * ((16 << 20) + 1))
    assert refused.returncode in (2, 7)
    assert "16" in refused.stderr
    assert shared.submit("--", "true") == newest + 2


def test_an_input_file_is_opened_at_each_attempt_and_a_missing_one_is_retried(shared, tmp_path) -> None:
    options = ("--retries", "50", "--backoff", "fixed:50ms", "--stdin", "data")
    task_id = shared.submit(*options, "--", "cat", cwd=tmp_path)
    task = shared.wait_for(task_id, "retrying", "ready", "running")
    shared.wait_until(lambda: (shared.show(task_id)["reason"] or "").find("data") >= 0)
    (tmp_path / "data").write_text("here")
    task = shared.wait_for(task_id)
    assert task["status"] == "succeeded"
    assert shared.read_log(task_id) == b"here"


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_caller_with_closed_streams_is_served(shared, closed) -> None:
    name = f"closed-{len(closed)}"
    line = f'"$@" submit -n {name} -- true {closed}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *shared.command],
        env=shared.env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "Traceback" not in done.stderr
    found = shared.ask("ls", "--name", name, "--limit", "all")["tasks"]
    assert len(found) == 1
    assert shared.wait_for(found[0]["id"])["status"] == "succeeded"


def test_asking_for_the_input_of_a_caller_that_has_none_is_a_clear_error_or_an_empty_input(shared) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *shared.command, "run", "--stdin", "-", "--", "wc", "-c"],
        env=shared.env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert (done.returncode, done.stdout.strip()) == (0, "0") or (done.returncode in (2, 7, 125) and done.stderr)
