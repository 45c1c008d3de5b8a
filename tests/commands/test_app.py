"""The application as a whole: help, mistyped words, errors, and that words go through it quickly."""

from __future__ import annotations

import json
import re
import time

import pytest

from cronoq_cli import __version__
from cronoq_cli.commands.app import build_command, find_home
from cronoq_cli.commands.context import NeedsClient
from cronoq_cli.commands.familiar import FAMILIAR
from cronoq_cli.commands.verb_files import VERB_FILES, find_file

from .conftest import Caller

ALL_VERBS = sorted(name for name in build_command().commands if not name.startswith("__"))


def test_every_verb_has_help_with_an_example(caller: Caller) -> None:
    for name in ALL_VERBS:
        line = caller(name, "--help")
        assert (line.status, line.err) == (0, "")
        assert line.out.startswith(f"Usage: cronoq {name}")
        if name not in ("pool", "resource", "dead", "recurring", "cron", "daemon", "config", "completion", "follow"):
            assert f"cronoq {'' if name in ('add', 'status', 'list', 'kill', 'log') else name}" in line.out
            assert "Example" in line.out


def test_every_verb_has_json_but_the_foreground_daemon_and_what_stays_on_the_screen() -> None:
    command = build_command()
    verbs = {name: command.commands[name] for name in ALL_VERBS if not hasattr(command.commands[name], "commands")}
    for group in ("pool", "resource", "daemon", "recurring", "config", "completion"):
        verbs |= {f"{group} {name}": verb for name, verb in command.commands[group].commands.items()}
    without = {name for name, verb in verbs.items() if "json" not in {param.name for param in verb.params}}
    assert without == {"daemon run", "follow", "top"}


def test_familiar_names_are_aliases_that_help_does_not_list(caller: Caller) -> None:
    listed = caller("--help").out
    assert {"add", "status", "follow", "kill"} <= set(ALL_VERBS)
    for name in ("add ", "status ", "follow ", "kill "):
        assert f"\n  {name}" not in listed
    for name in VERB_FILES:
        assert f"\n  {name.replace('_', '-')} " in listed


def test_the_file_of_each_verb_is_known_without_the_others() -> None:
    for name, verb in build_command().commands.items():
        alone = build_command(find_file(["--color", "never", "--home=/x", name, "--json"])).commands[name]
        assert (alone.help, alone.hidden) == (verb.help, verb.hidden)
    for line in ([], ["--help"], ["--version", "ls"], ["no-such"], ["--home"], ["--color", "ls"]):
        assert find_file(line) is None


def test_help_is_a_word_too(caller: Caller) -> None:
    assert caller("help", "submit").out == caller("submit", "--help").out
    assert caller("help").out == caller("--help").out


def test_everyday_help_is_shorter_than_all_of_it(caller: Caller) -> None:
    everyday, everything = caller("submit", "--help").out, caller("submit", "--help-all").out
    assert "--timeout" in everyday
    assert "--heartbeat" not in everyday
    assert "--heartbeat" in everything


@pytest.mark.parametrize("words", [["--help"], [], ["submit", "--help"], ["pool", "--help"]])
def test_help_on_a_terminal_is_drawn_by_the_client(caller: Caller, words: list[str]) -> None:
    caller.terminal = True
    assert "Usage: " in caller(*words).out
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()(*words)


@pytest.mark.parametrize("words", [["--help"], ["submit", "-h"], ["ls", "--help-all"]])
def test_help_in_a_pipe_is_plain_text_on_both_sides(caller: Caller, words: list[str]) -> None:
    from_client = caller(*words).out
    assert caller.on_daemon_side()(*words).out == from_client
    assert "\x1b" not in from_client


def test_drawn_help_wraps_no_sentence_early_and_gives_way_where_it_would_be_cramped(caller: Caller) -> None:
    caller.terminal, caller.columns = True, 80
    caller.env["NO_COLOR"] = "1"
    drawn = caller("submit", "--help").out
    assert "╭" in drawn and "belongs to the command. Several words are executed" in " ".join(drawn.split())
    assert "\n   cronoq submit -- make -j4 test\n   cronoq" in drawn  # examples stand one below the other
    assert "╭" not in caller("recurring", "add", "--help").out


def test_version(caller: Caller) -> None:
    assert caller("--version").out == f"cronoq {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sumbit", "x"], "there is no command 'sumbit' (did you mean submit?)"),
        (
            ["restart", "7"],
            "there is no command 'restart' (here it is cronoq retry TASK, cronoq rerun TASK; the daemon:",
        ),
        (["squeue"], "there is no command 'squeue' (here it is cronoq ls)"),
        (["zzz"], "there is no command 'zzz' (cronoq --help lists all of them)"),
        (["--versoin"], "there is no option --versoin (did you mean --version?)"),
        (["--color", "blue", "ls"], "--color: 'blue' is not known here"),
        (["--home", "", "ls"], "--home: the path is empty"),
        (
            ["ls", "--color", "never"],
            "ls: there is no option --color (it stands before the command: cronoq --color ... ls)",
        ),
        (["--home"], "requires an argument"),
        (["ls", "--limti", "3"], "ls: there is no option --limti (did you mean --limit?)"),
        (["ls", "--json=1"], "does not take a value"),
        (["daemon", "run", "now"], "daemon run: unexpected 'now'"),
    ],
)
def test_mistyped_words_are_one_line_with_the_nearest_one(caller: Caller, words: list[str], message: str) -> None:
    line = caller(*words)
    assert (line.status, line.out, line.err.count("\n")) == (2, "", 1)
    assert message in line.err


def test_what_a_familiar_word_is_called_here_can_be_typed(caller: Caller) -> None:
    command = build_command()
    assert not set(FAMILIAR) & set(command.commands)
    for hint in FAMILIAR.values():
        for line in re.findall(r"cronoq [^,;]*", hint):
            words = [word for word in line.split()[1:] if re.fullmatch(r"[a-z-]+", word) and not word.startswith("--")]
            depth = 2 if words and hasattr(command.commands[words[0]], "commands") else 1
            said = caller(*words[:depth], "--help-all" if words else "--help")
            assert said.status == 0, line
            assert all(option in said.out for option in re.findall(r"--[a-z-]+", line)), line


def test_control_characters_in_an_error_are_not_sent_to_the_terminal(caller: Caller) -> None:
    line = caller("submit", "-k", "a\x1b[31m\nb", "make", "x")
    assert line.status == 2
    assert "\x1b" not in line.err
    assert line.err.count("\n") == 1


def test_an_error_with_json_is_a_document(caller: Caller) -> None:
    line = caller("ls", "--status", "redy", "--json")
    error = json.loads(line.out)["error"]
    assert (line.status, error["code"], error["exit"], error["hint"]) == (2, "usage", 2, "did you mean ready?")


def test_json_that_belongs_to_a_command_asks_for_no_document(caller: Caller) -> None:
    assert caller("submit", "--timeout", "x", "--", "make", "--json").out == ""


@pytest.mark.parametrize(
    ("words", "home"),
    [
        (["--home", "d", "ls"], "/c/d"),
        (["--home=/d", "ls"], "/d"),
        (["--color", "never", "--home", "d", "ls"], "/c/d"),
        (["ls", "--home", "d"], None),
        (["submit", "--", "x", "--home", "d"], None),
        ([], None),
    ],
)
def test_home_is_found_before_the_verb_only(words: list[str], home: str | None) -> None:
    assert find_home(words, "/c") == home


def test_one_line_leaves_nothing_behind_for_the_next(caller: Caller) -> None:
    caller("submit", "-p", "big", "-t", "a=b", "-E", "X=1", "--after", "3", "--", "make", "x")
    caller("submit", "--", "make", "x")
    spec = caller.spec
    assert (spec.pool, spec.tags, spec.env_changes, spec.after) == ("default", {}, {}, [])


def test_a_submit_is_parsed_and_built_in_a_fraction_of_a_millisecond(caller: Caller) -> None:
    words = ("submit", "-p", "big", "--timeout", "1h", "--", "make", "test")
    caller(*words)
    best = min(_time_of(caller, words) for _ in range(300))
    assert best < 0.001


def _time_of(caller: Caller, words: tuple[str, ...]) -> float:
    begin = time.process_time()
    caller(*words)
    return time.process_time() - begin
