"""A daemon imports the rest when it serves and nobody wants anything, and holds up nobody for long with it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cronoq_cli.commands.app import build_command
from cronoq_cli.commands.verb_files import find_file
from cronoq_cli.daemon import imports

ROOT = Path(__file__).parents[2]
CODE = """
import asyncio, io, sys, time
import cronoq_cli.daemon.main
from cronoq_cli.commands.app import run_line
from cronoq_cli.commands.context import Context
from cronoq_cli.daemon import imports
from cronoq_cli.wire.requests import Reply

asyncio.run(imports.finish())
text = ("name", "expr", "tz", "zone", "words", "shell", "pool", "overlap", "catch_up")
schedule = dict.fromkeys(text, "UTC") | {"expr": "30 2 * * L5", "seconds": False, "command": ["a"], "shell": None}
schedule |= dict.fromkeys(("every", "pause_reason", "paused_until", "last"))
schedule |= {"skips": [], "paused": False, "broken": False}
schedule |= {"next": "2026-03-08T07:00:00Z", "next_runs": ["2026-03-08T07:00:00Z"]}

class Gateway:
    def ask(self, request):
        return Reply(doc={"recurring": [schedule], "added": ["x"]})

before = set(sys.modules)
for line in ("add x 30_2_*_*_L5 --tz Asia/Tokyo -- a", "ls", "show x", "next x", "ls --json", "pause x"):
    out, err = io.StringIO(), io.StringIO()
    context = Context(Gateway(), "/", 0o22, {}, out, err, time.time)
    status = run_line(["recurring", *(word.replace("_", " ") for word in line.split())], context)
    assert status == 0, err.getvalue()
print(*sorted(set(sys.modules) - before))
"""

LAZY = """
import ast, asyncio, inspect, sys
import cronoq_cli.daemon.main
from cronoq_cli.daemon import imports

def names_of(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []

asyncio.run(imports.finish())
for module in [module for name, module in sys.modules.items() if name.startswith("cronoq_cli.")]:
    for function in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and "need_streams" not in ast.unparse(function):
            print(*{name for node in ast.walk(function) for name in names_of(node)} - set(sys.modules))
"""
OF_THE_CLIENT = {
    *("cronoq_cli.commands.live_list", "cronoq_cli.commands.schedule_days", "cronoq_cli.commands.schedule_editing"),
    *("cronoq_cli.commands.schedule_store", "cronoq_cli.commands.simulation", "cronoq_cli.config.template"),
}
OF_THE_START = {"platformdirs"}


def test_whatever_a_function_imports_is_there_already() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= OF_THE_CLIENT | OF_THE_START


def test_what_commands_load_when_they_need_it_is_there_already() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_what_comes_meanwhile_has_its_turn_between_two_steps() -> None:
    steps = len(list(imports.list_steps()))

    async def count_turns() -> int:
        finishing, turns = asyncio.ensure_future(imports.finish()), 0
        while not finishing.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(count_turns()) >= steps > len(imports.LATER)


def test_nothing_is_imported_while_a_client_asks_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "QUIET_S", 0.02)
    done: list[float] = []
    monkeypatch.setattr(imports, "list_steps", lambda: iter([lambda: done.append(time.monotonic())] * 2))

    async def ask(until: float) -> None:
        await imports.finish(lambda: min(time.monotonic(), until))

    asked_until = time.monotonic() + 0.1
    asyncio.run(ask(asked_until))
    assert len(done) == 2 and min(done) >= asked_until + imports.QUIET_S
    monkeypatch.setattr(imports, "LONGEST_WAIT_S", 0.05)
    began = time.monotonic()
    asyncio.run(ask(float("inf")))
    assert len(done) == 4 and done[2] >= began + imports.LONGEST_WAIT_S


def test_the_client_that_started_the_daemon_is_heard_before_anything_more_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(imports, "QUIET_S", 0.02)
    done: list[float] = []
    monkeypatch.setattr(imports, "list_steps", lambda: iter([lambda: done.append(time.monotonic())]))

    async def ask_at_once() -> float:
        heard: list[float] = []
        loop = asyncio.get_running_loop()
        loop.call_later(imports.FIRST_WORD_S / 5, lambda: heard.append(time.monotonic()))
        await imports.finish(lambda: heard[-1] if heard else float("-inf"))
        return heard[-1]

    assert asyncio.run(ask_at_once()) + imports.QUIET_S <= done[0]


def test_the_parser_of_lines_is_not_there_before_a_daemon_serves() -> None:
    code = "import sys, cronoq_cli.daemon.main; print(*{'typer', 'tomllib', 'difflib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_verb_is_built_by_the_first_line_that_needs_it() -> None:
    asyncio.run(imports.finish())
    built = build_command.cache_info().misses
    for word in build_command().commands:
        build_command(find_file([word]))
    assert build_command.cache_info().misses <= built + 1, "only the command of all verbs is built when it is asked for"


def test_a_module_that_is_gone_is_told_in_the_log_and_the_others_come(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(imports, "LATER", ("cronoq_cli.gone", *imports.LATER))
    asyncio.run(imports.finish())
    assert "cronoq_cli.gone" in caplog.text
