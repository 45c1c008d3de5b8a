"""One of everything a store can hold, as the program of this schema writes it: `python -m tests.migrations.everything`
writes it to stores/schema-N.db, N the present schema, with what it holds beside it as JSON. Once the schema has moved
on, the file of the old one stays, and is what the new one is tried with.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from cronoq_cli.model.history import Window
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.notice import Incident, Notice, Told
from cronoq_cli.model.recurring import CatchUp, Overlap, PassedSlots, Schedule, ScheduleSpec, ScheduleState
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
)  # fmt: skip
from cronoq_cli.store.contract import Changes, Filter, NewTasks, Store, StoreReader
from cronoq_cli.store.sqlite import migrate, open_store

STORES = Path(__file__).parent / "stores"
BAD = "caf\udce9"
BASE = 1_790_000_000.0
ENVS = {"e1": b"PATH=/bin\0LANG=C\0ODD=\xff", "e2": b""}
STDIN = b"kept\0\xff"

FULL_SPEC = TaskSpec(
    name=BAD, command=["printf", BAD, "two words"], cwd="/tmp", umask=0o077, env="e1",
    env_changes={"A": BAD, "B": None}, pool="batch", priority=3, key="nightly", once=True, unique_s=60.0,
    if_exists="replace", kind="print", after=[Dependency("1"), Dependency("later", Condition.ANY)], await_deps_s=30.0,
    not_before=BASE + 10, kill_at=BASE + 9000, timeout_s=100.0, heartbeat_s=5.0, stop_signal=2, grace_s=3.5, retries=2,
    backoff=Backoff("linear", 1.0, 9.0), retry_on=[3], no_retry_on=[4], success_codes=[0, 7], on_lost="requeue",
    slots=2, tags={"a": BAD}, nice=5, stdin_kept=True, split=True, stdout="/tmp/{id}.out", stderr="/tmp/{name}.err",
    keep_s=50.0, hold=True, array_index=4, tenant="ann", labels={"gpu": "yes"}, uses={"gpu": 1.0}, start_at=BASE + 20,
    tolerance_s=2.0, on_miss="skip", deadline=BASE + 30, expires_at=BASE + 40, estimate_s=6.0, recurring="job",
    slot=BASE + 20,
)  # fmt: skip
SHELL_SPEC = TaskSpec(
    name="line", shell_line=f"echo {BAD}", shell="/bin/bash", stdin_text="read", reaction=True, env="e2", group="mail"
)


def make_task(number: int, status: Status) -> TaskRecord:
    """A task of that status, with what goes with it."""
    record = TaskRecord(
        id=number, spec=TaskSpec(name=f"job{number}", command=["true"], env="e1"), status=status, seq=number + 0.5,
        submitted_at=BASE, updated_at=BASE + 1, max_attempts=3,
    )  # fmt: skip
    if status in FINAL:
        record.finished_at, record.exit_code, record.attempt = BASE + 5, 0 if status is Status.SUCCEEDED else 3, 1
        record.log, record.usage = "/l/1.1.log", {"cpu_user_s": 0.5, "cpu_system_s": 0.25, "max_rss_bytes": 4096}
        record.message, record.outputs, record.progress = BAD, {"a": BAD}, "0.5"
        record.started_at, record.left_behind = BASE + 2, 2
    if status is Status.RUNNING:
        record.pid, record.attempt, record.slot, record.units = 4711, 1, 1, {"gpu": [0]}
        record.started_at, record.ready_at, record.stop_cause = BASE + 2, BASE + 1, "cancelled"
    if status in (Status.SCHEDULED, Status.RETRYING):
        record.due_at = BASE + 60
    return record


def make_tasks() -> list[TaskRecord]:
    """One of each status, one with everything in it, one of each kind that has something special."""
    tasks = [make_task(number, status) for number, status in enumerate(Status, 1)]
    last = len(tasks)
    full = make_task(last + 1, Status.BLOCKED)
    full.spec, full.held, full.reason, full.fingerprint, full.batch = FULL_SPEC, True, BAD, "f1", last + 1
    line = make_task(last + 2, Status.READY)
    line.spec, line.leased, line.ready_at, line.start_reason = SHELL_SPEC, True, BASE, "catch-up"
    member = make_task(last + 3, Status.BLOCKED)
    member.gathered_by, member.batch = last + 4, last + 1
    gatherer = make_task(last + 4, Status.READY)
    gatherer.spec = TaskSpec(name="mail", shell_line="send", members=[member.id], env="e2")
    leaving = make_task(last + 5, Status.CANCELLED)
    leaving.leaving, leaving.pid, leaving.signal = True, 4712, 15
    gone = make_task(last + 6, Status.FAILED)
    return [*tasks, full, line, member, gatherer, leaving, gone]


def make_schedules() -> list[Schedule]:
    """A cron expression with everything, an interval, and one of the boot."""
    template = TaskSpec(name="job", shell_line=f"echo {BAD}", env="e1", tags={"a": "b"})
    spec = ScheduleSpec(
        name="job", template=template, expr="0 30 2 * * *", seconds=True, tz="Europe/Berlin", overlap=Overlap.QUEUE,
        catch_up=CatchUp.ALL, catch_up_within_s=3600.0, priority_given=True, jitter_s=5.0, until=BASE + 1e6, max_runs=9,
        pause_after_failures=3, reserve=True, tolerance_s=4.0, on_miss="fail", deadline_after_s=60.0,
        hooks={"on_failure": BAD}, reactions={"on-end": ["echo over"]}, ping="https://example.org/p", comment="# mine",
    )  # fmt: skip
    state = ScheduleState(
        decided_at=BASE, next_at=BASE + 100, paused=True, paused_until=BASE + 200, pause_reason=BAD, runs=3, failures=1,
        chain=3, broken=True, boot_id="b", skips=[BASE + 300], newest_slot=BASE - 100, awake_at=7.0, skip_points=2,
        incident_at=BASE - 5, withdrawn=[BASE + 400],
    )  # fmt: skip
    plain = TaskSpec(name="x", command=["true"], env="e2")
    others = [
        ScheduleSpec(name="beat", template=plain, every_s=40.0, overlap=Overlap.REPLACE, catch_up=CatchUp.NONE),
        ScheduleSpec(name="boot", template=plain, reboot=True),
    ]
    wholes = [(spec, state), *((other, ScheduleState(decided_at=BASE)) for other in others)]
    return [Schedule(spec=one, state=at, added_at=BASE, updated_at=BASE + 1) for one, at in wholes]


def make_bulk(first: int) -> NewTasks:
    """Waiting tasks as a large submission leaves them."""
    specs = [TaskSpec(name="many", command=["echo", str(n)], env="e1", array_index=n) for n in range(4)]
    record = TaskRecord(
        id=first, spec=specs[0], status=Status.READY, seq=first + 1.0, batch=first, submitted_at=BASE,
        updated_at=BASE, ready_at=BASE,
    )  # fmt: skip
    return NewTasks(
        first=first,
        specs=specs,
        records=[record],
        events=[Transition(at=BASE, type="submitted", pool="default", status="ready")],
    )


def make_everything() -> Changes:
    """All of it in one commit."""
    tasks = make_tasks()
    full, first = next(t for t in tasks if t.spec is FULL_SPEC).id, tasks[0].id
    outcomes = ["succeeded", "failed", "interrupted", "lost", "cancelled", "not-counted", "not-started", None]
    attempt = AttemptRecord(
        task=full, number=9, started_at=BASE, ended_at=BASE + 1, run_s=1.0, outcome="failed", reason="retry",
        exit_code=3, signal=15, core=True, cause="time limit", message=BAD, pid=7, cpu_user_s=0.5, cpu_system_s=0.25,
        max_rss=4096, log_size=5, left_behind=1, log="/l/9.log", stderr_log="/l/9.err",
    )  # fmt: skip
    return Changes(
        new=tasks,
        bulks=[make_bulk(tasks[-1].id + 1)],
        attempts=[
            *(AttemptRecord(task=full, number=n, outcome=o, started_at=BASE) for n, o in enumerate(outcomes, 1)),
            attempt,
        ],
        edges_opened=[
            Edge(task=full, condition=Condition.SUCCESS, target=first),
            Edge(task=full, condition=Condition.ANY, awaited="later", awaited_until=BASE + 60),
            Edge(task=full + 1, condition=Condition.FAIL, target=first),
        ],
        batches=[Batch(first=full, last=full + 2, limit=1, max_fails=2, failed=1)],
        transitions=[
            Transition(at=BASE, type="submitted", id=full, key="nightly", pool="batch", status="blocked", message=BAD),
            Transition(
                at=BASE + 5, type="ended", id=6, pool="default", status="succeeded", attempt=1,
                ended=Ended("true", "succeeded", "succeeded", 1.0, 2.0, 2, in_time=True, on_time=False),
            ),
            Transition(at=BASE + 6, type="pool-scaled", pool="batch", message="4"),
        ],
        envs=ENVS,
        stdins={full: STDIN},
        pools={"batch": {"paused": True, "workers": 3}},
        run_times={("batch", "print"): [3.0, 1.5]},
        resources={"gpu": {"permits": 1}},
        incidents={"job": Incident(since=BASE, last_at=BASE + 1, count=2, told=[Told.FAILURE])},
        notices={
            "failure:1:x": Notice(
                id="failure:1:x", told=Told.FAILURE, at=BASE, task=full, attempt=9, key="nightly", pool="batch",
                schedule="job", due_at=BASE - 1, message=BAD, since=BASE, count=2,
            ),
        },
        schedules={schedule.spec.name: schedule for schedule in make_schedules()},
        passed=[
            PassedSlots(
                schedule="job", status="missed", first_at=BASE - 900, last_at=BASE - 300, count=7, more=True,
                reason=BAD, at=BASE,
            ),
            PassedSlots(schedule="job", status="skipped", first_at=BASE - 200, last_at=BASE - 200, at=BASE),
        ],
    )  # fmt: skip


def read_everything(store: StoreReader) -> dict[str, Any]:
    """What a store holds, read in all ways there are, as plain values."""
    tasks = store.list_where(Filter())
    ids = [task.id for task in tasks]
    names = [schedule.spec.name for schedule in store.list_schedules()]
    found = {
        "tasks": tasks,
        "attempts": {number: store.list_attempts(number) for number in ids},
        "edges": {number: store.list_edges(number, closed=True) for number in ids},
        "dependents": {number: store.list_dependents(number, closed=True) for number in ids},
        "batches": {number: store.find_batch(number) for number in ids},
        "events": store.list_transitions(0, 100),
        "sums": store.sum_ends(Window(BASE - 10, BASE + 100)),
        "envs": {name: store.find_env(name) for name in ENVS},
        "stdins": {number: store.find_stdin(number) for number in ids},
        "pools": store.load_pools(),
        "resources": store.load_resources(),
        "run_times": [[*kind, times] for kind, times in store.load_run_times().items()],
        "notices": store.list_notices(),
        "schedules": store.list_schedules(),
        "occurrences": {name: [task.id for task in store.list_occurrences(name, 9)] for name in names},
        "passed": {name: store.list_passed(name, 9) for name in names},
        "live": _read_live(store),
        "epoch": store.leadership().epoch,
    }
    return dict(json.loads(json.dumps(msgspec.to_builtins(found, str_keys=True))))


def _read_live(store: StoreReader) -> dict[str, Any]:
    live = store.read_live()
    return {
        "tasks": [task.id for task in live.tasks],
        "edges": live.edges,
        "next_id": live.next_id,
        "incidents": live.incidents,
        "schedules": [schedule.spec.name for schedule in live.schedules],
        "damaged": {**live.damaged, **live.damaged_schedules},
    }


def fill(store: Store) -> None:
    """Store all of it, and remove a little again."""
    changes = make_everything()
    store.commit(changes)
    last = changes.bulks[-1].first + len(changes.bulks[-1].specs) - 1
    store.commit(Changes(edges_closed=changes.edges_opened[-1:], removed=[changes.new[-1].id, last]))


def main() -> None:
    """Write the fixture of the present schema."""
    path = STORES / f"schema-{migrate.newest_version()}.db"
    path.unlink(missing_ok=True)
    with contextlib.closing(open_store(str(path))) as store:
        store.claim("fixture", BASE)
        fill(store)
        known = read_everything(store)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")
        db.execute("PRAGMA journal_mode = WAL")
    path.with_suffix(".json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
