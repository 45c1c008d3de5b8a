"""Which schedules a verb takes: names, comma lists, patterns such as `backup-*`, or all."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option
from cronoq_cli.errors import NotFoundError, UsageError
from cronoq_cli.model.recurring import parse_schedule_name
from cronoq_cli.wire.schedules import Schedules

HINT = "cronoq recurring ls lists them"
_PATTERN = frozenset("*?[")


class NamedSchedules(msgspec.Struct):
    """Schedules by name."""

    names: Annotated[list[str] | None, argument("[NAME]...", help="Names, comma lists, or patterns like 'a-*'.")] = None
    all: Annotated[bool, option("--all", "-a", help="All schedules.")] = False


def pick_names(context: Context, given: NamedSchedules) -> list[str]:
    """The names that were meant, each once; empty for all. Raises UsageError when nothing was named."""
    if bool(given.names) == given.all:
        raise UsageError("name schedules or use --all", hint=HINT)
    return expand_names(context, given.names or ())


def expand_names(context: Context, words: Sequence[str]) -> list[str]:
    """The names in the words, patterns replaced by what they match. Raises NotFoundError where they match nothing."""
    parts = [part.strip() for word in words for part in word.split(",")]
    known = _list_known(context) if any(_PATTERN & set(part) for part in parts) else []
    found: list[str] = []
    for part in parts:
        if _PATTERN & set(part):
            matching = [name for name in known if fnmatchcase(name, part)]
            if not matching:
                raise NotFoundError(f"no schedule matches {part!r}", hint=HINT)
            found += matching
        else:
            found.append(parse_schedule_name(part))
    return list(dict.fromkeys(found))


def _list_known(context: Context) -> list[str]:
    return [schedule["name"] for schedule in context.gateway.ask(Schedules(next_count=0)).doc["recurring"]]
