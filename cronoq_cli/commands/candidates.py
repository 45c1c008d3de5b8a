"""What can stand where a shell completes a word: tasks, keys, names, pools and the like, found as they are now.

`cronoq __complete KIND[,KIND] [PREFIX]` asks for it, a word a line with a tab and what it is behind it. A daemon
answers such a line without parsing it as a command: a key was pressed, and somebody waits.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, verb
from cronoq_cli.commands.render.text import escape_for_terminal
from cronoq_cli.commands.verb_files import COMPLETE
from cronoq_cli.config.effective import Changes, list_values
from cronoq_cli.config.settings import Settings
from cronoq_cli.model.duration import format_duration
from cronoq_cli.model.lifecycle import FINAL, LIVE, WAITING, Status
from cronoq_cli.model.recurring import Schedule
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.store.contract import Filter
from cronoq_cli.wire.requests import Complete

MOST = 100
"""More than anybody reads."""
MOST_LOOKED_AT = 150
HIGHEST_DIGITS = 12
_PLAIN_SIGNS = "_@%+=:,./-"

_STATUSES: dict[str, Iterable[Status]] = {
    "task": Status,
    "live": LIVE,
    "waiting": WAITING,
    "running": (Status.RUNNING,),
    "ended": FINAL,
}
Candidate = tuple[str, str]


class Source(msgspec.Struct, frozen=True):
    """Where candidates come from: the configuration, the store, and the schedules' names with what they are."""

    settings: Settings
    list_where: Callable[[Filter], Sequence[TaskRecord]]
    list_schedules: Callable[[], Iterable[Candidate]] = tuple


def find_candidates(kinds: Iterable[str], prefix: str, source: Source) -> list[Candidate]:
    """Up to MOST words that begin with `prefix`, of these kinds, each once; unknown kinds have none."""
    found: dict[str, str] = {}
    for kind in kinds:
        for word, text in _list_kind(kind, prefix, source):
            if word.startswith(prefix):
                found.setdefault(word, text)
            if len(found) >= MOST:
                return list(found.items())
    return list(found.items())


def _list_kind(kind: str, prefix: str, source: Source) -> Iterable[Candidate]:
    settings = source.settings
    if kind in _STATUSES:
        return _list_tasks(kind, prefix, source)
    if kind == "key":
        return ((task.spec.key, _about(task)) for task in _newest(source, Status) if task.spec.key)
    if kind == "name":
        return ((task.spec.name, "") for task in _newest(source, Status))
    if kind == "pool":
        return ((name, _workers(pool.size.start)) for name, pool in settings.pools.items())
    if kind == "resource":
        return ((name, _size_of(one)) for name, one in settings.resources.items())
    if kind == "group":
        return ((name, "gathers tasks") for name in settings.groups)
    if kind == "schedule":
        return source.list_schedules()
    if kind == "setting":
        return ((value.place, "") for value in list_values(settings, {}, Changes()))
    return ((name, "") for name in _zones()) if kind == "zone" else ()


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _size_of(resource: Any) -> str:
    return f"{resource.capacity:g} in all"


@lru_cache(maxsize=1)
def _zones() -> tuple[str, ...]:
    return tuple(sorted(zoneinfo.available_timezones()))


def _list_tasks(kind: str, prefix: str, source: Source) -> Iterator[Candidate]:
    """Ids, newest first; keys too, but for a prefix of digits."""
    statuses = _STATUSES[kind]
    if prefix.isascii() and prefix.isdigit():
        yield from ((str(task.id), _about(task)) for task in _newest(source, statuses, _ranges(prefix)))
        return
    tasks = _newest(source, statuses)
    if not prefix:
        yield from ((str(task.id), _about(task)) for task in tasks[:MOST])
    yield from ((task.spec.key, _about(task)) for task in tasks if task.spec.key)
    if kind == "task" and tasks:
        yield "last", "the newest task"


def _ranges(prefix: str) -> list[tuple[int, int]]:
    """The numbers that are written with these digits first."""
    if prefix.startswith("0"):
        return []
    first = int(prefix)
    powers = range(max(0, HIGHEST_DIGITS - len(prefix)) + 1)
    return [(first * 10**power, (first + 1) * 10**power - 1) for power in powers]


def _newest(
    source: Source, statuses: Iterable[Status], ids: list[tuple[int, int]] | None = None
) -> Sequence[TaskRecord]:
    words = [status.value for status in statuses]
    limit = MOST if ids is not None else MOST_LOOKED_AT
    every = len(words) == len(Status)
    return source.list_where(Filter(statuses=None if every else words, ids=ids, newest_first=True, limit=limit))


def _about(task: TaskRecord) -> str:
    return f"{task.status.value} {task.spec.name}"


def name_schedules(schedules: Iterable[Schedule]) -> Iterator[Candidate]:
    """The names of schedules, each with when it runs."""
    for schedule in schedules:
        spec = schedule.spec
        every = "@reboot" if spec.reboot else f"@every {format_duration(spec.every_s or 0)}"
        yield spec.name, every if spec.expr is None else spec.expr


def format_candidates(found: Iterable[Sequence[str]]) -> str:
    """A line for each: the word, a tab, what it is; words that mean more to a shell than themselves are left out.

    Bash puts them on its line as they are: one of a task called `$(reboot)` would be executed with the next Enter."""
    return "".join(f"{word}\t{escape_for_terminal(text)}\n" for word, text in found if is_plain_word(word))


def is_plain_word(word: str) -> bool:
    """Whether every shell takes a word as it stands; letters and digits of all scripts are."""
    return all(sign.isalnum() or sign in _PLAIN_SIGNS for sign in word)


def parse_line(words: Sequence[str]) -> Complete:
    """The request that the words behind `__complete` are."""
    kinds, prefix = [*words[:2], "", ""][:2]
    return Complete(kinds=kinds.split(","), prefix=prefix)


def declare(app: typer.Typer) -> None:
    """Declare the verb for a line that no daemon answers."""
    verb(app, COMPLETE, hidden=True, words_follow=True)(complete)


def complete(
    context: Context,
    kinds: Annotated[str, argument("KIND", help="What is completed.")],
    prefix: Annotated[str | None, argument("[PREFIX]", help="What is there of it.")] = None,
) -> int | None:
    """Print what can stand where a word is completed."""
    reply = context.gateway.ask(parse_line([kinds, prefix or ""]))
    context.out.write(format_candidates(reply.doc["words"]))
    return 0
