"""Which ends hooks are told of: incidents that open, go on and close, by key, batch and task."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Cancelled, ClockChanged, OccurrenceAsked, SchedulesApplied
from cronoq_cli.engine.notices import MOST_OPEN, Happening, Incidents, note
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.notice import Incident, Notice, Told
from cronoq_cli.model.ping import Ping
from cronoq_cli.model.recurring import CatchUp, ScheduleSpec
from cronoq_cli.model.task import TaskSpec
from tests.engine.story import Story

ALL = frozenset(Told)
BUT_END = ALL - {Told.END}


class Telling(Story):
    """A story whose shelf also keeps incidents, and which collects what was told."""

    def __init__(self, wanted: frozenset[Told] = BUT_END, **more: Any) -> None:
        self.told: list[Notice] = []
        self.pings: list[tuple[str, Ping]] = []
        self.incidents: dict[str, Incident] = {}

        def setup(state: State) -> None:
            state.incidents.by_pool = {"default": wanted} if wanted else {}
            state.incidents.open.update(self.incidents)

        super().__init__(setup=setup, **more)

    def commit(self) -> None:
        """As the parent, and what hooks are told."""
        effects = self.engine.take_effects()
        self.shelf.commit(effects)
        self.orders += effects.actions
        self.told += effects.notices
        self.pings += effects.pings
        for subject, incident in effects.incidents.items():
            self.incidents.pop(subject, None)
            if incident is not None:
                self.incidents[subject] = incident

    def run(self, code: int, **fields: Any) -> int:
        """A task from its submission to its end."""
        task_id = self.submit(**fields)
        self.end(task_id, code)
        return task_id

    def take(self) -> list[tuple[Told, int | None]]:
        """What was told since this was last asked, in order."""
        told, self.told = self.told, []
        return [(notice.told, notice.task) for notice in told]


def test_an_incident_is_told_when_it_opens_and_when_it_closes_and_not_between() -> None:
    story = Telling()
    first = story.run(1, key="backup")
    assert story.take() == [(Told.FAILURE, first)]
    story.pass_time(60)
    story.run(1, key="backup")
    story.run(1, key="backup")
    assert story.take() == []
    last = story.run(0, key="backup")
    recovery = story.told[-1]
    assert story.take() == [(Told.SUCCESS, last), (Told.RECOVERY, last)]
    assert (recovery.since, recovery.count) == (1_000_000.0, 3)
    assert story.incidents == {}
    again = story.run(0, key="backup")
    assert story.take() == [(Told.SUCCESS, again)]


def test_an_incident_survives_a_crash() -> None:
    story = Telling()
    story.run(1, key="backup")
    story.take()
    story.crash()
    story.run(1, key="backup")
    assert story.take() == []
    assert story.incidents["pool default key backup"].count == 2
    story.crash()
    assert story.take() == []
    story.run(0, key="backup")
    assert [told for told, _ in story.take()] == [Told.SUCCESS, Told.RECOVERY]


def test_keys_have_incidents_of_their_own() -> None:
    story = Telling(workers=2)
    one, other = story.run(1, key="one"), story.run(1, key="other")
    assert story.take() == [(Told.FAILURE, one), (Told.FAILURE, other)]


def test_each_task_without_a_key_is_told_and_nothing_is_kept_of_it() -> None:
    story = Telling()
    ids = [story.run(1), story.run(1)]
    assert story.take() == [(Told.FAILURE, task_id) for task_id in ids]
    assert story.incidents == {}


def test_of_a_batch_only_the_first_failure_is_told() -> None:
    story = Telling(wanted=frozenset({Told.FAILURE}), workers=4)
    ids = story.array(4)
    for task_id, code in zip(ids, (0, 1, 0, 1), strict=True):
        story.end(task_id, code)
    assert story.take() == [(Told.FAILURE, ids[1])]


def test_retries_are_told_by_their_end_alone() -> None:
    story = Telling()
    task = story.submit(retries=1)
    story.end(task, 1)
    assert (story.status(task), story.take()) == (Status.RETRYING, [])
    story.pass_time(600)
    story.end(task, 1)
    assert (story.status(task), story.take()) == (Status.DEAD_LETTERED, [(Told.FAILURE, task)])


def test_a_cancelled_task_is_neither_good_nor_bad() -> None:
    story = Telling(ALL)
    story.run(1, key="k")
    story.take()
    task = story.submit(key="k")
    story.handle(Cancelled([task]))
    assert story.take() == []
    assert story.incidents["pool default key k"].count == 1


def test_what_did_not_run_is_missed_and_once_in_the_incident() -> None:
    story = Telling()
    for _ in range(2):
        story.submit()
        missed = story.submit(key="k", expires_at=story.now.wall + 10)
        story.pass_time(20)
        assert story.status(missed) is Status.MISSED
    told = [(told, task) for told, task in story.take() if task != 1]
    assert [one for one, _ in told] == [Told.MISSED]


def test_a_late_start_is_told_and_its_own_success_does_not_close_the_incident() -> None:
    story = Telling()
    before = story.submit()
    late = story.submit(key="k", start_at=story.now.wall + 10, tolerance_s=1)
    story.pass_time(30)
    story.end(before)
    assert story.take() == [(Told.SUCCESS, before), (Told.LATE, late)]
    story.end(late)
    assert story.take() == [(Told.SUCCESS, late)]
    assert story.incidents["pool default key k"].count == 0
    in_time = story.run(0, key="k")
    assert story.take() == [(Told.SUCCESS, in_time), (Told.RECOVERY, in_time)]


def test_an_end_behind_the_deadline_is_late() -> None:
    story = Telling()
    task = story.submit(deadline=story.now.wall + 10)
    story.pass_time(11)
    story.end(task)
    assert story.take() == [(Told.LATE, task), (Told.SUCCESS, task)]


def test_on_end_is_told_each_time_whatever_the_incident() -> None:
    story = Telling(frozenset({Told.END}))
    ids = [story.run(1, key="k"), story.run(1, key="k"), story.run(0, key="k")]
    assert story.take() == [(Told.END, task_id) for task_id in ids]


def test_nobody_is_told_and_nothing_kept_where_there_is_no_hook() -> None:
    story = Telling(frozenset())
    story.run(1, key="k")
    assert (story.take(), story.incidents) == ([], {})


@pytest.mark.parametrize("told", [Told.FAILURE, Told.MISSED, Told.LATE])
def test_each_kind_is_told_once_in_an_incident(told: Told) -> None:
    incidents = Incidents(by_pool={"p": BUT_END})
    story = Story()
    note(
        incidents,
        Happening(told=Told.FAILURE if told is not Told.FAILURE else Told.MISSED, pool="p", key="k"),
        story.now,
    )
    for _ in range(3):
        note(incidents, Happening(told=told, pool="p", key="k"), story.now)
    assert [notice.told for notice in incidents.notices].count(told) == 1


def test_of_very_many_open_incidents_the_oldest_is_forgotten() -> None:
    incidents = Incidents(by_pool={"p": BUT_END})
    incidents.open = {str(number): Incident(since=0.0, last_at=float(number)) for number in range(MOST_OPEN)}
    note(incidents, Happening(told=Told.FAILURE, pool="p", key="new"), Story().now)
    assert len(incidents.open) == MOST_OPEN
    assert incidents.changed["0"] is None


# -- schedules -----------------------------------------------------------------------------------------------------


def schedule(story: Story, *, hooks: tuple[str, ...] = (), **more: Any) -> None:
    """Add a schedule that runs each minute."""
    template = TaskSpec(name="job", command=["true"])
    spec = ScheduleSpec(name="job", template=template, expr="* * * * *", hooks=dict.fromkeys(hooks, "tell"), **more)
    story.handle(SchedulesApplied([spec]))


def occur(story: Story, code: int) -> int:
    """The next occurrence, from its start to its end."""
    story.take_orders()
    story.pass_time(60)
    (task_id,) = story.started()
    story.end(task_id, code)
    return task_id


def test_a_schedule_has_one_incident_whatever_the_keys_of_its_occurrences() -> None:
    story = Telling(frozenset())
    schedule(story, hooks=("on_failure", "on_recovery"))
    first = occur(story, 1)
    occur(story, 1)
    last = occur(story, 0)
    assert story.take() == [(Told.FAILURE, first), (Told.RECOVERY, last)]


def test_missed_slots_are_told_as_one_and_counted() -> None:
    story = Telling()
    schedule(story, catch_up=CatchUp.NONE)
    story.now = Now(story.now.wall + 600, story.now.awake)
    story.handle(ClockChanged(story.now.wall))
    (notice,) = story.told
    assert (notice.told, notice.task, notice.schedule, notice.count) == (Told.MISSED, None, "job", 1)
    assert notice.due_at is not None
    assert notice.due_at < story.now.wall - 500
    success = occur(story, 0)
    assert story.take()[1:] == [(Told.SUCCESS, success), (Told.RECOVERY, success)]


def test_an_occurrence_started_by_hand_tells_nothing_and_closes_nothing() -> None:
    story = Telling(ALL)
    schedule(story, ping="http://h/x")
    by_hand = story.handle(OccurrenceAsked("job"))
    story.end(by_hand, 1)
    assert (story.take(), story.pings) == ([], [])
    occur(story, 1)
    story.take()
    story.end(story.handle(OccurrenceAsked("job")), 0)
    assert story.take() == []


def test_pings_tell_of_the_first_start_and_the_last_end() -> None:
    story = Telling(frozenset())
    schedule(story, ping="http://h/x")
    occur(story, 0)
    occur(story, 1)
    pings = [ping for base, ping in story.pings if base == "http://h/x"]
    assert pings == [Ping.START, Ping.SUCCESS, Ping.START, Ping.FAILURE]


def test_a_removed_schedule_leaves_no_incident() -> None:
    story = Telling()
    schedule(story)
    occur(story, 1)
    assert list(story.incidents) == ["recurring job"]
    story.handle(SchedulesApplied([], removed=["job"]))
    assert story.incidents == {}
