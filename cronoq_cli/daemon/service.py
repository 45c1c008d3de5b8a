"""The daemon's own life: states, stopping in its three ways, reload, and what `daemon status` says.

How a process becomes the daemon is in `main`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any

import msgspec

from cronoq_cli import __version__
from cronoq_cli.commands.plans import plan_pool, plan_rules, plan_shared
from cronoq_cli.commands.zone import load_machine_zone
from cronoq_cli.config.loading import load_settings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.detach import set_log_level
from cronoq_cli.daemon.instance import find_boot_id
from cronoq_cli.daemon.orders import Orders
from cronoq_cli.daemon.runners import Runners
from cronoq_cli.daemon.systemd import Notifier
from cronoq_cli.engine.messages import DrainBegan, MetersRead, PoolReplanned, StopBegan, ZoneChanged
from cronoq_cli.engine.pools import NO_PLAN
from cronoq_cli.errors import ConflictError, CronoqError
from cronoq_cli.model.moment import format_utc
from cronoq_cli.wire.version import PROTOCOL

log = logging.getLogger(__name__)

STOPPED = 0
"""The task number that requests wait for which are answered at the daemon's end; no task has it."""
AFTER_KILL_S = 10.0
"""How long a killed tree may take to go before the daemon leaves it to the runner."""
LOOK_S = 0.05


class Service(msgspec.Struct):
    """One daemon that runs. `state`: running, draining, stopping."""

    desk: Desk
    orders: Orders
    runners: Runners
    epoch: int
    started_at: float
    state: str = "running"
    role: str = "leader"
    set_aside: int = 0
    resumed: int = 0
    keep_tasks: bool = False
    hand_over: bool = False
    restart: bool = False
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    notes: list[str] = []
    notifier: Notifier = msgspec.field(default_factory=Notifier)
    configured_at: float = 0.0
    """When the configuration was last read."""
    _hurried: bool = False
    _watching: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """The configuration was read at the start."""
        self.configured_at = self.configured_at or self.started_at

    @property
    def is_over(self) -> bool:
        """Whether the tasks are dealt with."""
        return self.over.is_set()

    def describe(self) -> dict[str, Any]:
        """The document of `daemon status`."""
        recovered = {**self.runners.recovered, "set_aside": self.set_aside}
        return {
            "state": self.state,
            "role": self.role,
            "pid": os.getpid(),
            "leader_pid": os.getpid(),
            "started_at": format_utc(self.started_at),
            "configured_at": format_utc(self.configured_at),
            "epoch": self.epoch,
            "version": __version__,
            "protocol": PROTOCOL,
            "schema": self.desk.scheduler.store.schema_version(),
            "boot_id": find_boot_id(),
            "runners": [runner.pid for runner in self.runners.list_runners()],
            "recovered": recovered,
            "resumed": self.resumed,
            "refusing": None if self.desk.scheduler.refusing is None else self.desk.scheduler.refusing.message,
            "state_dir": self.desk.paths.state_dir,
            "socket": self.desk.paths.socket,
        }

    # -- stopping ------------------------------------------------------------------------------------------------

    def begin_stop(self, mode: str, timeout_s: float | None, *, hand_over: bool = False, restart: bool = False) -> None:
        """Begin to stop, or hurry a stop that is under way. Raises ConflictError for an unknown mode."""
        if mode not in ("stop", "keep", "drain"):
            raise ConflictError(f"unknown way to stop: {mode!r}", hint="stop, keep or drain")
        if self.state == "stopping" or self.is_over:
            return
        self.hand_over, self.restart = hand_over, restart
        if mode == "keep":
            self.state, self.keep_tasks = "stopping", True
            self.notifier.tell_stopping(None)
            self._finish()
            return
        if mode == "drain":
            self.state = "draining"
            self.notifier.tell("STATUS=draining")
            self.desk.scheduler.apply(DrainBegan())
        else:
            self.state = "stopping"
            self.desk.scheduler.apply(StopBegan())
            timeout_s = self.desk.settings.daemon.stop_timeout_s if timeout_s is None else timeout_s
            self.notifier.tell_stopping(timeout_s + 2 * AFTER_KILL_S)
        if self._watching is not None:
            self._watching.cancel()
        self._watching = asyncio.get_running_loop().create_task(self._watch_end(timeout_s, drain=mode == "drain"))

    def hurry(self) -> None:
        """Kill what still runs (a second signal)."""
        if self.state == "running":
            self.begin_stop("stop", 0.0)
        self._hurried = True
        self.state = "stopping"
        self.desk.scheduler.apply(StopBegan(hurry=True))

    async def _watch_end(self, timeout_s: float | None, *, drain: bool) -> None:
        """Wait until nothing runs; after the timeout a stop kills, a drain stops."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        while self._count_busy():
            if deadline is not None and loop.time() >= deadline and not self._hurried:
                self.hurry()
                deadline = loop.time() + AFTER_KILL_S
            elif deadline is not None and self._hurried and loop.time() >= deadline:
                log.warning("%d attempts are not gone; the runner keeps them", self._count_busy())
                break
            elif self._hurried and deadline is None:
                deadline = loop.time() + AFTER_KILL_S
            await asyncio.sleep(LOOK_S)
        self._finish()

    def _count_busy(self) -> int:
        pools = self.desk.scheduler.engine.state.pools.values()
        return sum(len(pool.running) + len(pool.leased) for pool in pools)

    def _finish(self) -> None:
        self.desk.scheduler.apply(MetersRead())
        self.desk.scheduler.flush_all()
        self.over.set()
        self.desk.scheduler.release_parked(STOPPED)

    # -- reload --------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Take the configuration file as it is now. Raises InvalidError and changes nothing when it is wrong."""
        self.notifier.tell_reloading()
        try:
            read_at = time.time()
            settings = load_settings(self.desk.paths.config_file)
            self.apply_settings(settings)
        except CronoqError as error:
            self.notifier.tell_ready(f"running; the configuration was not taken: {error.line()}")
            raise
        self.configured_at = read_at
        self.notifier.tell_ready("running")
        log.info("configuration read anew")

    def apply_settings(self, settings: Settings) -> None:
        """Let the engine, the orders, the handlers and the log go by these settings from now on.

        A task that is submitted already keeps the number of attempts it was given."""
        self.desk.settings = self.orders.settings = settings
        set_log_level(settings.daemon.log_level)
        scheduler = self.desk.scheduler
        scheduler.choose_commits(settings.daemon.commit)
        scheduler.apply(plan_rules(settings))
        pools = scheduler.engine.state.pools
        for name, pool in settings.pools.items():
            scheduler.apply(PoolReplanned(name, plan_pool(pool), changes={}))
        for name in pools.keys() - settings.pools.keys():
            scheduler.apply(PoolReplanned(name, NO_PLAN, changes={}))
        scheduler.add_rows(resources=dict.fromkeys(settings.resources))
        for event in plan_shared(settings, {}, scheduler.clock()):
            scheduler.apply(event)
        scheduler.apply(ZoneChanged(load_machine_zone()))
