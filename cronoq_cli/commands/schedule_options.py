"""The options of a recurring schedule beside those of its task, and the building of a ScheduleSpec from both.

What an option of the task means stands in `spec_options`. The text forms of a whole schedule are in `schedule_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import option
from cronoq_cli.commands.environment import capture_environment
from cronoq_cli.commands.options import SpecOptions
from cronoq_cli.commands.reading import read_kept_stdin
from cronoq_cli.commands.spec_options import (
    Setter,
    apply_options,
    apply_setters,
    given_options,
    option_of,
    parse_count,
    set_count,
    set_flag,
    set_parsed,
    set_word,
)
from cronoq_cli.commands.submission import Command
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration, parse_positive_duration
from cronoq_cli.model.moment import load_zone, parse_moment
from cronoq_cli.model.notice import HOOK_NAMES, parse_hook_name
from cronoq_cli.model.ping import parse_ping_url
from cronoq_cli.model.reaction import REACTIONS
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec, parse_schedule_name
from cronoq_cli.model.task import OnMiss, TaskSpec
from cronoq_cli.model.words import hint_for

Word = str | None
Words = list[str] | None

NOT_RECURRING = frozenset(
    "name after after_any after_fail await_deps in_ at start_at kill_at deadline expires key once unique if_exists hold"
    " tolerance on_miss group".split()
)
"""Options of a task that mean nothing for one that is made anew for each slot, or that a schedule has itself."""
HOOKS = tuple(HOOK_NAMES.values())
"""The notices that a schedule can have a command for."""
MOST_INPUT = 64 * 1024
"""Bytes of input kept with a schedule: every occurrence carries them."""
MOST_RUNS = 1_000_000_000


class ScheduleOptions(msgspec.Struct):
    """When it runs, and what becomes of slots that overlap, are missed or fail."""

    every: Annotated[Word, option("--every", help="Run by elapsed time instead of EXPR.", metavar="DUR")] = None
    seconds: Annotated[bool, option("--seconds", help="EXPR has six fields, seconds first.")] = False
    tz: Annotated[Word, option("--tz", help="Zone of EXPR; the machine's, followed.", metavar="ZONE")] = None
    overlap: Annotated[
        Word,
        option(
            "--overlap",
            help="While the last one still runs: skip, allow, queue, queue-on-success or replace; skip.",
            metavar="POLICY",
        ),
    ] = None
    catch_up: Annotated[
        Word,
        option("--catch-up", help="What was missed while nothing could run it: none, latest, all.", metavar="POLICY"),
    ] = None
    catch_up_within: Annotated[
        Word,
        option("--catch-up-within", help="Only slots missed so long ago; a period, at most 24h.", metavar="DUR"),
    ] = None
    jitter: Annotated[Word, option("--jitter", help="Start up to this later, the same for a name.", metavar="DUR")] = (
        None
    )
    until: Annotated[Word, option("--until", help="No slot after this.", metavar="TIME")] = None
    max_runs: Annotated[Word, option("--max-runs", help="So many runs, then no more.", metavar="N")] = None
    pause_after_failures: Annotated[
        Word, option("--pause-after-failures", help="Pause it after so many in a row.", metavar="N")
    ] = None
    reserve: Annotated[bool, option("--reserve", help="Keep room for each start, as --start-at does.")] = False
    tolerance: Annotated[Word, option("--tolerance", help="How late a start may be.", metavar="DUR")] = None
    on_miss: Annotated[
        Word, option("--on-miss", help="When it would be later still; run-late.", metavar="run-late|skip|fail")
    ] = None
    deadline_after: Annotated[
        Word, option("--deadline-after", help="Be done so long after the slot: gets more urgent.", metavar="DUR")
    ] = None
    hook: Annotated[
        Words,
        option(
            "--hook",
            help="Shell line told of it: on_failure, on_success, on_missed, ...; repeatable.",
            metavar="ON=CMD",
        ),
    ] = None
    ping: Annotated[
        Word,
        option("--ping", help="Ask this URL at each start and end, as monitoring services want it.", metavar="URL"),
    ] = None


def _put_zone(target: Any, text: str, context: Context) -> None:
    target.tz = load_zone(text).key


def _put_until(target: Any, text: str, context: Context) -> None:
    target.until = round(parse_moment(text, now=context.now(), zone=context.zone()), 3)


def _put_hooks(target: Any, words: list[str], context: Context) -> None:
    for word in words:
        text, _, command = word.partition("=")
        name = parse_hook_name(text)
        if not command.strip():
            raise UsageError(f"{name} has no command", hint=f"write it like {name}='notify-send failed'")
        target.hooks = {**target.hooks, name: command}


SETTERS: dict[str, Setter] = {
    "tz": _put_zone,
    "overlap": set_parsed("overlap", lambda text: Overlap(_known(text, Overlap))),
    "catch_up": set_parsed("catch_up", lambda text: CatchUp(_known(text, CatchUp))),
    "catch_up_within": set_parsed("catch_up_within_s", parse_positive_duration),
    "jitter": set_parsed("jitter_s", parse_duration),
    "until": _put_until,
    "max_runs": set_count("max_runs", 1, MOST_RUNS),
    "pause_after_failures": set_parsed("pause_after_failures", lambda text: parse_count(text, least=1, most=MOST_RUNS)),
    "reserve": set_flag("reserve"),
    "tolerance": set_parsed("tolerance_s", parse_duration),
    "on_miss": set_word("on_miss", tuple(word.value for word in OnMiss)),
    "deadline_after": set_parsed("deadline_after_s", parse_positive_duration),
    "hook": _put_hooks,
    "ping": set_parsed("ping", parse_ping_url),
}
"""For each field of a schedule what it sets of a ScheduleSpec; `when` it runs is for `put_timing`."""


def _known(text: str, kind: type[Overlap] | type[CatchUp]) -> str:
    known = [word.value for word in kind]
    if text not in known:
        raise UsageError(f"{text!r} is not known here", hint=hint_for(text, known))
    return text


def build_schedule(
    context: Context, name: str, when: str, options: ScheduleOptions, task: SpecOptions, command: Command
) -> tuple[ScheduleSpec, dict[str, bytes]]:
    """The schedule that the words say, and the environment recorded with it. Raises UsageError and InvalidError."""
    given = given_options(task)
    env_id, blob = capture_environment(context.env, clean="clean_env" in given)
    template = TaskSpec(name=name, cwd=context.cwd, umask=context.umask, env=env_id)
    fill_template(template, given, command, context)
    if template.stdin_kept:
        template.stdin_kept, template.stdin_text = False, _read_input(context, given["stdin"])
    spec = ScheduleSpec(name=parse_schedule_name(name), template=template, priority_given="priority" in given)
    spec.reactions = {option: given[option] for option in REACTIONS if option in given}
    put_timing(spec, when, seconds=options.seconds)
    values = {field: getattr(options, field) for field in SETTERS}
    fill_schedule(spec, {field: value for field, value in values.items() if value not in (None, False)}, context)
    return spec, {env_id: blob}


def fill_template(
    template: TaskSpec, given: Mapping[str, Any], command: Command, context: Context, *, field_names: bool = False
) -> None:
    """Set what options, or with `field_names` fields, say on the task of each occurrence, and its command."""
    apply_options(template, given, context, str if field_names else option_of)
    if "shell" in given and command.line is None:
        raise UsageError("--shell with a command of several words", hint="only a shell line needs a shell")
    command.put(template)


def fill_schedule(spec: ScheduleSpec, given: Mapping[str, Any], context: Context, *, field_names: bool = False) -> None:
    """Set what options, or with `field_names` the fields of a text, say of the schedule itself.

    Raises UsageError, also for what contradicts itself.
    """
    style = str if field_names else option_of
    apply_setters(SETTERS, spec, given, context, style)
    timed = [field for field in ("tz", "jitter", "reserve") if field in given]
    if spec.reboot and timed:
        raise UsageError(f"{style(timed[0])} with @reboot", hint="a boot is no time of day")
    if spec.every_s is not None and timed:
        raise UsageError(f"{style(timed[0])} with an interval", hint="it runs by elapsed time, not by the clock")
    if spec.catch_up is CatchUp.NONE and "catch_up_within" in given:
        raise UsageError(f"{style('catch_up_within')} without catching up", hint="use latest or all")
    if spec.on_miss is not None and spec.tolerance_s is None and not spec.reserve:
        raise UsageError(f"{style('on_miss')} without {style('tolerance')}", hint="say how late a start may be")


def put_timing(spec: ScheduleSpec, when: str, *, seconds: bool = False) -> None:
    """Set when it runs: an expression, a macro, `@reboot`, `@every DUR`. Raises InvalidError `bad-schedule`."""
    from cronoq_cli.engine.recurrence import parse_timing  # who reads no expression need not load its rules

    timing = parse_timing(when, seconds=seconds)
    spec.expr, spec.every_s, spec.reboot = timing.expr, timing.every_s, timing.reboot
    spec.seconds = seconds and timing.expr is not None and not timing.expr.startswith("@")


def _read_input(context: Context, path: str) -> str:
    data = read_kept_stdin(context, path)
    if len(data) > MOST_INPUT:
        raise UsageError("--stdin: more than 64 KiB of input for a schedule", hint="put it into a file: --stdin FILE")
    return data.decode("utf-8", "surrogateescape")
