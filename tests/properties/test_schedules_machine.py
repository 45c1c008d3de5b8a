"""Random lives of recurring schedules: crashes, jumps, pauses and ends at any step; each slot is decided just once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    Cancelled,
    ClockChanged,
    OccurrenceAsked,
    SchedulesApplied,
    SchedulesPaused,
    SchedulesResumed,
    SlotsSkipped,
)
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.recurrence import list_next_slots
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec, is_ahead
from tests.engine.story import Story, spec, take_snapshot

START = 1_773_100_800.0
TIMES = ("* * * * *", "*/2 * * * *", "0 * * * *", "7,37 * * * *")


CHANCES = {
    "time": 30,
    "end": 20,
    "begin": 8,
    "crash": 6,
    "down": 2,
    "sleep": 2,
    "back": 1,
    "wrong": 1,
    "pause": 2,
    "resume": 3,
    "skip": 2,
    "ask": 2,
    "replace": 2,
    "cancel": 2,
}


class Life:
    """One story with a few schedules, driven by chance. `side_by_side`: names that may run beside themselves, now or
    from what they were before."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.story = Story(PoolPlan(3, max_pending=12, overflow="reject", max_hold_s=120.0))
        self.story.now = Now(START, 100.0)
        self.specs: dict[str, ScheduleSpec] = {}
        self.side_by_side: set[str] = set()
        for number in range(3):
            self.add(f"s{number}")

    def add(self, name: str) -> None:
        draw = self.draw
        every = draw.random() < 0.25
        one = ScheduleSpec(
            name=name,
            template=spec(name, retries=draw.choice([0, 0, 1])),
            expr=None if every else draw.choice(TIMES),
            every_s=draw.choice([40.0, 90.0]) if every else None,
            overlap=draw.choice(list(Overlap)),
            catch_up=draw.choice(list(CatchUp)),
            reserve=not every and draw.random() < 0.2,
            jitter_s=draw.choice([0.0, 0.0, 30.0]),
            tolerance_s=draw.choice([None, None, 50.0]),
            on_miss=draw.choice([None, "skip", "fail"]),
            pause_after_failures=draw.choice([None, 2]),
            max_runs=draw.choice([None, None, 30]),
        )
        self.story.handle(SchedulesApplied([one]))
        self.specs[name] = one
        if one.overlap is Overlap.ALLOW:
            self.side_by_side.add(name)

    def step(self) -> None:
        """One thing happens."""
        happening = self.draw.choices(list(CHANCES), list(CHANCES.values()))[0]
        getattr(self, f"_{happening}")()

    def _name(self) -> str:
        return self.draw.choice(list(self.specs))

    def _time(self) -> None:
        self.story.pass_time(self.draw.choice([0.5, 10.0, 31.0, 60.0, 61.0]))

    def _begin(self) -> None:
        for task_id in self._held():
            if self.draw.random() < 0.5:
                self.story.begin(task_id)

    def _crash(self, away_s: float = 0.0) -> None:
        self.story.now = Now(self.story.now.wall + away_s, self.story.now.awake + away_s)
        self.story.crash()

    def _down(self) -> None:
        self._crash(self.draw.choice([90.0, 4000.0]))

    def _sleep(self) -> None:
        self.story.pass_time(self.draw.choice([100.0, 5000.0]), awake=self.draw.choice([0.0, 1.0]))

    def _back(self) -> None:
        self.story.now = Now(self.story.now.wall - self.draw.choice([30.0, 3000.0]), self.story.now.awake + 1)
        self.story.handle(ClockChanged())

    def _wrong(self) -> None:
        """The clock is a day ahead for a while."""
        for by_s, seconds in ((86_400.0, 200.0), (-86_400.0, 1.0)):
            self.story.now = Now(self.story.now.wall + by_s, self.story.now.awake)
            self.story.handle(ClockChanged(self.story.now.wall if by_s > 0 else None))
            self.story.pass_time(seconds)

    def _pause(self) -> None:
        until = self.draw.choice([None, self.story.now.wall + 150.0])
        self.story.handle(SchedulesPaused([self._name()], until=until))

    def _resume(self) -> None:
        self.story.handle(SchedulesResumed([self._name()]))

    def _ask(self) -> None:
        if sum(pool.pending for pool in self.story.engine.state.pools.values()) < 10:
            self.story.handle(OccurrenceAsked(self._name()))

    def _replace(self) -> None:
        self.add(self._name())

    def _cancel(self) -> None:
        live = [task.id for task in self.story.shelf.tasks.values() if task.status in LIVE]
        self.story.handle(Cancelled(self.draw.sample(live, min(1, len(live)))))

    def _held(self) -> list[int]:
        return [task.id for task in self.story.engine.state.tasks.values() if task.has_process]

    def _end(self) -> None:
        held = self._held()
        if held:
            task = self.story.task(self.draw.choice(held))
            if task.leaving:
                self.story.end(task.id, None, signal=15, cause="cancelled")
            else:
                self.story.end(task.id, self.draw.choice([0, 0, 1]))

    def _skip(self) -> None:
        name = self._name()
        state = self.story.engine.state.schedules.get(name).state
        if self.specs[name].every_s is not None:
            self.story.handle(SlotsSkipped(name, points=1))
        else:
            slots = list_next_slots(self.specs[name], state, self.story.now.wall, self.story.zone, 1)
            self.story.handle(SlotsSkipped(name, slots))

    def check(self) -> None:
        """What holds after every step: each slot is one task, and only `allow` runs side by side."""
        tasks = [task for task in self.story.shelf.tasks.values() if task.spec.recurring and task.spec.key is not None]
        keys = Counter(task.spec.key for task in tasks if task.attempt or task.status is not Status.CANCELLED)
        assert [key for key, count in keys.items() if count > 1] == []
        running = Counter(task.spec.recurring for task in tasks if task.status is Status.RUNNING or task.leaving)
        assert {name for name, count in running.items() if count > 1} <= self.side_by_side


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_each_slot_is_a_task_at_most_once_and_a_restart_changes_nothing(seed: int):
    life = Life(seed)
    for _ in range(250):
        life.step()
        life.check()
        compare(life.story)


def compare(story: Story) -> None:
    """An engine made from what is committed stands where this one stands."""
    twin = story.make_twin()
    assert take_snapshot(twin, story.now.wall)["tasks"] == take_snapshot(story.engine, story.now.wall)["tasks"]
    mine, other = story.engine.state.schedules.by_name, twin.state.schedules.by_name
    for name, one in mine.items():
        now, then = one.state, other[name].state
        assert (now.next_at if one.spec.every_s is None else now.awake_at) == (
            then.next_at if one.spec.every_s is None else then.awake_at
        )
        assert [i for i in one.live if i in story.engine.state.tasks] == other[name].live
        assert now.ahead == then.ahead == sorted(ahead_of(story, name))


def ahead_of(story: Story, name: str) -> list[float]:
    """The slots of a schedule that are tasks, waiting, before their start."""
    return [
        task.spec.slot or 0.0
        for task in story.shelf.tasks.values()
        if task.spec.recurring == name and task.status in LIVE and is_ahead(task, story.now.wall)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_every_slot_that_fell_due_is_a_task_or_a_row(seed: int):
    """Crashes between, but no pauses: nothing is lost and nothing counted twice."""
    draw = Random(seed)
    story = Story(4)
    story.now = Now(START, 100.0)
    for number, overlap in enumerate(Overlap):
        one = ScheduleSpec(
            name=f"s{number}", template=spec(), expr="* * * * *", overlap=overlap, catch_up=draw.choice(list(CatchUp))
        )
        story.handle(SchedulesApplied([one]))
    while story.now.wall < START + 3600:
        if draw.random() < 0.1:
            away_s = draw.choice([0.0, 200.0])
            story.now = Now(story.now.wall + away_s, story.now.awake + away_s)
            story.crash()
        story.pass_time(draw.choice([7.0, 20.0, 59.0]))
        for task in list(story.engine.state.tasks.values()):
            if task.has_process and draw.random() < 0.4:
                story.end(task.id, 0)
    due = [START + 60.0 * minute for minute in range(1, int((story.now.wall - START) // 60) + 1)]
    for number, overlap in enumerate(Overlap):
        name = f"s{number}"
        slots = [task.spec.slot for task in story.shelf.tasks.values() if task.spec.recurring == name]
        for row in story.shelf.passed.values():
            if row.schedule == name:
                inside = [at for at in due if row.first_at <= at <= row.last_at]
                assert len(inside) == row.count, (overlap, row)
                slots += inside
        assert sorted(slots) == due, overlap
