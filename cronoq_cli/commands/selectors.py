"""Which tasks a verb takes: ids, runs `3-8`, comma lists, `last`, keys, and the options that narrow them down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from cronoq_cli.commands.declare import argument, option
from cronoq_cli.errors import UsageError
from cronoq_cli.model.ids import find_run
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.recurring import SCHEDULE_TAG
from cronoq_cli.model.words import RESERVED_KEY, hint_for, is_key
from cronoq_cli.wire.requests import Selector

TASK_HINT = (
    "name tasks by id, 3-8, a comma list, a key or last; or use --pool, --status, --tag, --name, --recurring, --all"
)
STATUSES = tuple(status.value for status in Status)


class Narrowing(msgspec.Struct):
    """The options that select tasks by what they are; all that are given hold together."""

    pool: Annotated[list[str] | None, option("--pool", "-p", help="Tasks of this pool.", metavar="POOL")] = None
    status: Annotated[
        list[str] | None,
        option("--status", "-s", help="Tasks in this status (a comma list is any of them).", metavar="STATUS"),
    ] = None
    tag: Annotated[
        list[str] | None, option("--tag", "-t", help="Tasks with this tag: K=V, or K for any value.", metavar="K[=V]")
    ] = None
    name: Annotated[str | None, option("--name", help="Tasks whose name matches the pattern.", metavar="GLOB")] = None
    recurring: Annotated[
        str | None, option("--recurring", help="Runs of this schedule, or * for those of any.", metavar="NAME")
    ] = None


class TaskWords(msgspec.Struct):
    """Tasks by reference alone, for verbs whose options mean something else."""

    tasks: Annotated[list[str] | None, argument("TASK...", help="Ids, runs 3-8, comma lists, keys, or last.")] = None

    def selector(self) -> Selector:
        """The selector of the words. Raises UsageError when there are none."""
        return get_selector(Selection(tasks=self.tasks))


class Selection(Narrowing):
    """Tasks by reference, or by what they are, or all the verb can act on."""

    all: Annotated[bool, option("--all", "-a", help="All tasks this command can act on.")] = False
    tasks: Annotated[list[str] | None, argument("[TASK]...", help="Ids, runs 3-8, comma lists, keys, or last.")] = None


def parse_refs(words: Iterable[str]) -> list[str]:
    """The references in the words, comma lists taken apart. Raises UsageError for what cannot name a task."""
    return [parse_ref(part) for word in words for part in word.split(",")]


def parse_ref(text: str) -> str:
    """One id, run of ids, key or `last`, as typed."""
    word = text.strip()
    if word == RESERVED_KEY or is_key(word) or find_run(word) is not None:
        return word
    raise UsageError(f"{text!r} names no task", hint="write an id, a run such as 3-8, a key or last")


def is_one_task(selector: Selector) -> bool:
    """Whether exactly one id, key or `last` was named: only then an exit status can be that of a task."""
    if len(selector.refs) != 1 or selector != Selector(refs=selector.refs):
        return False
    run = find_run(selector.refs[0])
    return run is None or len(run) == 1


def build_narrowing(given: Narrowing) -> Selector:
    """The selector of the options alone; empty when none was given."""
    tags = dict(_tag(text) for text in given.tag or ())
    if given.recurring is not None:
        tags[SCHEDULE_TAG] = None if given.recurring == "*" else given.recurring
    return Selector(
        pools=split_words(given.pool),
        statuses=parse_statuses(given.status),
        tags=tags,
        name_glob=given.name,
    )


def find_selector(given: Selection) -> Selector:
    """The selector of words and options; empty when nothing was said."""
    selector = build_narrowing(given)
    selector.refs = parse_refs(given.tasks or ())
    selector.all = given.all
    if given.all and selector.refs:
        raise UsageError("--all and named tasks together", hint="use one of them")
    return selector


def get_selector(given: Selection) -> Selector:
    """As `find_selector`, but saying nothing is a UsageError: no verb acts on tasks nobody named."""
    selector = find_selector(given)
    if selector.is_empty():
        raise UsageError("no task was named", hint=TASK_HINT)
    return selector


def parse_statuses(words: Sequence[str] | None) -> list[str]:
    """Status words, comma lists taken apart, `-` read as `_`."""
    found = []
    for word in split_words(words):
        status = word.lower().replace("-", "_")
        if status not in STATUSES:
            raise UsageError(f"--status: there is no status {word!r}", hint=hint_for(status, STATUSES))
        found.append(status)
    return found


def split_words(words: Sequence[str] | None) -> list[str]:
    """The words, comma lists taken apart."""
    return [part.strip() for word in words or () for part in word.split(",")]


def _tag(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if not name.strip():
        raise UsageError(f"--tag: {text!r} is not a tag", hint="write it as NAME=VALUE, or NAME for any value")
    return name, value if equals else None
