"""The contract of the store, held by each implementation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cronoq_cli.errors import ConflictError, FencedError, StoreError
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.history import Bucket, Step, Window
from cronoq_cli.model.lifecycle import FINAL, LIVE, Status
from cronoq_cli.model.notice import Incident, Notice, Told
from cronoq_cli.model.task import (
    AttemptRecord,
    Backoff,
    Batch,
    Condition,
    Dependency,
    Edge,
    Ended,
    TaskRecord,
    TaskSpec,
    Transition,
)
from cronoq_cli.store.contract import Changes, Filter, NewTasks, Store, iter_env
from cronoq_cli.store.events import find_events
from tests.store.build import ended, event, task
from tests.store.conftest import Opener

BAD = "\udcff\udc80é"


def ids(found: list) -> list[int]:
    return [record.id for record in found]


def test_nothing_is_there_at_first(store: Store):
    assert store.find_task(1) is None
    assert store.find_newest_with_key("k") is None
    assert store.list_tasks([1, 2]) == []
    assert store.list_where(Filter()) == []
    assert store.count_by_status() == {}
    assert store.list_transitions(0, 10) == []
    assert store.last_transition_seq() == 0
    assert store.find_env("e") is None and store.find_stdin(1) is None and store.find_batch(1) is None
    live = store.load_live()
    assert (live.tasks, live.edges, live.batches, live.pools, live.next_id) == ([], [], [], {}, 1)
    assert (live.run_times, live.resources) == ({}, {})


def test_what_has_changed_of_live_tasks_is_stored_wherever_they_stand(store: Store):
    store.commit(Changes(new=[task(1), task(2), task(3, Status.SCHEDULED), task(4)]))
    ahead = [task(1, leased=True, reason="given"), task(2, seq=9.0, leased=True), task(3, leased=True)]
    store.commit(Changes(updated=[*ahead, task(4, Status.RUNNING)]))
    assert [(record.id, record.status, record.leased) for record in store.load_live().tasks] == [
        (1, Status.READY, True),
        (3, Status.READY, True),
        (4, Status.RUNNING, False),
        (2, Status.READY, True),
    ]
    assert store.count_by_status() == {Status.READY: 3, Status.RUNNING: 1}
    store.commit(
        Changes(updated=[task(1, Status.CANCELLED, leased=True, leaving=True, finished_at=5.0), task(2, leased=True)])
    )
    assert [record.id for record in store.load_live().tasks] == [1, 2, 3, 4]
    assert store.count_by_status() == {Status.CANCELLED: 1, Status.READY: 2, Status.RUNNING: 1}


def test_empty_changes_are_false_and_write_nothing(store: Store):
    assert not Changes()
    assert store.commit(Changes()) == []
    assert Changes(removed=[1])


def test_a_new_task_is_read_back_whole(store: Store):
    record = task(
        7,
        Status.RETRYING,
        spec={
            "command": ["a", "b c", ""],
            "env": "e1",
            "env_changes": {"A": "1", "B": None},
            "key": "k",
            "after": [Dependency("3", Condition.ANY)],
            "backoff": Backoff(kind="linear"),
            "tags": {"x": "y"},
            "success_codes": [0, 3],
            "keep_s": 0.0,
            "priority": 3,
        },
        reason="backoff",
        held=True,
        attempt=2,
        max_attempts=4,
        ready_at=1.5,
        due_at=2.5,
        started_at=3.5,
        leased=True,
        stop_cause="time limit",
        start_reason="retry",
        exit_code=9,
        signal=9,
        message="m",
        outputs={"o": "v"},
        progress="3/4",
        left_behind=2,
        batch=7,
        slot=1,
        log="/l",
        usage={"cpu_user_s": 0.25, "cpu_system_s": 0.5, "max_rss_bytes": 9},
        fingerprint="f",
    )
    store.commit(Changes(new=[record]))
    found = store.find_task(7)
    assert found == record
    assert msgspec.json.encode(found) == msgspec.json.encode(record)


def test_a_stored_task_is_not_changed_by_changing_the_record(store: Store):
    record = task(1, spec={"tags": {"a": "b"}})
    store.commit(Changes(new=[record]))
    record.status = Status.FAILED
    record.spec.tags["c"] = "d"
    record.outputs["o"] = "v"
    assert store.find_task(1) == task(1, spec={"tags": {"a": "b"}})
    store.find_task(1).spec.tags["x"] = "y"
    assert store.find_task(1) == task(1, spec={"tags": {"a": "b"}})


def test_strings_that_are_no_utf8_survive_everywhere(store: Store):
    record = task(
        1,
        spec={
            "name": BAD,
            "command": [BAD],
            "cwd": f"/{BAD}",
            "tags": {BAD: BAD},
            "env_changes": {"A": BAD},
            "pool": BAD,
            "key": BAD,
        },
        reason=BAD,
        message=BAD,
        outputs={"o": BAD},
        log=f"/{BAD}.log",
        progress=BAD,
        fingerprint=BAD,
    )
    attempt = AttemptRecord(task=1, number=1, message=BAD, log=BAD)
    edge = Edge(task=1, condition=Condition.FAIL, awaited=BAD)
    store.commit(
        Changes(
            new=[task(3), record, task(2)],
            attempts=[attempt],
            edges_opened=[edge],
            transitions=[event("a"), event(BAD, 1, message=BAD, pool=BAD, key=BAD)],
            pools={BAD: {"reason": BAD}},
        )
    )
    assert store.find_task(1) == record
    assert ids(store.list_where(Filter(name_glob="\udcff*", tags={BAD: BAD}, pools=[BAD]))) == [1]
    assert store.find_newest_with_key(BAD) == record
    assert store.find_newest_with_fingerprint(BAD, 0.0) == record
    assert store.count_by_status(BAD) == {"ready": 1}
    assert store.list_attempts(1) == [attempt]
    assert store.list_edges(1) == [edge]
    assert store.list_transitions(1, 9)[0].message == BAD
    assert store.load_live().pools == {BAD: {"reason": BAD}}
    record.status, record.message = Status.FAILED, BAD + BAD
    store.commit(Changes(updated=[record]))
    assert store.find_task(1) == record
    store.commit(Changes(edges_closed=[edge]))
    assert store.list_edges(1) == []


def test_an_environment_is_kept_byte_for_byte_and_once(store: Store):
    blob = b"A=1\0B=\xff\xfe=x\0C=\0\xffD=y"
    store.commit(Changes(new=[task(1, spec={"env": "e"})], envs={"e": blob}))
    store.commit(Changes(new=[task(2, spec={"env": "e"})], envs={"e": b"other"}))
    assert store.find_env("e") == blob
    assert list(iter_env(blob)) == [(b"A", b"1"), (b"B", b"\xff\xfe=x"), (b"C", b""), (b"\xffD", b"y")]


def test_an_environment_may_come_after_the_task_that_names_it(store: Store):
    store.commit(Changes(new=[task(1, spec={"env": "e"})]))
    assert store.find_env("e") is None
    store.commit(Changes(envs={"e": b"A=1"}))
    assert store.find_env("e") == b"A=1"


def test_an_update_writes_the_state_and_leaves_the_spec(store: Store):
    store.commit(Changes(new=[task(1, spec={"command": ["x"], "pool": "p"}, batch=1, fingerprint="f")]))
    facts = {"batch": 1, "fingerprint": "g", "started_at": 5.0, "attempt": 1, "seq": 0.5, "submitted_at": 3.0}
    store.commit(Changes(updated=[task(1, Status.RUNNING, spec={"name": "", "command": None}, **facts)]))
    found = store.find_task(1)
    assert found == task(1, Status.RUNNING, spec={"command": ["x"], "pool": "p"}, **facts)
    assert store.find_newest_with_fingerprint("f", 0.0) is None
    assert store.find_newest_with_fingerprint("g", 0.0) == found


def test_an_update_can_set_everything_back_to_none(store: Store):
    whole = task(1, Status.FAILED, finished_at=4.0, exit_code=3, message="m", slot=3, usage={"a": 1}, reason="r")
    store.commit(Changes(new=[whole]))
    store.commit(Changes(updated=[task(1)]))
    assert store.find_task(1) == task(1)


def test_a_changed_spec_is_written_whole(store: Store):
    store.commit(Changes(new=[task(1, spec={"key": "old", "pool": "a"})]))
    changed = task(1, spec={"key": "new", "pool": "b", "name": "n", "priority": 2, "tags": {"t": "1"}}, fingerprint="g")
    store.commit(Changes(respecced=[changed]))
    assert store.find_task(1) == changed
    assert store.find_newest_with_key("old") is None
    assert ids(store.list_where(Filter(pools=["b"], name_glob="n", tags={"t": None}))) == [1]


def test_what_is_not_stored_is_not_made_by_an_update(store: Store):
    edge = Edge(task=9, condition=Condition.SUCCESS, target=1)
    store.commit(Changes(updated=[task(9)], respecced=[task(8)], edges_closed=[edge], removed=[7]))
    assert store.list_where(Filter()) == []
    assert store.list_edges(9, closed=True) == []


def test_an_id_in_use_is_refused_and_nothing_of_the_commit_stays(store: Store):
    store.commit(Changes(new=[task(1)]))
    with pytest.raises(StoreError):
        store.commit(Changes(new=[task(2), task(1, spec={"key": "k"})], envs={"e": b""}, transitions=[event("x", 2)]))
    assert ids(store.list_where(Filter())) == [1]
    assert store.find_task(1) == task(1)
    assert store.find_env("e") is None
    assert store.commit(Changes(transitions=[event("y")])) == [1]


def test_transitions_get_growing_seqs(store: Store):
    assert store.commit(Changes(transitions=[event("a", 1), event("b", 2)])) == [1, 2]
    assert store.commit(Changes(transitions=[event("c", 1, key="k", pool="p", status="ready", attempt=2)])) == [3]
    assert store.last_transition_seq() == 3
    assert [(e.seq, e.type) for e in store.list_transitions(1, 10)] == [(2, "b"), (3, "c")]
    assert [e.seq for e in store.list_transitions(0, 1)] == [1]
    assert [e.seq for e in store.list_transitions(0, 10, [1, 1, 5])] == [1, 3]
    assert [e.seq for e in store.list_transitions(0, 2, range(3000))] == [1, 2]
    assert store.list_transitions(2, 1)[0] == event("c", 1, key="k", pool="p", status="ready", attempt=2, seq=3)


def test_an_attempt_is_written_again_as_it_ends(store: Store):
    begun = AttemptRecord(task=1, number=2, started_at=1.0, pid=5, log="/x")
    store.commit(Changes(attempts=[begun, AttemptRecord(task=1, number=1), AttemptRecord(task=2, number=1)]))
    done = msgspec.structs.replace(
        begun, ended_at=2.0, outcome="failed", exit_code=1, core=True, cpu_user_s=0.5, max_rss=5, left_behind=1
    )
    store.commit(Changes(attempts=[done]))
    assert store.list_attempts(1) == [AttemptRecord(task=1, number=1), done]
    assert store.list_attempts(1)[1].core is True


def test_edges_are_open_until_closed_and_closing_twice_is_no_error(store: Store):
    one = Edge(task=3, condition=Condition.SUCCESS, target=1)
    two = Edge(task=3, condition=Condition.ANY, target=2)
    key = Edge(task=4, condition=Condition.FAIL, awaited="k", awaited_until=9.5)
    store.commit(Changes(edges_opened=[two, one, key]))
    assert store.list_edges(3) == [one, two]
    assert store.list_edges(4) == [key]
    assert store.list_dependents(1) == [one]
    assert store.list_dependents(0) == []
    for _ in range(2):
        store.commit(Changes(edges_closed=[one]))
    assert store.list_edges(3) == [two]
    assert store.list_dependents(1) == []
    assert store.list_edges(3, closed=True) == [one, two]
    assert store.list_dependents(1, closed=True) == [one]
    store.commit(Changes(edges_opened=[one]))
    assert store.list_dependents(1) == [one]
    assert store.load_live().edges == [one, two, key]


def test_an_edge_opened_and_closed_at_once_ends_closed(store: Store):
    edge = Edge(task=3, condition=Condition.SUCCESS, target=1)
    store.commit(Changes(edges_opened=[edge], edges_closed=[edge]))
    assert store.list_edges(3) == []
    assert store.list_edges(3, closed=True) == [edge]


def test_forgetting_drops_all_open_edges_of_a_task(store: Store):
    edges = [Edge(task=t, condition=Condition.SUCCESS, target=1) for t in (3, 4)]
    store.commit(Changes(edges_opened=edges))
    store.commit(Changes(forgotten_edges=[3]))
    assert store.list_dependents(1) == edges[1:]
    assert store.list_dependents(1, closed=True) == edges


def test_kept_input_batches_and_pools_are_stored_and_reset(store: Store):
    batch = Batch(first=1, last=3, limit=2, max_fails=1)
    store.commit(
        Changes(new=[task(1, batch=1)], stdins={1: b"\0\xff"}, batches=[batch], pools={"p": {"workers": 3}, "q": {}})
    )
    assert store.find_stdin(1) == b"\0\xff"
    assert store.find_batch(1) == batch
    assert store.load_live().batches == [batch]
    assert store.load_live().pools == {"p": {"workers": 3}, "q": {}}
    batch.failed = 1
    store.commit(Changes(batches=[batch], pools={"p": None, "q": {"paused": True}, "never": None}))
    assert store.find_batch(1).failed == 1
    assert store.load_live().pools == {"q": {"paused": True}}


def test_run_times_are_kept_by_pool_and_kind_and_forgotten(store: Store):
    learned = {("p", "make"): [3.0, 0.5, 1e-9], ("p", BAD): [1.0], ("q", "make"): [2.0]}
    assert Changes(run_times=dict(learned))
    store.commit(Changes(run_times=dict(learned)))
    assert store.load_run_times() == learned == store.load_live().run_times
    learned["p", "make"] = [4.0, 0.25]
    store.commit(Changes(run_times={("p", "make"): [4.0, 0.25], ("q", "make"): None, ("never", "was"): None}))
    assert store.load_run_times() == {key: learned[key] for key in (("p", "make"), ("p", BAD))}


def test_what_was_learned_is_not_changed_from_outside(store: Store):
    numbers = [1.0]
    store.commit(Changes(run_times={("p", "k"): numbers}))
    numbers.append(2.0)
    store.load_run_times()["p", "k"].append(3.0)
    assert store.load_run_times() == {("p", "k"): [1.0]}


def test_changed_resources_are_kept_and_reset(store: Store):
    store.commit(Changes(resources={"gpu": {"permits": 3}, BAD: {"rate_s": 0.5, "burst": 2.0}}))
    assert store.load_resources() == {"gpu": {"permits": 3}, BAD: {"rate_s": 0.5, "burst": 2.0}}
    assert store.load_live().resources == store.load_resources()
    store.commit(Changes(resources={"gpu": None, BAD: {"burst": 1.0}, "never": None}))
    assert store.load_resources() == {BAD: {"burst": 1.0}}


def test_incidents_are_kept_until_they_close(store: Store):
    failed = Incident(since=1.0, last_at=2.0, count=3, told=[Told.FAILURE])
    store.commit(Changes(incidents={"recurring backup": failed, f"pool p key {BAD}": failed}))
    assert store.load_live().incidents == {"recurring backup": failed, f"pool p key {BAD}": failed}
    store.commit(Changes(incidents={"recurring backup": None, "never was": None}))
    assert list(store.load_live().incidents) == [f"pool p key {BAD}"]


def test_notices_are_kept_in_their_order_until_they_are_told(store: Store):
    first, second = (Notice(id=name, told=Told.FAILURE, at=1.0, pool=BAD, task=7) for name in ("z", "a"))
    store.commit(Changes(notices={"z": first}))
    store.commit(Changes(notices={"a": second, "z": first}))
    assert store.list_notices() == [first, second]
    store.commit(Changes(notices={"z": None}))
    assert store.list_notices() == [second]


def test_what_is_learned_and_changed_belongs_to_the_one_transaction(store: Store):
    store.commit(Changes(new=[task(1)]))
    with pytest.raises(StoreError):
        store.commit(Changes(new=[task(1)], run_times={("p", "k"): [1.0]}, resources={"gpu": {"permits": 1}}))
    assert (store.load_run_times(), store.load_resources()) == ({}, {})


def test_a_task_keeps_what_it_wants_of_the_scheduler(store: Store):
    wanted = {
        "tenant": "alice",
        "labels": {"gpu": "yes"},
        "uses": {"gpu": 2.0, "api": 0.5},
        "start_at": 5.0,
        "tolerance_s": 2.0,
        "on_miss": "skip",
        "deadline": 6.0,
        "expires_at": 7.0,
        "estimate_s": 8.0,
        "group": "mail",
        "members": [3, 4],
    }
    record = task(1, Status.RUNNING, spec=wanted, units={"gpu": [0, 1]})
    store.commit(Changes(new=[record]))
    assert store.find_task(1) == record
    record.units = {}
    store.commit(Changes(updated=[record]))
    assert store.find_task(1).units == {}


def test_recovery_gets_live_and_leaving_tasks_in_order_of_sequence(store: Store):
    store.commit(
        Changes(
            new=[
                task(1, Status.READY, seq=4.0, batch=1),
                task(2, Status.RUNNING, seq=1.0, batch=1),
                ended(3, 5.0, Status.CANCELLED, leaving=True, seq=3.0, batch=3),
                ended(4, 5.0, batch=3),
                task(5, Status.BLOCKED, seq=2.0),
            ],
            batches=[Batch(first=1, last=2), Batch(first=3, last=4), Batch(first=10, last=12)],
        )
    )
    live = store.load_live()
    assert ids(live.tasks) == [2, 5, 3, 1]
    assert live.tasks[2].leaving is True
    assert [b.first for b in live.batches] == [1, 3]
    assert live.next_id == 6
    assert live.damaged == {}


@pytest.mark.parametrize("status", sorted(Status))
def test_every_status_is_stored_and_counted(store: Store, status: Status):
    store.commit(Changes(new=[task(1, status), task(2, status, spec={"pool": "other"})]))
    assert store.count_by_status() == {status.value: 2}
    assert store.count_by_status("other") == {status.value: 1}
    assert store.count_by_status("none") == {}
    assert store.find_task(1).status is status
    assert ids(store.load_live().tasks) == ([1, 2] if status in LIVE else [])


def test_an_id_is_never_used_again(store: Store):
    store.commit(Changes(new=[task(1), ended(2, 1.0), ended(3, 2.0)]))
    store.commit(Changes(removed=[3]))
    assert store.load_live().next_id == 4
    assert store.prune({"succeeded": 99.0}, 100, 10) == [2]
    store.commit(Changes(removed=[1]))
    assert store.load_live().next_id == 4
    store.commit(Changes(new=[task(4)]))
    assert store.load_live().next_id == 5


def test_removing_takes_all_that_belongs_to_the_task(store: Store):
    store.commit(
        Changes(
            new=[ended(1, 1.0, spec={"env": "e", "key": "k"}, batch=1), ended(2, 1.0, spec={"env": "f"})],
            attempts=[AttemptRecord(task=1, number=1)],
            edges_opened=[Edge(task=1, condition=Condition.ANY, target=2)],
            stdins={1: b"x"},
            envs={"e": b"A=1", "f": b"B=2"},
            batches=[Batch(first=1, last=1)],
            transitions=[event("submitted", 1)],
        )
    )
    store.commit(Changes(removed=[1]))
    assert store.find_task(1) is None and store.find_newest_with_key("k") is None
    assert store.list_attempts(1) == [] and store.find_stdin(1) is None
    assert store.list_edges(1, closed=True) == [] and store.list_dependents(2, closed=True) == []
    assert store.find_env("e") is None and store.find_env("f") == b"B=2"
    assert store.find_batch(1) is None
    store.commit(Changes(new=[task(3, spec={"env": "e"})], envs={"e": b"A=1"}))
    assert store.find_env("e") == b"A=1"


def test_a_batch_stays_while_one_of_its_tasks_does(store: Store):
    store.commit(Changes(new=[ended(1, 1.0, batch=1), ended(2, 1.0, batch=1)], batches=[Batch(first=1, last=2)]))
    store.commit(Changes(removed=[1]))
    assert store.find_batch(1) is not None
    store.commit(Changes(removed=[2]))
    assert store.find_batch(1) is None


def test_the_newest_with_a_key_or_a_fingerprint(store: Store):
    store.commit(
        Changes(
            new=[
                ended(1, 2.0, spec={"key": "k"}, fingerprint="f", submitted_at=100.0),
                task(2, spec={"key": "k"}, fingerprint="f", submitted_at=200.0),
                task(3, fingerprint="g", submitted_at=300.0),
            ]
        )
    )
    assert store.find_newest_with_key("k").id == 2
    assert store.find_newest_with_key("K") is None
    assert store.find_newest_with_fingerprint("f", 200.0).id == 2
    assert store.find_newest_with_fingerprint("f", 200.5) is None


@pytest.fixture
def filled(store: Store) -> Store:
    store.commit(
        Changes(
            new=[
                ended(1, 50.0, spec={"name": "make all", "key": "k", "tags": {"a": "1", "b": "2"}}),
                ended(2, 20.0, Status.FAILED, spec={"name": "make", "pool": "p"}),
                task(3, spec={"name": "Make", "pool": "p"}),
                ended(4, 40.0, Status.FAILED, spec={"name": "[x]", "tags": {"a": "2"}}),
                task(5, Status.BLOCKED, spec={"name": "x"}),
                ended(6, 30.0, spec={"name": "y"}),
            ]
        )
    )
    return store


def test_a_text_is_found_across_the_words_of_a_command_and_with_signs_that_json_escapes(store: Store):
    commands = [["cp", "-r", "a b", "c"], ["printf", 'say "%s"\\n'], ["écho", "\udcff"]]
    specs = [{"name": "n", "command": words} for words in commands]
    store.commit(Changes(new=[task(number, spec=spec) for number, spec in enumerate(specs, 1)]))
    for text, found in (("-r A B", [1]), ('"%s"\\', [2]), ("%s", [2]), ("É", [3]), ("\udcff", [3]), ("_", [])):
        assert ids(store.list_where(Filter(text=text))) == found, text


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), [1, 2, 3, 4, 5, 6]),
        (Filter(newest_first=True, limit=2), [6, 5]),
        (Filter(ids=[(2, 3), (5, 9)]), [2, 3, 5, 6]),
        (Filter(ids=[(5, 9), (1, 2), (2, 2), (4, 3)]), [1, 2, 5, 6]),
        (Filter(ids=[]), []),
        (Filter(ids=[(n, n) for n in range(1, 4001, 2)]), [1, 3, 5]),
        (Filter(ids=[(n, n) for n in range(1, 4001, 2)], newest_first=True, limit=2), [5, 3]),
        (Filter(ids=[(n, n) for n in range(2, 4001, 2)], by_end=True), [2, 6, 4]),
        (Filter(statuses=["failed"]), [2, 4]),
        (Filter(statuses=["failed", "ready"]), [2, 3, 4]),
        (Filter(statuses=[]), []),
        (Filter(statuses=sorted(FINAL), after_id=1, limit=2), [2, 4]),
        (Filter(statuses=sorted(FINAL), before_id=4, newest_first=True), [2, 1]),
        (Filter(statuses=sorted(LIVE)), [3, 5]),
        (Filter(pools=["p"]), [2, 3]),
        (Filter(pools=["p", "default"], statuses=["failed"]), [2, 4]),
        (Filter(pools=[]), []),
        (Filter(tags={"a": None}), [1, 4]),
        (Filter(tags={"a": "2"}), [4]),
        (Filter(tags={"a": "1", "b": None}), [1]),
        (Filter(tags={}), [1, 2, 3, 4, 5, 6]),
        (Filter(name_glob="make*"), [1, 2]),
        (Filter(name_glob="[mM]ake"), [2, 3]),
        (Filter(name_glob="[[]x]"), [4]),
        (Filter(name_glob="[!m]*", limit=2), [3, 4]),
        (Filter(text="MAKE"), [1, 2, 3]),
        (Filter(text="[", newest_first=True), [4]),
        (Filter(text="k", limit=1), [1]),
        (Filter(text="nowhere"), []),
        (Filter(text="%"), []),
        (Filter(key="k"), [1]),
        (Filter(key="k", statuses=["failed"]), []),
        (Filter(finished_before=40.0), [2, 6]),
        (Filter(finished_before=40.0, statuses=["succeeded"]), [6]),
        (Filter(by_end=True), [2, 6, 4, 1]),
        (Filter(by_end=True, newest_first=True, limit=3), [1, 4, 6]),
        (Filter(by_end=True, newest_first=True, statuses=["failed"], limit=1), [4]),
        (Filter(limit=0), []),
        (Filter(statuses=["blocked"], by_end=True), []),
        (Filter(statuses=["running", "retrying"]), []),
    ],
    ids=lambda value: ",".join(n for n in Filter.__struct_fields__ if getattr(value, n, None)) or "all",
)
def test_a_filter_finds_what_it_wants_in_order(filled: Store, wanted: Filter, found: list[int]):
    assert ids(filled.list_where(wanted)) == found
    assert filled.list_ids(wanted) == found


def test_tasks_by_ids_come_once_in_order_of_ids(filled: Store):
    assert ids(filled.list_tasks([6, 2, 2, 99, -1])) == [2, 6]
    assert ids(filled.list_tasks(range(2000))) == [1, 2, 3, 4, 5, 6]


def test_pruning_goes_by_status_and_age_oldest_end_first(filled: Store):
    cutoffs = {"succeeded": 31.0, "failed": 41.0, "ready": 99999.0}
    assert filled.prune(cutoffs, 100, 10, dry_run=True) == [2, 6, 4]
    assert ids(filled.list_where(Filter())) == [1, 2, 3, 4, 5, 6]
    assert filled.prune(cutoffs, 100, 2) == [2, 6]
    assert filled.prune(cutoffs, 100, 2) == [4]
    assert filled.prune(cutoffs, 100, 2) == []
    assert ids(filled.list_where(Filter())) == [1, 3, 5]


def test_pruning_keeps_at_most_so_many_finished(filled: Store):
    assert filled.prune({}, 3, 10, dry_run=True) == [2]
    assert filled.prune({}, 1, 10) == [2, 6, 4]
    assert filled.prune({}, 1, 10) == []
    assert filled.prune({}, 0, 10) == [1]


def test_a_time_of_its_own_goes_before_the_rule(store: Store):
    store.commit(
        Changes(new=[ended(1, 100.0, spec={"keep_s": 0.0}), ended(2, 10.0, spec={"keep_s": 500.0}), ended(3, 20.0)])
    )
    assert store.prune({"succeeded": 50.0}, 100, 10, now=99.0, dry_run=True) == [3]
    assert store.prune({"succeeded": 50.0}, 100, 10, now=100.0) == [3, 1]
    assert store.prune({"succeeded": 50.0}, 100, 10, now=510.0) == [2]


def test_what_a_live_task_depends_on_is_kept(store: Store):
    met = Edge(task=5, condition=Condition.SUCCESS, target=1)
    store.commit(
        Changes(
            new=[ended(1, 1.0), ended(2, 2.0), ended(3, 3.0, leaving=True), ended(4, 4.0), task(5, Status.BLOCKED)],
            edges_opened=[met, Edge(task=4, condition=Condition.ANY, target=2)],
            edges_closed=[met],
        )
    )
    assert store.prune({"succeeded": 99.0}, 0, 10) == [2, 4]
    store.commit(Changes(updated=[ended(5, 5.0), ended(3, 3.0)]))
    assert store.prune({"succeeded": 99.0}, 0, 10) == [1, 3, 5]


def test_environments_go_with_the_last_task_that_names_them(store: Store):
    store.commit(
        Changes(
            new=[ended(1, 1.0, spec={"env": "e"}), ended(2, 2.0, spec={"env": "e"}), task(3, spec={"env": "f"})],
            envs={"e": b"A=1", "f": b"B=1"},
        )
    )
    store.prune({"succeeded": 99.0}, 100, 1)
    assert store.find_env("e") == b"A=1"
    store.prune({"succeeded": 99.0}, 100, 1)
    assert store.find_env("e") is None
    assert store.find_env("f") == b"B=1"


def test_the_history_is_bounded_and_its_numbers_go_on(store: Store):
    store.commit(Changes(transitions=[event("x", n) for n in range(8100)]))
    store.prune({}, 1, 4)
    assert store.list_transitions(0, 1)[0].seq == 33
    store.prune({}, 1, 1000)
    assert store.list_transitions(0, 1)[0].seq == 101
    assert store.commit(Changes(transitions=[event("y")])) == [8101]


def test_a_second_claim_fences_the_first(opened: Opener):
    first, second = opened(), opened()
    assert first.claim("first", 10.0) == 1
    first.commit(Changes(new=[task(1)], transitions=[event("a", 1)]))
    assert second.claim("second", 20.0) == 2
    assert not first.leads() and second.leads()
    with pytest.raises(FencedError):
        first.commit(Changes(new=[task(2)]))
    with pytest.raises(FencedError):
        first.prune({}, 0, 10)
    assert second.commit(Changes(new=[task(2)], transitions=[event("b", 2)])) == [2]
    assert ids(first.list_where(Filter())) == [1, 2]
    leader = first.leadership()
    assert (leader.epoch, leader.holder, leader.since) == (2, "second", 20.0)


def test_without_a_claim_nothing_is_written(opened: Opener):
    store = opened()
    assert not store.leads()
    with pytest.raises(FencedError):
        store.commit(Changes(new=[task(1)]))
    assert store.list_where(Filter()) == []


def test_after_release_nobody_holds_it_and_writes_are_refused(opened: Opener):
    store = opened()
    store.claim("me", 10.0)
    store.release()
    assert not store.leads()
    assert (store.leadership().epoch, store.leadership().holder) == (1, None)
    with pytest.raises(FencedError):
        store.commit(Changes(new=[task(1)]))
    assert store.claim("again", 20.0) == 2
    store.commit(Changes(new=[task(1)]))


def test_a_fenced_release_takes_nothing_from_the_new_leader(opened: Opener):
    first, second = opened(), opened()
    first.claim("first", 10.0)
    second.claim("second", 20.0)
    first.release()
    assert second.leadership().holder == "second"
    assert second.leads()


def test_the_id_of_the_store_stays(opened: Opener):
    assert opened().store_id() == opened().store_id() != ""
    assert opened().schema_version() >= 1


def test_a_backup_is_a_new_file_and_never_an_old_one(store: Store, tmp_path):
    store.commit(Changes(new=[task(1)]))
    target = tmp_path / "copy"
    store.backup(str(target))
    size = target.stat().st_size
    assert size > 0
    with pytest.raises(ConflictError):
        store.backup(str(target))
    assert target.stat().st_size == size


def test_closing_twice_is_no_error(opened: Opener):
    store = opened()
    store.close()
    store.close()


def test_the_spec_may_grow_large(store: Store):
    spec = TaskSpec(name="n", command=["x" * 100_000] * 3)
    record = task(1)
    record.spec = spec
    store.commit(Changes(new=[record]))
    assert store.find_task(1).spec == spec


def _end(at: float, ended: Ended, pool: str = "default") -> Transition:
    return Transition(at=at, type="succeeded", id=1, pool=pool, status="succeeded", ended=ended)


def test_ends_are_summed_up_by_pool_and_kind_in_the_window(store: Store):
    window = Window(1000.0, 1480.0)
    ends = [
        _end(999.0, Ended("early", "succeeded", "succeeded", 1.0, 1.0)),
        _end(1000.0, Ended("make", "succeeded", "succeeded", 0.5, 20.0, 3, True, None)),
        _end(1100.0, Ended("make", None, "failed", 0.25, 2.0)),
        _end(1109.0, Ended("make", "dead_lettered", "failed", None, 4.0, 1, False, True)),
        _end(1480.0, Ended("make", "cancelled", "cancelled", 2.0, 1.0)),
        _end(1200.0, Ended("", "missed", on_time=False), pool="batch"),
        _end(1300.0, Ended(BAD, "succeeded", "succeeded", 0.0, 1.0), pool=BAD),
        _end(1481.0, Ended("make", "succeeded", "succeeded", 1.0, 1.0)),
    ]
    store.commit(Changes(transitions=[*ends, event("submitted", 1)]))
    found = {(sums.pool, sums.kind): sums for sums in store.sum_ends(window)}
    assert set(found) == {("default", "make"), ("batch", ""), (BAD, BAD)}
    make = found["default", "make"]
    assert dict(make.counts) == {"succeeded": 1, "retried": 1, "dead_lettered": 1, "cancelled": 1, "started": 3}
    assert (make.worker_s, make.waits, make.runs) == (7.0, [0.25, 0.5, 2.0], [2.0, 4.0, 20.0])
    assert make.kept == {"deadline": (1, 2), "start": (1, 1)}
    assert make.buckets == {0: Bucket(1, 0.5, 1), 10: Bucket(1, 0.25, 1), 47: Bucket(1, 2.0, 1)}
    assert dict(found["batch", ""].counts) == {"missed": 1}
    assert [sums.pool for sums in store.sum_ends(window, pool="batch")] == ["batch"]
    assert [sums.pool for sums in store.sum_ends(window, pool=BAD)] == [BAD]
    assert store.sum_ends(window, pool="none") == []
    assert store.first_transition_at() == 999.0


def test_ends_are_summed_up_in_steps_and_waits_where_the_work_began(store: Store):
    ends = [
        _end(994.0, Ended("make", "succeeded", "succeeded", 1.0, 1.0)),
        _end(1001.0, Ended("make", "succeeded", "succeeded", 0.5, 20.0)),
        _end(1004.0, Ended("make", "dead_lettered", "failed", None, 1.0), pool="batch"),
        _end(1006.0, Ended("make", None, "failed", 0.25, 1.0)),
        _end(1007.0, Ended("sh", "cancelled", "cancelled", 2.0)),
        _end(1008.0, Ended(BAD, "failed", "failed", 3.0, 1.0), pool=BAD),
        _end(1009.0, Ended("make", "succeeded", "succeeded", 1.0, 1.0)),
    ]
    store.commit(Changes(transitions=ends))
    assert store.sum_steps(Window(1000.0, 1100.0), 5.0, 6) == {
        196: Step(waits=1, wait_s=0.5),
        200: Step(2, 1, 0, 0.0),
        201: Step(1, 1, 3, 5.25),
    }


def test_the_history_is_read_back_as_it_was_told_whether_an_event_is_an_end_or_not(store: Store):
    ended = _end(5.0, Ended("make", "succeeded", "succeeded", 1.0, 1.0))
    assert store.commit(Changes(transitions=[event("submitted", 1), ended, event("submitted", 1)])) == [1, 2, 3]
    found = store.list_transitions(0, 10)
    assert [(one.seq, one.type, one.id) for one in found] == [
        (1, "submitted", 1),
        (2, "succeeded", 1),
        (3, "submitted", 1),
    ]
    assert store.first_transition_at() == found[0].at


def test_transitions_are_found_backwards_too(store: Store):
    store.commit(Changes(transitions=[event("x", number % 3) for number in range(10)]))
    assert [one.seq for one in store.list_transitions_before(9, 3)] == [8, 7, 6]
    assert [one.seq for one in store.list_transitions_before(100, 50)] == list(range(10, 0, -1))
    assert [one.seq for one in store.list_transitions_before(10, 2, [0, 1])] == [8, 7]
    assert store.list_transitions_before(1, 5) == [] == store.list_transitions_before(100, 5, [])


def test_events_are_found_by_what_stands_in_them_in_any_stretch(store: Store):
    many = [
        Transition(at=1000.0 + n, type="failed-retryable" if n % 5 else "started", pool="ab"[n % 2], status=f"s{n % 3}")
        for n in range(2500)
    ]
    store.commit(Changes(transitions=many))

    def seqs(limit: int | None = None, after: int | None = None, **wanted: object) -> list[int]:
        found = find_events(store, EventFilter(**wanted), after_seq=after, up_to_seq=2490, limit=limit)
        return [one.seq for one in found]

    assert seqs(3) == [2488, 2489, 2490]
    assert seqs(2, after=10) == [11, 12]
    assert seqs(after=2488) == [2489, 2490]
    assert seqs(2, pools=["a"], types=["failed-*"]) == [2487, 2489]
    assert len(seqs(types=["started"])) == 498
    assert seqs(after=0, limit=1, statuses=["s2"], pools=["b"]) == [6]
    assert seqs(since=3488.0) == [2489, 2490]


# -- tasks by the thousand -------------------------------------------------------------------------------------------


def bulk(first: int, *specs: TaskSpec, kinds: list[int] | None = None, told: int = 0, **state: Any) -> NewTasks:
    """New waiting tasks; of each kind in `kinds` the first is the record."""
    firsts = [0] if kinds is None else [kinds.index(kind) for kind in range(max(kinds) + 1)]
    fields: dict[str, Any] = {"submitted_at": 5.5, "updated_at": 5.5, "ready_at": 5.5} | state
    records = [
        TaskRecord(id=first + at, spec=specs[at], status=Status.READY, seq=first + at + 2.0, **fields) for at in firsts
    ]
    events = [Transition(at=5.5, type="submitted", pool=one.spec.pool, status="ready") for one in records]
    return NewTasks(first=first, specs=list(specs), records=records, events=events, kinds=kinds, told=told)


def live_ids(store: Store) -> list[int]:
    live = store.load_live()
    return sorted([*ids(live.tasks), *(task_id for run in live.runs for task_id in run.ids)])


def test_a_bulk_is_read_back_as_tasks_of_their_own(store: Store):
    specs = [TaskSpec(name="a", command=["x", str(n)], env="e", array_index=n) for n in range(4)]
    new = bulk(3, *specs, batch=3)
    store.commit(Changes(bulks=[new], envs={"e": b"A=1"}, batches=[Batch(first=3, last=6)]))
    assert store.list_where(Filter()) == list(new.iter_records())
    assert [record.seq for record in store.list_tasks([3, 6])] == [5.0, 8.0]
    assert store.find_task(6).spec.array_index == 3 and store.find_env("e") == b"A=1"
    assert store.count_by_status("default") == {"ready": 4}
    assert store.list_ids(Filter(statuses=["ready"], newest_first=True)) == [6, 5, 4, 3]
    live = store.load_live()
    assert live_ids(store) == [3, 4, 5, 6] and live.next_id == 7
    assert [batch.first for batch in live.batches] == [3]


def test_the_events_of_a_bulk_stand_where_they_were_told(store: Store):
    new = bulk(1, TaskSpec(name="a"), TaskSpec(name="b", pool="q"), TaskSpec(name="a"), kinds=[0, 1, 0], told=1)
    other = bulk(4, TaskSpec(name="c"), TaskSpec(name="c"), told=1)
    assert store.commit(Changes(bulks=[new, other], transitions=[event("x"), event("y", 2)])) == [1, 7]
    assert (new.first_seq, other.first_seq, store.last_transition_seq()) == (2, 5, 7)
    told = store.list_transitions(0, 99)
    assert [(one.seq, one.type, one.id, one.pool) for one in told] == [
        (1, "x", None, None),
        (2, "submitted", 1, "default"),
        (3, "submitted", 2, "q"),
        (4, "submitted", 3, "default"),
        (5, "submitted", 4, "default"),
        (6, "submitted", 5, "default"),
        (7, "y", 2, None),
    ]
    assert list(new.iter_events()) == told[1:4]
    assert store.commit(Changes(transitions=[event("z")])) == [8]


def test_kinds_tags_and_strings_that_are_no_utf8_survive_in_a_bulk(store: Store):
    specs = [
        TaskSpec(name=BAD, command=[BAD], tags={"a": BAD}, pool=BAD),
        TaskSpec(name="b", keep_s=4.0, pool="q"),
        TaskSpec(name="c", tags={"a": "1"}, pool=BAD, env="e"),
    ]
    new = bulk(1, *specs, kinds=[0, 1, 0])
    store.commit(Changes(bulks=[new]))
    assert store.list_where(Filter()) == list(new.iter_records())
    assert store.list_ids(Filter(tags={"a": None}, newest_first=True)) == [3, 1]
    assert store.list_ids(Filter(tags={"a": BAD})) == [1]
    assert live_ids(store) == [1, 2, 3]


def test_what_becomes_of_the_tasks_of_a_bulk_is_written_as_of_any(store: Store):
    store.commit(Changes(bulks=[bulk(1, *[TaskSpec(name="a")] * 6)], updated=[task(1, Status.RUNNING)]))
    store.commit(Changes(updated=[task(3, Status.CANCELLED, finished_at=9.0)], respecced=[task(5, Status.BLOCKED)]))
    assert [record.status for record in store.list_where(Filter())] == [
        *(Status.RUNNING, Status.READY, Status.CANCELLED, Status.READY, Status.BLOCKED, Status.READY)
    ]
    assert live_ids(store) == [1, 2, 4, 5, 6]
    live = store.load_live()
    assert {1, 5} <= {*ids(live.tasks)}
    assert all(run.record.id == run.ids[0] and run.record.seq == run.ids[0] + 2.0 for run in live.runs)
    store.commit(Changes(removed=[2, 6]))
    assert live_ids(store) == [1, 4, 5]


def test_a_bulk_with_an_id_that_is_in_use_is_refused_whole(store: Store):
    store.commit(Changes(new=[task(2)]))
    with pytest.raises(StoreError):
        store.commit(Changes(bulks=[bulk(1, TaskSpec(name="a"), TaskSpec(name="a"))], transitions=[event("x")]))
    assert store.list_ids(Filter()) == [2] and store.list_transitions(0, 9) == []
    assert store.commit(Changes(transitions=[event("x")])) == [1]
