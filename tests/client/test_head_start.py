"""A daemon's process that loads ahead of need: who gets one, what it is told, and that it touches nothing untold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronoq_cli.client import head_start
from cronoq_cli.client.daemon_command import PROGRAM, WORDS_ON_STDIN
from cronoq_cli.client.head_start import HeadStart
from cronoq_cli.daemon import detach
from cronoq_cli.entry.fast import split_home
from tests.runner.driver import eventually

WAITING = """
import os, sys
said = sys.stdin.buffer.read()
if said:
    words = said[:-1].split(b"\\0")
    os.write(int(words[-1]), b"|".join([*words[:-1], os.environb.get(b"COLOUR", b"none")]))
"""
"""Says on the descriptor it is told what it was told."""


@pytest.fixture(autouse=True)
def nothing_begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins with none, and leaves none."""
    monkeypatch.setattr(head_start, "_waiting", None)
    monkeypatch.setattr(head_start, "_turn", None)
    for name in head_start.HOLDERS:
        monkeypatch.delenv(name, raising=False)
    yield
    head_start.drop()
    if head_start._turn is not None:
        os.close(head_start._turn)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "PROGRAM", ("-c", WAITING))


def has_begun(line: list[str], place: Path) -> bool:
    head_start.begin(*split_home([os.fsencode(word) for word in line]), os.fsencode(place))
    return head_start._waiting is not None


def read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def test_it_hears_its_words_in_the_environment_of_the_client(
    program: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "b\udcff")
    monkeypatch.setenv("CRONOQ_HOME", "/elsewhere")
    assert has_begun(["submit", "--", "true"], tmp_path)
    ahead = head_start.take(os.environ)
    assert ahead is not None and "CRONOQ_HOME" not in ahead.env
    said = ahead.give(["--home", "/a b\udcff"], "/the/log")
    assert said is not None
    assert read_all(said) == b"/the/log|--home|/a b\xff|--ready-fd|b\xff"


@pytest.mark.parametrize(
    ("line", "wants"),
    [
        (["submit", "x"], True),
        (["--home", "/h", "run", "x"], True),
        (["--home=/h", "daemon", "start"], True),
        (["recurring", "add", "@daily"], True),
        (["daemon", "stop"], False),
        (["ls"], False),
        (["--help"], False),
        ([], False),
    ],
)
def test_only_lines_that_want_a_daemon_get_one(program: None, tmp_path: Path, line: list[str], wants: bool) -> None:
    assert has_begun(line, tmp_path) is wants


@pytest.mark.parametrize("name", head_start.HOLDERS)
def test_where_none_may_be_started_none_is(
    program: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert not has_begun(["submit", "x"], tmp_path)


@pytest.mark.parametrize("unknown", [None, ""])
def test_an_interpreter_that_does_not_know_its_file_begins_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unknown: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", unknown)
    assert not has_begun(["submit", "x"], tmp_path)


def test_of_many_clients_of_a_place_one_begins_also_before_it_exists(
    program: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_begun(["submit", "x"], tmp_path / "not" / "yet")
    first, turn = head_start.take(os.environ), head_start._turn
    assert first is not None and turn is not None
    assert not has_begun(["submit", "x"], tmp_path / "not" / "yet")
    os.close(turn)
    first.end()
    # The kernel lets a parent go on a moment before the child it has spawned has closed what it is not to keep.
    assert eventually(lambda: has_begun(["submit", "x"], tmp_path / "not" / "yet")), "the first client is gone"


def test_a_relative_place_is_left_alone(program: None) -> None:
    assert not has_begun(["submit", "x"], Path("nowhere"))


def test_one_that_ended_before_its_words_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "PROGRAM", ("-c", "raise SystemExit(3)"))
    assert HeadStart([], os.environ).give([], "/log") is None


def test_one_that_is_not_needed_is_gone_at_once(program: None, tmp_path: Path) -> None:
    assert has_begun(["submit", "x"], tmp_path)
    assert head_start._waiting is not None
    pid = head_start._waiting._pid
    head_start.drop()
    assert not Path(f"/proc/{pid}").exists()
    head_start.drop()


def test_one_of_another_environment_is_not_taken(program: None, tmp_path: Path) -> None:
    assert has_begun(["submit", "x"], tmp_path)
    assert head_start.take({**os.environ, "PATH": "/other"}) is None


def test_a_daemon_without_words_ends_and_has_touched_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "CRONOQ_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *PROGRAM, WORDS_ON_STDIN]
    for said in (b"", b"/log\0--ready", b"/nowhere/log\0--foreground\n"):
        done = subprocess.run(command, input=said, env=env, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert not list(tmp_path.iterdir())


def test_both_ends_call_it_the_same() -> None:
    assert WORDS_ON_STDIN == detach.WORDS_ON_STDIN
