"""A cronoq of the benchmarks' own: a temporary home, a daemon in it, and what its processes cost."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ENTRY = ROOT / "cronoq_cli" / "entry" / "cronoq"
PYTHON = sys.executable
PATIENCE_S = 600.0


class Home:
    """One home; `call` runs the command as a process of its own, as a shell would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("CRONOQ_")}
        self.env |= {"CRONOQ_HOME": str(path), "PYTHONPATH": str(ROOT)}
        # Uncompiled modules would be measured instead of the program.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def words(self, *words: object) -> list[str]:
        """The command line of a call."""
        return [PYTHON, str(ENTRY), *map(str, words)]

    def call(self, *words: object, stdin: str | None = None, check: bool = True) -> str:
        """What the command printed. Raises CalledProcessError when it fails."""
        done = subprocess.run(
            self.words(*words),
            env=self.env,
            input=stdin,
            text=True,
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        if check and done.returncode:
            raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
        return done.stdout

    def document(self, *words: object) -> dict[str, Any]:
        """What the command printed as JSON."""
        found: dict[str, Any] = json.loads(self.call(*words, "--json"))
        return found

    def configure(self, text: str) -> None:
        """Write the configuration."""
        (self.path / "config.toml").write_text(text)

    def pid(self) -> int:
        """The daemon's process id."""
        return int(self.document("daemon", "status")["daemon"]["pid"])

    def restart_cold(self) -> float:
        """Kill the daemon, start it again, and return the seconds to its first answer."""
        pid = self.pid()
        os.kill(pid, 9)
        while Path(f"/proc/{pid}").exists() and _state_of(pid) != "Z":
            time.sleep(0.005)
        begin = time.perf_counter()
        self.call("daemon", "start")
        self.call("show", "1", "--json", check=False)
        return time.perf_counter() - begin


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@contextlib.contextmanager
def open_home(config: str = "", *, base: str | None = None) -> Iterator[Home]:
    """A home with a running daemon, taken away afterwards. `base`: the directory it is made in."""
    path = Path(tempfile.mkdtemp(prefix="cronoq-bench-", dir=base or os.environ.get("CRONOQ_BENCH_DIR")))
    home = Home(path)
    home.configure(config)
    try:
        home.call("daemon", "start")
        yield home
    finally:
        home.call("daemon", "stop", "--timeout", "0s", check=False)
        _leave(path)


def _leave(path: Path) -> None:
    """Remove a home's large files now and its many logs when all is measured: after thousands of files were deleted
    nearby, each new one may cost half a millisecond for minutes (ext4 without a journal)."""
    for file in path.rglob("cronoq.db*"):
        file.unlink(missing_ok=True)
    atexit.register(shutil.rmtree, path, ignore_errors=True)


def memory_kib(pid: int) -> int:
    """Resident memory of a process that is its own (anonymous pages), in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def processor_s(pid: int) -> float:
    """Seconds of processor time a process has used, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def switches(pid: int) -> int:
    """How often a process's threads gave up the processor by themselves: its wake-ups."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                total += int(line.split()[1])
    return total
