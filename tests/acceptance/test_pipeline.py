"""The script of docs/pipelines.md as it stands there: it fans out and in with --json and exit statuses alone."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")
SCRIPT, SHOWN = re.findall(r"```(?:python)?\n(.*?)```", PAGE, re.DOTALL)


def start(cronoq: Any, directory: Path, script: str) -> subprocess.Popen[str]:
    """The script, for which `cronoq` is the command that is tested."""
    command = directory / "cronoq"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(cronoq.command)} "$@"\n')
    command.chmod(0o755)
    env = {**cronoq.env, "PATH": f"{directory}:{os.environ['PATH']}"}
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", script], env=env, start_new_session=True, **streams)


def test_the_script_prints_what_the_page_shows_and_leaves_nothing(shared, tmp_path) -> None:
    script = start(shared, tmp_path, SCRIPT)
    out, err = script.communicate(timeout=60)
    assert (out, script.returncode) == (SHOWN, 1), err
    assert shared.ask("ls")["tasks"] == []


def test_nothing_is_left_of_an_interrupted_script_either(shared, tmp_path) -> None:
    script = start(shared, tmp_path, SCRIPT.replace('"test", str(n), "-ne", "3"', '"sleep", "600"'))
    shared.wait_until(lambda: any(task["status"] == "running" for task in shared.ask("ls")["tasks"]), what="a part")
    os.kill(script.pid, signal.SIGINT)
    _, err = script.communicate(timeout=60)
    assert script.returncode != 0 and "KeyboardInterrupt" in err
    assert shared.ask("ls")["tasks"] == []
