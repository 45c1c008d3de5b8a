"""What a task gets of the caller's environment."""

from __future__ import annotations

from pathlib import Path

from cronoq_cli.commands.environment import capture_environment

from .conftest import Caller


def test_odd_variables_are_captured_byte_for_byte() -> None:
    env = {"BASH_FUNC_f%%": "() {  echo\n}", "EMPTY": "", "BAD": "\udcff\udcfe", "BIG": "x" * 100_000}
    _, blob = capture_environment(env)
    found = dict(item.split(b"=", 1) for item in blob.split(b"\0")[:-1])
    assert found == {
        b"BASH_FUNC_f%%": b"() {  echo\n}",
        b"EMPTY": b"",
        b"BAD": b"\xff\xfe",
        b"BIG": b"x" * 100_000,
    }


def test_the_same_environment_in_another_order_is_the_same() -> None:
    assert capture_environment({"A": "1", "B": "2"}) == capture_environment({"B": "2", "A": "1"})
    assert capture_environment({"A": "1"})[0] != capture_environment({"A": "2"})[0]


def test_what_an_enclosing_task_was_given_is_not_captured() -> None:
    env = {"CRONOQ_TASK_ID": "3", "CRONOQ_TOKEN": "t", "CRONOQ_HOME": "/h", "CRONOQ_NO_AUTOSTART": "1", "A": "1"}
    assert capture_environment(env)[1] == b"A=1\0CRONOQ_HOME=/h\0"


def test_a_clean_environment_has_only_user_and_programs(caller: Caller) -> None:
    caller.env["SECRET"] = "abc"
    caller("submit", "--clean-env", "-E", "SECRET", "--", "make", "x")
    assert caller.request.envs[caller.spec.env] == b"HOME=/home/ann\0PATH=/usr/bin:/bin\0"
    assert caller.spec.env_changes == {"SECRET": "abc"}


def test_an_env_file_is_read_and_options_win_over_it(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "e").write_text("# comment\n\nexport A=1\nB='two words'\nC=\"x\"\nHOME\nD=a=b # not a comment\n")
    caller("submit", "--env-file", "e", "-E", "A=9", "--", "make", "x")
    changes = {"A": "9", "B": "two words", "C": "x", "HOME": "/home/ann", "D": "a=b # not a comment"}
    assert caller.spec.env_changes == changes


def test_a_bad_line_of_an_env_file_is_named(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "e").write_text("A=1\nnot a variable=2\n")
    line = caller("submit", "--env-file", "e", "--", "make", "x")
    assert (line.status, "e, line 2: " in line.err) == (7, True)
    assert caller.gateway.requests == []
