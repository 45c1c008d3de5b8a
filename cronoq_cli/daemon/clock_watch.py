"""Clock care: notices that the wall clock was set, the machine slept, the daemon stood still, or the zone is another.

Without polling: the kernel says so (a timer cancelled on set, inotify), or a wake-up that came far too late does. What
a jump means is said in `model/clock`, what the engine does about it is the engine's.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import time
from collections.abc import Callable
from datetime import tzinfo
from typing import Protocol

from cronoq_cli.commands.zone import MACHINE_ZONE, load_machine_zone
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.daemon.zone_watch import FileWatch, MachineZone, read_machine_zone
from cronoq_cli.engine.messages import ClockChanged, TimePassed, ZoneChanged
from cronoq_cli.model.clock import ClockReading, Jump, decide_jumps, describe_freeze
from cronoq_cli.wire.clock_alarm import ClockAlarm

log = logging.getLogger(__name__)

FROZEN_S = 5.0
"""A wake-up later than this: the process was stopped, or its machine was. A busy process is not asleep: only sleep is
measured."""
ZONE_EVERY_S = 5.0
"""How often wake-ups look at the zone, should the kernel not tell."""


def read_clocks() -> ClockReading:
    """All clocks now."""
    return ClockReading(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))


class MachineClock:
    """The clocks and the zone of this machine. Tests have others."""

    zone_file = MACHINE_ZONE

    def read(self) -> ClockReading:
        """All clocks now."""
        return read_clocks()

    def read_zone(self) -> MachineZone:
        """The machine's zone now, to be told apart."""
        return read_machine_zone(self.zone_file)

    def load_zone(self) -> tzinfo:
        """The zone itself."""
        return load_machine_zone()


class Clock(Protocol):
    """What tells the time: MachineClock, or in tests a value moved by hand."""

    zone_file: str

    def read(self) -> ClockReading: ...
    def read_zone(self) -> MachineZone: ...
    def load_zone(self) -> tzinfo: ...


class LateSelector(selectors.DefaultSelector):
    """A selector that tells when a sleep lasted far longer than it was to: `on_late(seconds too long)`."""

    def __init__(self, frozen_s: float = FROZEN_S) -> None:
        super().__init__()
        self.frozen_s = frozen_s
        self.on_late: Callable[[float], None] = lambda late_s: None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As the parent, but looks at the clock afterwards."""
        if timeout is None or timeout <= 0:
            found: list[tuple[selectors.SelectorKey, int]] = super().select(timeout)
            return found
        began = time.monotonic()
        found = super().select(timeout)
        late_s = time.monotonic() - began - timeout
        if late_s > self.frozen_s:
            self.on_late(late_s)
        return found


class ClockWatch:
    """Watches one daemon's clocks and tells its engine of jumps."""

    def __init__(self, scheduler: Scheduler, clock: Clock, selector: LateSelector | None = None) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._selector = selector
        self._last = clock.read()
        self._zone = clock.read_zone()
        self._zone_seen_at = self._last.boot
        self._watched: list[ClockAlarm | FileWatch] = []

    def start(self) -> None:
        """Have the kernel say when something changes; where it cannot, natural wake-ups still see it."""
        for make, act in (
            (ClockAlarm, self.clock_was_set),
            (lambda: FileWatch(self._clock.zone_file), self.look_at_zone),
        ):
            try:
                self._watch(make(), act)
            except OSError as error:
                log.warning("changes of the clock or the zone are seen at the next wake-up only: %s", error)
        self._scheduler.on_wake = self.look
        if self._selector is not None:
            self._selector.on_late = self._woke_late

    def _watch(self, one: ClockAlarm | FileWatch, act: Callable[[], None]) -> None:
        def said() -> None:
            if one.accept():
                act()

        self._watched.append(one)
        asyncio.get_running_loop().add_reader(one.descriptor, said)

    def stop(self) -> None:
        """Watch no more."""
        self._scheduler.on_wake = lambda: None
        if self._selector is not None:
            self._selector.on_late = lambda late_s: None
        for one in self._watched:
            asyncio.get_running_loop().remove_reader(one.descriptor)
            one.close()
        self._watched.clear()

    def clock_was_set(self) -> None:
        """The kernel says that the clock jumped."""
        if not self.look():
            self._scheduler.apply(TimePassed())  # by too little to tell of: what waits for a moment is armed anew

    def _woke_late(self, late_s: float) -> None:
        """Called by the selector, from within its sleep: what follows comes first in the turn that begins."""
        asyncio.get_running_loop().call_soon(self.note_freeze, late_s)

    def look(self) -> bool:
        """Compare the clocks with the last look; whether a jump was told of. The zone is looked at now and then."""
        before, self._last = self._last, self._clock.read()
        if self._last.boot - self._zone_seen_at >= ZONE_EVERY_S:
            self.look_at_zone()
        jumps = decide_jumps(before, self._last)
        for jump in jumps:
            self._tell(jump)
        return bool(jumps)

    def look_at_zone(self) -> None:
        """Tell of another zone than at the last look."""
        self._zone_seen_at = self._last.boot
        before, self._zone = self._zone, self._clock.read_zone()
        if self._zone != before:
            message = describe_zone_change(before, self._zone)
            log.warning("%s", message)
            self._scheduler.apply(ZoneChanged(self._clock.load_zone(), message))

    def note_freeze(self, late_s: float) -> None:
        """A sleep lasted `late_s` of time awake too long: we stood still, and runs may have ended unheard."""
        self._scheduler.hear_first()
        self.look()
        self._tell(describe_freeze(late_s, self._last))

    def _tell(self, jump: Jump) -> None:
        log.warning("%s", jump.message)
        able_since = self._last.wall if jump.by_s > 0 else None
        self._scheduler.apply(ClockChanged(able_since, kind=jump.kind, message=jump.message))


def describe_zone_change(before: MachineZone, after: MachineZone) -> str:
    """What a change of the zone means, in words."""
    if before.name == after.name:
        return f"the rules of the machine's zone {after} are others now; schedules that go by it follow them"
    return f"the machine's zone is {after}, it was {before}; schedules without a zone of their own follow it"
