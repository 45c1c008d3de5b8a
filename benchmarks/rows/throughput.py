"""How many short commands a second, durably recorded with log, usage and exit code, beside the peers."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.home import Home, open_home
from benchmarks.measuring import Figure, Skipped, compare, time_call
from benchmarks.peers import TaskSpooler, time_hyperqueue, time_parallel, time_xargs

FOUR = "[pools.default]\nworkers = 4\n"
TRUE = ["/bin/true"]
NAP = ["/bin/sleep", "0.02"]


def run_array(home: Home, command: list[str], count: int) -> float:
    """Seconds to submit so many as one array and to wait for them all."""

    def call() -> None:
        ids = home.call("submit", "--array", f"1-{count}", "--exec", "--", *command).strip()
        home.call("wait", "-q", ids)

    return time_call(call)


def measure(quick: bool) -> Iterator[Figure]:
    """`/bin/true` on four slots."""
    count, times = (1_000, 3) if quick else (5_000, 5)
    with open_home(FOUR) as home:
        run_array(home, [*TRUE, "x"], 200)  # how short they are is learned first
        peers = {
            "xargs -P4": (1.2, lambda: time_xargs(TRUE, count)),
            "GNU parallel": (7.0, lambda: time_parallel(TRUE, count)),
            "HyperQueue": (8.0, lambda: time_hyperqueue(TRUE, count)),
        }
        for name, (target, peer) in peers.items():
            title = f"{count} x true, times faster than {name}"
            enough = times if target < 2 else 3  # what is several times slower takes long
            try:
                yield compare(
                    title, lambda: run_array(home, [*TRUE, "x"], count), peer, times=enough, target=target, sense=">="
                )
            except Skipped as reason:
                yield Figure(title, float("nan"), note=str(reason))
        yield from _beside_task_spooler(home)


def _beside_task_spooler(home: Home) -> Iterator[Figure]:
    """Of so many tasks, not more, in any case: each that waits there is a process with a connection, and thousands of
    connections it refuses."""
    count = 1_000
    title = f"{count} x true, times faster than task-spooler"
    try:
        spooler = TaskSpooler()
    except Skipped as reason:
        yield Figure(title, float("nan"), note=str(reason))
        return
    try:
        yield compare(
            title,
            lambda: run_array(home, [*TRUE, "x"], count),
            lambda: spooler.time_tasks(TRUE, count),
            times=3,
            target=2.8,
            sense=">=",
        )
    finally:
        spooler.close()


def measure_short_tasks(quick: bool) -> Iterator[Figure]:
    """Tasks of 20 ms: the slots are to be kept as full as xargs keeps them."""
    count, times = (400, 3) if quick else (1_500, 5)
    with open_home(FOUR) as home:
        run_array(home, NAP, 100)
        yield compare(
            f"{count} x 20 ms, times faster than xargs -P4",
            lambda: run_array(home, NAP, count),
            lambda: time_xargs(["/bin/sh", "-c", "exec sleep 0.02"], count),
            times=times,
            target=0.97,
            sense=">=",
        )
