"""Clock care on clocks that are values: what is told of steps, suspends, freezes and zones, and the kernel's alarms."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cronoq_cli.daemon.clock_watch import ZONE_EVERY_S, ClockWatch, LateSelector
from cronoq_cli.daemon.zone_watch import FileWatch, MachineZone, read_machine_zone
from cronoq_cli.engine.messages import ClockChanged, TimePassed, ZoneChanged
from cronoq_cli.model.clock import ClockReading
from cronoq_cli.wire.clock_alarm import ClockAlarm


class HandClock:
    """A clock and a zone moved by hand."""

    def __init__(self, zone_file: str = "/nonexistent/localtime") -> None:
        self.zone_file = zone_file
        self.reading = ClockReading(1_000_000.0, 50.0, 60.0)
        self.zone = MachineZone("Europe/Rome", b"rules")

    def live(self, seconds: float) -> None:
        """Time that everybody lives through."""
        wall, awake, boot = self.reading
        self.reading = ClockReading(wall + seconds, awake + seconds, boot + seconds)

    def sleep(self, seconds: float) -> None:
        """A suspend."""
        self.reading = self.reading._replace(wall=self.reading.wall + seconds, boot=self.reading.boot + seconds)

    def set(self, by_s: float) -> None:
        """Somebody sets the clock."""
        self.reading = self.reading._replace(wall=self.reading.wall + by_s)

    def read(self) -> ClockReading:
        """The clocks."""
        return self.reading

    def read_zone(self) -> MachineZone:
        """The zone, to be told apart."""
        return self.zone

    def load_zone(self) -> tzinfo:
        """The zone."""
        return UTC if self.zone.name is None else ZoneInfo(self.zone.name)


class Ear:
    """Stands where the scheduler is and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.on_wake: Callable[[], object] = lambda: None

    def apply(self, event: Any) -> None:
        """Keep it."""
        self.told.append(event)

    def hear_first(self) -> None:
        """Keep that too."""
        self.told.append("hear first")

    def kinds(self) -> list[tuple[str, float | None]]:
        """Kind and `able_since` of the changes of the clock."""
        return [(str(one.kind), one.able_since) for one in self.told if isinstance(one, ClockChanged)]


def watch() -> tuple[HandClock, Ear, ClockWatch]:
    """A watch on a clock moved by hand; what it tells is in the ear."""
    clock, ear = HandClock(), Ear()
    return clock, ear, ClockWatch(ear, clock)  # type: ignore[arg-type]


def test_time_that_passes_tells_nothing() -> None:
    clock, ear, watching = watch()
    clock.live(90_000)
    assert not watching.look()
    assert ear.told == []


def test_what_a_jump_forward_leaves_out_could_not_be_run() -> None:
    clock, ear, watching = watch()
    clock.set(86_400)
    assert watching.look()
    assert ear.kinds() == [("clock-stepped", clock.reading.wall)]
    assert not watching.look()


def test_after_a_step_back_nothing_was_missed() -> None:
    clock, ear, watching = watch()
    clock.set(-3600)
    assert watching.look()
    assert ear.kinds() == [("clock-stepped", None)]


def test_the_end_of_a_suspend_is_where_slots_can_be_run_again() -> None:
    clock, ear, watching = watch()
    clock.live(5)
    clock.sleep(8 * 3600)
    assert watching.look()
    assert ear.kinds() == [("resumed", clock.reading.wall)]


def test_a_wake_up_that_comes_far_too_late_tells_that_we_stood_still() -> None:
    clock, ear, watching = watch()
    clock.live(3600)
    watching.note_freeze(3590)
    assert ear.kinds() == [("frozen", clock.reading.wall)]
    assert ear.told[0] == "hear first", "what ended while we stood still is heard before anything is decided"


def test_another_zone_is_told_once_also_when_only_wake_ups_look() -> None:
    clock, ear, watching = watch()
    clock.zone = MachineZone("Asia/Tokyo", b"others")
    clock.live(ZONE_EVERY_S)
    watching.look()
    watching.look()
    (changed,) = ear.told
    assert isinstance(changed, ZoneChanged)
    assert changed.zone is ZoneInfo("Asia/Tokyo")
    assert changed.message.startswith("the machine's zone is Asia/Tokyo, it was Europe/Rome; ")


def test_the_file_is_read_as_a_zone_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "zoneinfo" / "Etc").mkdir(parents=True)
    (tmp_path / "zoneinfo" / "Etc" / "X").write_bytes(b"rules")
    link = tmp_path / "localtime"
    link.symlink_to(tmp_path / "zoneinfo" / "Etc" / "X")
    assert read_machine_zone(str(link)) == MachineZone("Etc/X", b"rules")
    assert str(read_machine_zone(str(tmp_path / "none"))) == "UTC"


def test_the_kernel_tells_of_a_file_that_is_replaced_and_of_no_other(tmp_path: Path) -> None:
    watched = FileWatch(str(tmp_path / "localtime"))
    (tmp_path / "other").touch()
    assert not watched.accept()
    (tmp_path / "new").write_bytes(b"x")
    os.replace(tmp_path / "new", tmp_path / "localtime")
    assert watched.accept()
    assert not watched.accept()
    watched.close()


def test_an_undisturbed_alarm_says_nothing() -> None:
    alarm = ClockAlarm()
    assert not alarm.accept()
    alarm.close()


def test_a_started_watch_hears_of_the_zone_and_small_steps_arm_timers_anew(tmp_path: Path) -> None:
    clock, ear = HandClock(str(tmp_path / "localtime")), Ear()

    async def main() -> None:
        watching = ClockWatch(ear, clock)  # type: ignore[arg-type]
        watching.start()
        clock.zone = MachineZone(None, b"")
        (tmp_path / "localtime").touch()
        deadline = time.monotonic() + 10
        while not ear.told and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        clock.set(0.5)
        watching.clock_was_set()
        watching.stop()

    asyncio.run(main())
    assert [type(one) for one in ear.told] == [ZoneChanged, TimePassed]


def test_a_sleep_that_lasts_too_long_is_told_with_how_much() -> None:
    selector, told = LateSelector(frozen_s=0.05), []
    selector.on_late = told.append
    selector.select(0.01)
    assert told == []
    selector.frozen_s = -1.0  # as if the machine had been stopped meanwhile
    selector.select(0.01)
    selector.select(0)
    assert len(told) == 1
    selector.close()
