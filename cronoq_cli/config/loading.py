"""Reads the configuration file, strictly: unknown keys and wrong values are refused with their place.

What can stand there lives in `settings`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from cronoq_cli.config.settings import READERS, Count, Settings, Table, format_value
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.words import hint_for

LARGEST_FILE = 1 << 20
"""Bytes. Nobody writes a longer configuration; a device or a log named by mistake ends here."""

WANTED: dict[Any, str] = {bool: "true or false", Count: "a whole number from 0 on", str: "a text in quotes"}

AnyTable = TypeVar("AnyTable", bound=Table)


def load_settings(path: str) -> Settings:
    """The settings of the file at `path`; the defaults where there is no such file.

    Raises InvalidError where it cannot be read, is not TOML, or says something cronoq does not know.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise InvalidError(f"cannot read the configuration {path}: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise InvalidError(f"the configuration {path} is larger than 1 MiB", hint="is it the right file?")
    return parse_settings(content, path)


def parse_settings(content: bytes, path: str) -> Settings:
    """The settings that the content of a configuration file means; `path` is for the messages.

    Raises InvalidError with the key and its place.
    """
    try:
        document = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidError(f"{path}: line {line} is not UTF-8", hint="save the file as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidError(f"{path}: {error}", hint="the file must be TOML") from error
    try:
        return _read_table(Settings, document, "")
    except UsageError as error:
        raise InvalidError(f"{path}: {error.message}", hint=error.hint) from error


def _read_table(kind: type[AnyTable], table: Any, place: str) -> AnyTable:
    """The struct of a table. Raises UsageError that begins with the place of what is wrong."""
    if not isinstance(table, dict):
        raise UsageError(f"{place}: {format_value(table)} is not a table", hint=f"write it below [{place}]")
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in table:
        if key not in fields:
            raise UsageError(f"{_join(place, key)}: unknown key", hint=hint_for(key, fields))
    values = {
        fields[key].name: _read_field(fields[key].type, value, _join(place, key))
        for key, value in table.items()
    }
    built = kind(**values)
    with _at(place):
        built.check()
    return built


def _read_field(kind: Any, value: Any, place: str) -> Any:
    bare = _without_none(kind)
    if isinstance(bare, type) and issubclass(bare, Table):
        return _read_table(bare, value, place)
    if get_origin(bare) is dict:
        return _read_tables(get_args(bare)[1], value, place)
    with _at(place):
        if bare in READERS:
            return READERS[bare](value)
        try:
            return msgspec.convert(value, bare)
        except msgspec.ValidationError as error:
            raise _wrong_value(bare, value) from error


def _read_tables(kind: type[AnyTable], value: Any, place: str) -> dict[str, AnyTable]:
    if not isinstance(value, dict):
        raise UsageError(
            f"{place}: {format_value(value)} is not a table", hint=f"write it below [{place}.NAME]"
        )
    return {name: _read_table(kind, table, _join(place, name)) for name, table in value.items()}


def _without_none(kind: Any) -> Any:
    """The type of an optional field's value: TOML has no null."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return next(part for part in get_args(kind) if part is not NoneType)


def _wrong_value(kind: Any, value: Any) -> UsageError:
    choices = _list_choices(kind)
    shown = format_value(value)
    if choices:
        return UsageError(f"{shown} is none of {', '.join(choices)}", hint=hint_for(str(value), choices))
    return UsageError(f"{shown} does not fit here", hint=f"write {WANTED[kind]}")


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
