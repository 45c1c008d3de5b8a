"""A day of mixed load in minutes, in real processes: memory, descriptors, threads, database and logs must come to rest.

`python -m tests.faults.life --minutes 20` reports what it saw and fails when something still grows after the warm-up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.conftest import Cronoq

CONFIGURATION = """
[pools.default]
workers = 4
[retention]
succeeded = "20s"
failed = "20s"
dead_lettered = "20s"
max_finished = 400
[logs]
cap = "2MiB"
quota = "32MiB"
"""
SAMPLES = 60
GROWTH = {"daemon_kib": 0.10, "runner_kib": 0.10, "daemon_fds": 0.2, "runner_fds": 0.2, "database_kib": 0.35}
"""Share by which the median of the last quarter may be above that of the second one."""
SLACK = {"daemon_kib": 4096, "runner_kib": 2048, "daemon_fds": 4, "runner_fds": 4, "database_kib": 2048}


@dataclass
class Sample:
    """What the processes and files of one moment take."""

    daemon_kib: int
    daemon_fds: int
    daemon_threads: int
    runner_kib: int
    runner_fds: int
    database_kib: int
    logs_kib: int


def read_status(pid: int, name: str) -> int:
    """A number of /proc/PID/status."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def list_stats(directory: Path, pattern: str) -> list[os.stat_result]:
    """What the system says of the files that are there; one that goes while it is looked at is left out."""
    found = []
    for path in directory.glob(pattern):
        with contextlib.suppress(FileNotFoundError):
            found.append(path.stat())
    return found


def take_sample(cronoq: Cronoq) -> Sample | None:
    """None while one of the processes is not there."""
    about = cronoq.status()
    daemon, runners = about["pid"], about["runners"]
    if daemon is None or not runners:
        return None
    files, logs = list_stats(cronoq.home, "cronoq.db*"), list_stats(cronoq.home / "logs", "**/*")
    return Sample(
        read_status(daemon, "VmRSS"),
        len(os.listdir(f"/proc/{daemon}/fd")),
        read_status(daemon, "Threads"),
        read_status(runners[0], "VmRSS"),
        len(os.listdir(f"/proc/{runners[0]}/fd")),
        sum(file.st_size for file in files) // 1024,
        sum(log.st_blocks for log in logs) // 2,
    )


def add_load(cronoq: Cronoq, draw: random.Random) -> int:
    """A handful of tasks of one kind; how many."""
    kind = draw.randrange(6)
    if kind == 0:
        lines = "".join(json.dumps({"command": ["true"], "name": f"n{n}"}) + "\n" for n in range(60))
        cronoq("submit", "--batch", "-", input=lines)
        return 60
    if kind == 1:
        cronoq("submit", "--array", "0-19%3", "--retries", "1", "--backoff", "fixed:1s", "--", "sh", "-c", "exit 1")
        return 20
    if kind == 2:
        cronoq("submit", "-c", "yes | head -c 8M")
        return 1
    if kind == 3:
        cronoq("submit", "--in", "2s", "--key", f"k{draw.randrange(5)}", "--if-exists", "replace", "--", "sleep", "0.2")
        return 1
    if kind == 4:
        first = cronoq("submit", "--", "sleep", "5").stdout.strip()
        cronoq("submit", "--after", first, "--", "true")
        cronoq("cancel", first)
        return 2
    cronoq("ls")
    cronoq("submit", "--env", f"R={draw.random()}", "--each", "-", "--", "echo", "{}", input="a\nb\nc\n")
    return 3


def live(cronoq: Cronoq, seconds: float, seed: int) -> tuple[list[Sample], int]:
    """The samples of a life, and how many tasks it had."""
    draw, samples, tasks = random.Random(seed), [], 0
    begun = time.monotonic()
    while (now := time.monotonic() - begun) < seconds:
        tasks += add_load(cronoq, draw)
        if now >= len(samples) * seconds / SAMPLES and (sample := take_sample(cronoq)) is not None:
            samples.append(sample)
    return samples, tasks


def median(samples: list[Sample], name: str) -> int:
    """The middle one of a figure."""
    return int(sorted(getattr(sample, name) for sample in samples)[len(samples) // 2])


def judge(samples: list[Sample]) -> list[str]:
    """What has grown after the warm-up; prints the figures."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    grown = []
    for name in Sample.__dataclass_fields__:
        before, after = median(early, name), median(late, name)
        print(f"{name:15} {before:>9} -> {after:>9}   most {max(getattr(sample, name) for sample in samples)}")
        if name in GROWTH and after > before * (1 + GROWTH[name]) + SLACK[name]:
            grown.append(f"{name} grew from {before} to {after}")
    return grown


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.life", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="cronoq-life-"))
    cronoq = Cronoq(place / "h")
    cronoq.configure(CONFIGURATION)
    try:
        samples, tasks = live(cronoq, words.minutes * 60, words.seed)
        print(f"{tasks} tasks in {words.minutes:g} minutes, {len(samples)} samples; medians of second and last quarter")
        grown = judge(samples)
    finally:
        left = cronoq.finish()
        shutil.rmtree(place, ignore_errors=True)
    grown += [f"processes were left: {left}"] if left else []
    print("\n".join(grown) or "nothing grows")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
