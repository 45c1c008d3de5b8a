"""`cronoq logs`: the output of tasks, as raw bytes. The daemon tells where the files are; they are read here, which
for a few short ones may be within the daemon: a tenth of the time of the whole program in the client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.answers import Json, ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.following import Follower, is_own_output, outputs_of, silent
from cronoq_cli.commands.outcome import BROKEN_PIPE
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.selectors import Selection, get_selector
from cronoq_cli.commands.spec_options import find_named, parse_number, parse_since
from cronoq_cli.errors import ConflictError, CronoqError, NotFoundError, UsageError
from cronoq_cli.logs.files import measure_log, open_regular
from cronoq_cli.logs.tail import Sink, Tail
from cronoq_cli.model.moment import parse_moment
from cronoq_cli.wire.requests import ShowTasks

SHORT_BYTES = 64 * 1024
MOST_PARTS = 16
"""So much the daemon reads itself: it takes less than a listing."""
MOST_BYTES = 1024 * 1024
"""And so much if somebody goes on writing nevertheless."""
EXAMPLES = ("cronoq logs 7", "cronoq logs -f last", "cronoq logs -n 20 --attempt 2 7", "cronoq logs --since 10m --all")


class LogOptions(msgspec.Struct):
    """Which part of the output."""

    follow: Annotated[bool, option("--follow", "-f", help="Go on until the task has ended, over its retries.")] = False
    lines: Annotated[str | None, option("--lines", "-n", help="Only the last N lines.", metavar="N")] = None
    attempt: Annotated[
        str | None, option("--attempt", help="Of this attempt, from 1; else of the latest.", metavar="N")
    ] = None
    stdout: Annotated[bool, option("--stdout", help="Only stdout, of a split log.")] = False
    stderr: Annotated[bool, option("--stderr", help="Only stderr, of a split log.")] = False
    since: Annotated[
        str | None,
        option("--since", help="All attempts that still ran at this time, or so long ago.", metavar="TIME|DUR"),
    ] = None

    def check(self) -> None:
        """Refuse what contradicts itself."""
        if self.stdout and self.stderr:
            raise UsageError("--stdout and --stderr together", hint="leave both out to see both")
        if self.attempt is not None and (self.follow or self.since is not None):
            raise UsageError("--attempt with --follow or --since", hint="they choose the attempts themselves")
        if self.follow and self.since is not None:
            raise UsageError("--since with --follow", hint="use -n for where to begin")


def declare(app: typer.Typer) -> None:
    """Declare the verb, and the alias `follow`."""
    verb(app, "logs", aliases=("log",), examples=EXAMPLES, panel="See tasks")(logs)
    verb(app, "follow", hidden=True)(follow)


def logs(context: Context, select: Selection, which: LogOptions, json: Json = False) -> int | None:
    """Show the output of tasks: that of the latest attempt, unless options say otherwise.

    The bytes come as the task wrote them; stdout and stderr of a split log go to stdout and stderr.
    """
    which.check()
    if which.follow and json:
        raise UsageError("--json with --follow", hint="use one of them")
    context.json = json
    if which.follow or "CRONOQ_TASK_ID" in context.env:
        context.need_streams()  # a task's own log may be what this command writes to
    lines = find_named("--lines", which.lines, parse_number)
    reply = ask(context, ShowTasks(select=get_selector(select)))
    tasks = tasks_of(reply.doc)
    if which.follow:
        return _follow(context, tasks, which, lines)
    parts = [part for task in tasks for part in _parts_of(context, task, which)]
    if context.in_daemon and not _are_short(parts):
        context.need_streams()
    if json:
        print_json(context, {"logs": [_describe(part, lines) for part in parts]})
        return reply.exit
    return _print(context, parts, lines) or reply.exit


def follow(context: Context, select: Selection, which: LogOptions) -> int | None:
    """Show the output of a task as it comes, until it has ended."""
    which.follow = True
    return logs(context, select, which)


class _Part(msgspec.Struct):
    """The log of one stream of one attempt; `unstarted`: why there was never a process to write it."""

    task: int
    attempt: int
    stream: str
    path: str
    settled: bool
    """Nobody writes it any more, and it lies where our logs are: reading it cannot hang."""
    unstarted: str | None = None


def _are_short(parts: list[_Part]) -> bool:
    """Whether all of it is soon read. What is gone is soon told too."""
    if len(parts) > MOST_PARTS or not all(part.settled for part in parts):
        return False
    total = 0
    for part in parts:
        with suppress(OSError):
            total += os.stat(part.path).st_size
    return total <= SHORT_BYTES


def _parts_of(context: Context, task: Mapping[str, Any], which: LogOptions) -> list[_Part]:
    chosen = _choose(context, task, which)
    if not task["attempts"]:
        print_notes(context, [f"task {task['id']} has not started yet"])
    for attempt in chosen:
        _check_split(task, attempt, which)
    return [part for attempt in chosen for part in _streams_of(task, attempt, which)]


def _choose(context: Context, task: Mapping[str, Any], which: LogOptions) -> list[Mapping[str, Any]]:
    attempts = list(task["attempts"])
    if which.attempt is not None:
        number = find_named("--attempt", which.attempt, parse_number)
        chosen = [attempt for attempt in attempts if attempt["number"] == number]
        if not chosen:
            raise NotFoundError(f"task {task['id']} has no attempt {number}", hint=f"it has {len(attempts)}")
        return chosen
    if which.since is not None:
        since_at = parse_since(which.since, context)
        return [attempt for attempt in attempts if _ended_at(attempt, context) >= since_at]
    return attempts[-1:]


def _ended_at(attempt: Mapping[str, Any], context: Context) -> float:
    text = attempt["finished_at"]
    return context.now() if text is None else parse_moment(text, now=context.now(), zone=context.zone())


def _check_split(task: Mapping[str, Any], attempt: Mapping[str, Any], which: LogOptions) -> None:
    if (which.stdout or which.stderr) and attempt["stderr_log"] is None:
        raise ConflictError(
            f"task {task['id']} has one log for both streams", hint="submit with --split to keep them apart"
        )


def _streams_of(task: Mapping[str, Any], attempt: Mapping[str, Any], which: LogOptions) -> list[_Part]:
    found = []
    for stream, path, hidden in (
        ("stdout", attempt["log"], which.stderr),
        ("stderr", attempt["stderr_log"], which.stdout),
    ):
        if path is not None and not hidden:
            unstarted = attempt["message"] if attempt["cause"] == "spawn" else None
            # what has no cap is a file named by -o
            settled = attempt["finished_at"] is not None and task.get("log_cap") is not None
            found.append(_Part(task["id"], attempt["number"], stream, path, settled, unstarted))
    return found


def _print(context: Context, parts: list[_Part], lines: int | None) -> int:
    outputs = outputs_of(context)
    most = MOST_BYTES if context.in_daemon else None
    for part in parts:
        output = outputs[part.stream == "stderr"]
        if is_own_output(context, part.path, outputs):
            continue
        if not _pump(part, output, lines, most):
            _note_if_gone(context, part)
        output.end()
    return BROKEN_PIPE if outputs[0].broken else 0


def _pump(part: _Part, sink: Sink, lines: int | None, most: int | None = None) -> int:
    try:
        with closing(Tail(part.path, sink, lines=lines, most=most)) as tail:
            return tail.pump()
    except OSError as error:
        raise CronoqError(
            f"cannot read {part.path}: {error.strerror}", hint="cronoq show tells where logs are", code="log"
        ) from error


def _note_if_gone(context: Context, part: _Part) -> None:
    try:
        with open_regular(part.path):
            return
    except OSError:
        said = f"the log of task {part.task}, attempt {part.attempt}, is gone"
        if part.unstarted is not None:
            said = f"task {part.task} wrote nothing, attempt {part.attempt} could not be started: {part.unstarted}"
        print_notes(context, [said])


def _describe(part: _Part, lines: int | None) -> dict[str, Any]:
    pieces: list[bytes] = []
    _pump(part, pieces.append, lines)
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    size, cut = measure_log(part.path)
    about = {"id": part.task, "attempt": part.attempt, "stream": part.stream, "path": part.path}
    return about | {"size_bytes": size, "cut_bytes": cut, "text": text}


def _follow(context: Context, tasks: list[Mapping[str, Any]], which: LogOptions, lines: int | None) -> int:
    if len(tasks) != 1:
        raise UsageError(f"--follow with {len(tasks)} tasks", hint="follow one task at a time")
    if tasks[0]["attempts"]:
        _check_split(tasks[0], tasks[0]["attempts"][-1], which)
    out, err = outputs_of(context)
    sinks: tuple[Sink, Sink] = (silent if which.stderr else out, silent if which.stdout else err)
    follower = Follower(context, tasks[0]["id"], sinks=sinks, latest_only=True, lines=lines)
    try:
        follower.run()
    finally:
        out.end()
        err.end()
    return BROKEN_PIPE if out.broken else 0
