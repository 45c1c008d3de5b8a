"""The page docs/lifecycle.md, made from the tables of `lifecycle`: prose, tables and a Mermaid diagram.

`python -m cronoq_cli.model.lifecycle_diagram > docs/lifecycle.md` writes it anew; a test fails when it is stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli.model.lifecycle import FINAL, LIVE, NEW, TRANSITIONS, WAITING, Status, Trigger

MEANINGS: dict[Status, str] = {
    Status.BLOCKED: "a dependency is open, or somebody holds it",
    Status.SCHEDULED: "its earliest start lies ahead",
    Status.READY: "it may start as soon as its pool has room",
    Status.RUNNING: "an attempt runs",
    Status.RETRYING: "an attempt failed and the next one waits for its time",
    Status.SUCCEEDED: "it exited with 0 or a success code",
    Status.FAILED: "it failed for good, or no retries were asked for",
    Status.DEAD_LETTERED: "its retries are used up, its work was lost, or it was put there",
    Status.CANCELLED: "it was cancelled by a person, by another task, or by itself",
    Status.SKIPPED: "a dependency can no longer be met",
    Status.MISSED: "its time passed before it could start",
    Status.SHED: "it gave way when its pool was full",
}
"""What each status says of a task."""

HAPPENINGS: dict[Trigger, str] = {
    Trigger.EDGES_MET: "the last open dependency was met",
    Trigger.EDGE_UNMEETABLE: "one dependency can no longer be met",
    Trigger.TIME_CAME: "its earliest start has come",
    Trigger.EXPIRED: "its latest start has passed",
    Trigger.STARTED: "an attempt started",
    Trigger.SUCCEEDED: "the attempt succeeded",
    Trigger.FAILED_RETRYABLE: "the attempt failed in a way that may be tried again",
    Trigger.FAILED_PERMANENT: "the attempt failed in a way that no retry mends",
    Trigger.INTERRUPTED: "the daemon was stopped and ended it; the attempt does not count",
    Trigger.LOST: "the machine or the runner died under it",
    Trigger.MACHINE_LACKS: "the machine had no process, descriptor or memory for it; the attempt does not count",
    Trigger.HELD: "a person put it on hold",
    Trigger.RELEASED: "a person released it",
    Trigger.EDITED: "a person changed its dependencies or its time",
    Trigger.STARTED_NOW: "a person skipped the waiting time",
    Trigger.KILL_AT_PASSED: "the moment it must be over by has passed",
    Trigger.BACKOFF_OVER: "the time before the next attempt is over",
    Trigger.CANCELLED: "a person or its key's next holder cancelled it",
    Trigger.ARCHIVED: "a person put it among the dead letters",
    Trigger.REVOKED_BY_TASK: "the task itself reported `outcome=revoke`",
    Trigger.NOT_COUNTED: "the task itself reported `outcome=not-counted`",
    Trigger.SHED: "its pool was full and it had to give way",
    Trigger.RETRIED: "a person asked for it to run again under its id",
    Trigger.UNREADABLE: "its row in the store could not be read",
    Trigger.GATHERED: "the task that ran its group's command for it has ended, and it ends as that did",
}
"""What each trigger means."""

_ANY_WAITING = "any_waiting"
_ANY_FINAL = "any_final"
_Move = tuple[str, str, Trigger]

_INTRODUCTION = """\
# The life of a task

This page is made from the tables in `cronoq_cli/model/lifecycle.py`:
`python -m cronoq_cli.model.lifecycle_diagram > docs/lifecycle.md`. A test fails when it is stale.

A task has one of twelve statuses. Five are live, seven final; a final task stays as it is until a person retries
it. A new task begins as {new}: dependencies open or held; start time ahead; neither.
Nothing moves a task but the transitions below, and every one of them is committed to the store before anything
follows from it.

The slot and the resources of a cancelled running task are free only when its process tree is gone; the status
says `cancelled` at once.
"""


def render_page() -> str:
    """The whole page as Markdown."""
    new = _join_words(status.value for status in Status if status in NEW)
    sections = (
        _INTRODUCTION.format(new=new),
        "## Statuses\n",
        _table(("status", "kind", "what it says"), _status_rows()),
        "## Diagram\n",
        f"```mermaid\n{render_diagram()}```\n",
        "## Transitions\n",
        _table(("from", "what happened", "to"), _transition_rows()),
        "## What happens to tasks\n",
        _table(("trigger", "meaning"), ((f"`{trigger}`", HAPPENINGS[trigger]) for trigger in Trigger)),
    )
    return "\n".join(sections)


def render_diagram() -> str:
    """The transitions as a Mermaid state diagram.

    What holds for every waiting status alike is drawn once, from a box that stands for all of them, and so for
    the final ones; otherwise the arrows could not be told apart.
    """
    lines = ["stateDiagram-v2"]
    lines.append(f'    state "any waiting status ({_join_words(_in_order(WAITING))})" as {_ANY_WAITING}')
    lines.append(f'    state "any final status" as {_ANY_FINAL}')
    lines += [f"    [*] --> {status}" for status in _in_order(NEW)]
    arrows: dict[tuple[str, str], list[str]] = {}
    for source, target, trigger in _moves_to_draw():
        arrows.setdefault((source, target), []).append(trigger.value)
    lines += [f"    {source} --> {target}: {', '.join(words)}" for (source, target), words in arrows.items()]
    return "\n".join(lines) + "\n"


def _moves_to_draw() -> Iterator[_Move]:
    shared = {_ANY_WAITING: _shared_moves(WAITING), _ANY_FINAL: _shared_moves(FINAL)}
    for status in Status:
        common = shared[_ANY_WAITING] if status in WAITING else shared[_ANY_FINAL] if status in FINAL else []
        for trigger, target in _moves_from(status):
            if (trigger, target) not in common:
                yield status.value, target.value, trigger
    for name, moves in shared.items():
        for trigger, target in moves:
            yield name, target.value, trigger


def _shared_moves(group: Iterable[Status]) -> list[tuple[Trigger, Status]]:
    """The moves that every status of the group has."""
    first, *others = (_moves_from(status) for status in _in_order(group))
    return [move for move in first if all(move in moves for moves in others)]


def _moves_from(status: Status) -> list[tuple[Trigger, Status]]:
    row = TRANSITIONS[status]
    return [(trigger, target) for trigger in Trigger if trigger in row for target in _in_order(row[trigger])]


def _in_order(statuses: Iterable[Status]) -> list[Status]:
    """The statuses in the order of their table: sets have none, and the page must always come out the same."""
    chosen = set(statuses)
    return [status for status in Status if status in chosen]


def _status_rows() -> Iterator[tuple[str, ...]]:
    for status in Status:
        kind = "final" if status in FINAL else "waiting" if status in WAITING else "live"
        yield f"`{status}`", kind, MEANINGS[status]


def _transition_rows() -> Iterator[tuple[str, ...]]:
    for status in _in_order(LIVE):
        for trigger in Trigger:
            if trigger in TRANSITIONS[status]:
                yield f"`{status}`", trigger.value, _code_words(TRANSITIONS[status][trigger])
    alike = TRANSITIONS[Status.SUCCEEDED]
    if any(TRANSITIONS[status] != alike for status in FINAL):
        raise AssertionError("the final statuses differ now: give each of them rows of its own here")
    for trigger, targets in alike.items():
        yield "any final status", trigger.value, _code_words(targets)


def _code_words(statuses: Iterable[Status]) -> str:
    return _join_words(f"`{status}`" for status in _in_order(statuses))


def _join_words(words: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(render_page(), end="")
