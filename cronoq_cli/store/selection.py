"""What a filter's name, text and tags ask, the same for every store. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from cronoq_cli.model.task import TaskSpec


@lru_cache(maxsize=64)
def name_pattern(glob: str | None) -> Callable[[str], re.Match[str] | None] | None:
    """A test of names against the pattern (case matters), or None where any name will do."""
    return None if glob is None else re.compile(fnmatch.translate(glob)).match


def matches_text(spec: TaskSpec, text: str) -> bool:
    """Whether the text stands in the name, the key or the command, whatever its case."""
    wanted = text.casefold()
    command = " ".join(spec.command or ()) if spec.shell_line is None else spec.shell_line
    return any(wanted in part.casefold() for part in (spec.name, spec.key or "", command))


def matches_tags(tags: Mapping[str, str], wanted: Mapping[str, str | None]) -> bool:
    """Whether every wanted tag is there: with the value, or with any where None is wanted."""
    return all(name in tags and value in (None, tags[name]) for name, value in wanted.items())
