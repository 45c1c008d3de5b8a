"""Answers reads from the store when no daemon runs. Nothing here writes, and nothing is drawn here."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cronoq_cli.client.explaining import explain_record
from cronoq_cli.config.live import override_resource
from cronoq_cli.config.loading import load_settings
from cronoq_cli.config.paths import Paths
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.errors import QUEUE_ONE, ExitStatus, InvalidError, NoDaemonError, NotFoundError, StoreError, UsageError
from cronoq_cli.logs.cap import can_cut
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.history import Running, Window, describe_stats
from cronoq_cli.model.ids import describe_missing, find_run, hint_for_id
from cronoq_cli.model.lifecycle import FINAL, LIVE, Status
from cronoq_cli.model.metrics import (
    OLDEST_READY,
    OLDEST_READY_HELP,
    TASKS,
    TASKS_HELP,
    UP,
    UP_HELP,
    describe_families,
    gauge,
)
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.places import describe_cap, log_places
from cronoq_cli.model.recurring import is_ahead, was_asked_for
from cronoq_cli.model.snapshot import Defaults, describe_pool, describe_resource, describe_task, describe_transition
from cronoq_cli.model.task import Priority, TaskRecord
from cronoq_cli.model.words import KEY_HINT, hint_for, hint_for_schedule, is_key
from cronoq_cli.store.contract import Filter, LiveState, StoreReader, iter_env
from cronoq_cli.store.events import find_events
from cronoq_cli.store.sqlite import open_reader
from cronoq_cli.wire.requests import (
    Complete,
    DaemonStatus,
    Events,
    Explain,
    ListTasks,
    Metrics,
    Pools,
    Reply,
    Request,
    Resources,
    Selector,
    ShowTasks,
    Stats,
    Throughput,
    is_read_from_store,
)
from cronoq_cli.wire.schedules import ScheduleHistory, Schedules
from cronoq_cli.wire.version import PROTOCOL, VERSION

if TYPE_CHECKING:
    from cronoq_cli.commands.planning import QueueSnapshot

LAST_ENDED = 10
"""How many ended tasks a listing shows (specification section 8)."""

_COUNTED = ("blocked", "retrying", "running", "scheduled")
_LIVE = [status.value for status in LIVE]
_FINAL = [status.value for status in FINAL]
_ORDER = (Status.RUNNING, Status.READY, Status.RETRYING, Status.SCHEDULED, Status.BLOCKED)


def answer_offline(paths: Paths, request: Request, now: float) -> Reply:
    """The reply to one of `READS`, from the store of these paths; `now` is in unix seconds.

    Raises NotFoundError, UsageError, InvalidError, StoreError, and NoDaemonError for any other request.
    """
    if isinstance(request, DaemonStatus):
        return Reply(doc={"daemon": _describe_absent(paths)}, exit=ExitStatus.NO_DAEMON)
    with contextlib.closing(_Offline(paths, _load_for(request, paths), now)) as offline:
        answer = _ANSWERS.get(type(request))
        if answer is not None:
            return Reply(doc=answer(offline, request))
    raise NoDaemonError("no daemon runs", hint="start one with: cronoq daemon start")


def _load_for(request: Request, paths: Paths) -> Settings:
    """The configuration. Raises InvalidError for a wrong one, but not where a daemon may run that goes on by the one it
    has read."""
    try:
        return load_settings(paths.config_file)
    except InvalidError:
        if is_read_from_store(request):
            return Settings()
        raise


def load_snapshot(paths: Paths) -> QueueSnapshot:
    """The queue as it is stored now, and the configuration; nothing is changed. Raises InvalidError, StoreError."""
    from cronoq_cli.commands.planning import QueueSnapshot  # and with it the engine, which no other read needs

    settings = load_settings(paths.config_file)
    reader = open_reader(paths.db)
    if reader is None:
        return QueueSnapshot(settings, LiveState(tasks=[], edges=[], batches=[], pools={}, next_id=1))
    with contextlib.closing(reader):
        return QueueSnapshot(settings, reader.read_live())


def count_live(paths: Paths) -> int:
    """How many tasks a daemon would find to go on with; 0 where the store cannot be asked."""
    try:
        reader = open_reader(paths.db)
        if reader is None:
            return 0
        with contextlib.closing(reader):
            counts = reader.count_by_status()
    except StoreError:
        return 0
    return sum(counts.get(status, 0) for status in _LIVE)


def _describe_absent(paths: Paths) -> dict[str, Any]:
    stopped = os.path.lexists(os.fsencode(paths.stopped_mark))
    about = {"state": "idle", "role": None, "pid": None, "version": VERSION, "protocol": PROTOCOL}
    return about | {"stopped": stopped, "tasks": count_live(paths)}


class _Offline:
    """One look at a store."""

    def __init__(self, paths: Paths, settings: Settings, now: float) -> None:
        self._reader: StoreReader | None = open_reader(paths.db)
        self._settings = settings
        self._logs_dir = paths.logs_dir
        self._now = now

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    # Documents

    def list_tasks(self, request: ListTasks) -> dict[str, Any]:
        if self._reader is None:
            if request.select.refs:
                raise NotFoundError("nothing matched: there is no task yet", hint=QUEUE_ONE)
            return {"tasks": [], "more": 0}
        more: dict[str, Any]
        if request.finished:
            records, more = self._list_finished(self._reader, request)
        elif request.select.is_empty():
            records, more = self._list_usual(self._reader, request.limit)
        else:
            records, more = self._list_selected(self._reader, request)
        return {"tasks": [self._describe(record) for record in records], **more}

    def _list_usual(self, reader: StoreReader, limit: int | None) -> tuple[list[TaskRecord], dict[str, Any]]:
        """What runs, the next waiting in their order, the last ended; and how many waiting are left out."""
        stored = reader.list_where(Filter(statuses=_LIVE))
        live = sorted((record for record in stored if not is_ahead(record, self._now)), key=_place)
        running = [record for record in live if record.status is Status.RUNNING]
        waiting = live[len(running) :]
        shown = waiting if limit is None else waiting[:limit]
        most = None if limit is None else LAST_ENDED
        ended = reader.list_where(Filter(statuses=_FINAL, by_end=True, newest_first=True, limit=most))
        counts = Counter(record.status.value for record in live)
        return [*running, *shown, *reversed(ended)], {"more": len(waiting) - len(shown), "summary": dict(counts)}

    def _list_selected(self, reader: StoreReader, request: ListTasks) -> tuple[list[TaskRecord], dict[str, Any]]:
        records = self._select(reader, request.select, list(Status))
        live = sorted((record for record in records if record.status in LIVE), key=_place)
        records = [*live, *(record for record in records if record.status not in LIVE)]
        most = len(records) if request.limit is None else request.limit
        shown = records[:most] if live else records[len(records) - min(most, len(records)) :]
        return shown, {"more": len(records) - len(shown)}

    def _list_finished(self, reader: StoreReader, request: ListTasks) -> tuple[list[TaskRecord], dict[str, Any]]:
        wanted = self._filter(request.select, [Status(status) for status in _FINAL])
        wanted.statuses = [status for status in wanted.statuses or _FINAL if status in _FINAL]
        wanted.after_id = request.after_id
        wanted.limit = None if request.limit is None else request.limit + 1
        if request.select.refs:
            wanted.ids = [span for ref in request.select.refs for span in self._resolve(reader, ref)]
        records = reader.list_where(wanted)
        shown = records if request.limit is None else records[: request.limit]
        return shown, {"more": len(records) - len(shown)}

    def show(self, request: ShowTasks) -> dict[str, Any]:
        reader = self._reader
        if reader is None:
            raise NotFoundError("nothing matched: there is no task yet", hint=QUEUE_ONE)
        documents = []
        for record in self._select(reader, request.select, list(Status)):
            env = dict(_read_env(reader, record))
            facts: dict[str, Any] = {"env": env} if request.env else {"env_names": list(env)}
            facts |= {"attempts": reader.list_attempts(record.id), "edges": reader.list_edges(record.id)}
            for attempt in facts["attempts"]:
                attempt.log, attempt.stderr_log = log_places(record.spec, self._logs_dir, record.id, attempt.number)
            cap = describe_cap(record.spec, self._settings.logs.cap, holes=can_cut(self._logs_dir))
            documents.append(self._describe(record, **facts) | cap)
        return {"task": documents[0]} if len(documents) == 1 else {"tasks": documents}

    def list_events(self, request: Events) -> dict[str, Any]:
        reader = self._reader
        if reader is None:
            return {"events": [], "last_seq": 0}
        ids = None
        if request.select is not None and not request.select.is_empty():
            ids = [record.id for record in self._select(reader, request.select, list(Status))]
        wanted = request.filter or EventFilter()
        for pool in wanted.pools:
            if pool not in self._settings.pools:
                raise _unknown_pool(pool, self._settings.pools)
        last_seq = reader.last_transition_seq()
        found = find_events(
            reader, wanted, after_seq=request.after_seq, up_to_seq=last_seq, limit=request.limit, task_ids=ids
        )
        return {
            "events": [describe_transition(event) for event in found],
            "last_seq": last_seq,
        }

    def sum_up(self, request: Stats) -> dict[str, Any]:
        """The figures of a window; it begins no earlier than the history that is kept."""
        reader, pool = self._reader, request.pool
        first_at = None if reader is None else reader.first_transition_at()
        window = Window(max(self._now - request.window_s, min(first_at or 0.0, self._now)), self._now)
        sums = [] if reader is None else reader.sum_ends(window, pool=pool)
        if not sums and pool is not None and pool not in self._settings.pools:
            raise _unknown_pool(pool, self._settings.pools)
        sums = [one for one in sums if request.kind in (None, one.kind)]
        costs = {name: settings.autoscale.cost_per_worker_second for name, settings in self._settings.pools.items()}
        return {"stats": describe_stats(sums, self._list_running(request), window, costs)}

    def sum_steps(self, request: Throughput) -> dict[str, Any]:
        """The figures of a chart; `since` is None where there is no history at all."""
        reader = self._reader
        first_at = None if reader is None else reader.first_transition_at()
        if reader is None or first_at is None:
            return {"since": None, "last_seq": 0, "steps": []}
        window = Window(max(self._now - request.window_s, first_at), self._now)
        last_seq = reader.last_transition_seq()
        found = reader.sum_steps(window, request.step_s, last_seq)
        steps = [[number, *step] for number, step in sorted(found.items())]
        return {"since": format_utc(window.since), "last_seq": last_seq, "steps": steps}

    def measure(self, request: Metrics) -> dict[str, Any]:
        """The metrics that make sense without a daemon: that there is none, and what waits."""
        pools = [self._describe_pool(name, pool) for name, pool in self._settings.pools.items()]
        tasks = [
            ({"pool": pool["name"], "status": status}, float(count))
            for pool in pools
            for status, count in (("ready", sum(pool["waiting"].values())), *((word, pool[word]) for word in _COUNTED))
        ]
        ages = [({"pool": pool["name"]}, pool["oldest_ready_s"] or 0.0) for pool in pools]
        families = [
            gauge(UP, UP_HELP, [({}, 0)]),
            gauge(TASKS, TASKS_HELP, tasks),
            gauge(OLDEST_READY, OLDEST_READY_HELP, ages, "seconds"),
        ]
        return {"metrics": describe_families(families)}

    def _list_running(self, request: Stats) -> list[Running]:
        if self._reader is None:
            return []
        pools = None if request.pool is None else [request.pool]
        return [
            Running(task.spec.pool, task.spec.kind, task.started_at, task.spec.slots)
            for task in self._reader.list_where(Filter(statuses=[Status.RUNNING], pools=pools))
            if task.started_at is not None and request.kind in (None, task.spec.kind)
        ]

    def list_pools(self, request: Pools) -> dict[str, Any]:
        pools = self._settings.pools
        if request.name is not None and request.name not in pools:
            raise _unknown_pool(request.name, pools)
        if request.name is not None:
            return {"pool": self._describe_pool(request.name, pools[request.name])}
        return {"pools": [self._describe_pool(name, pool) for name, pool in pools.items()]}

    def list_resources(self, request: Resources) -> dict[str, Any]:
        known = self._settings.resources
        if request.name is not None and request.name not in known:
            raise InvalidError(
                f"unknown resource {request.name!r}",
                hint=hint_for(request.name, list(known)) if known else "the configuration has none",
                code="unknown-resource",
            )
        changed = {} if self._reader is None else self._reader.load_resources()
        running = [] if self._reader is None else self._reader.list_where(Filter(statuses=[Status.RUNNING]))
        documents = []
        for name in known if request.name is None else [request.name]:
            size = override_resource(known[name], changed.get(name, {}))
            held_by = [record.id for record in running if name in record.units]
            given = sum(len(record.units.get(name, ())) for record in running)
            documents.append(
                describe_resource(
                    name,
                    permits=size.permits,
                    rate_s=size.rate_s,
                    burst=size.capacity if size.is_bucket else None,
                    free=None if size.permits is None else max(0, size.permits - given),
                    held_by=held_by,
                    changed=size != known[name],
                )
            )
        return {"resources": documents} if request.name is None else {"resource": documents[0]}

    def explain(self, request: Explain) -> dict[str, Any]:
        reader = self._reader
        if reader is None:
            raise NotFoundError("nothing matched: there is no task yet", hint=QUEUE_ONE)
        records = self._select(reader, request.select, list(Status))
        found = [_explain(reader, record) for record in records]
        return {"explain": found[0] if len(found) == 1 else found}

    def list_schedules(self, request: Schedules) -> dict[str, Any]:
        from cronoq_cli.commands.schedules import (
            list_documents,
            list_last_ids,
            no_env,
        )  # and with it the rules, which no other read needs

        if self._reader is None:
            return list_documents([], request, self._now, [], no_env)
        found = self._reader.list_schedules()
        last = self._reader.list_tasks(list_last_ids(found, self._now, self._reader))
        return list_documents(found, request, self._now, last, self._reader.find_env)

    def list_history(self, request: ScheduleHistory) -> dict[str, Any]:
        from cronoq_cli.commands.schedules import history_document

        return history_document(self._reader, request, self._now, lambda records: records)

    def complete(self, request: Complete) -> dict[str, Any]:
        from cronoq_cli.commands.candidates import Source, find_candidates, name_schedules  # no other read needs it

        reader = self._reader
        if reader is None:
            source = Source(self._settings, lambda wanted: [])
        else:
            source = Source(self._settings, reader.list_where, lambda: name_schedules(reader.list_schedules()))
        return {"words": find_candidates(request.kinds, request.prefix, source)}

    def _describe_pool(self, name: str, pool: PoolSettings) -> dict[str, Any]:
        counts = {} if self._reader is None else self._reader.count_by_status(name)
        ready: list[TaskRecord] = []
        if self._reader is not None:
            ready = self._reader.list_where(Filter(statuses=[Status.READY], pools=[name]))
        waiting: dict[str, int] = {}
        for record in ready:
            word = Priority(record.spec.priority).word
            waiting[word] = waiting.get(word, 0) + 1
        return describe_pool(
            name,
            workers=pool.size.start,
            min=pool.size.min,
            max=pool.size.max,
            waiting=waiting,
            blocked=counts.get("blocked", 0),
            scheduled=counts.get("scheduled", 0),
            retrying=counts.get("retrying", 0),
            running=counts.get("running", 0),
            oldest_ready_at=min((record.ready_at for record in ready if record.ready_at is not None), default=None),
            now=self._now,
        )

    def _describe(self, record: TaskRecord, **facts: Any) -> dict[str, Any]:
        if record.attempt:
            record.log = log_places(record.spec, self._logs_dir, record.id, record.attempt)[0]
        if record.status is Status.BLOCKED and self._reader is not None:
            facts.setdefault("edges", self._reader.list_edges(record.id))
        if record.batch is not None and self._reader is not None:
            batch = self._reader.find_batch(record.batch)
            facts["batch_end"] = None if batch is None else batch.last
        return describe_task(record, now=self._now, defaults=self._defaults(record), **facts)

    def _defaults(self, record: TaskRecord) -> Defaults:
        pool = self._settings.pools.get(record.spec.pool, PoolSettings())
        usual = Defaults()
        return Defaults(
            shell=pool.shell or usual.shell,
            retries=pool.retries or 0,
            timeout_s=pool.timeout_s,
            on_lost=pool.on_lost or usual.on_lost,
        )

    # Selectors

    def _select(self, reader: StoreReader, selector: Selector, usual: list[Status]) -> list[TaskRecord]:
        """The tasks a selector means, those named in the order named. Raises NotFoundError, UsageError."""
        wanted = self._filter(selector, usual)
        if not selector.refs:
            records = reader.list_where(wanted)
            if not selector.statuses and not selector.tags:
                records = [record for record in records if not is_ahead(record, self._now)]
        else:
            spans = [span for ref in selector.refs for span in self._resolve(reader, ref)]
            wanted.ids = spans
            found = {record.id: record for record in reader.list_where(wanted)}
            ids = dict.fromkeys(i for first, last in spans for i in sorted(found) if first <= i <= last)
            records = [found[task_id] for task_id in ids]
        if not records:
            raise NotFoundError("nothing matched", hint="cronoq ls --limit all shows what there is")
        return records

    def _filter(self, selector: Selector, usual: list[Status]) -> Filter:
        known = [status.value for status in Status]
        statuses = [word.replace("-", "_") for word in selector.statuses]
        for given, status in zip(selector.statuses, statuses, strict=True):
            if status not in known:
                raise UsageError(f"no status {given!r}", hint=hint_for(status, known))
        for pool in selector.pools:
            if pool not in self._settings.pools:
                raise _unknown_pool(pool, self._settings.pools)
        return Filter(
            statuses=statuses or [status.value for status in usual],
            pools=selector.pools or None,
            tags=selector.tags or None,
            name_glob=selector.name_glob,
        )

    def _resolve(self, reader: StoreReader, ref: str) -> list[tuple[int, int]]:
        """The ids one reference means, as ranges with both ends in. Raises NotFoundError, UsageError."""
        run = find_run(ref)
        if run is not None:
            span = (run[0], run[-1])
            if not reader.list_where(Filter(ids=[span], limit=1)):
                raise NotFoundError(describe_missing(*span), hint=hint_for_id(span[0], _find_newest_id(reader)))
            return [span]
        if ref == "last":
            newest = _find_last(reader)
            if newest is None:
                raise NotFoundError("there is no task yet, so there is no last one", hint=QUEUE_ONE)
            return [(newest.id, newest.id)]
        if not is_key(ref):
            raise UsageError(f"{ref!r} is neither an id, a run of ids nor a key", hint="ids are numbers, runs are 3-8")
        found = reader.find_newest_with_key(ref)
        if found is None:
            known = any(schedule.spec.name == ref for schedule in reader.list_schedules())
            raise NotFoundError(f"no task has the key {ref!r}", hint=hint_for_schedule(ref) if known else KEY_HINT)
        return [(found.id, found.id)]


_ANSWERS: Mapping[type, Callable[[_Offline, Any], dict[str, Any]]] = {
    ListTasks: _Offline.list_tasks,
    ShowTasks: _Offline.show,
    Events: _Offline.list_events,
    Stats: _Offline.sum_up,
    Throughput: _Offline.sum_steps,
    Metrics: _Offline.measure,
    Pools: _Offline.list_pools,
    Resources: _Offline.list_resources,
    Explain: _Offline.explain,
    Schedules: _Offline.list_schedules,
    ScheduleHistory: _Offline.list_history,
    Complete: _Offline.complete,
}


def _find_newest_id(reader: StoreReader) -> int:
    found = reader.list_where(Filter(newest_first=True, limit=1))
    return found[0].id if found else 0


def _find_last(reader: StoreReader) -> TaskRecord | None:
    """The newest task that a person or script asked for: no reaction to another, no occurrence of a schedule."""
    most = 16
    while True:
        newest = reader.list_where(Filter(newest_first=True, limit=most))
        found = next((record for record in newest if was_asked_for(record.spec)), None)
        if found is not None or len(newest) < most:
            return found
        most *= 8


def _place(record: TaskRecord) -> tuple[int, int, float]:
    """Order of a listing: what runs, then what waits: by status, class and sequence."""
    return _ORDER.index(record.status), -int(record.spec.priority), record.seq


def _read_env(reader: StoreReader, record: TaskRecord) -> Iterator[tuple[str, str]]:
    """The environment a task runs with: the stored one, its own changes over it."""
    blob = reader.find_env(record.spec.env) if record.spec.env else None
    env = {os.fsdecode(name): os.fsdecode(value) for name, value in iter_env(blob or b"")}
    for name, value in record.spec.env_changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    yield from env.items()


def _unknown_pool(name: str, pools: Iterable[str]) -> InvalidError:
    return InvalidError(f"unknown pool {name!r}", hint=hint_for(name, list(pools)), code="unknown-pool")


def _explain(reader: StoreReader, record: TaskRecord) -> dict[str, Any]:
    edges = reader.list_edges(record.id, closed=record.status in FINAL)
    batch = None if record.batch is None else reader.find_batch(record.batch)
    return explain_record(record, edges, reader.list_attempts(record.id), batch)
