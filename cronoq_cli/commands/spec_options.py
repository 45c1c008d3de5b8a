"""What the words say about a task: the options of `submit` and their keys in a batch, to the fields of a TaskSpec.

One setter a field, used for options, for batch lines and for `edit` alike. What several tasks share (environment,
many tasks at once, reactions) is put together in `submit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.environment import parse_env_file, read_assignments
from cronoq_cli.commands.options import EditableOptions
from cronoq_cli.commands.reading import is_callers_own, read_text
from cronoq_cli.commands.selectors import parse_refs
from cronoq_cli.errors import UsageError
from cronoq_cli.model.duration import parse_duration, parse_positive_duration
from cronoq_cli.model.ids import HIGHEST_ID
from cronoq_cli.model.moment import parse_moment
from cronoq_cli.model.resource import RESOURCE_NAME, parse_use
from cronoq_cli.model.task import Backoff, Condition, Dependency, OnLost, OnMiss, Priority, TaskSpec
from cronoq_cli.model.words import hint_for, parse_exit_codes, parse_key, parse_label, parse_signal, parse_tag

PRIORITIES = {priority.word: int(priority) for priority in reversed(Priority)}
BACKOFF_HINT = "write it like exponential:10s..10m, fixed:30s, linear:10s..5m or polynomial"
MOST_RETRIES = 1_000_000
MOST_SLOTS = 1_000_000
PLACEHOLDERS = ("id", "attempt", "name")

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


Parsed = TypeVar("Parsed")

Setter = Callable[[Any, Any, Context], None]
"""Sets what one option says on a TaskSpec or TaskChanges. Raises UsageError without naming the option."""


def given_options(options: EditableOptions) -> dict[str, Any]:
    """What was given, by the name of its field."""
    values = ((name, getattr(options, name, None)) for name in SETTERS)
    return {name: value for name, value in values if value is not None and value is not False}


def option_of(name: str) -> str:
    """The long option of a field: `in_` is `--in`, `if_exists` is `--if-exists`."""
    return "--" + name.rstrip("_").replace("_", "-")


def apply_options(
    target: Any, given: Mapping[str, Any], context: Context, style: Callable[[str], str] = option_of
) -> None:
    """Set the fields that `given` speaks of. Raises UsageError naming the option, as `style` writes it."""
    apply_setters(SETTERS, target, given, context, style)
    check_together(given)


def apply_setters(
    setters: Mapping[str, Setter],
    target: Any,
    given: Mapping[str, Any],
    context: Context,
    style: Callable[[str], str] = option_of,
) -> None:
    """Set what `given` says, each by its setter. Raises UsageError naming the option, as `style` writes it."""
    for name, value in given.items():
        try:
            setters[name](target, value, context)
        except UsageError as error:
            raise UsageError(f"{style(name)}: {error.message}", hint=error.hint) from error


def check_together(given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other, or that mean nothing alone."""
    if "in_" in given and "at" in given:
        raise UsageError("--in and --at together", hint="use one of them")
    if "once" in given and "key" not in given:
        raise UsageError("--once without --key", hint="give the task a key")
    if "if_exists" in given and "key" not in given and "unique" not in given:
        raise UsageError("--if-exists without --key or --unique", hint="say what must not exist twice")
    if "start_at" in given and ("in_" in given or "at" in given):
        other = "--in" if "in_" in given else "--at"
        raise UsageError(f"--start-at and {other} together", hint="--start-at is a fixed start, --at an earliest one")


def check_times(spec: TaskSpec, given: Mapping[str, Any]) -> None:
    """Refuse times that make no sense of a whole task; `given` is what was said of this task itself."""
    if spec.start_at is None:
        for name in ("tolerance", "on_miss"):
            if name in given:
                raise UsageError(f"{option_of(name)} without --start-at", hint="it belongs to a fixed start")
    elif spec.not_before is not None:
        raise UsageError("--start-at and an earliest start together", hint="use one of them")
    start = spec.not_before if spec.start_at is None else spec.start_at
    if spec.expires_at is not None and start is not None and spec.expires_at < start:
        raise UsageError("--expires is before its start", hint="it could never run: let it expire later")


def parse_named(name: str, text: str, parse: Callable[[str], Parsed]) -> Parsed:
    """The value of an option that no task field stands behind. Raises UsageError naming the option."""
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from error


def parse_since(text: str, context: Context) -> float:
    """What `--since` says, in unix seconds: a moment, or how long ago it was. Raises UsageError for what is neither."""
    try:
        return context.now() - parse_duration(text)
    except UsageError:
        return parse_named("--since", text, lambda word: parse_moment(word, now=context.now(), zone=context.zone()))


def find_named(name: str, text: str | None, parse: Callable[[str], Parsed]) -> Parsed | None:
    """As `parse_named`; None when the option was not given."""
    return None if text is None else parse_named(name, text, parse)


def absolute(path: str, context: Context) -> str:
    """The path seen from the caller's directory; `..` and links are left to the kernel."""
    if not path:
        raise UsageError("the path is empty", hint="name a file or directory")
    if "\0" in path:
        raise UsageError("a path cannot contain a NUL character", hint="name a file or directory")
    return path if path.startswith("/") else os.path.join(context.cwd, path)


def parse_backoff(text: str) -> Backoff:
    """A backoff such as `exponential:10s..10m`; what is left out is 10 s and 10 min."""
    kind, _, lengths = text.strip().partition(":")
    if kind not in ("exponential", "fixed", "linear", "polynomial"):
        raise UsageError(f"{text!r} is not a backoff", hint=BACKOFF_HINT)
    plain = Backoff(kind=kind)
    if not lengths:
        return plain
    first_text, dots, most_text = lengths.partition("..")
    if kind == "polynomial" or (kind == "fixed" and dots):
        raise UsageError(f"{text!r}: {kind} takes no such lengths", hint=BACKOFF_HINT)
    first = parse_duration(first_text)
    most = parse_duration(most_text) if dots else max(first, plain.most_s)
    if most < first:
        raise UsageError(f"{text!r} ends below its beginning", hint=BACKOFF_HINT)
    return Backoff(kind=kind, first_s=first, most_s=most)


def parse_number(text: str) -> int:
    """A whole number, as large as an id can be."""
    return parse_count(text, least=0, most=HIGHEST_ID)


def parse_count(text: str, *, least: int, most: int) -> int:
    """A whole number within bounds."""
    word = text.strip()
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 20 else None
    if number is None or not least <= number <= most:
        raise UsageError(f"{text!r} is not a number from {least}" + (f" to {most}" if most < HIGHEST_ID else " up"))
    return number


def find_shell(text: str, context: Context) -> str:
    """The absolute path of a shell, looked up in the caller's PATH. Raises UsageError when none can be executed."""
    directories = [""] if "/" in text else context.env.get("PATH", os.defpath).split(":")
    for directory in directories:
        path = os.path.join(context.cwd, directory, text)
        if text and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    where = "" if "/" in text else " in PATH"
    raise UsageError(f"there is no shell {text!r}{where}", hint="name an executable file, such as /bin/bash")


def parse_priority(text: str) -> int:
    """The number of a priority class by its word."""
    level = PRIORITIES.get(text.strip().lower())
    if level is None:
        raise UsageError(f"{text!r} is not a priority", hint=hint_for(text, PRIORITIES))
    return level


def _text(field: str) -> Setter:
    def put(target: Any, text: str, context: Context) -> None:
        if not text or "\0" in text:
            raise UsageError("it is empty" if not text else "it contains a NUL character", hint="leave the option out")
        setattr(target, field, text)

    return put


def set_flag(field: str) -> Setter:
    """Sets a field to what a flag says."""

    def put(target: Any, value: bool, context: Context) -> None:
        setattr(target, field, value)

    return put


def set_parsed(field: str, parse: Callable[[str], Any]) -> Setter:
    """Sets a field to what `parse` makes of the text."""

    def put(target: Any, text: str, context: Context) -> None:
        setattr(target, field, parse(text))

    return put


def set_count(field: str, least: int, most: int) -> Setter:
    """Sets a field to a whole number within bounds."""
    return set_parsed(field, lambda text: parse_count(text, least=least, most=most))


def set_word(field: str, known: tuple[str, ...]) -> Setter:
    """Sets a field to one of the known words."""

    def parse(text: str) -> str:
        if text not in known:
            raise UsageError(f"{text!r} is not known here", hint=hint_for(text, known))
        return text

    return set_parsed(field, parse)


def _codes(field: str) -> Setter:
    def put(target: Any, words: list[str], context: Context) -> None:
        setattr(target, field, list(parse_exit_codes(",".join(words))))

    return put


def _edges(condition: Condition) -> Setter:
    def put(target: Any, words: list[str], context: Context) -> None:
        edges = [Dependency(ref=ref, condition=condition) for ref in parse_refs(words)]
        target.after = [*(target.after or ()), *edges]

    return put


def _put_tags(target: Any, words: list[str], context: Context) -> None:
    target.tags = {**(target.tags or {}), **dict(parse_tag(word) for word in words)}


def _put_labels(target: Any, words: list[str], context: Context) -> None:
    target.labels = {**(target.labels or {}), **dict(parse_label(word) for word in words)}


def _put_uses(target: Any, words: list[str], context: Context) -> None:
    uses: dict[str, float] = {}
    for name, amount in map(parse_use, words):
        if name in uses:
            raise UsageError(f"{name} stands twice", hint="give each resource once")
        uses[name] = amount
    target.uses = {**(target.uses or {}), **uses}


def _parse_group(text: str) -> str:
    if not RESOURCE_NAME.fullmatch(text):
        raise UsageError(f"{text!r} is not a name for a group", hint="name a group of the configuration")
    return text


def _put_env(target: Any, words: list[str], context: Context) -> None:
    target.env_changes = {**(target.env_changes or {}), **read_assignments(words, context.env)}


def _put_env_file(target: Any, words: list[str], context: Context) -> None:
    """Files first: what `-E` says wins."""
    changes: dict[str, str | None] = {}
    for word in words:
        changes |= parse_env_file(read_text(context, word), word, context.env)
    target.env_changes = {**changes, **(target.env_changes or {})}


def _put_in(target: Any, text: str, context: Context) -> None:
    target.not_before = context.now() + parse_duration(text.strip().removeprefix("+"))


def set_moment(field: str) -> Setter:
    """Sets a field to a moment as people write it, in unix seconds."""

    def put(target: Any, text: str, context: Context) -> None:
        setattr(target, field, parse_moment(text, now=context.now(), zone=context.zone()))

    return put


def _put_cwd(target: Any, text: str, context: Context) -> None:
    target.cwd = absolute(text, context)


def _put_umask(target: Any, text: str, context: Context) -> None:
    if not re.fullmatch(r"(0o)?[0-7]{1,4}", text) or int(text, 8) > 0o777:
        raise UsageError(f"{text!r} is not a mask", hint="write it in octal, like 022 or 077")
    target.umask = int(text, 8)


def _put_shell(target: Any, text: str, context: Context) -> None:
    target.shell = find_shell(text, context)


def _put_stdin(target: Any, text: str, context: Context) -> None:
    """A file is opened at each attempt; what only the caller has is kept with the task (see `submit`)."""
    if is_callers_own(text):
        target.stdin_kept = True
    else:
        target.stdin = absolute(text, context)


def _output(field: str) -> Setter:
    def put(target: Any, text: str, context: Context) -> None:
        for word in _PLACEHOLDER.findall(text):
            if word not in PLACEHOLDERS:
                raise UsageError(f"unknown placeholder {{{word}}}", hint=hint_for(word, PLACEHOLDERS))
        if is_callers_own(text):
            raise UsageError(
                f"{text} is this command's own, and the task runs without it",
                hint="its output is kept for `cronoq logs`; `cronoq run` passes it on",
            )
        setattr(target, field, absolute(text, context))
        if field == "stderr":
            target.split = True

    return put


def _check_reaction(target: Any, words: list[str], context: Context) -> None:
    """Reactions become tasks of their own, in `submit`; here only what the words show is checked."""
    if not all(word.strip() for word in words):
        raise UsageError("the command is empty", hint="give it a shell line")


SETTERS: dict[str, Setter] = {
    "name": _text("name"),
    "pool": _text("pool"),
    "priority": set_parsed("priority", parse_priority),
    "key": set_parsed("key", parse_key),
    "once": set_flag("once"),
    "unique": set_parsed("unique_s", parse_positive_duration),
    "if_exists": set_word("if_exists", ("return", "refuse", "replace")),
    "kind": _text("kind"),
    "after": _edges(Condition.SUCCESS),
    "after_any": _edges(Condition.ANY),
    "after_fail": _edges(Condition.FAIL),
    "await_deps": set_parsed("await_deps_s", parse_duration),
    "in_": _put_in,
    "at": set_moment("not_before"),
    "timeout": set_parsed("timeout_s", parse_positive_duration),
    "kill_at": set_moment("kill_at"),
    "heartbeat": set_parsed("heartbeat_s", parse_positive_duration),
    "stop_signal": set_parsed("stop_signal", parse_signal),
    "grace": set_parsed("grace_s", parse_duration),
    "retries": set_count("retries", 0, MOST_RETRIES),
    "backoff": set_parsed("backoff", parse_backoff),
    "retry_on": _codes("retry_on"),
    "no_retry_on": _codes("no_retry_on"),
    "success_codes": _codes("success_codes"),
    "on_lost": set_word("on_lost", tuple(word.value for word in OnLost)),
    "slots": set_count("slots", 1, MOST_SLOTS),
    "tag": _put_tags,
    "env": _put_env,
    "env_file": _put_env_file,
    "clean_env": lambda target, value, context: None,
    "cwd": _put_cwd,
    "umask": _put_umask,
    "nice": set_count("nice", 0, 19),
    "stdin": _put_stdin,
    "split": set_flag("split"),
    "stdout": _output("stdout"),
    "stderr": _output("stderr"),
    "shell": _put_shell,
    "keep": set_parsed("keep_s", parse_duration),
    "hold": set_flag("hold"),
    "start_at": set_moment("start_at"),
    "tolerance": set_parsed("tolerance_s", parse_duration),
    "on_miss": set_word("on_miss", tuple(word.value for word in OnMiss)),
    "deadline": set_moment("deadline"),
    "expires": set_moment("expires_at"),
    "estimate": set_parsed("estimate_s", parse_positive_duration),
    "use": _put_uses,
    "tenant": _text("tenant"),
    "on": _put_labels,
    "group": set_parsed("group", _parse_group),
    "on_success": _check_reaction,
    "on_failure": _check_reaction,
    "on_end": _check_reaction,
}
"""For each field of SpecOptions what it sets."""
