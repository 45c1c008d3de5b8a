"""The caller's time zone: what its TZ says, else the machine's. Parsing of times lives in model/moment."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from io import BytesIO
from zoneinfo import ZoneInfo

MACHINE_ZONE = "/etc/localtime"


def load_caller_zone(env: Mapping[str, str]) -> tzinfo:
    """The zone of `TZ` (a name, `:name`, a path or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`), else the machine's.

    As in the C library a TZ that means nothing is UTC.
    """
    name = env.get("TZ")
    if name is None:
        return load_machine_zone()
    return _named_zone(name.removeprefix(":"))


def load_machine_zone() -> tzinfo:
    """The machine's zone as it is set now; UTC where it cannot be read."""
    try:
        found = os.stat(MACHINE_ZONE)
    except OSError:
        return UTC
    return _zone_of_file(MACHINE_ZONE, (found.st_dev, found.st_ino, found.st_mtime_ns))


@lru_cache(maxsize=8)
def _zone_of_file(path: str, identity: tuple[int, ...]) -> tzinfo:
    """The zone in a compiled file; `identity` makes another or changed file a new entry of the cache."""
    try:
        with open(path, "rb") as file:
            return ZoneInfo.from_file(file, key=find_zone_name(path))
    except (OSError, ValueError):
        return UTC


def find_zone_name(path: str) -> str | None:
    """The name of the zone that a link such as /etc/localtime leads to; None where it is no link into a zoneinfo."""
    _, found, name = os.path.realpath(path).partition("/zoneinfo/")
    return name if found else None


@lru_cache(maxsize=32)
def _named_zone(name: str) -> tzinfo:
    if not name:
        return UTC
    if name.startswith("/"):
        return _zone_of_file(name, ())
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        return _zone_of_rule(name)


def _zone_of_rule(rule: str) -> tzinfo:
    """A POSIX rule as a zone: the standard library reads it as the footer of a compiled file without transitions."""
    header = struct.pack(">4sc15x6L", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    block = struct.pack(">lBB4s", 0, 0, 0, b"UTC\0")
    try:
        text = header + block + header + block + b"\n" + rule.encode("ascii") + b"\n"
        return ZoneInfo.from_file(BytesIO(text))
    except (ValueError, UnicodeError):
        return UTC


def name_zone(zone: tzinfo, at: float) -> str:
    """A zone by its name where it has one, else by its abbreviation at the moment `at`."""
    return str(getattr(zone, "key", None) or datetime.fromtimestamp(at, zone).tzname())
