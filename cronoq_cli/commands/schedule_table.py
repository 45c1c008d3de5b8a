"""A schedule as a table of plain values, for exports, imports and `edit`: the same words as the options have.

The inverse of `schedule_options` and `spec_options`, and the way back. How tables look as text: `schedule_toml` and
model/crontab_format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from cronoq_cli.commands.batch import Line, read_object
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.environment import pack_environment
from cronoq_cli.commands.schedule_options import (
    NOT_RECURRING,
    fill_schedule,
    fill_template,
    put_timing,
)
from cronoq_cli.commands.schedule_options import SETTERS as SCHEDULE_SETTERS
from cronoq_cli.commands.submission import Command
from cronoq_cli.errors import CronoqError, InvalidError, UsageError
from cronoq_cli.model.backoff import format_backoff
from cronoq_cli.model.duration import format_duration, parse_duration
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.notice import HOOK_NAMES
from cronoq_cli.model.reaction import REACTIONS
from cronoq_cli.model.recurring import ScheduleSpec, parse_schedule_name
from cronoq_cli.model.task import Priority, TaskSpec
from cronoq_cli.model.words import format_exit_codes, format_signal, hint_for

Table = dict[str, Any]

OWN_FIELDS = frozenset({"when", "seconds", "hooks", "paused", "environment", "shell_path", "stdin_text", "name"})
"""Fields of a table that are neither an option of a task nor one of a schedule by the same name."""
CRON_ENVIRONMENT, CALLERS_ENVIRONMENT = "cron", "here"
SHORT_ID = 12
"""Characters of an environment's id in a table."""


@dataclass(slots=True)
class Environments:
    """The recorded environments that tables can name: `cron` and `here` by word, others by the start of their id."""

    cron: dict[str, str]
    here: dict[str, str]
    known: dict[str, bytes] = field(default_factory=dict)
    used: dict[str, bytes] = field(default_factory=dict)
    """Those that were named, by id: what is sent along."""
    lenient: bool = False
    """One that is not known is replaced by the caller's."""
    missing: list[str] = field(default_factory=list)
    """The names for which that was done."""

    def add(self, env: Mapping[str, str]) -> str:
        """Make an environment known; its id."""
        env_id, blob = pack_environment(env)
        self.known[env_id] = blob
        return env_id

    def name_of(self, env_id: str) -> str:
        """The word a table has for it."""
        return CRON_ENVIRONMENT if env_id == pack_environment(self.cron)[0] else env_id[:SHORT_ID]

    def use(self, name: str) -> str:
        """The id of the environment a table names. Raises UsageError for one that is not known."""
        if name in (CRON_ENVIRONMENT, CALLERS_ENVIRONMENT):
            env_id = self.add(self.cron if name == CRON_ENVIRONMENT else self.here)
        else:
            found = [env_id for env_id in self.known if len(name) >= SHORT_ID and env_id.startswith(name)]
            if len(found) != 1 and self.lenient:
                self.missing.append(name)
                found = [self.add(self.here)]
            if len(found) != 1:
                raise UsageError(f"environment: no recorded one is called {name!r}", hint="write here, or cron")
            env_id = found[0]
        self.used[env_id] = self.known[env_id]
        return env_id


# -- to a table ----------------------------------------------------------------------------------------------------


def describe_schedule(spec: ScheduleSpec, environments: Environments, *, paused: bool = False) -> Table:
    """The table of a schedule; what is as usual is left out. `read_schedule` makes the same spec of it."""
    template = spec.template
    table: Table = {"when": _when(spec)}
    if template.command is not None:
        table["command"] = list(template.command)
    else:
        table["shell"] = template.shell_line or ""
    table |= {"seconds": True} if spec.seconds else {}
    table |= {name: value for name, value in _schedule_fields(spec) if value is not None}
    table |= {name: value for name, value in _task_fields(spec) if value is not None}
    table["cwd"], table["umask"] = template.cwd, f"{template.umask:04o}"
    table["environment"] = environments.name_of(template.env)
    table |= {"paused": True} if paused else {}
    table |= spec.reactions
    for name, pairs in (
        ("hooks", spec.hooks),
        ("env", {name: text for name, text in template.env_changes.items() if text is not None}),
        ("tag", template.tags),
        ("on", template.labels),
        ("use", {name: _number(amount) for name, amount in template.uses.items()}),
    ):
        table |= {name: dict(pairs)} if pairs else {}
    return table


def _when(spec: ScheduleSpec) -> str:
    return f"@every {_duration(spec.every_s)}" if spec.every_s is not None else spec.when


def _schedule_fields(spec: ScheduleSpec) -> list[tuple[str, Any]]:
    return [
        ("tz", spec.tz),
        ("overlap", spec.overlap.value),
        ("catch_up", spec.catch_up.value),
        ("catch_up_within", _span(spec.catch_up_within_s)),
        ("jitter", _span(spec.jitter_s or None)),
        ("until", None if spec.until is None else format_utc(spec.until)),
        ("max_runs", spec.max_runs),
        ("pause_after_failures", spec.pause_after_failures),
        ("reserve", spec.reserve or None),
        ("tolerance", _span(spec.tolerance_s)),
        ("on_miss", spec.on_miss),
        ("deadline_after", _span(spec.deadline_after_s)),
        ("ping", spec.ping),
    ]


def _task_fields(spec: ScheduleSpec) -> list[tuple[str, Any]]:
    task, usual = spec.template, TaskSpec(name="")
    return [
        ("name", task.name if task.name != spec.name else None),
        ("pool", task.pool if task.pool != usual.pool else None),
        ("priority", Priority(task.priority).word if spec.priority_given else None),
        ("kind", task.kind if task.kind != _usual_kind(task) else None),
        ("timeout", _span(task.timeout_s)),
        ("heartbeat", _span(task.heartbeat_s)),
        ("stop_signal", format_signal(task.stop_signal) if task.stop_signal != usual.stop_signal else None),
        ("grace", _duration(task.grace_s) if task.grace_s != usual.grace_s else None),
        ("retries", task.retries),
        ("backoff", None if task.backoff is None else format_backoff(task.backoff)),
        ("retry_on", _codes(task.retry_on)),
        ("no_retry_on", _codes(task.no_retry_on)),
        ("success_codes", _codes(task.success_codes)),
        ("on_lost", task.on_lost),
        ("slots", task.slots if task.slots != usual.slots else None),
        ("nice", task.nice),
        ("shell_path", task.shell),
        ("stdin", task.stdin),
        ("stdin_text", task.stdin_text),
        ("split", (task.split and task.stderr is None) or None),
        ("stdout", task.stdout),
        ("stderr", task.stderr),
        ("keep", _span(task.keep_s)),
        ("tenant", task.tenant or None),
        ("estimate", _span(task.estimate_s)),
    ]


def _usual_kind(task: TaskSpec) -> str:
    words = task.command if task.command is not None else (task.shell_line or "").split(None, 1)
    first = words[0] if words else ""
    return os.path.basename(first.rstrip("/")) or first


def _codes(codes: list[int] | None) -> str | None:
    return None if codes is None else format_exit_codes(codes)


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else _duration(seconds)


def _duration(seconds: float) -> str:
    """A text that parses back to exactly this number: with units where they do that, else plain seconds."""
    text = format_duration(seconds)
    return text if parse_duration(text) == seconds else _number(seconds)


def _number(value: float) -> str:
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


# -- from a table --------------------------------------------------------------------------------------------------


def read_schedule(name: str, table: Mapping[str, Any], environments: Environments, context: Context) -> ScheduleSpec:
    """The schedule of a table. Raises InvalidError naming the schedule and the field."""
    try:
        return _read(parse_schedule_name(name), table, environments, context)
    except CronoqError as error:
        raise InvalidError(f"{name}: {error.message}", hint=error.hint, code=error.code) from error


def _read(name: str, table: Mapping[str, Any], environments: Environments, context: Context) -> ScheduleSpec:
    task, schedule = _divide(table)
    line = read_object(task, 0)
    template = TaskSpec(name=_text(table, "name") or name, cwd=context.cwd, umask=context.umask)
    template.env = environments.use(_text(table, "environment") or CALLERS_ENVIRONMENT)
    fill_template(template, line.given, _command_of(line), context, field_names=True)
    template.shell, template.stdin_text = _text(table, "shell_path"), _text(table, "stdin_text")
    _flag(table, "paused")  # read by others; wrong it is refused with the rest
    spec = ScheduleSpec(name=name, template=template, priority_given="priority" in line.given)
    spec.reactions = {option: line.given[option] for option in REACTIONS if option in line.given}
    when = _text(table, "when")
    if when is None:
        raise UsageError("when: it is missing", hint="write it like when = '30 2 * * *'")
    put_timing(spec, when, seconds=_flag(table, "seconds"))
    fill_schedule(spec, schedule, context, field_names=True)
    return spec


def is_paused(table: Mapping[str, Any]) -> bool:
    """Whether the table says that the schedule is paused. Raises UsageError."""
    return _flag(table, "paused")


def _divide(table: Mapping[str, Any]) -> tuple[Table, Table]:
    """What is said of the task, and what of the schedule. Raises UsageError for unknown fields."""
    task: Table = {}
    schedule: Table = {}
    for key, value in table.items():
        if key in OWN_FIELDS:
            continue
        if key in SCHEDULE_SETTERS and key != "hook":
            schedule |= _schedule_value(key, value)
        elif key in _task_keys():
            task[key] = value
        else:
            raise UsageError(f"unknown field {key!r}", hint=hint_for(key, sorted(_task_keys() | _SCHEDULE_KEYS)))
    hooks = table.get("hooks")
    if hooks is not None:
        schedule["hook"] = _hook_words(hooks)
    return task, schedule


_SCHEDULE_KEYS = (frozenset(SCHEDULE_SETTERS) - {"hook"}) | OWN_FIELDS


def _task_keys() -> frozenset[str]:
    from cronoq_cli.commands.spec_options import SETTERS

    return (frozenset(SETTERS) - NOT_RECURRING - {"clean_env", "env_file"}) | {"command"}


def _schedule_value(key: str, value: Any) -> Table:
    if key == "reserve":
        if not isinstance(value, bool):
            raise UsageError(f"reserve: {value!r} is not true or false", hint="write it without quotes")
        return {key: True} if value else {}
    if isinstance(value, date):  # TOML has dates and times of its own
        value = value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{key}: {value!r} is not text or a number", hint='write it as "..."')
    return {key: value if isinstance(value, str) else _number(value)}


def _hook_words(hooks: Any) -> list[str]:
    if not isinstance(hooks, dict) or not all(isinstance(command, str) for command in hooks.values()):
        raise UsageError("hooks: it is no table of commands", hint=f"its keys are {', '.join(HOOK_NAMES.values())}")
    return [f"{name}={command}" for name, command in hooks.items()]


def _command_of(line: Line) -> Command:
    if line.command is not None:
        if not line.command or not line.command[0]:
            raise UsageError("command: its first word is empty", hint="name a program")
        return Command(argv=line.command)
    if not (line.shell_line or "").strip():
        raise UsageError("shell: the command is empty", hint="give it a shell line")
    return Command(line=line.shell_line)


def _text(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key}: {value!r} is not text", hint='write it as "..."')
    return value


def _flag(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{key}: {value!r} is not true or false", hint="write it without quotes")
    return value
