"""Records to rows and back: columns for what is searched by, JSON for the records themselves.

Few columns and one decoder in C for the whole record make it fast; a new field needs no migration. No SQL here. JSON
goes through msgspec; lone surrogates, which it refuses, through the standard library, which escapes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.recurring import PassedSlots, Schedule, ScheduleSpec, ScheduleState
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, Ended, TaskRecord, TaskSpec, Transition

Row = tuple[Any, ...]
_T = TypeVar("_T")

_STATE_ALWAYS = ("status", "live", "leaving", "seq", "batch", "state")
_BIRTH_ALWAYS = ("pool", "priority", "name", "env", "spec")
STATE = (*_STATE_ALWAYS, "finished_at", "fingerprint")
"""Columns that every update writes."""
BIRTH = (*_BIRTH_ALWAYS, "key", "tags", "keep_s", "recurring", "slot")
"""Columns written with a new task, and again only with a changed spec."""
PLAIN = (*_STATE_ALWAYS, *_BIRTH_ALWAYS)
"""The columns of STATE and BIRTH that are never left out: all that most new tasks have."""
READ = ("id", "state", "spec")
"""Columns in the order `decode_task` takes them: what is searched by stands in the JSON once more."""


def _lean(kind: type[msgspec.Struct], *apart: str) -> Any:
    """A struct of the same fields but those kept apart in columns, whose JSON leaves defaults out."""
    fields = []
    for field in msgspec.structs.fields(kind):
        if field.name in apart:
            continue
        if field.default_factory is not msgspec.NODEFAULT:
            fields.append((field.name, field.type, msgspec.field(default_factory=field.default_factory)))
        else:
            fields.append((field.name, field.type, msgspec.field(default=field.default)))
    return msgspec.defstruct(f"Lean{kind.__name__}", fields, omit_defaults=True, kw_only=False)


_NOTHING = (None, None, None, None, None)
_State = _lean(TaskRecord, "id", "spec")
_Event = _lean(Transition, "id", "seq", "ended")
_state_of = attrgetter(*_State.__struct_fields__)
_event_of = attrgetter(*_Event.__struct_fields__)
_end_of = attrgetter(*Ended.__struct_fields__)
_encode = msgspec.json.Encoder().encode
_decoders: dict[Any, Callable[[bytes | str], Any]] = {}


class DamagedRowError(Exception):
    """A stored row that is no record of ours; the text says what was found."""


def encode_json(value: object) -> bytes:
    """The value as JSON; lone surrogates become escapes."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":")).encode()


def encode_all(values: list[Any]) -> list[bytes]:
    """Each value as JSON."""
    try:
        return list(map(_encode, values))
    except UnicodeEncodeError:
        return list(map(encode_json, values))


def decode_json(data: bytes | str, kind: type[_T]) -> _T:
    """A value of the kind from JSON as `encode_json` writes it. Raises DamagedRowError."""
    decode = _decoders.get(kind)
    if decode is None:
        decode = _decoders[kind] = msgspec.json.Decoder(kind).decode
    try:
        value: _T = decode(data)
    except msgspec.ValidationError as error:
        raise DamagedRowError(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        return _decode_escaped(data, kind, error)
    return value


def _decode_escaped(data: bytes | str, kind: type[_T], first: Exception) -> _T:
    try:
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedRowError(str(first)) from error


def bound_text(value: object) -> object:
    """A value SQLite can bind: text with lone surrogates as a blob, everything else as it is."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def bound_row(row: Iterable[object]) -> Row:
    """A whole row of what SQLite can bind."""
    return tuple(bound_text(value) for value in row)


def plain_text(value: Any) -> Any:
    """The opposite of `bound_text`; of damaged bytes what can be read."""
    if type(value) is not bytes:
        return value
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "surrogateescape")


def encode_state(record: TaskRecord) -> Row:
    """The columns of STATE."""
    status, finished_at = record.status, record.finished_at
    live, leaving = 1 if status in LIVE else 0, 1 if record.leaving else 0
    state = encode_json(_State(*_state_of(record)))
    return status._value_, live, leaving, record.seq, record.batch, state, finished_at, record.fingerprint


def encode_birth(spec: TaskSpec, env: int | None) -> Row:
    """The columns of BIRTH; `env` is the number of the environment."""
    tags = json.dumps(spec.tags) if spec.tags else None
    blob, recurring = encode_json(spec), spec.recurring or None
    return spec.pool, int(spec.priority), spec.name, env, blob, spec.key, tags, spec.keep_s, recurring, spec.slot


def find_plain(state: Row, birth: Row) -> Row | None:
    """The columns of PLAIN where the others are all empty, else None: what is not bound costs nothing."""
    if state[6:] == _NOTHING[:2] and birth[5:] == _NOTHING:
        return (*state[:6], *birth[:5])
    return None


def decode_tags(stored: str | bytes | None) -> dict[str, str]:
    """The tags of a task as their column keeps them; none where it cannot be read."""
    if stored is None:
        return {}
    try:
        return decode_json(stored, dict[str, str])
    except DamagedRowError:
        return {}


def decode_task(row: Row) -> TaskRecord:
    """The record of a row of READ, all of it judged by the decoder at once. Raises DamagedRowError."""
    task_id, state, spec = row
    try:
        whole = b'{"id":%d,"spec":%b,%b' % (task_id, spec, state[1:])
    except TypeError as error:
        raise DamagedRowError("it is not stored as JSON") from error
    return decode_json(whole, TaskRecord)


def salvage_task(row: Row, why: str) -> TaskRecord:
    """A failed record in place of a row that cannot be decoded: what can still be read, and the reason."""
    task_id, state, spec = row
    try:
        known = msgspec.structs.asdict(decode_json(state, _State))
    except DamagedRowError:
        known = {"seq": float(task_id), "submitted_at": 0.0, "updated_at": 0.0}
    known["finished_at"] = known.get("finished_at") or known["updated_at"]
    known |= {
        "status": Status.FAILED,
        "reason": "unreadable",
        "message": f"the stored task cannot be read: {why}",
        "held": False,
        "leased": False,
        "leaving": False,
    }
    return TaskRecord(id=task_id, spec=_salvage_spec(spec), **known)


def _salvage_spec(spec: Any) -> TaskSpec:
    try:
        return decode_json(spec, TaskSpec)
    except DamagedRowError:
        return TaskSpec(name="(unreadable)")


ATTEMPT = ("task", "number", "record")
EVENT = ("seq", "task", "record")
END = ("ended_at", "pool", "kind", "final", "outcome", "wait_s", "run_s", "slots", "in_time", "on_time")
"""Columns that an event which is an end has beside those of EVENT."""
BATCH = ("first", "last", "record")
EDGE = ("task", "target", "awaited", "condition", "awaited_until")
SCHEDULE = ("name", "env", "spec", "state", "added_at", "updated_at")
PASSED = ("schedule", "first_at", "status", "last_at", "record")


def encode_attempt(attempt: AttemptRecord) -> Row:
    """The row of ATTEMPT."""
    return attempt.task, attempt.number, encode_json(attempt)


def decode_attempt(row: Row) -> AttemptRecord:
    """The record of a row of ATTEMPT; one that cannot be read keeps its number and tells why."""
    try:
        return decode_json(row[2], AttemptRecord)
    except DamagedRowError as error:
        return AttemptRecord(task=row[0], number=row[1], message=f"the stored attempt cannot be read: {error}")


def encode_batch(batch: Batch) -> Row:
    """The row of BATCH."""
    return batch.first, batch.last, encode_json(batch)


def decode_batch(row: Row) -> Batch:
    """The batch of a row of BATCH; one that cannot be read keeps its ids."""
    try:
        return decode_json(row[2], Batch)
    except DamagedRowError:
        return Batch(first=row[0], last=row[1])


def encode_event(seq: int, event: Transition) -> Row:
    """The row of EVENT under the given seq."""
    return seq, event.id, encode_json(_Event(*_event_of(event)))


def encode_end(seq: int, event: Transition) -> Row:
    """The row of EVENT and END under the given seq, for an event that is an end."""
    ended = event.ended
    assert ended is not None
    return *encode_event(seq, event), event.at, event.pool, *_end_of(ended)


def decode_event(row: Row) -> Transition:
    """The transition of a row of EVENT; one that cannot be read keeps its place."""
    try:
        event = decode_json(row[2], Transition)
    except DamagedRowError as error:
        event = Transition(at=0.0, type="unreadable", message=str(error))
    event.seq, event.id = row[0], row[1]
    return event


def encode_edge(edge: Edge) -> Row:
    """The row of EDGE: target 0 and awaited '' stand for None."""
    return edge.task, edge.target or 0, edge.awaited or "", str(edge.condition), edge.awaited_until


def decode_edge(row: Row) -> Edge:
    """The edge of a row of EDGE."""
    task, target, awaited, condition, until = row
    return Edge(
        task=task,
        condition=Condition(condition),
        target=target or None,
        awaited=plain_text(awaited) or None,
        awaited_until=until,
    )


def encode_schedule(schedule: Schedule, env: int | None) -> Row:
    """The row of SCHEDULE; `env` is the number of the environment."""
    spec, state = encode_json(schedule.spec), encode_json(schedule.state)
    return schedule.spec.name, env, spec, state, schedule.added_at, schedule.updated_at


def decode_schedule(row: Row) -> Schedule:
    """The schedule of a row of SCHEDULE. Raises DamagedRowError."""
    name, _, spec, state, added_at, updated_at = row
    found = decode_json(spec, ScheduleSpec)
    if found.name != plain_text(name):
        raise DamagedRowError(f"it names itself {found.name!r}")
    return Schedule(
        spec=found, state=decode_json(state, ScheduleState), added_at=float(added_at), updated_at=float(updated_at)
    )


def encode_passed(passed: PassedSlots) -> Row:
    """The row of PASSED."""
    return passed.schedule, passed.first_at, passed.status, passed.last_at, encode_json(passed)


def decode_passed(row: Row) -> PassedSlots:
    """The slots of a row of PASSED; one that cannot be read keeps its place and tells why."""
    try:
        return decode_json(row[4], PassedSlots)
    except DamagedRowError as error:
        reason = f"the stored row cannot be read: {error}"
        return PassedSlots(
            schedule=plain_text(row[0]), status=plain_text(row[2]), first_at=row[1], last_at=row[3], reason=reason
        )
