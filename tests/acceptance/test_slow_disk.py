"""A disk that takes its time, or hangs: who only looks is answered meanwhile, and nothing is told before it is kept."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

SOURCE = Path(__file__).parents[2] / "benchmarks" / "slow_sync.c"


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    """The library that makes syncs slow."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler, so no disk can be made slow")
    built = tmp_path / "slow_sync.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE), "-ldl"]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("the library that makes a disk slow cannot be built here")
    return built


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """While this file is there, syncs of a daemon started with it wait."""
    path = tmp_path / "gate"
    yield path
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def hanging(cronoq: Any, gate: Path, *words: str) -> Iterator[Any]:
    """The command while the commit it asked for hangs; the disk goes on at the end."""
    waiting = Path(f"{gate}.waiting")
    waiting.unlink(missing_ok=True)
    gate.touch()
    process = cronoq.start(*words)
    try:
        cronoq.wait_until(waiting.exists, what="the commit hanging")
        yield process
        assert process.poll() is None, "nothing is told before it is kept"
    finally:
        gate.unlink()
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert words[0] != "submit" or out.strip().isdigit()


def test_while_a_commit_hangs_who_looks_is_answered_and_who_decides_waits(cronoq, shim, gate) -> None:
    cronoq.forced["commit"] = "thread"
    cronoq.ok("daemon", "start", env={"LD_PRELOAD": str(shim), "SLOW_SYNC_WHILE": str(gate)})
    cronoq.wait_for(cronoq.submit("--", "true"))
    with hanging(cronoq, gate, "submit", "--hold", "--", "true"):
        assert [task["id"] for task in cronoq.ask("ls")["tasks"]] == [1]
        assert cronoq("show", "2").returncode == 3
        assert cronoq("wait", "1").returncode == 0
        assert cronoq.status()["state"] == "running"
        cancel = cronoq.start("cancel", "2")
        with pytest.raises(subprocess.TimeoutExpired):
            cancel.communicate(timeout=0.5)
    cancel.communicate(timeout=20)
    assert cancel.returncode == 0
    assert cronoq.show(2)["status"] == "cancelled"
    with hanging(cronoq, gate, "submit", "--hold", "--", "true"):
        stop = cronoq.start("daemon", "stop")
        with pytest.raises(subprocess.TimeoutExpired):
            stop.communicate(timeout=0.5)
    stop.communicate(timeout=20)
    assert stop.returncode == 0
    assert [task["status"] for task in cronoq.ask("ls", "3")["tasks"]] == ["blocked"]


def test_a_configuration_counts_as_read_when_it_is_in_force_with_the_runner_too(cronoq, shim, gate) -> None:
    cronoq.forced["commit"] = "thread"
    cronoq.configure("[pools.default]\nworkers = 3\n")
    cronoq.ok("daemon", "start", env={"LD_PRELOAD": str(shim), "SLOW_SYNC_WHILE": str(gate)})
    cronoq.configure("[pools.default]\nworkers = 1\n")
    with hanging(cronoq, gate, "daemon", "reload") as reload, pytest.raises(subprocess.TimeoutExpired):
        reload.wait(0.5)
    assert cronoq.ask("pool", "show", "default")["pool"]["workers"] == 1


def test_a_daemon_notices_by_itself_that_its_disk_is_slow(cronoq, shim) -> None:
    cronoq.forced["commit"] = "auto"
    cronoq.ok("daemon", "start", env={"LD_PRELOAD": str(shim), "SLOW_SYNC_MS": "30"})
    for _ in range(4):
        cronoq.submit("--hold", "--", "true")
    log = (cronoq.home / "daemon.log").read_text()
    assert log.count("made beside the loop") == 1
    assert cronoq.output("echo", "done") == "done\n"
