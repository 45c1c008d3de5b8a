"""A daemon imports the rest when it serves and nobody wants anything, and holds up nobody for long with it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cronoq_cli.commands.app import build_command, find_file
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
