"""Any sequence of changes gives the same reads from memory and from SQLite."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.notice import Incident, Notice, Told
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, TaskRecord, TaskSpec, Transition
from cronoq_cli.store.contract import Changes, Filter, NewTasks, Store
from cronoq_cli.store.memory import MemoryStore
from cronoq_cli.store.sqlite import open_store

IDS = st.integers(1, 10)
TEXT = st.text(st.characters(exclude_characters="\0"), max_size=4) | st.sampled_from(["a", "b\udcff", "é"])
MOMENT = st.sampled_from([0.0, 1.0, 2.5, 7.0])


def maybe(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | strategy


@st.composite
def records(draw: st.DrawFn, ids: st.SearchStrategy[int]) -> TaskRecord:
    spec = TaskSpec(
        name=draw(TEXT),
        command=draw(maybe(st.lists(TEXT, max_size=2))),
        env=draw(st.sampled_from(["", "e", "f"])),
        pool=draw(st.sampled_from(["p", "q"])),
        priority=draw(st.integers(0, 3)),
        key=draw(maybe(st.sampled_from(["k", "l"]))),
        tags=draw(st.dictionaries(st.sampled_from("ab"), TEXT, max_size=2)),
        keep_s=draw(maybe(MOMENT)),
    )
    status = draw(st.sampled_from(Status))
    return TaskRecord(
        id=draw(ids),
        spec=spec,
        status=status,
        seq=draw(st.floats(0, 9)),
        submitted_at=draw(MOMENT),
        updated_at=draw(MOMENT),
        finished_at=draw(MOMENT) if status in FINAL else draw(maybe(MOMENT)),
        message=draw(maybe(TEXT)),
        outputs=draw(st.dictionaries(TEXT, TEXT, max_size=1)),
        leaving=draw(st.booleans()),
        batch=draw(maybe(IDS)),
        exit_code=draw(maybe(st.integers(0, 255))),
        fingerprint=draw(maybe(st.sampled_from("xy"))),
    )


ATTEMPTS = st.builds(AttemptRecord, task=IDS, number=st.integers(1, 2), message=maybe(TEXT), core=st.booleans())
EDGES = st.builds(Edge, task=IDS, condition=st.sampled_from(Condition), target=IDS) | st.builds(
    Edge, task=IDS, condition=st.sampled_from(Condition), awaited=st.sampled_from("kl"), awaited_until=maybe(MOMENT)
)
EVENTS = st.builds(Transition, at=MOMENT, type=TEXT, id=maybe(IDS), message=maybe(TEXT))
INCIDENTS = st.builds(Incident, since=MOMENT, last_at=MOMENT, count=st.integers(0, 2))
NOTICES = st.builds(Notice, id=TEXT, told=st.sampled_from(Told), at=MOMENT, pool=TEXT, task=maybe(IDS))
BATCHES = st.integers(1, 3).map(lambda first: Batch(first=first, last=first + 2))


@st.composite
def bulk_from(draw: st.DrawFn, first: int, told: int) -> NewTasks:
    """Two to four waiting tasks of one or two kinds."""
    kinds = draw(st.lists(st.integers(0, 1), min_size=2, max_size=4))
    firsts = [kinds.index(kind) for kind in range(2) if kind in kinds]
    numbers = [firsts.index(kinds.index(kind)) for kind in kinds]
    at, shift = draw(MOMENT), draw(st.integers(0, 3))
    found = [draw(records(st.just(first + place))) for place in range(len(kinds))]
    plain = [
        msgspec.structs.replace(one.spec, key=None, pool="pq"[kind], priority=kind)
        for one, kind in zip(found, numbers, strict=True)
    ]
    if draw(st.booleans()):
        plain = [plain[kinds.index(kind)] for kind in kinds]
    samples = [
        TaskRecord(
            id=first + place,
            spec=plain[place],
            status=Status.READY,
            seq=float(first + place + shift),
            submitted_at=at,
            updated_at=at,
            ready_at=at,
            batch=found[place].batch,
        )
        for place in firsts
    ]
    events = [Transition(at=at, type="submitted", pool=one.spec.pool, status="ready") for one in samples]
    return NewTasks(
        first=first,
        specs=plain,
        records=samples,
        events=events,
        kinds=None if len(firsts) == 1 else numbers,
        told=told,
    )


def few(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, max_size=2)


@st.composite
def steps(draw: st.DrawFn) -> list[Changes | tuple[dict[str, float], int, int, float]]:
    free, done = list(range(1, 11)), []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 4)) == 0:
            cutoffs = draw(st.dictionaries(st.sampled_from(sorted(FINAL)), MOMENT, max_size=4))
            done.append((cutoffs, draw(st.integers(0, 4)), draw(st.integers(0, 3)), draw(MOMENT)))
            continue
        new = [draw(records(st.just(free.pop(0)))) for _ in range(min(len(free), draw(st.integers(0, 3))))]
        events = draw(few(EVENTS))
        bulks = []
        if len(free) > 3 and draw(st.booleans()):
            bulks.append(draw(bulk_from(free[0], told=draw(st.integers(0, len(events))))))
            del free[: len(bulks[0].specs)]
        done.append(
            Changes(
                new=new,
                bulks=bulks,
                updated=draw(few(records(IDS))),
                respecced=draw(few(records(IDS))),
                attempts=draw(few(ATTEMPTS)),
                edges_opened=draw(few(EDGES)),
                edges_closed=draw(few(EDGES)),
                forgotten_edges=draw(few(IDS)),
                batches=draw(few(BATCHES)),
                transitions=events,
                envs=draw(st.dictionaries(st.sampled_from("ef"), st.binary(max_size=3), max_size=2)),
                stdins=draw(st.dictionaries(IDS, st.binary(max_size=3), max_size=1)),
                pools=draw(st.dictionaries(TEXT, maybe(st.dictionaries(TEXT, TEXT, max_size=1)), max_size=1)),
                run_times=draw(st.dictionaries(st.tuples(TEXT, TEXT), maybe(few(MOMENT)), max_size=1)),
                resources=draw(st.dictionaries(TEXT, maybe(st.dictionaries(TEXT, MOMENT, max_size=1)), max_size=1)),
                incidents=draw(st.dictionaries(TEXT, maybe(INCIDENTS), max_size=2)),
                notices=draw(st.dictionaries(TEXT, maybe(NOTICES), max_size=2)),
                removed=draw(few(IDS)) if draw(st.booleans()) else [],
            )
        )
    return done


def everything(store: Store) -> dict[str, object]:
    """All that can be read."""
    live = store.load_live()
    return {
        "tasks": store.list_where(Filter()),
        "by end": store.list_where(Filter(by_end=True, newest_first=True)),
        "final": store.list_where(Filter(statuses=sorted(FINAL), pools=["p"], newest_first=True)),
        "before": store.list_where(Filter(finished_before=2.0)),
        "tagged": store.list_where(Filter(tags={"a": None}, name_glob="*b*")),
        "live": sorted([task.id for task in live.tasks] + [task_id for run in live.runs for task_id in run.ids]),
        "edges": live.edges,
        "batches": live.batches,
        "pools": live.pools,
        "learned": [live.run_times, store.load_run_times()],
        "resources": [live.resources, store.load_resources()],
        "incidents": live.incidents,
        "notices": store.list_notices(),
        "next": live.next_id,
        "counts": [store.count_by_status(), store.count_by_status("p")],
        "attempts": [store.list_attempts(n) for n in range(11)],
        "from": [store.list_edges(n, closed=c) for n in range(11) for c in (False, True)],
        "to": [store.list_dependents(n, closed=c) for n in range(11) for c in (False, True)],
        "events": [store.list_transitions(0, 99), store.list_transitions(1, 2, [1, 2]), store.last_transition_seq()],
        "envs": [store.find_env(n) for n in "ef"],
        "stdins": [store.find_stdin(n) for n in range(11)],
        "found batches": [store.find_batch(n) for n in range(11)],
        "keys": [store.find_newest_with_key(k) for k in "kl"],
        "prints": [store.find_newest_with_fingerprint(k, 1.0) for k in "xy"],
    }


def apply(store: Store, step: Changes | tuple[dict[str, float], int, int, float]) -> list[int]:
    if isinstance(step, Changes):
        return store.commit(step)
    cutoffs, most, limit, now = step
    would = store.prune(cutoffs, most, limit, now=now, dry_run=True)
    did = store.prune(cutoffs, most, limit, now=now)
    assert would == did
    return did


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps())
def test_memory_and_sqlite_tell_the_same(sequence: list):
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "cronoq.db")
        memory, sqlite = MemoryStore(), open_store(path, synchronous="normal")
        memory.claim("test", 1.0)
        sqlite.claim("test", 1.0)
        for step in sequence:
            assert apply(sqlite, step) == apply(memory, step)
            assert everything(sqlite) == everything(memory)
        sqlite.close()
        again = open_store(path)
        again.claim("test", 1.0)
        assert everything(again) == everything(memory)
        again.close()
