"""Looking at the machine: before something starts in a pool with limits, and not at all for others."""

from __future__ import annotations

import asyncio

from cronoq_cli.config.loading import parse_settings
from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.daemon.machine import LOOK_EVERY_S, MachineWatch
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.autoscale import MachineSeen
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Newcomer, RunnersCompared, Submitted
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.memory import MemoryStore

LIMITED = b"[pools.default]\nworkers = 4\nlimits.max_load = 1.5"


class World:
    """A scheduler whose machine and clock are moved by hand."""

    def __init__(self, config: bytes) -> None:
        self.awake = 100.0
        self.load = 0.0
        self.looks = 0
        store = MemoryStore()
        store.claim("test", 0.0)
        settings = parse_settings(config, "config.toml")
        self.scheduler = Scheduler(Commits(store), lambda: load_engine(store, settings, self.clock(), {}), self.clock)
        self.watch = MachineWatch(self.scheduler, self._read)
        self.scheduler.apply(RunnersCompared(set()))

    def clock(self) -> Now:
        return Now(1_000_000.0 + self.awake, self.awake)

    def _read(self) -> MachineSeen:
        self.looks += 1
        return MachineSeen(load_per_cpu=self.load)

    def submit(self) -> Status:
        """Submit a task; where it stands at once."""
        (task,) = self.scheduler.apply(Submitted([Newcomer(TaskSpec(name="job", command=["true"]))])).ids
        found = self.scheduler.find_live(task)
        assert found is not None
        return found.status


def test_the_first_task_after_a_rest_waits_when_the_machine_is_busy_by_now() -> None:
    async def live() -> None:
        world = World(LIMITED)
        assert world.submit() is Status.RUNNING
        world.load = 3.0
        world.awake += LOOK_EVERY_S
        assert world.submit() is Status.READY
        world.watch.stop()

    asyncio.run(live())


def test_the_machine_is_looked_at_once_in_a_while_and_only_where_limits_are() -> None:
    async def live(config: bytes, looks: int) -> None:
        world = World(config)
        for _ in range(5):
            world.submit()
        assert world.looks == looks
        world.watch.stop()

    asyncio.run(live(LIMITED, 1))
    asyncio.run(live(b"[pools.default]\nworkers = 4", 0))
