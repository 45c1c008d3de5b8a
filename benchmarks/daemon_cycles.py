"""Processor time of the daemon alone for each task of a short command: reports in, engine, rows, commit, orders out.

Run: python benchmarks/daemon_cycles.py [--tasks N] [--group N] [--profile]. The runner is only a connection that ends
what it is given, so many tasks a frame as a busy runner reports together; the store is a file in a temporary directory.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import os
import tempfile
import time
from collections import deque

from cronoq_cli.config.paths import find_paths, prepare_dirs
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.daemon.orders import Orders
from cronoq_cli.daemon.runner_link import Link, Runner
from cronoq_cli.daemon.runners import Runners
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Newcomer, RunnersCompared, Submitted
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.sqlite import open_store
from cronoq_cli.wire.runner import format_frame

SETTINGS = Settings(pools={"default": PoolSettings(workers=4)})
RUN_S = 0.001


def read_clock() -> Now:
    """The present moment."""
    return Now(time.time(), time.monotonic())


class EndingRunner(asyncio.Transport):
    """The other side of the connection: keeps the tokens of what it is to start."""

    def __init__(self) -> None:
        super().__init__()
        self.started: deque[str] = deque()
        self._frames: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take a frame of orders."""
        self._frames.append(bytes(data))

    def read(self) -> None:
        """See what there is to start."""
        for frame in self._frames:
            self.started += [order["token"] for order in json.loads(frame[4:]) if order["order"] == "start"]
        self._frames.clear()

    def is_closing(self) -> bool:
        """It never closes."""
        return False

    def end(self, count: int) -> bytes:
        """The frame that tells of the ends of the first so many."""
        tokens = [self.started.popleft() for _ in range(min(count, len(self.started)))]
        return format_frame(map(_format_ended, tokens))


def _format_ended(token: str) -> str:
    now = time.time()
    return (
        f'{{"event":"ended","token":"{token}","started_at":{now - RUN_S!r},"ended_at":{now!r},"run_s":{RUN_S},'
        '"pid":12345,"exit_code":0,"signal":null,"core":false,"cause":null,"error":null,"report":[],'
        '"cpu_user_s":0.000512,"cpu_system_s":0.000410,"max_rss":1925120,"log_size":0,"left_behind":0}'
    )


class Work:
    """A daemon without a socket: its scheduler, its orders, and the runner that only ends."""

    def __init__(self, home: str) -> None:
        paths = find_paths(home, {})
        prepare_dirs(paths)
        os.makedirs(os.path.dirname(paths.db), exist_ok=True)
        self.store = open_store(paths.db)
        epoch = self.store.claim("benchmark", time.time())
        self.scheduler = Scheduler(
            Commits(self.store), lambda: load_engine(self.store, SETTINGS, read_clock(), {}), read_clock
        )
        runners = Runners(self.scheduler, Orders(self.scheduler, paths, SETTINGS, self.store.store_id()), paths, epoch)
        self.scheduler.performer = runners
        self.runner = EndingRunner()
        one = Runner("only", "", "", heard=True)
        self.link = one.link = Link(lambda messages: runners._hear(one, messages))
        self.link.connection_made(self.runner)
        runners._runners["only"] = runners._current = one
        self.scheduler.apply(RunnersCompared(set()))
        runners.compared.set()

    async def run(self, tasks: int, group: int) -> float:
        """Seconds of processor time a task, of so many."""
        spec = TaskSpec(name="true", command=["/bin/true", "x"], kind="true", cwd="/tmp")
        self.scheduler.apply(Submitted([Newcomer(spec) for _ in range(tasks)], batch=True, members=tasks))
        await asyncio.sleep(0)
        self.runner.read()
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000)
        took = 0.0
        while self.runner.started:
            frame = self.runner.end(group)
            began = time.process_time()
            self.link.data_received(frame)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            took += time.process_time() - began
            self.runner.read()
        if self.scheduler.engine.list_ids():
            raise RuntimeError("tasks were left")
        return took / tasks


async def measure(tasks: int, group: int, *, profile: bool) -> float:
    """Microseconds of processor time a task."""
    with tempfile.TemporaryDirectory() as home:
        work = Work(home)
        await work.run(200, group)  # what is short is learned first
        if profile:
            with cProfile.Profile() as seen:
                took = await work.run(tasks, group)
            seen.print_stats("tottime")
        else:
            took = min([await work.run(tasks, group) for _ in range(7)])
        work.scheduler.close()
        work.store.close()
    return took * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--group", type=int, default=12, help="ends that come in one frame")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    took = asyncio.run(measure(options.tasks, options.group, profile=options.profile))
    print(f"{took:.0f} µs of processor time a task")


if __name__ == "__main__":
    main()
