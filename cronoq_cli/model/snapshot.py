"""Documents of the specification (section 8): tasks, attempts, transitions, pools as plain JSON values.

Values only: records come in with what is known beside them, dictionaries go out. How they are drawn lives in
commands/render, who gathers the facts in daemon/handlers and client/offline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, TypedDict, Unpack

import msgspec

from cronoq_cli.errors import UsageError
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.resource import format_rate
from cronoq_cli.model.task import AttemptRecord, Condition, Dependency, Edge, OnLost, Priority, TaskRecord, Transition

_PRIORITY_WORDS = {int(priority): priority.word for priority in Priority}
_STARTED_OR_ENDED = FINAL | {Status.RUNNING}
_DUE = frozenset({Status.SCHEDULED, Status.RETRYING})


class Defaults(msgspec.Struct, frozen=True):
    """What the pool gives a task whose spec leaves it open, so that a document says what really applies."""

    shell: str = "/bin/sh"
    retries: int = 0
    timeout_s: float | None = None
    on_lost: str = OnLost.COUNT


class TaskFacts(TypedDict, total=False):
    """What may be known of a task beside its record; each part left out is simply not shown.

    `attempts`: oldest first, adds `attempts` and the exact `run_s` and `pid`. `edges`: open dependencies.
    `place`: position among the waiting, from 1. `now`: unix seconds, for what is still going on. `pid`: of
    its running process. `env_names`, `env`: names, or names with values, of its environment. `duplicate`: a
    submission found this one instead of making its own. `batch_end`: the last id of its batch. `expected_s`: how long
    a running task is expected to run, by its estimate or by what was learned.
    """

    attempts: Sequence[AttemptRecord] | None
    edges: Sequence[Edge] | None
    place: int | None
    now: float | None
    pid: int | None
    env_names: Iterable[str] | None
    env: Mapping[str, str] | None
    duplicate: bool
    defaults: Defaults
    batch_end: int | None
    expected_s: float | None


class PoolFacts(TypedDict, total=False):
    """The numbers of a pool. `waiting`: ready tasks by priority word. Moments are unix seconds.

    `held`: slots kept free for fixed starts. `wait_s`, `run_s`: {mean,p50,p90,p99}. Rates are shares of 1, `groups`
    documents of its groups: labels, workers, busy, shared. `worker_s`: slot seconds offered, `utilisation`: the share
    of them used. `scalings`: the last changes of its target (at, workers before, after, reason), oldest first.
    """

    workers: int
    min: int | None
    max: int | None
    busy: int
    held: int
    target: int | None
    reason: str | None
    paused: bool
    waiting: Mapping[str, int]
    blocked: int
    scheduled: int
    retrying: int
    running: int
    oldest_ready_at: float | None
    now: float | None
    started: int
    succeeded: int
    failed: int
    retried: int
    reservations: int
    wait_s: Mapping[str, float | None] | None
    run_s: Mapping[str, float | None] | None
    utilisation: float | None
    fixed_start_hit_rate: float | None
    deadline_hit_rate: float | None
    worker_s: float | None
    cost: float | None
    groups: Sequence[Mapping[str, Any]]
    scalings: Iterable[tuple[float, int, int, str]]


_NO_DEFAULTS = Defaults()


def describe_task(record: TaskRecord, **facts: Unpack[TaskFacts]) -> dict[str, Any]:
    """The document of a task: every field of the specification, absent ones null.

    `command` is always the argument vector as executed; `shell` is the shell line when the task is one, else
    null. `not_before` is the moment a scheduled or retrying task is waiting for, else the one asked for.
    `reason_started` is why it was, or will be, started. Fields of what a task does not use are null or {}.
    """
    spec, now = record.spec, facts.get("now")
    attempts, defaults = facts.get("attempts"), facts.get("defaults", _NO_DEFAULTS)
    not_before = record.due_at if record.due_at is not None and record.status in _DUE else spec.not_before
    document = {
        "id": record.id,
        "name": spec.name,
        "key": spec.key,
        "kind": spec.kind or None,
        "pool": spec.pool,
        "priority": _PRIORITY_WORDS[spec.priority],
        "status": record.status.value,
        "reason": record.reason,
        "held": record.held,
        "command": spec.command if spec.shell_line is None else [spec.shell or defaults.shell, "-c", spec.shell_line],
        "shell": spec.shell_line,
        "cwd": spec.cwd,
        "tenant": spec.tenant or None,
        "tags": spec.tags,
        "labels": spec.labels,
        "resources": {name: _whole(amount) for name, amount in spec.uses.items() if name[0] != "@"},
        "slots": spec.slots,
        "after": _describe_dependencies(record, facts.get("edges")),
        "attempt": record.attempt,
        "max_attempts": record.max_attempts,
        "exit_code": record.exit_code,
        "signal": record.signal,
        "message": record.message,
        "progress": find_progress(record.progress),
        "outputs": record.outputs,
        "recurring": spec.recurring or None,
        "reason_started": record.start_reason,
        "sequence": _whole(record.seq),
        "batch": _describe_batch(record.batch, facts.get("batch_end")),
        "array_index": spec.array_index,
        "group": spec.group,
        "duplicate": facts.get("duplicate", False),
        "estimate_s": _seconds(spec.estimate_s),
        "timeout_s": defaults.timeout_s if spec.timeout_s is None else spec.timeout_s,
        "retries": defaults.retries if spec.retries is None else spec.retries,
        "on_lost": str(spec.on_lost or defaults.on_lost),
        "expires_at": _time(spec.expires_at),
        "kill_at": _time(spec.kill_at),
        "left_behind": record.left_behind,
        "updated_at": _time(record.updated_at),
        "submitted_at": _time(record.submitted_at),
        "not_before": _time(not_before),
        "start_at": _time(spec.start_at),
        "deadline": _time(spec.deadline),
        "started_at": _time(record.started_at),
        "finished_at": _time(record.finished_at),
        "wait_s": _waited(record, now),
        "run_s": _ran(record, attempts, now),
        "pid": _pid(record, attempts, facts.get("pid")),
        "log": record.log,
        "usage": _describe_usage(record.usage) if record.usage else None,
    }
    if "place" in facts:
        document["place"] = facts["place"]
    if facts.get("expected_s") is not None:
        document["expected_s"] = _seconds(facts["expected_s"])
    if attempts is not None:
        document["attempts"] = [describe_attempt(attempt, now=now) for attempt in attempts]
    _add_environment(document, facts)
    return document


def _add_environment(document: dict[str, Any], facts: TaskFacts) -> None:
    env, names = facts.get("env"), facts.get("env_names")
    if names is None and env is not None:
        names = env
    if names is not None:
        document["env_names"] = sorted(names)
    if env is not None:
        document["env"] = dict(sorted(env.items()))


def _whole(number: float) -> float | int:
    """A whole number without a fraction: `2`, not `2.0`."""
    return int(number) if float(number).is_integer() else number


def _time(at: float | None) -> str | None:
    """As `format_utc`, but text is made once a second: a listing has many moments of few seconds."""
    if at is None:
        return None
    second, millis = divmod(round(at * 1000), 1000)
    return f"{_second(second)}.{millis:03d}Z" if millis else f"{_second(second)}Z"


@lru_cache(maxsize=4096)
def _second(number: int) -> str:
    minutes, second = divmod(number, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{_day(day)}{hour:02d}:{minute:02d}:{second:02d}"


@lru_cache(maxsize=1024)
def _day(number: int) -> str:
    return format_utc(number * 86_400.0)[:11]


def _seconds(value: float | None) -> float | None:
    """A length of time as it is shown: never negative (a wall clock may step back), to the microsecond."""
    if value is None or not isfinite(value):
        return None
    return round(value, 6) if value > 0 else 0.0


def _waited(record: TaskRecord, now: float | None) -> float | None:
    """Seconds from the first moment it was ready to its (latest) start, its end without a start, or now."""
    if record.ready_at is None:
        return None
    until = now
    if record.status in _STARTED_OR_ENDED:
        until = record.started_at if record.started_at is not None else record.finished_at
    return None if until is None else _seconds(until - record.ready_at)


def _ran(record: TaskRecord, attempts: Sequence[AttemptRecord] | None, now: float | None) -> float | None:
    """Seconds the latest attempt has run: measured where that is known, else from start to end or now."""
    if attempts and attempts[-1].run_s is not None:
        return _seconds(attempts[-1].run_s)
    if record.usage and record.usage.get("run_s") is not None:
        return _seconds(record.usage["run_s"])
    if record.started_at is None:
        return None
    until = now if record.status is Status.RUNNING else record.finished_at
    return None if until is None else _seconds(until - record.started_at)


def _pid(record: TaskRecord, attempts: Sequence[AttemptRecord] | None, known: int | None) -> int | None:
    """The process of a running task; a number from the past may belong to anybody by now."""
    if record.status is not Status.RUNNING:
        return None
    return attempts[-1].pid if known is None and attempts else known


def _describe_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    memory = usage.get("max_rss_bytes", usage.get("max_rss"))
    return {
        "cpu_user_s": _seconds(usage.get("cpu_user_s")),
        "cpu_system_s": _seconds(usage.get("cpu_system_s")),
        "max_rss_bytes": memory,
    }


def _describe_batch(first: int | None, last: int | None) -> str | None:
    """The batch as the reference that means all of it: `101-10100`."""
    if first is None:
        return None
    return str(first) if last in (None, first) else f"{first}-{last}"


def _describe_dependencies(record: TaskRecord, edges: Sequence[Edge] | None) -> list[dict[str, Any]]:
    """What it was asked to wait for, in order: `ref`, `condition`, the `task` meant (null: several, or nobody had the
    key yet), whether still `open` (null: unknown).

    Only a blocked task has open edges, so `edges` may be left out for all others.
    """
    if not record.spec.after and not edges:
        return []
    wanted, left = record.spec.after, list(edges or ())
    mine: list[list[Edge]] = []
    for one in wanted:
        mine.append([edge for edge in left if _belongs(edge, one)])
        left = [edge for edge in left if edge not in mine[-1]]
    answered, doubtful = _find_answered(wanted, mine, left)
    known = edges is not None or record.status is not Status.BLOCKED
    documents = []
    for place, one in enumerate(wanted):
        edge = answered.get(place)
        task = one.task if edge is None else edge.target
        still_open = bool(mine[place]) or edge is not None if known and place not in doubtful else None
        documents.append(_describe_dependency(one.ref, one.condition, task, still_open))
    for edge in left:
        if edge not in answered.values():
            target = edge.awaited if edge.target is None else str(edge.target)
            documents.append(_describe_dependency(target, edge.condition, edge.target, True))
    return documents


def _find_answered(
    wanted: Sequence[Dependency], mine: list[list[Edge]], left: list[Edge]
) -> tuple[dict[int, Edge], set[int]]:
    """The keys that nobody had at first and a task has now, by place with their edge, and those that it is unknown of.

    Such an edge no longer says for which key it is: one of one is clear, of several none is."""
    found: dict[int, Edge] = {}
    doubtful: set[int] = set()
    for condition in Condition:
        edges = [edge for edge in left if edge.condition == condition]
        places = [
            place
            for place, one in enumerate(wanted)
            if one.condition == condition and one.task is None and not mine[place] and not one.ref[:1].isdecimal()
        ]
        if len(places) == len(edges) == 1:
            found[places[0]] = edges[0]
        elif edges:
            doubtful.update(places)
    return found, doubtful


def _describe_dependency(ref: str | None, condition: str, task: int | None, still_open: bool | None) -> dict[str, Any]:
    if task is None and ref is not None and ref.isdecimal():
        task = int(ref)
    return {"ref": ref, "condition": str(condition), "task": task, "open": still_open}


def _belongs(edge: Edge, wanted: Dependency) -> bool:
    """Whether an open edge came from this dependency, which names an id, a run of ids or a key."""
    if edge.condition != wanted.condition:
        return False
    if edge.target is None:
        return edge.awaited == wanted.ref
    if wanted.task is not None:
        return edge.target == wanted.task
    first, _, last = wanted.ref.partition("-")
    if not (first.isdecimal() and (not last or last.isdecimal())):
        return False
    return int(first) <= edge.target <= int(last or first)


def describe_attempt(attempt: AttemptRecord, *, now: float | None = None) -> dict[str, Any]:
    """The document of one attempt, as `show` lists them. Without an end, `run_s` counts up to `now`."""
    run_s = attempt.run_s
    if run_s is None and attempt.started_at is not None:
        until = now if attempt.ended_at is None else attempt.ended_at
        run_s = None if until is None else until - attempt.started_at
    known = attempt.cpu_user_s is not None or attempt.max_rss is not None
    usage = {
        "cpu_user_s": _seconds(attempt.cpu_user_s),
        "cpu_system_s": _seconds(attempt.cpu_system_s),
        "max_rss_bytes": attempt.max_rss,
    }
    return {
        "number": attempt.number,
        "reason_started": attempt.reason,
        "started_at": _time(attempt.started_at),
        "finished_at": _time(attempt.ended_at),
        "run_s": _seconds(run_s),
        "outcome": attempt.outcome,
        "cause": attempt.cause,
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
        "core": attempt.core,
        "message": attempt.message,
        "pid": attempt.pid,
        "left_behind": attempt.left_behind,
        "log": attempt.log,
        "stderr_log": attempt.stderr_log,
        "log_bytes": attempt.log_size,
        "usage": usage if known else None,
    }


def describe_transition(transition: Transition) -> dict[str, Any]:
    """The document of one event of the history."""
    return {
        "seq": transition.seq,
        "at": _time(transition.at),
        "type": transition.type,
        "id": transition.id,
        "key": transition.key,
        "pool": transition.pool,
        "status": transition.status,
        "attempt": transition.attempt,
        "message": transition.message,
    }


def describe_pool(name: str, **facts: Unpack[PoolFacts]) -> dict[str, Any]:
    """The document of a pool. A pool of fixed size has `min` and `max` equal to `workers`, its target."""
    workers, waiting = facts.get("workers", 0), facts.get("waiting", {})
    oldest, now = facts.get("oldest_ready_at"), facts.get("now")
    return {
        "name": name,
        "workers": workers,
        "min": _given(facts.get("min"), workers),
        "max": _given(facts.get("max"), workers),
        "busy": facts.get("busy", 0),
        "held": facts.get("held", 0),
        "target": _given(facts.get("target"), workers),
        "reason": facts.get("reason"),
        "paused": facts.get("paused", False),
        "waiting": {priority.word: waiting.get(priority.word, 0) for priority in reversed(Priority)},
        "blocked": facts.get("blocked", 0),
        "scheduled": facts.get("scheduled", 0),
        "retrying": facts.get("retrying", 0),
        "running": facts.get("running", 0),
        "reservations": facts.get("reservations", 0),
        "oldest_ready_s": None if oldest is None or now is None else _seconds(now - oldest),
        "started": facts.get("started", 0),
        "succeeded": facts.get("succeeded", 0),
        "failed": facts.get("failed", 0),
        "retried": facts.get("retried", 0),
        "wait_s": facts.get("wait_s"),
        "run_s": facts.get("run_s"),
        "utilisation": _rounded(facts.get("utilisation")),
        "fixed_start_hit_rate": facts.get("fixed_start_hit_rate"),
        "deadline_hit_rate": facts.get("deadline_hit_rate"),
        "worker_s": _seconds(facts.get("worker_s")),
        "cost": _rounded(facts.get("cost")),
        "groups": list(facts.get("groups", ())),
        "scalings": [
            {"at": _time(at), "from": before, "to": after, "reason": reason}
            for at, before, after, reason in facts.get("scalings", ())
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


class ResourceFacts(TypedDict, total=False):
    """The numbers of a resource: `permits` of a semaphore, or `rate_s` (units a second) and `burst` of a token bucket.

    `free`: units there now. `held_by`: ids of the tasks that hold some. `waiting`: tasks that lack some of it, None
    where nobody knows. `changed`: by command, unlike the configuration.
    """

    permits: int | None
    rate_s: float | None
    burst: float | None
    free: float | None
    held_by: Sequence[int]
    waiting: int | None
    changed: bool


def describe_resource(name: str, **facts: Unpack[ResourceFacts]) -> dict[str, Any]:
    """The document of a resource; `rate` is text such as `10/s`, `rate_per_s` the same as a number."""
    rate_s, free, burst = facts.get("rate_s"), facts.get("free"), facts.get("burst")
    return {
        "name": name,
        "kind": "semaphore" if rate_s is None else "token bucket",
        "permits": facts.get("permits"),
        "rate": None if rate_s is None else format_rate(rate_s),
        "rate_per_s": rate_s,
        "burst": None if burst is None else _whole(burst),
        "free": None if free is None else _whole(free),
        "held_by": list(facts.get("held_by", ())),
        "waiting": facts.get("waiting"),
        "changed": facts.get("changed", False),
    }


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


def parse_progress(text: str) -> float:
    """The share done, 0 to 1, of `0.4`, `40%` or `12/50` as a task reports it; beyond the whole is 1.

    Raises UsageError for anything else.
    """
    found = find_progress(text)
    if found is None:
        raise UsageError(f"{text!r} is not a progress", hint="write it like 0.4, 40% or 12/50")
    return found


def find_progress(text: str | None) -> float | None:
    """As `parse_progress`, but None for what is no progress: a task may have written anything."""
    if not text:
        return None
    part, slash, whole = text.strip().partition("/")
    try:
        if slash:
            share = float(part) / float(whole)
        elif part.endswith("%"):
            share = float(part[:-1]) / 100
        else:
            share = float(part)
    except (ValueError, ZeroDivisionError):
        return None
    return min(share, 1.0) if isfinite(share) and share >= 0 else None
