"""The settings as data: every key with what it means, its default and an example, read from the declarations
themselves, so that what is written of them cannot be old. Used by `config init` and the manual; no file is read here.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args, get_origin

import msgspec

from cronoq_cli.config.settings import Settings
from cronoq_cli.config.values import Table
from cronoq_cli.config.written import format_toml, plain_value

_EXAMPLE = "Example: "


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it means, and as TOML text its default (None: nothing) and an example (None: none is needed)."""

    name: str
    help: str
    default: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class Section:
    """One table: its header as it stands in a file, what it is about, its keys, and the type that declares them.

    `can_be_empty`: a file may have the header alone; else the example below it is needed.
    """

    header: str
    help: str
    keys: tuple[Key, ...]
    kind: type[Table]
    can_be_empty: bool


def list_sections() -> list[Section]:
    """All tables of the file, in the order of their declaration; of tables with names of one's own, one each."""
    return list(_walk(Settings, "", True, ""))


def _walk(kind: type[Table], place: str, can_be_empty: bool, about: str) -> Iterator[Section]:
    explained = explain_fields(kind)
    plain, inner = [], []
    for field in msgspec.structs.fields(kind):
        text, example = explained[field.name]
        table = _find_table(field.type)
        if table is None:
            plain.append(_describe(field, text, example))
        else:
            inner.append((field, table, text, example))
    if place:
        yield Section(place, about, tuple(plain), kind, can_be_empty)
    for field, table, text, example in inner:
        bare = place.strip("[]")
        header = f"{bare}.{field.encode_name}" if bare else field.encode_name
        if get_origin(field.type) is dict:
            name = example or "NAME"
            yield from _walk(table, f"[{header}.{name}]", name in getattr(Settings(), field.name, {}), text)
        elif get_origin(field.type) is list:
            yield from _walk(table, f"[[{header}]]", False, text)
        else:
            yield from _walk(table, f"[{header}]", can_be_empty, text)


def _find_table(kind: Any) -> type[Table] | None:
    """The type of table that stands below a field of this type; None for one that is written as a value."""
    if get_origin(kind) in (dict, list):
        kind = get_args(kind)[-1]
    return kind if isinstance(kind, type) and issubclass(kind, Table) else None


def _describe(field: msgspec.structs.FieldInfo, text: str, example: str | None) -> Key:
    usual = None
    if field.default is not msgspec.NODEFAULT:
        usual = plain_value(field.type, field.default)
    # What a factory makes is empty, or belongs to this machine: nothing to write down.
    return Key(field.encode_name, text, None if usual is None else format_toml(usual), example)


@lru_cache(maxsize=32)
def explain_fields(kind: type[Table]) -> dict[str, tuple[str, str | None]]:
    """By field what the text below its declaration says, and the example at the text's end. Raises LookupError for a
    field without a text."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, tuple[str, str | None]] = {}
    for declared, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not isinstance(declared, ast.AnnAssign) or not isinstance(declared.target, ast.Name):
            continue
        if not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)):
            raise LookupError(f"{kind.__name__}.{declared.target.id} says nothing of itself")
        found[declared.target.id] = _split(str(below.value.value))
    return found


def _split(text: str) -> tuple[str, str | None]:
    words = " ".join(text.split())
    said, mark, example = words.rpartition(_EXAMPLE)
    return (said.strip(), example) if mark else (words, None)
