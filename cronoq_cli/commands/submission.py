"""The words of `submit` and `run` to one Submit request: the command, many tasks at once, environments, reactions.

What a single option means stands in `spec_options`; how the answer is shown in `submit`.
"""

from __future__ import annotations

import copy
import os
from typing import Annotated, Any

import msgspec

from cronoq_cli.commands.array import Array, parse_array
from cronoq_cli.commands.batch import Line, parse_batch
from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.declare import option
from cronoq_cli.commands.each import fill_shell_line, fill_words, list_lines
from cronoq_cli.commands.environment import capture_environment
from cronoq_cli.commands.options import SpecOptions
from cronoq_cli.commands.reading import is_callers_own, read_kept_stdin, read_text
from cronoq_cli.commands.spec_options import apply_options, check_times, given_options, parse_count, parse_named
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.ids import HIGHEST_ID
from cronoq_cli.model.reaction import REACTIONS, make_reactions
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.wire.requests import Submit

MOST_IN_DAEMON = 10_000
"""More tasks than this are put together by the client. Fewer are sooner put together by the daemon than read by it
from a client's message, and a client that could do it would first have to start."""
_REACTING = frozenset(REACTIONS)
MOST_KEPT = 40 * 1024 * 1024
"""Bytes of kept input one submission may carry in all; a message on the socket has a maximum."""


class CommandOptions(msgspec.Struct):
    """How the command is given, where it is not simply words."""

    shell_line: Annotated[str | None, option("-c", help="A shell line, in place of COMMAND.", metavar="STRING")] = None
    exec_: Annotated[bool, option("--exec", help="Never use a shell, not for a single word either.", more=True)] = False


class ManyOptions(msgspec.Struct):
    """Several tasks in one submission: all of them are queued, or none."""

    batch: Annotated[str | None, option("--batch", help="One task a line, as JSON; - is stdin.", metavar="FILE|-")] = (
        None
    )
    each: Annotated[
        str | None, option("--each", help="One task a line; {} in COMMAND is the line.", metavar="FILE|-")
    ] = None
    array: Annotated[
        str | None,
        option("--array", help="One task an index, at most 4 at once; see CRONOQ_ARRAY_INDEX.", metavar="0-99%4"),
    ] = None
    max_fails: Annotated[
        str | None, option("--max-fails", help="Give up the rest after so many failures.", metavar="N", more=True)
    ] = None

    def source(self) -> str | None:
        """The option that asks for many tasks, or None. Raises UsageError for two of them."""
        given = [name for name in ("batch", "each", "array") if getattr(self, name) is not None]
        if len(given) > 1:
            raise UsageError(f"--{given[0]} and --{given[1]} together", hint="use one of them")
        if not given and self.max_fails is not None:
            raise UsageError("--max-fails for a single task", hint="it belongs to --batch, --each or --array")
        return given[0] if given else None


class Command(msgspec.Struct):
    """What a task executes: argv, or a shell line. The first word of either names the task."""

    argv: list[str] | None = None
    line: str | None = None

    def put(self, spec: TaskSpec) -> TaskSpec:
        """Set the command, and the name and kind that were not given."""
        spec.command, spec.shell_line = self.argv, self.line
        words = self.argv if self.argv is not None else (self.line or "").split(None, 1)
        first = words[0] if words else ""
        spec.name = spec.name or first
        spec.kind = spec.kind or os.path.basename(first.rstrip("/")) or first
        return spec


def read_command(words: list[str] | None, options: CommandOptions) -> Command:
    """The command of the words: several are argv, one is a shell line, unless -c or --exec say otherwise."""
    if options.shell_line is not None:
        if options.exec_:
            raise UsageError("-c and --exec together", hint="-c is always the shell, --exec never")
        if words:
            raise UsageError("-c with a COMMAND", hint="put it all into the string, or leave -c out")
        return Command(line=_checked_line(options.shell_line))
    if not words:
        raise UsageError("no command was given", hint="it stands behind the options: -- make test")
    if len(words) == 1 and not options.exec_:
        return Command(line=_checked_line(words[0]))
    if not words[0]:
        raise UsageError("the first word of the command is empty", hint="name a program")
    return Command(argv=words)


def _checked_line(line: str) -> str:
    if not line.strip():
        raise UsageError("the command is empty", hint="give it a shell line")
    return line


def build_submission(
    context: Context, spec_options: SpecOptions, command_options: CommandOptions, many: ManyOptions, words: list[str]
) -> Submit:
    """The request that queues what the words say. Raises UsageError, or InvalidError for a file's content."""
    source = many.source()
    given = given_options(spec_options)
    _check_many(given, source, getattr(many, source) if source else None)
    builder = _Builder(context, given)
    if source == "batch":
        if words or command_options.shell_line is not None:
            raise UsageError("--batch with a COMMAND", hint="each line of the batch has its own")
        builder.add_batch(read_text(context, many.batch or ""))
    else:
        command = read_command(words, command_options)
        if "shell" in given and command.line is None:
            raise UsageError("--shell with a command of several words", hint="only a shell line needs a shell")
        if source == "each":
            builder.add_each(command, read_text(context, many.each or ""), many.each or "")
        elif source == "array":
            builder.add_array(command, parse_array(many.array or ""))
        else:
            builder.add(command.put(copy.copy(builder.base)), given)
        check_times(builder.base, given)
    request = builder.finish(batch=source is not None)
    if many.max_fails is not None:
        request.max_fails = parse_named(
            "--max-fails", many.max_fails, lambda text: parse_count(text, least=1, most=HIGHEST_ID)
        )
    return request


def _check_many(given: dict[str, Any], source: str | None, path: str | None) -> None:
    if source is not None and "key" in given:
        raise UsageError(f"--key with --{source}", hint="a key belongs to one task; a batch line has its own")
    if source in ("batch", "each") and is_callers_own(path or "") and is_callers_own(given.get("stdin", "")):
        raise UsageError(f"--{source} and --stdin both from the caller's input", hint="put one of them into a file")


class _Builder:
    """The specs of one submission as they are added, and the environments they name."""

    def __init__(self, context: Context, given: dict[str, Any]) -> None:
        self.context = context
        self.given = given
        self.envs: dict[str, bytes] = {}
        self.specs: list[TaskSpec] = []
        self.lines: list[int] = []
        self.reactions: list[TaskSpec] = []
        self.limit: int | None = None
        self.base = TaskSpec(name="", cwd=context.cwd, umask=context.umask, env=self._env("clean_env" in given))
        apply_options(self.base, given, context)

    def _env(self, clean: bool) -> str:
        name, blob = capture_environment(self.context.env, clean=clean)
        self.envs[name] = blob
        return name

    def add(self, spec: TaskSpec, given: dict[str, Any], line: int | None = None) -> None:
        """Add a member, and what reacts to its end."""
        if len(self.specs) >= MOST_IN_DAEMON and self.context.in_daemon:
            raise NeedsClient
        index = len(self.specs)
        self.specs.append(spec)
        if line is not None:
            self.lines.append(line)
        if not _REACTING.isdisjoint(given):
            self.reactions += make_reactions(spec, given, f"#{index}")

    def add_array(self, command: Command, array: Array) -> None:
        """Add a member for each index."""
        command.put(self.base)
        self.limit = array.limit
        for index in array.indices:
            self.add(msgspec.structs.replace(self.base, array_index=index), self.given)

    def add_each(self, command: Command, text: str, where: str) -> None:
        """Add a member for each line."""
        for number, line in list_lines(text, "stdin" if where == "-" else where):
            if command.argv is not None:
                filled = Command(argv=fill_words(command.argv, line))
            else:
                filled = Command(line=fill_shell_line(command.line or "", line))
            self.add(filled.put(copy.copy(self.base)), self.given, number)

    def add_batch(self, text: str) -> None:
        """Add a member for each line of JSON; the options of the command line are its defaults."""
        for line in parse_batch(text):
            try:
                self.add(self._spec_of(line), {**self.given, **line.given}, line.number)
            except UsageError as error:
                raise InvalidError(f"batch line {line.number}: {error.message}", hint=error.hint) from error

    def _spec_of(self, line: Line) -> TaskSpec:
        if is_callers_own(line.given.get("stdin", "")):
            raise UsageError("stdin: a line cannot take the caller's input", hint="name a file")
        spec = copy.copy(self.base)
        apply_options(spec, line.given, self.context, style=_field_name)
        check_times(spec, line.given)
        if "clean_env" in line.given:
            spec.env = self._env(clean=True)
        if line.removed:
            spec.env_changes = {**spec.env_changes, **dict.fromkeys(line.removed)}
        if line.command is not None and not (line.command and line.command[0]):
            raise UsageError("command: its first word is empty", hint="name a program")
        texts = [line.shell_line or ""] if line.command is None else line.command
        if any("\0" in text for text in texts):
            raise UsageError("the command contains a NUL character", hint="no program can be given one")
        return Command(line.command, None if line.shell_line is None else _checked_line(line.shell_line)).put(spec)

    def finish(self, *, batch: bool) -> Submit:
        """The whole request. Raises InvalidError when there is nothing in it."""
        if not self.specs:
            raise InvalidError("there is no task in it", hint="the file has no line with a task")
        return Submit(
            specs=[*self.specs, *self.reactions],
            envs=self.envs,
            stdins=self._kept_stdins(),
            batch=batch,
            limit=self.limit,
            lines=self.lines or None,
            members=len(self.specs),
        )

    def _kept_stdins(self) -> dict[int, bytes]:
        if not self.base.stdin_kept:
            return {}
        data = read_kept_stdin(self.context, self.given["stdin"])
        if len(data) * len(self.specs) > MOST_KEPT:
            raise UsageError("--stdin: too much input for so many tasks", hint="put it into a file: --stdin FILE")
        return dict.fromkeys(range(len(self.specs)), data)


def _field_name(name: str) -> str:
    return name.rstrip("_")
