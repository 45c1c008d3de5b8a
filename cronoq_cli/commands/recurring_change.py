"""`cronoq recurring pause`, `resume`, `skip`, `run`, `refresh` and `rm`: what is done with schedules that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json, ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.environment import capture_environment
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_named
from cronoq_cli.commands.schedule_names import NamedSchedules, pick_names
from cronoq_cli.commands.spec_options import find_named, parse_count
from cronoq_cli.commands.submit import AnswerOptions, until_the_end
from cronoq_cli.errors import UsageError
from cronoq_cli.model.moment import parse_moment
from cronoq_cli.model.recurring import parse_schedule_name
from cronoq_cli.wire.requests import Request
from cronoq_cli.wire.schedules import (
    PauseSchedules,
    RefreshSchedules,
    RemoveSchedules,
    ResumeSchedules,
    RunSchedule,
    SkipSchedule,
)

MOST_SKIPS = 1000

BuildRequest = Callable[[list[str]], Request]

Name = Annotated[str, argument("NAME", help="The schedule.")]


def declare(recurring: typer.Typer) -> None:
    """Declare the verbs."""
    examples = ("cronoq recurring pause backup", "cronoq recurring pause --all --until 'mon 08:00'")
    verb(recurring, "pause", examples=examples)(pause)
    verb(recurring, "resume", examples=("cronoq recurring resume backup",))(resume)
    verb(recurring, "skip", examples=("cronoq recurring skip backup", "cronoq recurring skip poll -n 3"))(skip)
    verb(recurring, "run", examples=("cronoq recurring run backup", "cronoq recurring run -f backup"))(run)
    verb(recurring, "refresh", examples=("cronoq recurring refresh backup",))(refresh)
    verb(recurring, "rm", aliases=("remove",), examples=("cronoq recurring rm backup",))(rm)


def pause(
    context: Context,
    which: NamedSchedules,
    until: Annotated[str | None, option("--until", help="Go on by itself then.", metavar="TIME")] = None,
    reason: Annotated[str | None, option("--reason", help="Why, for ls and show.", metavar="TEXT")] = None,
    json: Json = False,
) -> int | None:
    """Let schedules rest: no new runs, and what falls due meanwhile is not made up for. What runs goes on."""
    at = find_named("--until", until, lambda text: parse_moment(text, now=context.now(), zone=context.zone()))
    if at is not None and at <= context.now():
        raise UsageError(f"--until: {until!r} is not ahead", hint="cronoq recurring resume ends a pause now")
    return _do(context, which, lambda names: PauseSchedules(names=names, until=at, reason=reason), "paused", json)


def resume(context: Context, which: NamedSchedules, json: Json = False) -> int | None:
    """Let paused schedules go on; a chain on success that broke begins anew."""
    return _do(context, which, lambda names: ResumeSchedules(names=names), "resumed", json)


def rm(context: Context, which: NamedSchedules, json: Json = False) -> int | None:
    """Forget schedules; their history stays, and what runs ends by itself."""
    return _do(context, which, lambda names: RemoveSchedules(names=names, every=which.all), "removed", json)


def refresh(context: Context, which: NamedSchedules, json: Json = False) -> int | None:
    """Record environment, directory and umask anew: those of this command."""
    env_id, env = capture_environment(context.env)

    def build(names: list[str]) -> Request:
        if not names:
            raise UsageError("--all with refresh", hint="name the schedules: not all belong into this directory")
        return RefreshSchedules(names=names, env_id=env_id, env=env, cwd=context.cwd, umask=context.umask)

    return _do(context, which, build, "refreshed", json)


def skip(
    context: Context,
    name: Name,
    count: Annotated[str | None, option("--count", "-n", help="So many runs; 1.", metavar="N")] = None,
    at: Annotated[str | None, option("--at", help="The run at this time.", metavar="TIME")] = None,
    json: Json = False,
) -> int | None:
    """Leave out the next run of a schedule, or the one at a time."""
    if count is not None and at is not None:
        raise UsageError("--count and --at together", hint="use one of them")
    most = find_named("-n", count, lambda text: parse_count(text, least=1, most=MOST_SKIPS)) or 1
    slot = find_named("--at", at, lambda text: parse_moment(text, now=context.now(), zone=context.zone()))
    request = SkipSchedule(name=parse_schedule_name(name), count=most, at=slot)
    reply = ask(context, request, json=json)
    if json:
        print_json(context, reply.doc)
    else:
        found = len(reply.doc["skipped"])  # of a schedule that ends soon fewer than asked
        what = "a run" if found == 1 else f"{found} runs"
        context.out.write(f"{name} leaves out {what}{_next_of(reply.doc.get('recurring'))}\n")
    return reply.exit


def _next_of(documents: object) -> str:
    """`; next 2026-03-09T06:30:00Z` where an answer tells it."""
    first = documents[0] if isinstance(documents, list) and documents else {}
    return f"; next {first['next']}" if first.get("next") else ""


class RunOptions(msgspec.Struct):
    """What is answered, and when."""

    wait: Annotated[bool, option("--wait", "-w", help="Wait for the end; exit as the task did.")] = False
    follow: Annotated[bool, option("--follow", "-f", help="Show its output until the end; exit as it did.")] = False
    quiet: Annotated[bool, option("--quiet", "-q", help="Print nothing but errors.")] = False

    def as_of_submit(self, json: bool) -> AnswerOptions:
        """The same, as `submit` has it. Raises UsageError for what contradicts itself."""
        answer = AnswerOptions(wait=self.wait, follow=self.follow, quiet=self.quiet, json=json)
        answer.check()
        return answer


def run(context: Context, name: Name, options: RunOptions, json: Json = False) -> int | None:
    """Start a run now, beside the schedule: whatever else runs, and without changing its next run.

    Prints the task's id.
    """
    context.json = json
    answer = options.as_of_submit(json)
    context.one_task = options.wait or options.follow
    if context.one_task:
        context.need_streams()
    reply = ask(context, RunSchedule(name=parse_schedule_name(name)))
    (task,) = tasks_of(reply.doc)
    if context.one_task:
        return until_the_end(context, [task["id"]], answer)
    if json:
        print_json(context, reply.doc)
    elif not options.quiet:
        context.out.write(f"{task['id']}\n")
    return reply.exit


def _do(context: Context, which: NamedSchedules, build: BuildRequest, done: str, json: bool) -> int:
    """Carry out a change of schedules and say of which."""
    context.json = json
    names = pick_names(context, which)
    reply = ask(context, build(names))
    if json:
        print_json(context, reply.doc)
        return reply.exit
    changed = reply.doc.get("removed") or [document["name"] for document in reply.doc.get("recurring") or ()]
    print_named(context, done, changed or names)
    return reply.exit
