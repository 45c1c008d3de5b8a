"""What grows with the number of tasks, and what must not."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator

from benchmarks.home import PYTHON, Home, memory_kib, open_home
from benchmarks.measuring import Figure, percentile, time_call
from benchmarks.rows.latency import connect, make_spec, time_answers
from benchmarks.rows.throughput import FOUR, run_array
from cronoq_cli.wire.requests import ListTasks, Submit

BATCH = 10_000
BOUNDLESS = f'{FOUR}max_pending = "none"\n[daemon]\nmax_pending = "none"\n'
"""A million waiting tasks are more than may wait by default."""


def fill(home: Home, count: int, *, held: bool = True) -> float:
    """Queue so many tasks in batches on one connection; seconds it took."""
    begin = time.perf_counter()
    with connect(home) as connection:
        for at in range(0, count, BATCH):
            some = [make_spec(held=held)] * min(BATCH, count - at)
            connection.ask(Submit(specs=some, envs={"bench": b""}, brief=True))
    return time.perf_counter() - begin


def measure_waiting(quick: bool) -> Iterator[Figure]:
    """Acknowledgement, listing, memory and database at more and more waiting tasks."""
    steps = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    answers: list[tuple[float, float]] = []
    lists: list[tuple[float, float]] = []
    memory: list[tuple[float, float]] = []
    stored: list[tuple[float, float]] = []
    with open_home(BOUNDLESS) as home, connect(home) as connection:
        home.call("pool", "pause", "default")
        pid, there = home.pid(), 0
        for step in (0, *steps):
            took = fill(home, step - there, held=False)
            if step - there >= 5 * BATCH:
                yield Figure(f"bulk submit to {step:,}: tasks/s", (step - there) / took, 150_000.0, ">=")
            there = step
            # As ready as the others, so that all listings are of tasks of a kind; none starts in a paused pool.
            answers.append((step, percentile(time_answers(connection, 200, held=False), 0.5) * 1e3))
            lists.append((step, _time_list(home) * 1e3))
            memory.append((step, memory_kib(pid) * 1024.0))
            stored.append((step, float((home.path / "cronoq.db").stat().st_size)))
        yield Figure(f"acknowledgement at {there:,} to none", answers[-1][1] / answers[0][1], 1.1, curve=answers)
        yield Figure(f"ls --json at {there:,} to none", lists[-1][1] / lists[0][1], 1.2, curve=lists)
        yield Figure("memory a waiting task, bytes", (memory[-1][1] - memory[0][1]) / there, 200.0, curve=memory)
        yield Figure("database a waiting task, bytes", (stored[-1][1] - stored[0][1]) / there, curve=stored)


def _time_list(home: Home) -> float:
    with connect(home) as connection:
        took = [time_call(lambda: connection.ask(ListTasks(limit=50))) for _ in range(20)]
    return percentile(took, 0.5)


def measure_finished(quick: bool) -> Iterator[Figure]:
    """Listing with more and more finished tasks behind."""
    steps = (1_000,) if quick else (1_000, 10_000)
    lists: list[tuple[float, float]] = []
    with open_home(BOUNDLESS) as home:
        there = 0
        for step in (10, *steps):
            run_array(home, ["/bin/true", "x"], step - there)
            there = step
            lists.append((step, _time_list(home) * 1e3))
    yield Figure(f"ls --json at {there:,} finished to 10", lists[-1][1] / lists[0][1], 1.2, curve=lists)


def measure_restart(quick: bool) -> Iterator[Figure]:
    """From the kill of the daemon to the first answer of the next, with many waiting."""
    count = 100_000 if quick else 1_000_000
    with open_home(BOUNDLESS) as home:
        home.call("pool", "pause", "default")
        fill(home, count, held=False)
        took = home.restart_cold()
        peer = time_call(lambda: subprocess.run([PYTHON, "-c", "pass"], check=True))
        note = f"{took / peer:.0f} times `python -c pass`"
        yield Figure(f"restart with {count:,} waiting, s to the first answer", took, 0.5, note=note)


def measure_fan_out(quick: bool) -> Iterator[Figure]:
    """The end of one task that so many wait for: how long until all of them may start."""
    count = 1_000 if quick else 10_000
    with open_home(BOUNDLESS) as home, connect(home) as connection:
        home.call("submit", "--hold", "--key", "root", "--", "/bin/true")
        lines = "".join(f'{{"command": ["/bin/true", "{n}"], "after": ["root"]}}\n' for n in range(count))
        home.call("submit", "--batch", "-", stdin=lines)
        home.call("pool", "pause", "default")
        home.call("release", "root")
        home.call("cancel", "root")
        took = time_call(lambda: connection.ask(ListTasks(limit=1)))
        yield Figure(f"read right after {count:,} dependents were judged, ms", took * 1e3)


def measure_clients(quick: bool) -> Iterator[Figure]:
    """Many clients at once, each with submissions of its own."""
    clients, each = (50, 4) if quick else (200, 10)
    took: list[float] = []
    with open_home(BOUNDLESS) as home:

        def work() -> None:
            with connect(home) as connection:
                took.extend(time_answers(connection, each))

        threads = [threading.Thread(target=work) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    yield Figure(f"{clients} clients at once: 99th percentile of an acknowledgement, ms", percentile(took, 0.99) * 1e3)


def measure_slots(quick: bool) -> Iterator[Figure]:
    """The same short tasks on more slots, and many long ones at once."""
    count = 500 if quick else 2_000
    rates: list[tuple[float, float]] = []
    for slots in (16, 64, 256):
        with open_home(f"[pools.default]\nworkers = {slots}\n") as home:
            rates.append((slots, count / run_array(home, ["/bin/true", "x"], count)))
    yield Figure("tasks a second on 256 slots to 16", rates[-1][1] / rates[0][1], 0.8, ">=", curve=rates)
    running = 100 if quick else 500
    with open_home(f"[pools.default]\nworkers = {running}\n") as home:
        took = run_array(home, ["/bin/sleep", "1"], running)
        yield Figure(f"{running} tasks of 1 s at once, s", took)
