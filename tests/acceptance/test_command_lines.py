"""Command lines of every kind: what is executed is what was given, and what cannot be is told clearly."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

MIB = 1 << 20
LONGEST_ARGUMENT = 131_071
"""Linux: 128 KiB with the end byte."""


def batch(*tasks: dict[str, Any]) -> str:
    return "".join(json.dumps(task) + "\n" for task in tasks)


# -- exactness -------------------------------------------------------------------------------------------------------


def test_arguments_are_neither_joined_nor_split_nor_expanded(shared) -> None:
    words = ["a b", "", "x'y", '"', "$HOME", "*", "l1\nl2", "-n", "--help", "ü", "\\", "`id`", "%s", "{}"]
    expected = "".join(f"<{word}>" for word in words)
    assert shared.output("--", "printf", "<%s>", *words) == expected
    task = shared.show("last")
    assert task["command"] == ["printf", "<%s>", *words]
    again = int(shared.ok("rerun", task["id"]))
    shared.wait_for(again)
    assert shared.read_log(again).decode() == expected
    first = int(shared.ok("submit", "--batch", "-", input=batch({"command": ["printf", "<%s>", *words]})))
    shared.wait_for(first)
    assert shared.read_log(first).decode() == expected


def test_options_after_the_command_belong_to_it(shared) -> None:
    assert shared.output("echo", "--timeout", "1s", "-h", "--json") == "--timeout 1s -h --json\n"


def test_bytes_that_are_no_text_reach_the_task_as_they_are(shared) -> None:
    raw = b"\xff\xfe caf\xe9 \xc3"
    task_id = shared.submit("--", "printf", "%s", raw)
    shared.wait_for(task_id)
    assert shared.read_log(task_id) == raw
    assert os.fsencode(shared.show(task_id)["command"][2]) == raw
    name = shared.home / os.fsdecode(b"latin-\xe9")
    name.write_text("found")
    assert shared.output("--", "cat", os.fsencode(name)) == "found"
    assert "\\xff" in shared.ok("show", task_id) or "\ufffd" in shared.ok("show", task_id)


def test_each_line_is_one_argument_whatever_is_in_it(shared) -> None:
    lines = ["a b", "$(touch made)", "'; touch made; '", "*", "-n", "\u00fc", "tab\there", "back\\slash"]
    given = shared.ok("submit", "--each", "-", "--", "printf", "<%s>", "{}", input="\n".join(lines) + "\n").strip()
    first = int(given.partition("-")[0])
    shared("wait", given)
    assert [shared.read_log(first + n).decode() for n in range(len(lines))] == [f"<{line}>" for line in lines]
    quoted = shared.ok("submit", "--each", "-", "-c", "printf '<%s>' {}", input="\n".join(lines) + "\n").strip()
    first = int(quoted.partition("-")[0])
    shared("wait", quoted)
    assert [shared.read_log(first + n).decode() for n in range(len(lines))] == [f"<{line}>" for line in lines]


@pytest.mark.parametrize(
    "task",
    [
        {"command": ["printf", "a\0b"]},
        {"command": []},
        {"command": "true"},
        {"command": ["true"], "shell": "true"},
        {"command": ["true"], "no_such_option": 1},
        {"command": ["true"], "cwd": "/\0"},
        {"command": ["true"], "name": ["list"]},
        ["true"],
        "true",
        None,
    ],
)
def test_a_malformed_line_of_a_batch_is_named_and_nothing_is_queued(shared, task) -> None:
    before = len(shared.ask("ls", "--limit", "all")["tasks"])
    done = shared("submit", "--batch", "-", input=batch({"command": ["true"]}, task))
    assert done.returncode == 7, done.stderr
    assert "line 2" in done.stderr
    assert done.stdout == ""
    assert len(shared.ask("ls", "--limit", "all")["tasks"]) == before


# -- length ----------------------------------------------------------------------------------------------------------


def test_the_longest_argument_the_system_takes_is_run(shared) -> None:
    assert shared.output("--", "sh", "-c", "echo ${#1}", "sh", "x" * LONGEST_ARGUMENT) == f"{LONGEST_ARGUMENT}\n"


def test_an_argument_the_system_refuses_fails_with_its_reason(shared) -> None:
    task_id = int(shared.ok("submit", "--batch", "-", input=batch({"command": ["echo", "x" * (LONGEST_ARGUMENT + 1)]})))
    task = shared.wait_for(task_id)
    assert (task["status"], task["exit_code"], task["attempt"]) == ("failed", 126, 1)
    assert "rgument list too long" in task["reason"]
    assert shared.output("--", "echo", "alive") == "alive\n"


def test_a_command_line_of_a_mebibyte_is_run_and_cut_where_it_is_listed(shared) -> None:
    words = ["x" * 100_000] * 11
    done = shared("run", "--", "sh", "-c", 'echo $#; printf %s "$@" | wc -c', "sh", *words)
    assert (done.returncode, done.stdout.split()) == (0, ["11", "1100000"]), done.stderr
    assert len(shared.ok("ls")) < 100_000
    assert sum(map(len, shared.show("last")["command"])) > MIB


def test_a_hundred_thousand_short_arguments_are_run(shared) -> None:
    done = shared("run", "--", "sh", "-c", "echo $#", "sh", *["x"] * 100_000)
    assert (done.returncode, done.stdout) == (0, "100000\n"), done.stderr


def test_a_shell_line_of_a_mebibyte_is_run_or_fails_with_the_reason(shared) -> None:
    line = "x=" + "y" * MIB + "; echo ${#x}"
    task_id = int(shared.ok("submit", "--batch", "-", input=batch({"shell": line})))
    task = shared.wait_for(task_id)
    if task["status"] == "succeeded":
        assert shared.read_log(task_id) == b"%d\n" % MIB
    else:
        assert task["exit_code"] == 126
        assert "rgument list too long" in task["reason"]


# -- words that are no command ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["submit"], 2),
        (["submit", "--"], 2),
        (["submit", "--", ""], 2),
        (["submit", "-c", ""], 2),
        (["submit", "-c", "true", "--", "false"], 2),
        (["submit", "--no-such-option", "true"], 2),
        (["submit", "--timeout", "soon", "true"], 2),
        (["submit", "-k", "white space", "true"], 2),
        (["submit", "-p", "no-such-pool", "true"], 7),
        (["submit", "-n", "", "true"], 2),
        (["no-such-verb"], 2),
        (["show", "99999"], 3),
        (["logs", "no-such-key"], 3),
        (["submit", "--after", "99999", "true"], 7),
        (["submit", "--stdin", "/no/such/file", "--batch", "/no/such/file"], 7),
        (["submit", "--env-file", "/no/such/file", "true"], 7),
    ],
)
def test_what_cannot_be_is_one_clear_line_and_nothing_is_queued(shared, words, code) -> None:
    before = len(shared.ask("ls", "--limit", "all")["tasks"])
    done = shared(*words)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("cronoq: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(shared.ask("ls", "--limit", "all")["tasks"]) == before


def test_an_error_in_json_is_one_document(shared) -> None:
    done = shared("show", "99999", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["exit"] == 3


def test_the_command_works_from_everywhere(shared, tmp_path) -> None:
    """A directory with modules of ours or of Python by name is no trap."""
    for name in ("os.py", "socket.py", "typer.py", "cronoq_cli.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    done = subprocess.run(
        [*shared.command, "run", "--", "pwd"],
        env=shared.env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}\n"), done.stderr
    assert Path(shared.show("last")["cwd"]) == tmp_path
