"""The commands as plain data, read from what parses them: names, words, options, help. Nothing is drawn here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cronoq_cli.commands.app import build_command
from cronoq_cli.commands.declare import MORE

PROGRAM = "cronoq"
HIDDEN_MARK = "__"
"""Commands whose names begin so are for programs of ours alone."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its names, long first; what its value is called (empty: it takes none); `many`: it can stand again;
    `everyday`: `--help` shows it, else only `--help-all`."""

    names: tuple[str, ...]
    metavar: str
    help: str
    many: bool
    everyday: bool

    @property
    def long(self) -> str:
        """The name it is known by."""
        return self.names[0]


@dataclass(frozen=True, slots=True)
class Argument:
    """Positional words: what the usage line calls them, and what they are."""

    metavar: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `path`: its words without the program's (empty: the program itself); `names`: the last of them and
    its aliases. `words_follow`: the first operand begins a command of its own."""

    path: tuple[str, ...]
    aliases: tuple[str, ...]
    summary: str
    help: str
    panel: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...]
    words_follow: bool
    children: tuple[Command, ...] = field(default=())

    @property
    def title(self) -> str:
        """As it is typed: `pool set`."""
        return " ".join(self.path)

    @property
    def line(self) -> str:
        """As it is typed, the program's name before it: `cronoq pool set`."""
        return " ".join((PROGRAM, *self.path))

    @property
    def is_group(self) -> bool:
        """Whether it is there for the commands below it."""
        return bool(self.children)

    @property
    def runs_command(self) -> bool:
        """Whether its operands are a command for a task, from the first on."""
        return self.words_follow and any(one.metavar.lstrip("[").startswith("COMMAND") for one in self.arguments)

    @property
    def takes_command(self) -> bool:
        """Whether a command for a task can stand behind `--`."""
        return any("COMMAND" in one.metavar for one in self.arguments) and not self.is_group

    def walk(self) -> Iterator[Command]:
        """This command, and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_tree() -> Command:
    """The whole program."""
    return _read(build_command(), (), ())


def _read(command: Any, path: tuple[str, ...], aliases: tuple[str, ...]) -> Command:
    text = str(command.help or "")
    return Command(
        path=path,
        aliases=aliases,
        summary=str(command.short_help or text).rstrip("."),
        help=text,
        panel=str(command.rich_help_panel or ""),
        options=tuple(_read_option(param) for param in command.params if param.param_type_name == "option"),
        arguments=tuple(
            Argument(str(param.metavar), str(param.help or ""))
            for param in command.params
            if param.param_type_name == "argument"
        ),
        examples=tuple(_examples(command.epilog)),
        words_follow=not command.context_settings.get("allow_interspersed_args", True),
        children=tuple(_read_children(command, path)),
    )


def _read_children(command: Any, path: tuple[str, ...]) -> Iterator[Command]:
    """The commands below a group, each with its aliases: those that do the same and are not listed."""
    known = getattr(command, "commands", {})
    listed = {name: child for name, child in known.items() if not child.hidden}
    for name, child in known.items():
        if name.startswith(HIDDEN_MARK) or (child.hidden and _find_twin(child, listed) is not None):
            continue
        same = _identity(child)
        aliases = [
            other for other, twin in known.items() if twin.hidden and twin is not child and _identity(twin) == same
        ]
        yield _read(child, (*path, name), tuple(aliases) if not child.hidden else ())


def _find_twin(command: Any, listed: dict[str, Any]) -> str | None:
    return next((name for name, other in listed.items() if _identity(other) == _identity(command)), None)


def _identity(command: Any) -> tuple[int, ...]:
    """What a command does: the function behind it, and those behind all below it."""
    below = getattr(command, "commands", {}).values()
    return (id(inspect.unwrap(command.callback)), *(number for child in below for number in _identity(child)))


def _read_option(param: Any) -> Option:
    return Option(
        names=tuple(sorted(param.opts, key=lambda name: not name.startswith("--"))),
        metavar=str(param.metavar or ""),
        help=str(param.help or ""),
        many=bool(param.multiple),
        everyday=param.rich_help_panel != MORE,
    )


def _examples(epilog: str | None) -> list[str]:
    return str(epilog).split("\n\n")[1:] if epilog else []
