"""The other tools, as far as they are installed: each runs `count` times a command on four slots."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Skipped, time_call

_MEMORY = "/dev/shm"


def get_tool(name: str, package: str) -> str:
    """The program's path. Raises Skipped with the package that has it."""
    found = shutil.which(name)
    if found is None:
        raise Skipped(f"{name} is not installed (package {package})")
    return found


def time_xargs(command: list[str], count: int, slots: int = 4) -> float:
    """Seconds for xargs, one argument a command."""
    words = [get_tool("xargs", "findutils"), f"-P{slots}", "-n1", *command]
    lines = "".join(f"{number}\n" for number in range(count))
    return time_call(lambda: subprocess.run(words, input=lines, text=True, check=True, stdout=subprocess.DEVNULL))


def time_parallel(command: list[str], count: int, slots: int = 4) -> float:
    """Seconds for GNU parallel; its temporary files, deleted at once, are kept away from the homes we measure in."""
    words = [get_tool("parallel", "parallel"), "--will-cite", f"-j{slots}", *command]
    if os.path.isdir(_MEMORY):
        words[1:1] = ["--tmpdir", _MEMORY]
    lines = "".join(f"{number}\n" for number in range(count))
    return time_call(lambda: subprocess.run(words, input=lines, text=True, check=True, stdout=subprocess.DEVNULL))


class TaskSpooler:
    """A server of task-spooler with a socket of its own."""

    def __init__(self, slots: int = 4) -> None:
        self._tool = get_tool("tsp", "task-spooler")
        self._directory = tempfile.mkdtemp(prefix="tsp-bench-")
        self._env = os.environ | {"TS_SOCKET": f"{self._directory}/socket", "TMPDIR": self._directory}
        self._env |= {"TS_MAXFINISHED": "10000"}
        self._run("-S", str(slots))

    def _run(self, *words: str) -> str:
        return subprocess.run([self._tool, *words], env=self._env, check=True, capture_output=True, text=True).stdout

    def time_tasks(self, command: list[str], count: int) -> float:
        """Seconds to submit so many, without a log each, and to wait for the last to end."""
        begin = time.perf_counter()
        last = "0"
        for _ in range(count):
            last = self._run("-n", *command).strip()
        self._run("-w", last)
        while any(line.split()[1] in ("queued", "running") for line in self._run("-l").splitlines()[1:]):
            time.sleep(0.01)
        return time.perf_counter() - begin

    def time_one(self, marker: Path) -> float:
        """Seconds from the start of the client to the command having made `marker`."""
        marker.unlink(missing_ok=True)
        begin = time.perf_counter()
        self._run("-n", "/bin/sh", "-c", f": > {marker}")
        while not marker.exists():
            time.sleep(0.0002)
        return time.perf_counter() - begin

    def close(self) -> None:
        """End the server."""
        subprocess.run([self._tool, "-K"], env=self._env, check=False, capture_output=True)
        shutil.rmtree(self._directory, ignore_errors=True)


_HYPERQUEUE = """
import sys, time
from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
count, *command = sys.argv[1:]
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=4))
    client = cluster.client()
    warm_up, job = Job(), Job()
    warm_up.program(command)
    client.wait_for_jobs([client.submit(warm_up)])
    for _ in range(int(count)):
        job.program(command)
    begin = time.perf_counter()
    client.wait_for_jobs([client.submit(job)])
    print("seconds", time.perf_counter() - begin)
"""


def time_hyperqueue(command: list[str], count: int) -> float:
    """Seconds for HyperQueue with one worker of four processors, server and worker already running.

    Its Python package is asked for in this interpreter, or in the one that CRONOQ_BENCH_HYPERQUEUE names.
    """
    python = os.environ.get("CRONOQ_BENCH_HYPERQUEUE", sys.executable)
    if subprocess.run([python, "-c", "import hyperqueue"], check=False, capture_output=True).returncode != 0:
        raise Skipped("HyperQueue is not installed (Python package hyperqueue)")
    with tempfile.TemporaryDirectory(prefix="hq-bench-") as directory:  # the output of each task goes below it
        words = [python, "-c", _HYPERQUEUE, str(count), *command]
        done = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True)
    return float(done.stdout.rpartition("seconds ")[2])
