"""The machine's load and memory, read only while a pool goes by them and has something to start or to wait for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from math import inf

from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.autoscale import MachineSeen
from cronoq_cli.engine.messages import MachineLooked

LOOK_EVERY_S = 5.0


def read_machine() -> MachineSeen:
    """What the kernel says now; None for what it does not tell (no PSI, for example)."""
    return MachineSeen(load_per_cpu=_read_load(), free_memory=_read_memory(), memory_pressure=_read_pressure())


def _read_load() -> float | None:
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return None


def _read_memory() -> int | None:
    """Bytes available for new work (proc(5), MemAvailable)."""
    for line in _read_lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _read_pressure() -> float | None:
    """Percent of the last ten seconds in which some work stood still for memory (PSI)."""
    for line in _read_lines("/proc/pressure/memory"):
        if line.startswith("some "):
            return float(line.split()[1].removeprefix("avg10="))
    return None


def _read_lines(path: str) -> list[str]:
    try:
        with open(path) as stream:
            return stream.read().splitlines()
    except OSError:
        return []


class MachineWatch:
    """Tells the engine of the machine, at most every few seconds, and not at all while nobody needs it.

    Where pools go by limits nothing starts by a look that is old: before any event there is a new one then."""

    def __init__(self, scheduler: Scheduler, read: Callable[[], MachineSeen] = read_machine) -> None:
        self._scheduler = scheduler
        self._read = read
        self._looked_at = -inf
        self._timer: asyncio.Handle | None = None
        scheduler.before_event = self._renew
        scheduler.on_turn = self.consider

    def _renew(self) -> None:
        """Look now when the last look is old and a pool has limits."""
        engine = self._scheduler.engine
        if not engine.state.limited:
            return
        now = self._scheduler.clock()
        if now.awake - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now.awake
            engine.handle(MachineLooked(self._read()), now)

    def consider(self) -> None:
        """Look soon when a pool with limits has something waiting, or is capped."""
        if self._timer is None and self._is_needed():
            self._timer = asyncio.get_running_loop().call_soon(self._look)

    def _is_needed(self) -> bool:
        state = self._scheduler.engine.state
        if not state.limited:
            return False
        pools = state.pools.values()
        return any(pool.plan.limits is not None and (pool.capped or any(pool.ready)) for pool in pools)

    def _look(self) -> None:
        if self._scheduler.refusing is None:
            self._looked_at = self._scheduler.clock().awake
            self._scheduler.apply(MachineLooked(self._read()))
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._again)

    def _again(self) -> None:
        self._timer = None
        self.consider()

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._scheduler.before_event = self._scheduler.on_turn = lambda: None
