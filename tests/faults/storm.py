"""A storm of SIGKILLs on daemon or runner while tasks with known results are submitted, run, cancelled and retried.

`python tests/faults/storm.py --kills 200 --tasks 2000 [--victim daemon|runner|both] [--commit thread]` runs the whole
of it; tests run a short one. What must hold afterwards is in `check`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CRONOQ = os.environ.get("CRONOQ_COMMAND") or shutil.which("cronoq") or str(Path(sys.executable).with_name("cronoq"))
FINAL = {"succeeded", "failed", "dead_lettered", "cancelled", "skipped", "missed", "shed"}


@dataclass
class Wanted:
    """What one acknowledged task must end in."""

    code: int
    retries: int = 0
    cancelled: bool = False


@dataclass
class Storm:
    """One run of the storm in a directory of its own."""

    home: Path
    seed: int
    commit: str = "auto"
    leases: str = "auto"
    wanted: dict[int, Wanted] = field(default_factory=dict)
    unanswered: int = 0
    kills: int = 0
    problems: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.runs = self.home / "runs"
        self.runs.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CRONOQ_")}
        self.env["CRONOQ_HOME"] = str(self.home / "h")
        (self.home / "h").mkdir(mode=0o700)
        settings = f'[daemon]\ncommit = "{self.commit}"\nleases = "{self.leases}"\n'
        (self.home / "h" / "config.toml").write_text(settings)

    def cronoq(self, *words: str, timeout: float = 120, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [CRONOQ, *words], env=self.env, capture_output=True, text=True, timeout=timeout, check=False, **more
        )

    # -- victims -------------------------------------------------------------------------------------------------

    def find_victims(self, victim: str) -> list[int]:
        """Pids of this storm's daemon or runner."""
        mark = {"daemon": "cronoq_cli.daemon", "runner": "cronoq_cli.runner"}[victim]
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{entry}/cmdline").read_bytes().decode(errors="replace")
                    if mark in words and str(self.home) in words:
                        found.append(int(entry))
        return found

    def kill_at_random(self, kills: int, victim: str) -> None:
        chance = random.Random(self.seed)
        while self.kills < kills and not self.stop.is_set():
            time.sleep(chance.uniform(0.0, 0.4))
            which = chance.choice(["daemon", "runner"]) if victim == "both" else victim
            for pid in self.find_victims(which):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1

    # -- work ----------------------------------------------------------------------------------------------------

    def submit(self, number: int, chance: random.Random) -> None:
        code = chance.choice([0, 0, 0, 1, 7, 42])
        retries = chance.choice([0, 0, 1, 2]) if code else 0
        nap = chance.choice(["0", "0.01", "0.05", "0.2"])
        script = f'echo "$CRONOQ_ATTEMPT" >> {self.runs}/$CRONOQ_TASK_ID; sleep {nap}; exit {code}'
        words = ["submit", "--retries", str(retries), "--backoff", "fixed:50ms", "-n", f"t{number}", "--"]
        done = self.cronoq(*words, "sh", "-c", script)
        if done.returncode != 0:
            self.unanswered += 1
            return
        task_id = int(done.stdout)
        with self.lock:
            if task_id in self.wanted:
                self.problems.append(f"id {task_id} was given twice")
            self.wanted[task_id] = Wanted(code, retries)
        if chance.random() < 0.08 and self.cronoq("cancel", str(task_id)).returncode == 0:
            self.wanted[task_id].cancelled = True

    def work(self, first: int, count: int) -> None:
        chance = random.Random(self.seed * 1000 + first)
        for number in range(first, first + count):
            self.submit(number, chance)

    def run(self, tasks: int, kills: int, victim: str, workers: int = 4) -> None:
        """Submit, kill, and wait until everything has ended."""
        killer = threading.Thread(target=self.kill_at_random, args=(kills, victim))
        share = tasks // workers
        threads = [threading.Thread(target=self.work, args=(n * share, share)) for n in range(workers)]
        self.cronoq("daemon", "start")
        for thread in [killer, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        killer.join(timeout=max(60.0, kills * 1.0))
        self.stop.set()
        killer.join()
        self.cronoq("daemon", "start")

    # -- what must hold --------------------------------------------------------------------------------------------

    def wait_all(self, within_s: float) -> dict[int, dict[str, Any]]:
        deadline = time.monotonic() + within_s
        while True:
            done = self.cronoq("ls", "--limit", "all", "--json")
            tasks = {task["id"]: task for task in json.loads(done.stdout or "{}").get("tasks", [])}
            waiting = [task_id for task_id, task in tasks.items() if task["status"] not in FINAL]
            if done.returncode == 0 and not waiting:
                return tasks
            if time.monotonic() > deadline:
                self.problems.append(f"still not final: {waiting[:10]} {done.stderr}")
                return tasks
            time.sleep(0.2)

    def check(self, *, runner_killed: bool) -> None:
        """Every acknowledged task exists, ended truly, and ran no more often than its attempts say."""
        tasks = self.wait_all(120)
        for task_id, wanted in sorted(self.wanted.items()):
            task = tasks.get(task_id)
            if task is None:
                self.problems.append(f"{task_id}: acknowledged, and gone")
                continue
            self._check_end(task, wanted, runner_killed=runner_killed)
        for task in tasks.values():
            self._check_runs(task)
        self._check_processes()

    def _check_end(self, task: dict[str, Any], wanted: Wanted, *, runner_killed: bool) -> None:
        status, code = task["status"], task["exit_code"]
        if wanted.cancelled:
            if status != "cancelled":
                self.problems.append(f"{task['id']}: cancel was acknowledged, and it is {status}")
            return
        if runner_killed and status == "dead_lettered" and "lost" in (task["reason"] or ""):
            return
        right = "succeeded" if wanted.code == 0 else ("dead_lettered" if wanted.retries else "failed")
        if (status, code) != (right, wanted.code):
            self.problems.append(f"{task['id']}: {status} {code} {task['reason']}, wanted {right} {wanted.code}")

    def _check_runs(self, task: dict[str, Any]) -> None:
        path = self.runs / str(task["id"])
        runs = path.read_text().split() if path.exists() else []
        if len(runs) > task["attempt"] or len(set(runs)) != len(runs):
            self.problems.append(f"{task['id']}: ran {runs}, attempts {task['attempt']}, {task['status']}")
        if task["status"] == "succeeded" and not runs:
            self.problems.append(f"{task['id']}: succeeded without a run")

    def _check_processes(self) -> None:
        mark = f"CRONOQ_HOME={self.home}/h".encode()
        deadline = time.monotonic() + 5
        while True:
            left = [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_task(int(pid), mark)]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if left:
            self.problems.append(f"processes left: {left}")

    def report(self) -> str:
        return (
            f"{len(self.wanted)} acknowledged, {self.unanswered} not, {self.kills} kills, {len(self.problems)} problems"
        )

    def close(self) -> None:
        """End the daemon of this storm."""
        self.cronoq("daemon", "stop", "--timeout", "1s")


def _is_task(pid: int, mark: bytes) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return mark in environ.split(b"\0") and b"CRONOQ_TASK_ID=" in environ


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--victim", choices=["daemon", "runner", "both"], default="daemon")
    parser.add_argument("--commit", choices=["auto", "loop", "thread"], default="auto")
    parser.add_argument("--leases", choices=["auto", "never", "always"], default="auto")
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="storm-") as directory:
        storm = Storm(Path(directory), words.seed, words.commit, words.leases)
        begun = time.monotonic()
        storm.run(words.tasks, words.kills, words.victim)
        storm.check(runner_killed=words.victim != "daemon")
        print(f"{storm.report()} in {time.monotonic() - begun:.0f} s (seed {words.seed}, {words.victim})")
        for problem in storm.problems[:40]:
            print("  ", problem)
        if storm.problems:
            kept = f"/tmp/storm-{words.seed}-{words.victim}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(directory, kept, symlinks=True, ignore=lambda d, n: [x for x in n if x.endswith(".sock")])
            print(f"   kept in {kept}")
        storm.close()
    return 1 if storm.problems else 0


if __name__ == "__main__":
    sys.exit(main())
