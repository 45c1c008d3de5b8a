"""Records to rows and back: columns for what is searched and changes often, JSON for the spec and the rest.

Knows the shape of the records and of the tables, not SQL. JSON goes through msgspec; lone surrogates, which it
refuses, through the standard library, which escapes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, TaskRecord, TaskSpec, Transition

Row = tuple[Any, ...]
_T = TypeVar("_T")

FLAGS = ("held", "leased", "leaving")
STATE = (
    *("seq", "updated_at", "ready_at", "due_at", "started_at", "finished_at", "attempt", "max_attempts"),
    *("slot", "exit_code", "signal", "reason", "message", "log"),
)
"""Columns of the same name as the field, written by every update."""
BIRTH = ("submitted_at", "batch", "fingerprint")
"""Columns written once, and again only with a changed spec."""
FROM_SPEC = ("pool", "priority", "key", "name", "tags", "keep_s", "env", "spec")
READ = ("id", "status", *FLAGS, "rest", "spec", *STATE, *BIRTH)
"""Columns in the order `decode_task` takes them."""

_OWN = {"id", "status", "spec", *FLAGS, *STATE, *BIRTH}
_REST_FIELDS = [field for field in msgspec.structs.fields(TaskRecord) if field.name not in _OWN]


def _with_default(field: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.name, field.type, msgspec.field(default_factory=field.default_factory)
    return field.name, field.type, field.default


Rest: Any = msgspec.defstruct("Rest", [_with_default(f) for f in _REST_FIELDS], omit_defaults=True)
"""The fields of a record that have no column: rarely set. A new field of the record needs no migration."""

_rest_of = attrgetter(*Rest.__struct_fields__)
_REST_DEFAULT = msgspec.structs.astuple(Rest())
_state_of = attrgetter("status._value_", *FLAGS, *STATE)
_birth_of = attrgetter(*BIRTH)
_STATUS = {status.value: status for status in Status}
_encode = msgspec.json.Encoder().encode
_decoders: dict[Any, Callable[[bytes | str], Any]] = {}
_DATA = len(("id", "status", *FLAGS, "rest", "spec"))
_NAMES = READ[_DATA:]
_TEXT_AT = [READ.index(name) for name in ("reason", "message", "log", "fingerprint")]
_REQUIRED: list[tuple[int, type]] = [(READ.index(n), int) for n in ("attempt", "max_attempts")]
_REQUIRED += [(READ.index(n), float) for n in ("seq", "submitted_at", "updated_at")]


class DamagedRowError(Exception):
    """A stored row that is no record of ours; the text says what was found."""


def encode_json(value: object) -> bytes:
    """The value as JSON; lone surrogates become escapes."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":")).encode()


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
    """The opposite of `bound_text`."""
    return value.decode("utf-8", "surrogatepass") if type(value) is bytes else value


def encode_state(record: TaskRecord) -> Row:
    """status, FLAGS, STATE and rest: what each update writes."""
    rest = _rest_of(record)
    if rest == _REST_DEFAULT:
        return (*_state_of(record), None)
    return (*_state_of(record), encode_json(Rest(*rest)))


def encode_whole(record: TaskRecord, env: int | None) -> Row:
    """`encode_state`, BIRTH and FROM_SPEC: what a new task writes besides its id."""
    spec = record.spec
    return (
        *encode_state(record),
        *_birth_of(record),
        spec.pool,
        int(spec.priority),
        spec.key,
        spec.name,
        json.dumps(spec.tags) if spec.tags else None,
        spec.keep_s,
        env,
        encode_json(spec),
    )


def decode_tags(stored: str | bytes | None) -> dict[str, str]:
    """The tags of a task as their column keeps them; none where it cannot be read."""
    if stored is None:
        return {}
    try:
        return decode_json(stored, dict[str, str])
    except DamagedRowError:
        return {}


def decode_task(row: Sequence[Any]) -> TaskRecord:
    """The record of a row of READ. Raises DamagedRowError."""
    values = list(row)
    for at in _TEXT_AT:
        if type(values[at]) is bytes:
            values[at] = plain_text(values[at])
    for at, kind in _REQUIRED:
        if type(values[at]) is not kind:
            raise DamagedRowError(f"{READ[at]} is {values[at]!r}")
    status = _STATUS.get(values[1])
    if status is None:
        raise DamagedRowError(f"status is {values[1]!r}")
    fields = dict(zip(_NAMES, values[_DATA:], strict=True))
    if values[5] is not None:
        fields.update(_decode_rest(values[5]))
    return TaskRecord(
        id=values[0],
        status=status,
        held=values[2] == 1,
        leased=values[3] == 1,
        leaving=values[4] == 1,
        spec=decode_json(values[6], TaskSpec),
        **fields,
    )


def _decode_rest(data: bytes) -> dict[str, Any]:
    return msgspec.structs.asdict(decode_json(data, Rest))


def salvage_task(row: Sequence[Any], why: str) -> TaskRecord:
    """A failed record in place of a row that cannot be decoded: what is still sure, and the reason."""
    found = dict(zip(READ, row, strict=True))
    known: dict[str, Any] = {
        n: found[n] if type(found[n]) is float else 0.0 for n in ("seq", "submitted_at", "updated_at")
    }
    finished = found["finished_at"] if type(found["finished_at"]) is float else known["updated_at"]
    known |= {n: found[n] if type(found[n]) is int else 0 for n in ("attempt", "max_attempts")}
    spec = TaskSpec(name="(unreadable)")
    return TaskRecord(
        id=found["id"],
        spec=spec,
        status=Status.FAILED,
        reason="unreadable",
        message=f"the stored task cannot be read: {why}",
        finished_at=finished,
        **known,
    )


ATTEMPT = AttemptRecord.__struct_fields__
EVENT = ("seq", "at", "type", "task", "key", "pool", "status", "attempt", "message")
BATCH = Batch.__struct_fields__
EDGE = ("task", "target", "awaited", "condition", "awaited_until")
_event_of = attrgetter("at", "type", "id", "key", "pool", "status", "attempt", "message")


def encode_attempt(attempt: AttemptRecord) -> Row:
    """The row of ATTEMPT."""
    return msgspec.structs.astuple(attempt)


def decode_attempt(row: Row) -> AttemptRecord:
    """The record of a row of ATTEMPT."""
    fields = dict(zip(ATTEMPT, map(plain_text, row), strict=True))
    fields["core"] = fields["core"] == 1
    return AttemptRecord(**fields)


def encode_batch(batch: Batch) -> Row:
    """The row of BATCH."""
    return msgspec.structs.astuple(batch)


def decode_batch(row: Row) -> Batch:
    """The batch of a row of BATCH."""
    return Batch(**dict(zip(BATCH, row, strict=True)))


def encode_event(seq: int, event: Transition) -> Row:
    """The row of EVENT under the given seq."""
    return (seq, *_event_of(event))


def decode_event(row: Row) -> Transition:
    """The transition of a row of EVENT."""
    seq, at, kind, task, key, pool, status, attempt, message = map(plain_text, row)
    return Transition(
        at=at, type=kind, id=task, key=key, pool=pool, status=status, attempt=attempt, message=message, seq=seq
    )


def encode_edge(edge: Edge) -> Row:
    """The row of EDGE: target 0 and awaited '' stand for None."""
    return edge.task, edge.target or 0, edge.awaited or "", str(edge.condition), edge.awaited_until


def decode_edge(row: Row) -> Edge:
    """The edge of a row of EDGE."""
    task, target, awaited, condition, until = map(plain_text, row)
    return Edge(
        task=task,
        condition=Condition(condition),
        target=target or None,
        awaited=awaited or None,
        awaited_until=until,
    )
