"""The manual: one page for the program, one for each command, one for the configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli import __version__
from cronoq_cli.commands.reference import roff
from cronoq_cli.commands.reference.tree import PROGRAM, Command, Option
from cronoq_cli.config.declared import Key, Section, list_sections

CONFIGURATION = "cronoq.toml"
SUMMARY = "queue, schedule and repeat shell commands"
EXITS = (
    ("0", "Done; of one task: it succeeded."),
    ("1", "The answer is no: some of the tasks did not succeed, or something is wrong."),
    ("2", "Wrong usage: the words alone show it. Nothing was queued."),
    ("3", "Nothing matched, or there is no such task."),
    ("4", "Refused in this state, or a conflict."),
    ("5", "No daemon runs, and none could be started."),
    ("6", "Client and daemon speak different protocol versions."),
    ("7", "Invalid: the configuration, a file, or what a word refers to."),
    ("75", "Try later: full, draining, or no space."),
    ("124", "Timed out."),
    ("125", "Trouble of cronoq itself; of one task: it ended without a code of its own."),
    ("130", "Interrupted. 128+n of one task: signal n ended it."),
)
ENVIRONMENT = (
    ("CRONOQ_HOME", "A directory that holds configuration, state and socket together, as `--home` does."),
    ("CRONOQ_NO_AUTOSTART", "When set, and not to 0, no command starts a daemon: exit status 5 instead."),
    ("CRONOQ_DEBUG", "When set, and not to 0, an internal error shows where it came from."),
    ("TZ", "The zone in which times are read and shown; the machine's without it."),
    ("NO_COLOR, FORCE_COLOR", "Never, or always, colours; `--color` decides before them."),
    ("EDITOR, VISUAL", "The editor of commands that open one."),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR",
        "Where configuration, state and socket are when no home was named.",
    ),
)
IN_A_TASK = (
    "CRONOQ_TASK_ID, CRONOQ_ATTEMPT, CRONOQ_MAX_ATTEMPTS, CRONOQ_POOL, CRONOQ_NAME, CRONOQ_KEY, CRONOQ_SLOT, "
    "CRONOQ_RECURRING, CRONOQ_SCHEDULED_AT, CRONOQ_DEADLINE, CRONOQ_REASON, CRONOQ_ARRAY_INDEX, CRONOQ_REPORT, "
    "CRONOQ_HOME"
)
FILES = (
    ("~/.config/cronoq/config.toml", "The configuration, see `cronoq.toml(5)`."),
    ("~/.local/state/cronoq/cronoq.db", "The store: tasks, history, schedules. `cronoq backup` copies it."),
    ("~/.local/state/cronoq/logs/", "The output of the tasks."),
    ("~/.local/state/cronoq/daemon.log", "The daemon's own log."),
    ("$XDG_RUNTIME_DIR/cronoq/cronoq.sock", "The daemon's socket; in the state directory without a runtime directory."),
)


def format_pages(root: Command) -> dict[str, str]:
    """All pages by the name of their file."""
    pages = {f"{PROGRAM}.1": roff.page(_program(root)), f"{CONFIGURATION}.5": roff.page(_configuration())}
    for child in root.children:
        pages[f"{_name(child)}.1"] = roff.page(_command(child, root))
    return pages


def _name(command: Command) -> str:
    return "-".join((PROGRAM, *command.path))


# The program


def _program(root: Command) -> Iterator[str]:
    yield roff.title(PROGRAM, 1, __version__)
    yield roff.section("Name") + f"{PROGRAM} \\- {SUMMARY}\n"
    yield roff.section("Synopsis")
    yield f".B {PROGRAM}\n[{roff.italic('OPTIONS')}] {roff.italic('COMMAND')} [{roff.italic('ARG')}]...\n"
    yield roff.section("Description") + roff.paragraphs(root.help)
    yield roff.paragraphs(
        "The first command that needs a daemon starts one; it keeps tasks, schedules and history in a store, and a "
        "runner keeps tasks going while the daemon restarts or has crashed. Everything belongs to one user."
    )
    yield roff.section("Options") + _options(root.options)
    yield roff.section("Commands")
    for panel, commands in _by_panel(root.children).items():
        yield roff.subsection(panel) if panel else ""
        yield roff.entries((f"{roff.bold(_name(one))}(1)", _also(one)) for one in commands)
    yield roff.section("Exit status") + roff.entries((roff.bold(code), text) for code, text in EXITS)
    yield roff.section("Environment") + roff.entries((roff.bold(name), text) for name, text in ENVIRONMENT)
    yield roff.paragraphs(f"In the environment of a task: {IN_A_TASK}.")
    yield roff.section("Files") + roff.entries((roff.italic(name), text) for name, text in FILES)
    yield roff.section("Examples") + roff.example(root.examples)
    yield roff.section("See also") + _refer([f"{CONFIGURATION}(5)", *(f"{_name(one)}(1)" for one in root.children)])


def _by_panel(commands: Iterable[Command]) -> dict[str, list[Command]]:
    found: dict[str, list[Command]] = {}
    for one in commands:
        found.setdefault(one.panel, []).append(one)
    return found


def _also(command: Command) -> str:
    names = f" Also: {', '.join(command.aliases)}." if command.aliases else ""
    return f"{command.summary}.{names}"


def _refer(names: list[str]) -> str:
    shown = [f"{roff.bold(name.partition('(')[0])}({name.partition('(')[2]}" for name in names]
    return ",\n".join(shown) + "\n"


# A command


def _command(command: Command, root: Command) -> Iterator[str]:
    yield roff.title(_name(command), 1, __version__)
    yield roff.section("Name") + f"{roff.escape(_name(command))} \\- {roff.prose(command.summary)}\n"
    yield roff.section("Synopsis") + "".join(_synopsis(one) for one in command.walk() if not one.is_group)
    yield roff.section("Description") + roff.paragraphs(command.help)
    if command.aliases:
        yield roff.paragraphs(f"The same as: {', '.join(f'`{PROGRAM} {name}`' for name in command.aliases)}.")
    if command.is_group:
        yield roff.section("Options") + _options(command.options)
        yield roff.section("Commands") + "".join(part for child in command.children for part in _below(child))
    else:
        yield from _details(command)
    if command.examples:
        yield roff.section("Examples") + roff.example(command.examples)
    yield roff.section("See also") + _refer(
        [f"{PROGRAM}(1)", f"{CONFIGURATION}(5)", *(f"{_name(one)}(1)" for one in root.children if one is not command)]
    )


def _synopsis(command: Command) -> str:
    operands = " ".join(roff.escape(one.metavar) for one in command.arguments)
    return f".PP\n{roff.bold(command.line)} [{roff.italic('OPTIONS')}] {operands}".rstrip() + "\n"


def _details(command: Command) -> Iterator[str]:
    operands = [(roff.italic(one.metavar), one.help) for one in command.arguments if one.help]
    if operands:
        yield roff.section("Operands") + roff.entries(operands)
    yield roff.section("Options") + _options(command.options)


def _below(command: Command) -> Iterator[str]:
    operands = " ".join(one.metavar for one in command.arguments)
    yield roff.subsection(f"{command.title} {operands}".rstrip())
    yield roff.paragraphs(command.help)
    if command.aliases:
        yield roff.paragraphs(f"Also: {', '.join(f'`{name}`' for name in command.aliases)}.")
    yield _options(command.options)
    yield roff.example(command.examples)


def _options(options: Iterable[Option]) -> str:
    return roff.entries((_term(option), option.help) for option in options)


def _term(option: Option) -> str:
    value = f" {roff.italic(option.metavar)}" if option.metavar else ""
    return ", ".join(roff.bold(name) for name in option.names) + value


# The configuration


def _configuration() -> Iterator[str]:
    yield roff.title(CONFIGURATION, 5, __version__)
    yield roff.section("Name") + f"{CONFIGURATION} \\- the configuration of {PROGRAM}, config.toml\n"
    yield roff.section("Synopsis")
    yield f"{roff.italic('~/.config/cronoq/config.toml')}\n.PP\n{roff.italic('$CRONOQ_HOME/config.toml')}\n"
    yield roff.section("Description")
    yield roff.paragraphs(
        "The file is TOML. Everything in it can be left out; unknown keys are refused with the nearest known one. "
        "`cronoq config init` writes a file in which comments explain every key, `cronoq config check` says what is "
        "wrong in which line, `cronoq config show` what holds and where each value comes from, and "
        "`cronoq daemon reload` takes the file as it is then, whole or not at all.\n\n"
        'Durations are "90s", "1h30m", "2d", "500ms" or plain seconds; sizes are "64MiB" or bytes.'
    )
    for section in list_sections():
        yield roff.section(section.header.replace("default", "NAME") if "pools" in section.header else section.header)
        yield roff.paragraphs(section.help)
        yield roff.entries((roff.bold(key.name), _explain(key, section)) for key in section.keys)
    yield roff.section("See also") + _refer([f"{PROGRAM}(1)", f"{PROGRAM}-config(1)", f"{PROGRAM}-pool(1)"])


def _explain(key: Key, section: Section) -> str:
    more = f" Default: `{key.default}`." if key.default is not None else ""
    more += f" Example: `{key.example}`." if key.example is not None else ""
    return key.help.rstrip(",") + more
