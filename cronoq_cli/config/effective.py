"""What the configuration comes to: each value, and whether it is the default, the file's, or changed by command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_origin

import msgspec

from cronoq_cli.config.live import override_pool, override_resource
from cronoq_cli.config.pools import WorkerRange
from cronoq_cli.config.settings import Settings
from cronoq_cli.config.values import Table
from cronoq_cli.config.written import plain_value
from cronoq_cli.errors import UsageError

DEFAULT, FILE, COMMAND = "default", "file", "command"


class Changes(msgspec.Struct, frozen=True):
    """What was changed by command and is stored: the keys of pools and of resources, by name, as plain values."""

    pools: Mapping[str, Mapping[str, object]] = {}
    resources: Mapping[str, Mapping[str, object]] = {}


class Value(msgspec.Struct, frozen=True):
    """One value in force: `table` as in a header of the file, the key, the value (None: not set), its source."""

    table: str
    key: str
    value: Any
    source: str

    @property
    def place(self) -> str:
        """The key with its table: `pools.default.workers`."""
        return f"{self.table}.{self.key}"


def list_values(settings: Settings, document: Mapping[str, Any], changes: Changes) -> list[Value]:
    """Every value in force. `document`: the TOML of the file. Changes that fit no more count no more."""
    changed: dict[str, set[str]] = {}
    pools, resources = dict(settings.pools), dict(settings.resources)
    for name, stored in changes.pools.items():
        if name in pools:
            try:
                pools[name] = override_pool(pools[name], stored)
            except UsageError:
                continue
            changed[f"pools.{name}"] = set(stored)
    for name, stored in changes.resources.items():
        if name in resources:
            before, resources[name] = resources[name], override_resource(resources[name], stored)
            changed[f"resources.{name}"] = {
                one.encode_name
                for one in msgspec.structs.fields(type(before))
                if getattr(before, one.name) != getattr(resources[name], one.name)
            }
    return list(_walk(msgspec.structs.replace(settings, pools=pools, resources=resources), document, "", changed))


def _walk(table: Table, document: Mapping[str, Any], place: str, changed: Mapping[str, set[str]]) -> Iterator[Value]:
    inner: list[tuple[str, Table, Mapping[str, Any]]] = []
    for one in msgspec.structs.fields(type(table)):
        key, value = one.encode_name, getattr(table, one.name)
        below = document.get(key)
        written = below if isinstance(below, Mapping) else {}
        if isinstance(value, Table) and not isinstance(value, WorkerRange):
            inner.append((key, value, written))
        elif get_origin(one.type) is dict and all(isinstance(item, Table) for item in value.values()):
            inner += [(f"{key}.{name}", item, written.get(name, {})) for name, item in value.items()]
        else:
            source = COMMAND if key in changed.get(place, ()) else FILE if key in document else DEFAULT
            yield Value(place, key, plain_value(one.type, value), source)
    for key, item, written in inner:
        yield from _walk(item, written, f"{place}.{key}" if place else key, changed)
