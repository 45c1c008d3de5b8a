"""`cronoq recurring add`: a schedule from the command line, answered with its words and its next runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import Verb, argument, option, verb
from cronoq_cli.commands.options import SpecOptions
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.schedule_options import NOT_RECURRING, ScheduleOptions, build_schedule
from cronoq_cli.commands.submission import CommandOptions, read_command
from cronoq_cli.commands.zone import load_machine_zone
from cronoq_cli.errors import CronoqError, InvalidError, UsageError
from cronoq_cli.model.moment import format_utc, load_zone
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.wire.schedules import ApplySchedules

EXAMPLES = (
    "cronoq recurring add backup '30 2 * * *' -- ./backup.sh",
    "cronoq recurring add poll --every 90s --timeout 1m -- ./poll",
    "cronoq recurring add report '0 9 * * mon-fri' --tz Europe/Berlin -- ./report",
)
WOULD = {"added": "would add", "replaced": "would replace", "unchanged": "would leave unchanged"}
WORDS = "NAME EXPR|--every DUR [--] COMMAND [ARG]..."


class AddVerb(Verb):
    """Reads options among its first words; what follows the first word of the command belongs to the command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As any verb, with `--` put before the command where it was left out."""
        place = self._find_command(args)
        return super().parse_args(ctx, args if place is None else [*args[:place], "--", *args[place:]])

    def _find_command(self, args: list[str]) -> int | None:
        """Where the command begins: behind the name and the time, which `--every` says too; None where `--` says it."""
        flags = {name: getattr(param, "is_flag", False) for param in self.params for name in param.opts}
        left, place = 2, 0
        while place < len(args) and args[place] != "--":
            name, equals, _ = args[place].partition("=")
            if not args[place].startswith("-"):
                if left == 0:
                    return place
                left -= 1
            elif not equals and not flags.get(name, True):
                place += 1
            left -= name == "--every"
            place += 1
        return None


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "add", examples=EXAMPLES, without={SpecOptions: NOT_RECURRING}, cls=AddVerb)(add)


def add(
    context: Context,
    schedule: ScheduleOptions,
    spec: SpecOptions,
    command: CommandOptions,
    words: Annotated[list[str] | None, argument(WORDS, help="The name, when it runs, and the command.")] = None,
    paused: Annotated[bool, option("--paused", help="Add it paused: cronoq recurring resume starts it.")] = False,
    dry_run: Annotated[bool, option("--dry-run", help="Check all of it, add nothing, say when it would run.")] = False,
    json: Json = False,
) -> int | None:
    """Run a command again and again: by a cron expression (quoted), @daily and the like, @reboot, or --every DUR.

    Answers with the schedule in words and its next runs. A name that exists is replaced. Environment, directory and
    umask are recorded now, as of submit. Options of cronoq stand before the command. Each run is a task.
    """
    context.json = json
    name, when, rest = _divide(words or [], schedule)
    found, envs = build_schedule(context, name, when, schedule, spec, read_command(rest, command))
    if found.until is not None and found.until <= context.now():
        raise UsageError(f"--until: {schedule.until!r} is not ahead", hint="a schedule that is over never runs")
    if found.until is not None:
        _check_runs_once(context, found, found.until)
    reply = ask(context, ApplySchedules(specs=[found], envs=envs, paused=paused, dry_run=dry_run))
    from cronoq_cli.commands.render.schedule_plan import list_plan_notes, print_plan

    (document,) = reply.doc["recurring"]
    if json:
        print_json(context, reply.doc)
    else:
        done = next((word for word in ("unchanged", "replaced") if reply.doc.get(word)), "added")
        print_plan(context, document, WOULD[done] if dry_run else done)
    print_notes(context, list_plan_notes(context, document))
    return reply.exit


def _check_runs_once(context: Context, spec: ScheduleSpec, until: float) -> None:
    """Raises InvalidError for a schedule that is over before its first run."""
    from cronoq_cli.engine.cron import next_after
    from cronoq_cli.engine.recurrence import parse_when

    expression, now = parse_when(spec), context.now()
    if expression is not None:
        first = next_after(expression, now, load_machine_zone() if spec.tz is None else load_zone(spec.tz))
    else:
        first = now if spec.every_s is None else now + spec.every_s
    if first is None or first > until:
        when = "" if first is None else f" {format_utc(first)}"
        raise InvalidError(
            f"bad schedule: it never fires: its first run{when} would come behind --until {format_utc(until)}",
            code="bad-schedule",
        )


def _divide(words: list[str], schedule: ScheduleOptions) -> tuple[str, str, list[str]]:
    """Name, time and command of the words. Raises UsageError for what is missing."""
    if not words:
        raise UsageError("no name was given", hint=f"cronoq recurring add {WORDS}")
    if schedule.every is not None:
        if schedule.seconds:
            raise UsageError("--seconds with --every", hint="it belongs to an expression of six fields")
        if words[2:] and _is_expression(words[1]):
            raise UsageError(f"{words[1]!r} with --every", hint="say when it runs once: EXPR or --every DUR")
        return words[0], f"@every {schedule.every}", words[1:]
    if len(words) < 2:
        raise UsageError("it was not said when", hint="give an expression such as '30 2 * * *', or --every DUR")
    if not words[2:] and not _is_time(words[1]):
        raise UsageError("it was not said when", hint=f"cronoq recurring add {WORDS}")
    if not _is_time(words[1]):
        raise InvalidError(
            f"bad schedule: {words[1]!r} is one field of five",
            hint="quote the expression, or the shell takes it apart: '30 2 * * *'",
            code="bad-schedule",
        )
    return words[0], words[1], words[2:]


def _is_time(word: str) -> bool:
    """Whether a word can be meant as a time: it is a macro or has several fields."""
    return word.startswith("@") or len(word.split()) > 1


def _is_expression(word: str) -> bool:
    """Whether a word where the command was looked for is an expression or a macro."""
    from cronoq_cli.engine.recurrence import parse_timing  # only beside --every is this asked

    for seconds in (False, True):
        try:
            parse_timing(word, seconds=seconds)
        except CronoqError:
            continue
        return True
    return False
