"""The contract of the store about recurring schedules, held by each implementation; and what damage does to them."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from cronoq_cli.commands.schedules import list_last_ids
from cronoq_cli.model.recurring import Overlap, PassedSlots, Schedule, ScheduleSpec, ScheduleState
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import Changes, Store
from cronoq_cli.store.sqlite import open_reader, open_store
from tests.store.build import ended, event, task
from tests.store.conftest import Opener

BAD = "b\udcff"


def schedule(name: str = "job", *, env: str = "", **state: object) -> Schedule:
    spec = ScheduleSpec(
        name=name,
        template=TaskSpec(name=name, shell_line=f"echo {BAD}", env=env),
        expr="30 2 * * *",
        overlap=Overlap.QUEUE,
        hooks={"on_failure": BAD},
    )
    at = ScheduleState(**{"decided_at": 5.5, "skips": [7.0], **state})  # type: ignore[arg-type]
    return Schedule(spec=spec, state=at, added_at=1.0, updated_at=2.0)


def row(first_at: float, status: str = "missed", **rest: object) -> PassedSlots:
    fields = {"schedule": "job", "status": status, "first_at": first_at, "last_at": first_at, "reason": BAD, **rest}
    return PassedSlots(**fields)  # type: ignore[arg-type]


def occurrence(task_id: int, slot: float, name: str = "job"):
    return task(task_id, spec={"recurring": name, "slot": slot, "key": f"{name}@{slot}"})


def test_schedules_are_read_back_whole_by_name(store: Store, opened: Opener):
    assert store.list_schedules() == store.load_live().schedules == []
    two = [schedule("b", chain=3, broken=True, next_at=9.0), schedule("a")]
    store.commit(Changes(schedules={one.spec.name: one for one in two}))
    assert store.list_schedules() == two[::-1]
    assert opened().load_live().schedules == two[::-1]
    assert store.read_live().schedules == two[::-1]


def test_a_schedule_is_replaced_and_removed(store: Store):
    store.commit(Changes(schedules={"job": schedule(), "other": schedule("other")}))
    later = schedule(runs=4)
    store.commit(Changes(schedules={"job": later, "other": None, "never": None}))
    assert store.list_schedules() == [later]
    assert Changes(schedules={"job": None})


def test_an_environment_stays_while_a_schedule_or_a_task_names_it(store: Store):
    store.commit(Changes(schedules={"job": schedule(env="e")}, envs={"e": b"A=1\0"}))
    store.commit(Changes(new=[ended(1, 5.0, spec={"env": "e"})]))
    store.commit(Changes(removed=[1]))
    assert store.find_env("e") == b"A=1\0"
    store.commit(Changes(schedules={"job": schedule(env="f")}, envs={"f": b"B=2\0"}))
    assert store.find_env("e") is None
    store.commit(Changes(new=[task(2, spec={"env": "f"})], schedules={"job": None}))
    assert store.find_env("f") == b"B=2\0"
    store.commit(Changes(schedules={"job": schedule(env="f")}))
    store.commit(Changes(removed=[2]))
    store.commit(Changes(schedules={"job": None}))
    assert store.find_env("f") is None


def test_occurrences_come_by_slot_newest_first(store: Store):
    slots = {1: 30.0, 2: 10.0, 3: 20.0, 4: 20.0}
    others = [occurrence(5, 40.0, "job2"), task(6, spec={"tags": {"recurring": "job"}})]
    store.commit(Changes(new=[*(occurrence(task_id, slot) for task_id, slot in slots.items()), *others]))
    assert [one.id for one in store.list_occurrences("job", 10)] == [1, 4, 3, 2]
    assert [one.id for one in store.list_occurrences("job", 2, before=30.0)] == [4, 3]
    assert store.list_occurrences("nobody", 10) == []


def test_the_last_run_of_a_reserving_schedule_is_none_that_was_made_ahead_or_asked_for(store: Store):
    manual = task(4, spec={"recurring": "job", "slot": 15.0})
    ahead = [occurrence(2, 20.0), occurrence(3, 30.0)]
    store.commit(Changes(new=[occurrence(1, 10.0), *ahead, manual, occurrence(5, 10.0, "plain")]))
    reserving, plain = schedule(chain=3), schedule("plain", chain=5)
    reserving.spec.reserve = True
    assert list_last_ids([reserving, plain], 18.0, store) == [1, 5]
    assert list_last_ids([reserving], 5.0, store) == []


def test_slots_that_became_no_task_come_newest_first_and_may_be_extended(store: Store):
    store.commit(Changes(passed=[row(10.0), row(20.0, "skipped"), row(30.0, schedule="other")]))
    store.commit(Changes(passed=[row(20.0, "skipped", last_at=25.0, count=6), row(20.0)]))
    found = store.list_passed("job", 10)
    assert found == [row(20.0, "skipped", last_at=25.0, count=6), row(20.0), row(10.0)]
    assert store.list_passed("job", 1, before=20.0) == [row(10.0)]
    store.commit(Changes(schedules={"job": None}))
    assert len(store.list_passed("job", 10)) == 3


def test_slots_are_forgotten_as_ends_of_their_status_are(store: Store):
    store.commit(Changes(passed=[row(10.0), row(11.0, last_at=50.0), row(10.0, "skipped")]))
    assert store.prune({"missed": 20.0}, 100, 10, now=100.0) == []
    assert store.list_passed("job", 10) == [row(11.0, last_at=50.0), row(10.0, "skipped")]
    store.prune({}, 1, 10, now=100.0)
    assert store.list_passed("job", 10) == [row(11.0, last_at=50.0)]


# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["spec", "state"])
def test_a_schedule_that_cannot_be_decoded_is_set_aside_and_the_rest_goes_on(path: str, column: str):
    with contextlib.closing(open_store(path)) as store:
        store.claim("test", 1.0)
        store.commit(Changes(schedules={"bad": schedule("bad"), "good": schedule("good")}, transitions=[event("x")]))
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE schedules SET {column} = ? WHERE name = 'bad'", (b'{"oh": \xff',))
        db.commit()
    reader = open_reader(path)
    assert reader is not None
    assert [one.spec.name for one in reader.list_schedules()] == ["good"]
    assert list(reader.read_live().damaged_schedules) == ["bad"]
    reader.close()
    with contextlib.closing(open_store(path)) as store:
        store.claim("test", 2.0)
        live = store.load_live()
        assert [one.spec.name for one in live.schedules] == ["good"]
        assert list(live.damaged_schedules) == ["bad"]
        assert store.load_live().damaged_schedules == {}
    with contextlib.closing(sqlite3.connect(path)) as db:
        ((name, reason, kept),) = db.execute(f"SELECT name, reason, {column} FROM schedules_set_aside")
    assert (name, kept) == ("bad", b'{"oh": \xff')
    assert reason
