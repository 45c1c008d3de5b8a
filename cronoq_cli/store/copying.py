"""A record as it is now, apart from the one that goes on changing."""

from __future__ import annotations

import copy
import types
import typing
from functools import cache
from typing import Any, TypeVar

import msgspec

Record = TypeVar("Record", bound=msgspec.Struct)


def copy_record(record: Record) -> Record:
    """A copy no deeper than what anyone changes: the record, its spec, their dictionaries and lists."""
    copied = copy.copy(record)
    for name in _list_changeable(type(record)):
        value = getattr(copied, name)
        if isinstance(value, msgspec.Struct):
            msgspec.structs.force_setattr(copied, name, copy_record(value))
        elif isinstance(value, dict | list):
            msgspec.structs.force_setattr(copied, name, value.copy())
    return copied


@cache
def _list_changeable(kind: type) -> tuple[str, ...]:
    """The fields of a record that may hold a record, dictionary or list; the types of most say that they hold none."""
    return tuple(name for name, hint in typing.get_type_hints(kind).items() if _may_change(hint))


def _may_change(hint: Any) -> bool:
    parts = (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    kinds = [typing.get_origin(part) or part for part in parts]
    return not all(isinstance(kind, type) and not issubclass(kind, (msgspec.Struct, dict, list)) for kind in kinds)
