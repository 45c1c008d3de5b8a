"""What the keys do to tasks and pools: the request, and before it a question that names what will happen. Pure.

What cannot be done to a task in its state is refused here with the reason, before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.words import command_line, how_it_ended, title_of
from cronoq_cli.errors import ConflictError, UsageError
from cronoq_cli.model.ids import format_ids
from cronoq_cli.model.lifecycle import FINAL, LIVE, WAITING
from cronoq_cli.model.task import Priority
from cronoq_cli.wire.requests import (
    Cancel,
    Edit,
    Hold,
    PausePool,
    Release,
    Request,
    ResumePool,
    Retry,
    ScalePool,
    Selector,
    StartNow,
    TaskChanges,
)
from cronoq_cli.wire.schedules import PauseSchedules, ResumeSchedules, RunSchedule

Document = Mapping[str, Any]
MOST_NAMED = 6
MOST_WORKERS = 1_000_000
_PRIORITIES = ("low", "normal", "high", "critical")
_LIVE, _WAITING, _FINAL = (frozenset(map(str, group)) for group in (LIVE, WAITING, FINAL))
_DELAYED = frozenset({"scheduled", "retrying"})


@dataclass(frozen=True, slots=True)
class Proposal:
    """`question` and what will happen in `lines`; the request for it, and `done` to say afterwards."""

    question: str
    lines: tuple[str, ...]
    request: Request
    done: str


def propose_cancel(tasks: Sequence[Document]) -> Proposal:
    """Cancel what is live. Raises ConflictError when nothing is."""
    able = _able(tasks, lambda task: task["status"] in _LIVE, "has ended already", "r runs it again")
    running = sum(task["status"] == "running" for task in able)
    lines = _names(able)
    if running:
        lines += [_of(running, able, "runs", "run") + ": the whole process tree is told to stop, then killed."]
    if running < len(able):
        lines += [_of(len(able) - running, able, "waits", "wait") + " and will not start."]
    lines += ["What needs its success is skipped." if len(able) == 1 else "What needs their success is skipped."]
    return Proposal(
        f"Cancel {_which(able)}?", tuple(lines + _left_out(tasks, able)), Cancel(select=_these(able)), "cancelled"
    )


def propose_retry(tasks: Sequence[Document]) -> Proposal:
    """Run what has ended again, under the same id. Raises ConflictError when nothing has ended."""
    able = _able(tasks, lambda task: task["status"] in _FINAL, "has not ended", "c cancels it")
    lines = [*_names(able), "The same id, once more from the beginning; attempts go on counting."]
    return Proposal(
        f"Retry {_which(able)}?", tuple(lines + _left_out(tasks, able)), Retry(select=_these(able)), "retried"
    )


def propose_hold(tasks: Sequence[Document]) -> Proposal:
    """Hold what waits, or release it when all of it is held. Raises ConflictError when nothing waits."""
    able = _able(tasks, lambda task: task["status"] in _WAITING, "does not wait", "only what waits can be held")
    if all(task["held"] for task in able):
        lines = [*_names(able), "Free to start as soon as nothing else is in the way."]
        return Proposal(
            f"Release {_which(able)}?", tuple(lines + _left_out(tasks, able)), Release(select=_these(able)), "released"
        )
    able = [task for task in able if not task["held"]]
    lines = [*_names(able), "The place in line is kept; no start until it is released."]
    return Proposal(f"Hold {_which(able)}?", tuple(lines + _left_out(tasks, able)), Hold(select=_these(able)), "held")


def propose_start_now(tasks: Sequence[Document]) -> Proposal:
    """Skip the waiting time. Raises ConflictError when nothing waits for a time."""
    able = _able(
        tasks,
        lambda task: task["status"] in _DELAYED,
        "does not wait for a time",
        "it is for scheduled and retrying ones",
    )
    lines = [*_names(able), "The waiting time is skipped; pool, resources and order still count."]
    return Proposal(
        f"Start {_which(able)} now?", tuple(lines + _left_out(tasks, able)), StartNow(select=_these(able)), "made ready"
    )


def propose_priority(tasks: Sequence[Document], steps: int) -> Proposal:
    """One class up (`steps` 1) or down (-1), from where the first task is. Raises ConflictError when it cannot be."""
    able = _able(tasks, lambda task: task["status"] in _WAITING, "does not wait", "only what waits has a place in line")
    place = _PRIORITIES.index(able[0]["priority"]) + steps
    if not 0 <= place < len(_PRIORITIES):
        raise ConflictError(f"task {able[0]['id']} is {able[0]['priority']} already", hint="there is no class beyond")
    word = _PRIORITIES[place]
    before = ", ".join(dict.fromkeys(str(task["priority"]) for task in able))
    lines = [*_names(able), f"Priority {before} becomes {word}."]
    changes = TaskChanges(priority=int(Priority[word.upper()]))
    return Proposal(
        f"Make {_which(able)} {word}?",
        tuple(lines + _left_out(tasks, able)),
        Edit(select=_these(able), changes=changes),
        f"made {word}:",
    )


def propose_pause(pool: Document) -> Proposal:
    """Pause a pool, or resume a paused one."""
    name, waiting = pool["name"], sum(pool["waiting"].values())
    if pool["paused"]:
        line = f"{_count(waiting, 'task')} ready there may start again, {pool['workers']} at once."
        return Proposal(f"Resume pool {name}?", (line,), ResumePool(names=[name]), "resumed pool")
    lines = (f"Nothing more starts there, {waiting} ready wait.", f"What runs ({pool['running']}) goes on.")
    return Proposal(f"Pause pool {name}?", lines, PausePool(names=[name]), "paused pool")


def propose_schedule_pause(schedule: Document) -> Proposal:
    """Pause a recurring job, or resume a paused one."""
    name = schedule["name"]
    if schedule["paused"]:
        line = "It runs at its times again; what fell due meanwhile is not caught up."
        return Proposal(f"Resume {name}?", (line,), ResumeSchedules(names=[name]), f"resumed {name}")
    line = "No new runs until it is resumed; one that runs goes on."
    return Proposal(f"Pause {name}?", (line,), PauseSchedules(names=[name]), f"paused {name}")


def propose_schedule_run(schedule: Document) -> Proposal:
    """Run a recurring job now."""
    name = schedule["name"]
    lines = (f"{command_line(schedule)}", "One run more, beside those at its times.")
    return Proposal(f"Run {name} now?", lines, RunSchedule(name=name), "submitted")


def propose_scale(pool: Document, text: str) -> Proposal:
    """Another size of a pool: `4`, or `1..8` for one that scales itself. Raises UsageError for other words."""
    least, most = _parse_size(text)
    name = pool["name"]
    if least == most:
        request, size = ScalePool(name=name, workers=most), f"{most}"
    else:
        request, size = ScalePool(name=name, min=least, max=most), f"{least} to {most}"
    lines = [f"Workers {_size_of(pool)} become {size}, until the pool is reset or the configuration is read anew."]
    if pool["busy"] > most:
        lines.append(f"{pool['busy']} are busy: what runs goes on, nothing new starts until fewer are.")
    return Proposal(f"Scale pool {name} to {size}?", tuple(lines), request, "scaled pool")


def _parse_size(text: str) -> tuple[int, int]:
    least, dots, most = text.strip().partition("..")
    words = [least, most] if dots else [least, least]
    if not all(word.isascii() and word.isdecimal() and len(word) < 8 for word in words):
        raise UsageError(f"{text!r} is no number of workers", hint="write 4, or 1..8")
    first, last = map(int, words)
    if first > last or last > MOST_WORKERS:
        raise UsageError(f"{text!r} is no number of workers", hint="the smaller number first")
    return first, last


def _size_of(pool: Document) -> str:
    return str(pool["workers"]) if pool["min"] == pool["max"] else f"{pool['min']} to {pool['max']}"


# -- words -----------------------------------------------------------------------------------------------------------


def _able(tasks: Sequence[Document], test: Callable[[Document], bool], why_not: str, hint: str) -> list[Document]:
    if not tasks:
        raise ConflictError("no task is selected", hint="move to one with the arrows")
    able = [task for task in tasks if test(task)]
    if not able:
        one = tasks[0]
        which = f"task {one['id']} ({one['status'].replace('_', ' ')})" if len(tasks) == 1 else "none of these:"
        raise ConflictError(f"{which} {why_not}" if len(tasks) == 1 else f"each of these {why_not}", hint=hint)
    return able


def _these(tasks: Iterable[Document]) -> Selector:
    return Selector(refs=[str(task["id"]) for task in tasks])


def _which(tasks: Sequence[Document]) -> str:
    return f"task {tasks[0]['id']}" if len(tasks) == 1 else f"{len(tasks)} tasks ({format_ids(_ids(tasks))})"


def _ids(tasks: Iterable[Document]) -> list[int]:
    return sorted(task["id"] for task in tasks)


def _names(tasks: Sequence[Document]) -> list[str]:
    lines = [f"{task['id']}  {title_of(task)} ({_state(task)})" for task in tasks[:MOST_NAMED]]
    return lines + ([f"and {len(tasks) - MOST_NAMED} more"] if len(tasks) > MOST_NAMED else [])


def _state(task: Document) -> str:
    status = "held" if task["held"] and task["status"] == "blocked" else task["status"].replace("_", " ")
    if task["status"] == "running":
        return f"running for {short_span(task['run_s'])}"
    ended = how_it_ended(task) if task["status"] in _FINAL else None
    return f"{status}, {ended}" if ended else status


def _of(count: int, tasks: Sequence[Document], one: str, many: str) -> str:
    if len(tasks) == 1:
        return f"It {one}"
    return f"{count} {one if count == 1 else many}"


def _left_out(tasks: Sequence[Document], able: Sequence[Document]) -> list[str]:
    left = len(tasks) - len(able)
    return [f"{_count(left, 'marked task')} left out: not possible there."] if left else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
