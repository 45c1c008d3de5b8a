"""Reads the configuration file, strictly: unknown keys and wrong values are refused with their place.

What can stand there lives in `settings` and beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from cronoq_cli.config.settings import Settings
from cronoq_cli.config.values import READERS, WANTED, Table, format_value
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.words import hint_for

LARGEST_FILE = 1 << 20
"""Bytes. Nobody writes a longer configuration; a device or a log named by mistake ends here."""

AnyTable = TypeVar("AnyTable", bound=Table)


def load_settings(path: str) -> Settings:
    """The settings of the file at `path`; the defaults where there is no such file.

    Raises InvalidError where it cannot be read, is not TOML, or says something cronoq does not know.
    """
    content = find_content(path)
    return Settings() if not content else parse_settings(content, path)


def find_content(path: str) -> bytes | None:
    """The bytes of the file, None where there is none. Raises InvalidError where it cannot be read or is too long."""
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidError(
            f"cannot read the configuration {path}: {error.strerror}", hint="it must be a file you may read"
        ) from error
    if len(content) > LARGEST_FILE:
        raise InvalidError(f"the configuration {path} is larger than 1 MiB", hint="is it the right file?")
    return content


def parse_settings(content: bytes, path: str) -> Settings:
    """The settings that the content of a configuration file means; `path` is for the messages.

    Raises InvalidError with the key and its line.
    """
    document = parse_document(content, path)
    try:
        return _read_table(Settings, document, "")
    except UsageError as error:
        from cronoq_cli.config.lines import find_line

        line = find_line(content.decode(), error.message)
        where = "" if line is None else f", in line {line}"
        raise InvalidError(f"{path}: {error.message}{where}", hint=error.hint) from error


def parse_document(content: bytes, path: str) -> dict[str, Any]:
    """The TOML of a file as it stands there, its meaning not looked at. Raises InvalidError with the line."""
    import tomllib  # a start without a configuration goes without it

    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidError(f"{path}: line {line} is not UTF-8", hint="save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
        raise InvalidError(f"{path}: {error}", hint="the file must be TOML") from error


def _read_table(kind: type[AnyTable], table: Any, place: str) -> AnyTable:
    """The struct of a table. Raises UsageError that begins with the place of what is wrong."""
    if not isinstance(table, dict):
        raise UsageError(f"{place}: {format_value(table)} is not a table", hint=f"write it below [{place}]")
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in table:
        if key not in fields:
            raise UsageError(f"{_join(place, key)}: unknown key", hint=hint_for(key, fields))
    for key, field in fields.items():
        if field.required and key not in table:
            raise UsageError(f"{place}: {key} is missing", hint=f"known here are: {', '.join(fields)}")
    values = {fields[key].name: _read_field(fields[key].type, value, _join(place, key)) for key, value in table.items()}
    built = kind(**values)
    with _at(place):
        built.check()
    return built


def read_setting(kind: type[Table], key: str, value: Any) -> Any:
    """The value of one key of a table, as TOML could give it. Raises UsageError that begins with the key."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    return _read_field(fields[key].type, value, key)


def _read_field(kind: Any, value: Any, place: str) -> Any:
    parts = _list_parts(kind)
    bare = parts[0]
    tables = [part for part in parts if _is_table(part)]
    if tables and (len(parts) == 1 or isinstance(value, dict)):
        return _read_table(tables[0], value, place)
    if get_origin(bare) is dict:
        return _read_tables(get_args(bare)[1], value, place)
    if get_origin(bare) is list and _is_table(get_args(bare)[0]):
        return _read_list(get_args(bare)[0], value, place)
    with _at(place):
        if bare in READERS:
            return READERS[bare](value)
        try:
            return msgspec.convert(value, bare)
        except msgspec.ValidationError as error:
            raise _wrong_value(bare, value, "" if not tables else ", or a table") from error


def _read_list(kind: type[AnyTable], value: Any, place: str) -> list[AnyTable]:
    """The structs of an array of tables."""
    if not isinstance(value, list):
        raise UsageError(
            f"{place}: {format_value(value)} is not a list of tables", hint=f"write each below [[{place}]]"
        )
    return [_read_table(kind, table, f"{place}, entry {number}") for number, table in enumerate(value, 1)]


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Table)


def _read_tables(kind: type[AnyTable], value: Any, place: str) -> dict[str, AnyTable]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {format_value(value)} is not a table", hint=f"write it below [{place}.NAME]")
    return {name: _read_table(kind, table, _join(place, name)) for name, table in value.items()}


def _list_parts(kind: Any) -> list[Any]:
    """The types a value may have, without the None of an optional field: TOML has no null."""
    if get_origin(kind) not in (Union, UnionType):
        return [kind]
    return [part for part in get_args(kind) if part is not NoneType]


def _wrong_value(kind: Any, value: Any, other: str) -> UsageError:
    choices = _list_choices(kind)
    shown = format_value(value)
    if choices:
        return UsageError(f"{shown} is none of {', '.join(choices)}", hint=hint_for(str(value), choices))
    return UsageError(f"{shown} does not fit here", hint=f"write {WANTED[kind]}{other}")


def _list_choices(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return [member.value for member in kind]
    return []


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Puts the place before the message of a UsageError."""
    try:
        yield
    except UsageError as error:
        message = f"{place}: {error.message}" if place else error.message
        raise UsageError(message, hint=error.hint) from error
