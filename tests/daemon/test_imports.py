"""A daemon has everything imported before it is ready."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = """
import io, sys, time
import cronoq_cli.daemon.main
from cronoq_cli.commands.app import build_command, run_line
from cronoq_cli.commands.context import Context
from cronoq_cli.daemon import imports
from cronoq_cli.wire.requests import Reply

build_command()
imports.finish()
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
