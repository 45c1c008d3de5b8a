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
from cronoq_cli.client.connection import Connection
from cronoq_cli.wire.requests import (
    ListTasks,
    PausePool,
    Request,
    ResumePool,
    Selector,
    ShowWindow,
    Submit,
    WaitTasks,
)

BATCH = 10_000
DISPATCHED = 500
"""So many tasks are let run at each step."""
FLAT = 1.2
"""What is not to grow with the number of tasks may seem to by so much."""
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
    tops: list[tuple[float, float]] = []
    dispatched: list[tuple[float, float]] = []
    memory: list[tuple[float, float]] = []
    stored: list[tuple[float, float]] = []
    with open_home(BOUNDLESS) as home, connect(home) as connection:
        home.call("pool", "pause", "default")
        fill(home, DISPATCHED, held=False)
        _time_dispatch(connection)  # how short they are is learned first
        pid, there = home.pid(), 0
        for step in (0, *steps):
            took = fill(home, step - there, held=False)
            if step - there >= 5 * BATCH:
                yield Figure(f"bulk submit to {step:,}: tasks/s", (step - there) / took, 150_000.0, ">=")
            there = step
            # As ready as the others, so that all listings are of tasks of a kind; none starts in a paused pool.
            answers.append((step, percentile(time_answers(connection, 200, held=False), 0.5) * 1e3))
            lists.append((step, _time_reads(connection, ListTasks(limit=50)) * 1e3))
            tops.append((step, _time_reads(connection, ShowWindow()) * 1e3))
            memory.append((step, memory_kib(pid) * 1024.0))
            fill(home, DISPATCHED, held=False)
            dispatched.append((step, _time_dispatch(connection) * 1e3))
            stored.append((step, float((home.path / "cronoq.db").stat().st_size)))
        title = f"acknowledgement at {there:,} to none"
        yield _compare_ends(title, answers, 1.1, "acknowledgement, ms, by tasks waiting")
        yield _compare_ends(f"ls --json at {there:,} to none", lists, FLAT, "ls, ms, by tasks waiting")
        yield _compare_tops("waiting", tops)
        title = f"a task started and ended at {there:,} to none"
        yield _compare_ends(title, dispatched, FLAT, "a task started and ended, ms, by tasks waiting")
        yield Figure(
            "memory a waiting task, bytes",
            (memory[-1][1] - memory[0][1]) / there,
            200.0,
            curve=memory,
            curve_title="memory of the daemon, bytes, by tasks waiting",
        )
        yield Figure(
            "database a waiting task, bytes",
            (stored[-1][1] - stored[0][1]) / there,
            curve=stored,
            curve_title="database, bytes, by tasks waiting",
        )


def _compare_ends(name: str, curve: list[tuple[float, float]], target: float, curve_title: str) -> Figure:
    return Figure(name, curve[-1][1] / curve[0][1], target, curve=curve, curve_title=curve_title)


def _compare_tops(what: str, curve: list[tuple[float, float]]) -> Figure:
    """To the first step that fills all of what can be reached by going on in it: less is less work."""
    (fills, full), (there, took) = curve[1], curve[-1]
    title = f"a refresh of top, ms, by tasks {what}"
    return Figure(f"top, a refresh at {there:,} {what} to {fills:,}", took / full, FLAT, curve=curve, curve_title=title)


def _time_reads(connection: Connection, request: Request) -> float:
    return percentile([time_call(lambda: connection.ask(request)) for _ in range(20)], 0.5)


def _time_dispatch(connection: Connection) -> float:
    """Seconds a task, when the pool goes on until so many of those that wait, the next in order, have ended."""
    listed = connection.ask(ListTasks(limit=1)).doc["tasks"]
    last = next(task["id"] for task in listed if task["status"] == "ready") + DISPATCHED - 1
    begin = time.perf_counter()
    connection.ask(ResumePool())
    connection.ask(WaitTasks(select=Selector(refs=[str(last)]), brief=True))
    took = time.perf_counter() - begin
    connection.ask(PausePool())
    while connection.ask(ListTasks(limit=1)).doc["tasks"][0]["status"] == "running":
        time.sleep(0.01)
    return took / DISPATCHED


def measure_finished(quick: bool) -> Iterator[Figure]:
    """Listing with more and more finished tasks behind."""
    steps = (1_000,) if quick else (1_000, 10_000)
    lists: list[tuple[float, float]] = []
    tops: list[tuple[float, float]] = []
    with open_home(BOUNDLESS) as home, connect(home) as connection:
        there = 0
        for step in (10, *steps):
            run_array(home, ["/bin/true", "x"], step - there)
            there = step
            lists.append((step, _time_reads(connection, ListTasks(limit=50)) * 1e3))
            tops.append((step, _time_reads(connection, ShowWindow()) * 1e3))
    yield _compare_ends(f"ls --json at {there:,} finished to 10", lists, FLAT, "ls, ms, by tasks finished")
    yield _compare_tops("finished", tops)


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
    yield Figure(
        "tasks a second on 256 slots to 16",
        rates[-1][1] / rates[0][1],
        0.8,
        ">=",
        curve=rates,
        curve_title="short tasks a second, by slots",
    )
    running = 100 if quick else 500
    with open_home(f"[pools.default]\nworkers = {running}\n") as home:
        took = run_array(home, ["/bin/sleep", "1"], running)
        yield Figure(f"{running} tasks of 1 s at once, s", took)
