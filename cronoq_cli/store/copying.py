"""A record as it is now, apart from the one that goes on changing."""

from __future__ import annotations

from typing import TypeVar

import msgspec

Record = TypeVar("Record", bound=msgspec.Struct)


def copy_record(record: Record) -> Record:
    """A copy no deeper than what anyone changes: the record, its spec, their dictionaries and lists."""
    fields = {
        name: copy_record(value) if isinstance(value, msgspec.Struct) else value.copy()
        for name, value in msgspec.structs.asdict(record).items()
        if isinstance(value, dict | list | msgspec.Struct)
    }
    return msgspec.structs.replace(record, **fields)
