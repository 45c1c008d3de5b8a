"""What commands may change of the configuration while a daemon runs: `pool set`, `pool scale`, `resource set`.

Changes are plain values, as the file could have them, kept in the store and laid over what the file says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cronoq_cli.config.loading import read_setting
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.resources import ResourceSettings
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.words import hint_for

POOL_KEYS = (
    "workers",
    "max_pending",
    "overflow",
    "fair_share",
    "weight",
    "max_hold",
    "reservable_fraction",
    "default_duration",
)
"""The keys of a pool that `pool set` changes."""
_SIZE_HINT = "write a number, or a range like 1..8"


def parse_pool_changes(words: Iterable[str]) -> dict[str, Any]:
    """Plain values by key of `KEY=VALUE` words. Raises UsageError."""
    changes: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if key not in POOL_KEYS:
            raise UsageError(f"{key!r} is not a setting that can be changed", hint=hint_for(key, POOL_KEYS))
        if not equals:
            raise UsageError(f"{word!r} sets nothing", hint=f"write it as {key}=VALUE")
        if key in changes:
            raise UsageError(f"{key} stands twice", hint="give each setting once")
        changes[key] = _parse_value(key, text.strip())
    return changes


def _parse_value(key: str, text: str) -> Any:
    value = parse_size_of_pool(text) if key == "workers" else _plain(text)
    # An enumeration, a length of time and the like are judged as those of the file are.
    read_setting(PoolSettings, key, value)
    return value


def read_pool_changes(table: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a table, as a file could have it. Raises UsageError that begins with the key."""
    for key, value in table.items():
        if key not in POOL_KEYS:
            raise UsageError(f"{key}: it can only stand in config.toml", hint=hint_for(key, POOL_KEYS))
        read_setting(PoolSettings, key, value)
    return dict(table)


def parse_size_of_pool(text: str) -> int | dict[str, int]:
    """Workers of a pool: `4`, or `1..8` for a pool that changes its size. Raises UsageError."""
    least, dots, most = text.partition("..")
    if not _is_count(least) or (dots and not _is_count(most)):
        raise UsageError(f"workers: {text!r} is no number of workers", hint=_SIZE_HINT)
    if not dots:
        return int(least)
    if int(least) > int(most):
        raise UsageError(f"workers: {text!r} runs backwards", hint=f"write {most}..{least}")
    return {"min": int(least), "max": int(most)}


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _plain(text: str) -> Any:
    """The text as TOML would have its value: a boolean, a number, else text."""
    if text in ("true", "false"):
        return text == "true"
    if _is_count(text):
        return int(text)
    whole, _, fraction = text.partition(".")
    return float(text) if _is_count(whole) and _is_count(fraction) else text


def override_pool(pool: PoolSettings, stored: Mapping[str, object]) -> PoolSettings:
    """The pool with what was changed by command; what is not one of POOL_KEYS is passed over.

    Raises UsageError for a value that does not fit.
    """
    fields = {field.encode_name: field.name for field in msgspec.structs.fields(PoolSettings)}
    changes = {
        fields[key]: None if value is None else read_setting(PoolSettings, key, value)
        for key, value in stored.items()
        if key in POOL_KEYS
    }
    changed = msgspec.structs.replace(pool, **changes)
    changed.check()
    return changed


def change_resource(
    name: str,
    resource: ResourceSettings,
    *,
    permits: int | None = None,
    rate_s: float | None = None,
    burst: float | None = None,
) -> ResourceSettings:
    """The resource with other permits, or with another rate or burst (units a second, units).

    Raises InvalidError where that belongs to the other kind.
    """
    if resource.is_bucket and permits is not None:
        raise InvalidError(f"{name} is a token bucket: it has no permits", hint="use --rate or --burst")
    if not resource.is_bucket and (rate_s is not None or burst is not None):
        raise InvalidError(f"{name} is a semaphore: it has no rate", hint="use --permits")
    given = {"permits": permits, "rate_s": rate_s, "burst": burst}
    return msgspec.structs.replace(resource, **{key: value for key, value in given.items() if value is not None})


def override_resource(resource: ResourceSettings, stored: Mapping[str, object]) -> ResourceSettings:
    """The resource with what was changed by command (`permits`, or `rate_s` and `burst`).

    What was changed when it was of the other kind counts no more.
    """
    keys = ("rate_s", "burst") if resource.is_bucket else ("permits",)
    changes = {key: stored[key] for key in keys if isinstance(stored.get(key), int | float)}
    return msgspec.structs.replace(resource, **changes)
