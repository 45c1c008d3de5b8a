"""What can stand as the value of an option, or as an operand: decided by how the help calls it."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from cronoq_cli.commands.reference.tree import Command, Option
from cronoq_cli.config.live import POOL_KEYS
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.recurring import CatchUp, Overlap
from cronoq_cli.model.task import Priority

FILES, DIRECTORIES, COMMANDS = "files", "directories", "commands"
LEVELS = tuple(priority.word for priority in reversed(Priority))
STATUSES = tuple(status.value.replace("_", "-") for status in Status)
SIGNALS = tuple(
    signal.Signals(number).name.removeprefix("SIG")
    for number in sorted(signal.valid_signals())
    if number < signal.SIGRTMIN
)
SHELLS = ("bash", "zsh", "fish")

LIVE_ONLY = frozenset({"cancel", "kill", "wait", "hold", "release", "move", "priority", "start-now", "edit"})
ENDED_ONLY = frozenset({"retry", "rerun", "rm", "dead retry", "dead rm"})
_CHOICES = re.compile(r"[a-z][a-z-]*(?:\|[a-z][a-z-]*)+")


@dataclass(frozen=True, slots=True)
class Values:
    """Where the words come from: `kinds` are asked of the daemon, `choices` are known, `system` is the shell's matter.

    `comma`: several can stand behind each other with commas between; `suffix`: what comes behind a choice, or where
    there are none behind what the daemon names.
    """

    kinds: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    system: str = ""
    comma: bool = False
    suffix: str = ""

    @property
    def kind_suffix(self) -> str:
        """What comes behind a word that the daemon names."""
        return "" if self.choices else self.suffix

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of it."""
        return not (self.kinds or self.choices or self.system)


_BY_METAVAR = {
    "POOL": Values(kinds=("pool",)),
    "RESOURCE": Values(kinds=("resource",)),
    "NAME=AMOUNT": Values(kinds=("resource",), suffix="="),
    "NAME=N": Values(kinds=("resource",), suffix="="),
    "GLOB": Values(kinds=("name",)),
    "REF[,REF]": Values(kinds=("task",), comma=True),
    "TASK[,TASK]": Values(kinds=("task",), comma=True),
    "TASK": Values(kinds=("task",), comma=True),
    "ID": Values(kinds=("task",)),
    "KEY": Values(kinds=("key",)),
    "STATUS": Values(choices=STATUSES, comma=True),
    "LEVEL": Values(choices=LEVELS),
    "SIG": Values(choices=SIGNALS),
    "SIGNAL": Values(choices=SIGNALS),
    "WHEN": Values(choices=("auto", "always", "never")),
    "SHELL": Values(choices=SHELLS),
    "ZONE": Values(kinds=("zone",)),
    "FILE": Values(system=FILES),
    "FILE|-": Values(system=FILES),
    "PATH": Values(system=FILES),
    "DIR": Values(system=DIRECTORIES),
    "CMD": Values(system=COMMANDS),
}

_ASSIGNED = {
    "pool set": POOL_KEYS,
    "report": ("progress", "outcome", "message", "retry_after", "output."),
}

_POLICIES = {"--overlap": tuple(map(str, Overlap)), "--catch-up": tuple(map(str, CatchUp))}


def find_option_values(command: Command, option: Option) -> Values:
    """What can be the value of an option of a command."""
    if option.long == "--group":
        return Values(kinds=("group",))
    if option.long in _POLICIES:
        return Values(choices=_POLICIES[option.long])
    if option.long == "--recurring":
        return Values(kinds=("schedule",))
    if option.long == "--name" and option.metavar == "NAME":
        return Values(kinds=("name",))
    return _find(option.metavar, command)


def find_operand_values(command: Command) -> Values:
    """What can be an operand of a command that is no command of the task's own."""
    found = [values for argument in command.arguments for values in _find_all(argument.metavar, command)]
    return Values(
        kinds=tuple(kind for values in found for kind in values.kinds),
        choices=tuple(choice for values in found for choice in values.choices),
        system=next((values.system for values in found if values.system), ""),
        comma=any(values.comma for values in found),
        suffix=next((values.suffix for values in found if values.suffix), ""),
    )


def _find_all(metavar: str, command: Command) -> list[Values]:
    if command.title == "config show":
        return [Values(kinds=("setting",))]
    if "=" in metavar:
        return [Values(choices=_ASSIGNED.get(command.title, ()), suffix="=")]
    return [_find(word, command) for word in dict.fromkeys(re.findall("[A-Z]+", metavar))]


def _find(metavar: str, command: Command) -> Values:
    if _CHOICES.fullmatch(metavar):
        return Values(choices=tuple(metavar.split("|")))
    if command.path[:1] in (("recurring",), ("cron",)) and metavar in ("NAME", "SCHEDULE"):
        return Values(kinds=("schedule",))
    values = _BY_METAVAR.get(metavar, Values())
    if values.kinds == ("task",):
        return Values(kinds=(_narrow(command),), comma=values.comma)
    return values


def _narrow(command: Command) -> str:
    """Which tasks a command can act on."""
    if command.title in LIVE_ONLY:
        return "live"
    if command.title in ENDED_ONLY:
        return "ended"
    return "running" if command.title == "signal" else "task"
