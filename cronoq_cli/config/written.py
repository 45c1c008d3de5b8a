"""Values as the configuration file could have them: TOML text of what was read. Reading lives in `loading`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from cronoq_cli.config import values
from cronoq_cli.config.values import Table
from cronoq_cli.model.backoff import format_backoff
from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.resource import format_rate
from cronoq_cli.model.task import Backoff
from cronoq_cli.model.words import format_size, parse_size

_DURATIONS = (values.Seconds, values.PositiveSeconds)
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def plain_value(kind: Any, value: Any) -> Any:
    """A setting of this kind as built-in values, the way it could stand in the file: `"90s"`, `"64MiB"`, `{...}`."""
    if kind == values.Bound:
        return values.NO_BOUND if value is None else value
    if value is None:
        return values.NO_BOUND if kind is values.Bound else None
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if any(part in kinds for part in _DURATIONS):
        return format_duration(value)
    if values.Bytes in kinds:
        return _plain_size(value)
    if values.Rate in kinds:
        return format_rate(value)
    if values.Slo in kinds:
        return {word: format_duration(seconds) for word, seconds in value.items()}
    if values.Rlimits in kinds:
        return {name: "unlimited" if limit == values.UNLIMITED else limit for name, limit in value.items()}
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Backoff):
        return format_backoff(value)
    if isinstance(value, Table):
        return plain_table(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return str(value) if isinstance(value, str) else value  # an enumeration becomes its word


def _plain_size(size: int) -> int | str:
    text = format_size(size)
    return text if size >= 1024 and parse_size(text) == size else size


def plain_table(table: Table) -> dict[str, Any]:
    """A whole table as built-in values, without what is not set."""
    found = {
        field.encode_name: plain_value(field.type, getattr(table, field.name))
        for field in msgspec.structs.fields(type(table))
    }
    return {key: value for key, value in found.items() if value is not None}


def format_toml(value: Any) -> str:
    """A built-in value as TOML, tables inline; text keeps its odd characters as escapes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return format_text(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{format_key(name)} = {format_toml(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_toml, value))}]"
    return repr(value)


def format_text(text: str) -> str:
    """A basic string of TOML: as JSON has it, but for the one control character that JSON lets stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def format_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if name and _BARE.issuperset(name) else format_text(name)
