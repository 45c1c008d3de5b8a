"""The tables of schedules as TOML for files and editors, the comments above them kept, and the way back.

Text alone: what the fields of a table mean stands in `schedule_table`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cronoq_cli.commands.schedule_table import Table
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.crontab import OPTIONS_MARK

BYTE_ORDER_MARK = "\ufeff"
TOP, ENVIRONMENTS = "recurring", "environments"
TOML_FORM = 'write name = "text", and lists as ["...", "..."]'
"""The hint behind a text that is no TOML."""

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_HEADER = re.compile(
    r"\s*\[\s*(recurring|environments)\s*\.\s*(?:\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+))\s*\]\s*(?:#.*)?"
)
_FIELD = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=", re.ASCII)
_OTHER_HEADER = re.compile(r"\[\[?[\w\s.\"'-]+\]\]?\s*(?:#.*)?")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(slots=True)
class Tables:
    """What a text has: a table and the comment above it by the name of the schedule, and environments by name."""

    tables: dict[str, Table] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    environments: dict[str, dict[str, str]] = field(default_factory=dict)


def format_tables(tables: Tables, heading: str = "") -> str:
    """The text: the heading as comments, then each table with its comment above it, then environments."""
    blocks = ["".join(f"# {line}\n" if line else "#\n" for line in heading.split("\n"))] if heading else []
    for name, table in tables.tables.items():
        comment = "".join(f"{line}\n" for line in tables.comments.get(name, "").split("\n") if line)
        blocks.append(f"{comment}[{TOP}.{_key(name)}]\n" + "".join(_lines(table)))
    for name, env in tables.environments.items():
        blocks.append(f"[{ENVIRONMENTS}.{_key(name)}]\n" + "".join(_lines(env)))
    return "\n".join(blocks)


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        yield f"{_key(name)} = {format_value(value)}\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quote(name)


def format_value(value: Any) -> str:
    """A value as TOML writes it: texts, truth, numbers, lists, and tables of texts in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote_lines(value) if "\n" in value.rstrip("\n") else _quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_quote(str(text))}" for name, text in value.items()) + " }"
    return str(value)


def _quote(text: str) -> str:
    return '"' + "".join(map(_escape, text)) + '"'


def _quote_lines(text: str) -> str:
    """A text of several lines, as it is written in an editor."""
    return '"""\n' + "".join("\n" if char == "\n" else _escape(char) for char in text) + '"""'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\u{ord(char):04x}" if char < " " or char == "\x7f" else char


def looks_like_tables(text: str) -> bool:
    """Whether a text is of this form and no crontab: its first line that is neither blank nor a comment tells."""
    lines = (line.strip() for line in text.removeprefix(BYTE_ORDER_MARK).split("\n"))
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith("[")


def parse_tables(text: str, beside: Collection[str] = ()) -> Tables:
    """The tables of a text; those `beside` them are read by others. Raises InvalidError `bad-toml` with the place."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidError(f"it is not TOML: {error}", hint=TOML_FORM, code="bad-toml") from error
    unknown = sorted(set(found) - {TOP, ENVIRONMENTS, *beside})
    if unknown:
        raise InvalidError(f"unknown table {unknown[0]!r}", hint=f"schedules are tables [{TOP}.NAME]", code="bad-toml")
    comments = _gather_comments(text.split("\n"))
    return Tables(_tables_of(found, TOP), comments, _texts_of(_tables_of(found, ENVIRONMENTS)))


def _tables_of(found: Mapping[str, Any], top: str) -> dict[str, Table]:
    tables = found.get(top, {})
    wrong = (
        [name for name, table in tables.items() if not isinstance(table, dict)] if isinstance(tables, dict) else [top]
    )
    if wrong:
        raise InvalidError(f"{wrong[0]!r} is no table", hint=f"write [{top}.NAME] above its fields", code="bad-toml")
    return dict(tables)


def _texts_of(tables: Mapping[str, Table]) -> dict[str, dict[str, str]]:
    for name, table in tables.items():
        for variable, value in table.items():
            if not isinstance(value, str):
                raise InvalidError(
                    f"environment {name}: {variable} is not text", hint='write it as "..."', code="bad-toml"
                )
    return {name: dict(table) for name, table in tables.items()}


def _gather_comments(lines: list[str]) -> dict[str, str]:
    """The comments of each schedule: the block right above its table, what stands inside it or at the end of its lines,
    and what stands apart behind it; at the top, above the first."""
    kept: dict[str, list[str]] = {}
    block: list[str] = []
    owner: str | None = None
    beside = False  # in a table that is none of ours, and its comments are not either
    for line in _outside_of_texts(lines):
        bare = line.strip()
        header = _HEADER.fullmatch(line)
        if bare.startswith("#"):
            block.append(bare)
        elif header is not None:
            owner = _name_in(header)
            kept.setdefault(owner or "", []).extend([*block, *_at_end_of(line)])
            block, beside = [], False
        elif beside or _OTHER_HEADER.fullmatch(bare):
            owner, block, beside = None, [], True
        elif owner is not None:  # a blank line or a field ends a block: it belongs to the table it stands in
            kept[owner].extend([*block, *_at_end_of(line)])
            block = []
    kept.setdefault(owner or "", []).extend(block)
    return {name: usable_comment("\n".join(found)) for name, found in kept.items() if name and found}


def _at_end_of(line: str) -> list[str]:
    """The comment at the end of a line, as a line of its own that names the field; none or one."""
    comment = _find_comment(line)
    if comment is None or not comment.strip("# \t"):
        return []
    field_name = _FIELD.match(line)
    text = comment.lstrip("#").strip()
    return [f"# {field_name[1]}: {text}" if field_name else f"# {text}"]


def _find_comment(line: str) -> str | None:
    """What stands behind the first # outside of a text."""
    at = 0
    while at < len(line):
        char = line[at]
        if char == "#":
            return line[at:]
        if char in "\"'":
            mark = char * 3 if line.startswith(char * 3, at) else char
            end = _find_end(line, at + len(mark), mark)
            if end is None:
                return None
            at = end
        at += 1
    return None


def _find_end(line: str, at: int, mark: str) -> int | None:
    """Where the last character of the mark stands that ends a text; None when it goes on in the next line."""
    while at < len(line):
        if line[at] == "\\" and mark[0] == '"':
            at += 2
        elif line.startswith(mark, at):
            return at + len(mark) - 1
        else:
            at += 1
    return None


def _name_in(header: re.Match[str]) -> str | None:
    return None if header[1] != TOP else next(part for part in header.groups()[1:] if part is not None)


def _outside_of_texts(lines: Iterable[str]) -> Iterator[str]:
    """The lines that do not lie inside a text of several lines; of the one that ends it, what stands behind."""
    mark: str | None = None
    for line in lines:
        if mark is not None:
            if line.count(mark) % 2:
                yield line.rpartition(mark)[2]
                mark = None
            continue
        yield line
        if not line.lstrip().startswith("#"):
            mark = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), None)


def usable_comment(text: str) -> str:
    """The comment without lines that an export would read as its own."""
    return "\n".join(line for line in text.split("\n") if line.startswith("#") and not line.startswith(OPTIONS_MARK))
