"""The completion for fish: a `complete` line for each option and word, below a condition that finds the command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli.commands.reference.tree import PROGRAM, Command, Option
from cronoq_cli.commands.reference.values import (
    COMMANDS,
    DIRECTORIES,
    FILES,
    Values,
    find_operand_values,
    find_option_values,
)

HEAD = """\
# Completion of cronoq for fish; generated from the commands by: make docs
# To use it: cronoq completion install fish, or put this file into ~/.config/fish/completions.
"""

FUNCTIONS = r"""
# Reads the line up to the cursor once: which command it names, and where the command of a task begins in it.
function __cronoq_read
    set -l line (commandline -pc | string collect)
    if set -q __cronoq_line; and test "$__cronoq_line" = "$line"
        return
    end
    set -g __cronoq_line $line
    set -g __cronoq_path cronoq
    set -g __cronoq_foreign 0
    set -g __cronoq_program (commandline -opc)[1]
    set -l words (commandline -opc)
    set -l ended 0
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        set -l here (string replace -a ' ' _ -- $__cronoq_path)
        if test "$word" = --
            if contains -- $here $__cronoq_behind
                set __cronoq_foreign (math $i + 1)
                return
            end
            set ended 1
        else if test $ended = 0; and string match -q -- '--*=*' $word
            string match -q -- '--home=*' $word; and set -a __cronoq_program $word
        else if test $ended = 0; and string match -q -- '-?*' $word
            set -l valued __cronoq_valued_(string replace -a - _ -- $here)
            if contains -- $word $$valued
                set i (math $i + 1)
                if test "$word" = --home; and test $i -le (count $words)
                    set -a __cronoq_program --home (string replace -r '^~(?=/|$)' $HOME -- $words[$i])
                end
            end
        else if contains -- $here $__cronoq_groups
            set __cronoq_path "$__cronoq_path $word"
            if set -l at (contains -i -- (string replace -a ' ' _ -- $__cronoq_path) $__cronoq_aliases)
                set __cronoq_path (string replace -a _ ' ' -- $__cronoq_meant[$at])
            end
        else if contains -- $here $__cronoq_running
            set __cronoq_foreign $i
            return
        end
        set i (math $i + 1)
    end
    # A value is to come, an option, or else the first word of a task's command.
    test $i -gt (math (count $words) + 1); and return
    string match -q -- '-*' (commandline -ct); and test $ended = 0; and return
    contains -- (string replace -a ' ' _ -- $__cronoq_path) $__cronoq_running
    and set __cronoq_foreign (math (count $words) + 1)
end

function __cronoq_at
    __cronoq_read
    test "$__cronoq_path" = "$argv[1]"; and test $__cronoq_foreign = 0
end

function __cronoq_is_foreign
    __cronoq_read
    test $__cronoq_foreign != 0
end

# The words of a task's own command, as fish completes that command.
function __cronoq_complete_foreign
    set -l words (commandline -opc)
    set -l first $__cronoq_foreign
    set -l token (commandline -ct)
    set -l before
    test $first -le (count $words); and set before (string escape -- $words[$first..-1])
    complete -C (string join ' ' -- $before "$token" | string collect)
end

# What the daemon, or the store, knows: __cronoq_ask KINDS [COMMA [SUFFIX]]
function __cronoq_ask
    __cronoq_read
    set -l token (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before
    if test -n "$argv[2]"; and string match -q '*,*' -- $token
        set before (string replace -r '[^,]*$' '' -- $token)
        set token (string replace -r '^.*,' '' -- $token)
    end
    for line in ($__cronoq_program __complete $argv[1] "$token" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        printf '%s%s%s\t%s\n' "$before" $parts[1] "$argv[3]" "$parts[2]"
    end
end

# What is known already: __cronoq_choose COMMA SUFFIX WORD...
function __cronoq_choose
    set -l token (string replace -r '^--[^=]*=' '' -- (commandline -ct))
    set -l before
    if test -n "$argv[1]"; and string match -q '*,*' -- $token
        set before (string replace -r '[^,]*$' '' -- $token)
    end
    for word in $argv[3..-1]
        printf '%s%s%s\n' "$before" $word "$argv[2]"
    end
end

complete -c cronoq -e
complete -c cronoq -f
complete -c cronoq -n __cronoq_is_foreign -a '(__cronoq_complete_foreign)'
"""


def format_fish(root: Command) -> str:
    """The script."""
    commands = list(root.walk())
    return HEAD + "\n" + "\n".join(_tables(commands)) + "\n" + FUNCTIONS + "\n" + "\n".join(_lines(commands)) + "\n"


def _tables(commands: list[Command]) -> Iterator[str]:
    yield f"set -g __cronoq_groups {_marks(one for one in commands if one.is_group)}"
    yield f"set -g __cronoq_running {_marks(one for one in commands if one.runs_command)}"
    yield f"set -g __cronoq_behind {_marks(one for one in commands if one.takes_command)}"
    pairs = [(alias, one) for one in commands for alias in one.aliases]
    aliases = " ".join("_".join((PROGRAM, *one.path[:-1], alias)) for alias, one in pairs)
    yield f"set -g __cronoq_aliases {aliases}"
    yield f"set -g __cronoq_meant {_marks(one for _, one in pairs)}"
    for one in commands:
        names = " ".join(name for option in one.options if option.metavar for name in option.names)
        yield f"set -g __cronoq_valued_{_mark(one).replace('-', '_')} {names}".rstrip()


def _mark(command: Command) -> str:
    return command.line.replace(" ", "_")


def _marks(commands: Iterable[Command]) -> str:
    return " ".join(map(_mark, commands))


def _lines(commands: Iterable[Command]) -> Iterator[str]:
    for one in commands:
        here = f"complete -c cronoq -n '__cronoq_at \"{one.line}\"'"
        for child in one.children:
            yield f"{here} -a {child.path[-1]} -d {_quote(child.summary)}"
        for option in one.options:
            yield f"{here} {_format_option(one, option)}"
        values = find_operand_values(one)
        if not one.is_group and not one.runs_command and not values.is_empty:
            yield f"{here} {_source(values)}"


def _format_option(command: Command, option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    words = [*names, "-d", _quote(option.help)]
    if option.metavar:
        values = find_option_values(command, option)
        words.append("-x" if values.is_empty else f"-r {_source(values)}")
    return " ".join(words)


def _source(values: Values) -> str:
    """Where fish gets the words from."""
    comma = "," if values.comma else "''"
    suffix, kind_suffix = values.suffix or "''", values.kind_suffix or "''"
    words = []
    if values.kinds:
        words.append(f"-a '(__cronoq_ask {','.join(values.kinds)} {comma} {kind_suffix})'".replace("''", '""'))
    if values.choices:
        words.append(f"-a '(__cronoq_choose {comma} {suffix} {' '.join(values.choices)})'".replace("''", '""'))
    system = {
        FILES: "-F",
        DIRECTORIES: "-a '(__fish_complete_directories)'",
        COMMANDS: "-a '(__fish_complete_command)'",
    }
    if values.system:
        words.append(system[values.system])
    if values.system != FILES:
        words.append("-f")
    return " ".join(words)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
