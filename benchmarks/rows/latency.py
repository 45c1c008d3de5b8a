"""How long until the answer and until the command runs, on a connection that stays open."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.home import ROOT, Home, open_home
from benchmarks.measuring import Figure, Skipped, compare, percentile
from benchmarks.peers import TaskSpooler
from benchmarks.rows.throughput import FOUR, run_array
from cronoq_cli.client.connection import Connection, find_connection
from cronoq_cli.config.paths import find_paths
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.wire.requests import ListTasks, Submit

SLOW_SYNC = ROOT / "benchmarks" / "slow_sync.c"


def connect(home: Home) -> Connection:
    """An open connection to the daemon of a home."""
    found = find_connection(find_paths(str(home.path), {}))
    assert found is not None, "the daemon runs"
    return found


def one_task(*, held: bool = True) -> Submit:
    """A request that queues one task, as `cronoq submit` makes it; a held one does not start."""
    return Submit(specs=[make_spec(held=held)], envs={"bench": b""}, brief=True)


def make_spec(command: tuple[str, ...] = ("/bin/true", "x"), *, held: bool = False) -> TaskSpec:
    """What a submission asks for."""
    return TaskSpec(name="true", kind="true", command=list(command), cwd="/", umask=0o077, env="bench", hold=held)


def time_answers(connection: Connection, count: int, *, held: bool = True) -> list[float]:
    """Seconds to the durable acknowledgement of each of so many submissions."""
    took = []
    for _ in range(count):
        begin = time.perf_counter()
        connection.ask(one_task(held=held))
        took.append(time.perf_counter() - begin)
    return took


def measure(quick: bool) -> Iterator[Figure]:
    """Durable acknowledgement of an idle daemon."""
    with open_home(FOUR) as home, connect(home) as connection:
        time_answers(connection, 100)
        took = time_answers(connection, 500 if quick else 3_000)
        yield Figure("acknowledgement, median ms", percentile(took, 0.5) * 1e3, 0.6)
        yield Figure("acknowledgement, 99th percentile ms", percentile(took, 0.99) * 1e3, 2.0)


def measure_dispatch(quick: bool) -> Iterator[Figure]:
    """From the submission to the command running, on an open connection, beside task-spooler with its client."""
    title = "submit to running, to task-spooler"
    try:
        spooler = TaskSpooler()
    except Skipped as reason:
        yield Figure(title, float("nan"), note=str(reason))
        return
    directory = Path(tempfile.mkdtemp(prefix="cronoq-bench-"))
    marker = directory / "marker"
    try:
        with open_home(FOUR) as home, connect(home) as connection:

            def ours() -> float:
                marker.unlink(missing_ok=True)
                spec = make_spec(("/bin/sh", "-c", f": > {marker}"))
                begin = time.perf_counter()
                connection.ask(Submit(specs=[spec], envs={"bench": b""}, brief=True))
                while not marker.exists():
                    time.sleep(0.0002)
                took = time.perf_counter() - begin
                time.sleep(0.02)
                return took

            yield compare(title, ours, lambda: spooler.time_one(marker), times=30 if quick else 200, target=0.9)
    finally:
        spooler.close()
        shutil.rmtree(directory, ignore_errors=True)


def measure_slow_disk(quick: bool) -> Iterator[Figure]:
    """With commits of 20 ms: how long a read waits while tasks run; with 5 ms: how many tasks a second."""
    shim = _build_shim()
    count = 500 if quick else 2_000
    with _slow_home(shim, 5) as home:
        took = run_array(home, ["/bin/true", "x"], count)
        yield Figure("5 ms commits: tasks a second", count / took)
    yield _compare_with_strict(shim, 5, count)
    for delay_ms in (0, 5, 20):
        yield _compare_places(shim, delay_ms, count // 2)
    with _slow_home(shim, 20) as home, connect(home) as connection:
        run_array(home, ["/bin/true", "x"], 20)  # the daemon notices first that its disk is slow
        load = threading.Thread(target=run_array, args=(home, ["/bin/true", "x"], count))
        load.start()
        waits = []
        while load.is_alive():
            begin = time.perf_counter()
            connection.ask(ListTasks(limit=10))
            waits.append(time.perf_counter() - begin)
            time.sleep(0.01)
        load.join()
        yield Figure("20 ms commits: read, 99th percentile ms", percentile(waits, 0.99) * 1e3, 2.0)


def _compare_with_strict(shim: Path, delay_ms: int, count: int) -> Figure:
    """Tasks a second with orders given ahead of need, to none given ahead."""
    with (
        _slow_home(shim, delay_ms) as ahead,
        _slow_home(shim, delay_ms, f'{FOUR}[daemon]\nleases = "never"\n') as strict,
    ):

        def run(home: Home) -> float:
            return run_array(home, ["/bin/true", "x"], count)

        run(ahead)  # how short they are is learned first
        title = f"{delay_ms} ms commits: tasks a second, with leases to without"
        return compare(title, lambda: run(ahead), lambda: run(strict), times=3, target=5.0, sense=">=")


def _compare_places(shim: Path, delay_ms: int, count: int) -> Figure:
    """Tasks a second with commits in the thread, to those in the loop."""
    with (
        _slow_home(shim, delay_ms, f'{FOUR}[daemon]\ncommit = "thread"\n') as beside,
        _slow_home(shim, delay_ms, f'{FOUR}[daemon]\ncommit = "loop"\n') as within,
    ):

        def run(home: Home) -> float:
            return run_array(home, ["/bin/true", "x"], count)

        title = f"{delay_ms} ms commits: tasks a second, thread to loop"
        return compare(title, lambda: run(beside), lambda: run(within), times=3, target=0.85, sense=">=")


def _build_shim() -> Path:
    """A library that makes each sync as slow as asked. Raises Skipped without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skipped("no C compiler, so no disk can be made slow")
    built = Path(tempfile.mkdtemp(prefix="cronoq-bench-")) / "slow_sync.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", built, SLOW_SYNC, "-ldl"], check=True)
    return built


@contextlib.contextmanager
def _slow_home(shim: Path, delay_ms: int, config: str = FOUR) -> Iterator[Home]:
    """A home whose daemon syncs slowly: it inherits the library and the delay from the command that starts it."""
    slow = {"LD_PRELOAD": str(shim), "SLOW_SYNC_MS": str(delay_ms)}
    os.environ.update(slow)
    try:
        opened = open_home(config)
        home = opened.__enter__()
    finally:
        for name in slow:
            del os.environ[name]
    for name in slow:
        del home.env[name]
    try:
        yield home
    finally:
        opened.__exit__(None, None, None)
