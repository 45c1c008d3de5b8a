"""The completion for zsh: a function a command, each a call of `_arguments` with the options it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli.commands.reference.tree import Argument, Command, Option
from cronoq_cli.commands.reference.values import (
    COMMANDS,
    DIRECTORIES,
    FILES,
    Values,
    find_operand_values,
    find_option_values,
)

HEAD = """\
#compdef cronoq
# Completion of cronoq for zsh; generated from the commands by: make docs
# To use it: cronoq completion install zsh, or put this file into a directory of $fpath as _cronoq.
"""

FUNCTIONS = r"""
# What the daemon, or the store, knows: _cronoq_ask KINDS COMMA SUFFIX WHAT
_cronoq_ask() {
    local -a found
    local word text
    [[ -n $2 ]] && compset -P '*,'
    while IFS=$'\t' read -r word text; do
        found+=("${word//:/\\:}:$text")
    done < <("${cronoq_program[@]}" __complete "$1" "$PREFIX" 2>/dev/null)
    if [[ -n $3 ]]; then
        _describe -V -t values "$4" found -S "$3" -q
    else
        _describe -V -t values "$4" found
    fi
}

# What is known already: _cronoq_choose COMMA SUFFIX WORD...
_cronoq_choose() {
    local comma=$1 suffix=$2
    shift 2
    [[ -n $comma ]] && compset -P '*,'
    if [[ -n $suffix ]]; then
        compadd -S "$suffix" -q -- "$@"
    else
        compadd -- "$@"
    fi
}

_cronoq() {
    local -a cronoq_program
    local i
    cronoq_program=(${~words[1]})
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
            --home) cronoq_program+=(--home ${~words[i + 1]}) ;;
            --home=*) cronoq_program+=($words[i]) ;;
            --color) ((i++)) ;;
            -*) ;;
            *) break ;;
        esac
    done
    _cronoq_at
}
"""

TAIL = """
if [[ $funcstack[1] == _cronoq ]]; then
    _cronoq "$@"
else
    compdef _cronoq cronoq
fi
"""
_ARGUMENTS = "    _arguments -C -s -S \\"
_OF_GROUP = "    _arguments -C -s \\"
_BEHIND = """\
    local at=${words[(i)--]}
    if (({condition}at < CURRENT)); then
        words=("${(@)words[at + 1,-1]}")
        ((CURRENT -= at))
        _normal
        return
    fi"""


def format_zsh(root: Command) -> str:
    """The script."""
    functions = "\n".join("\n".join(_format_command(one)) + "\n" for one in root.walk())
    return HEAD + FUNCTIONS + "\n" + functions + TAIL


def _function(command: Command) -> str:
    return "_".join(("_cronoq_at", *command.path)).replace("-", "_")


def _format_command(command: Command) -> Iterator[str]:
    yield f"{_function(command)}() {{"
    specs = [spec for option in command.options for spec in _option_specs(command, option)]
    if command.is_group:
        yield from _format_group(command, specs)
    else:
        if command.takes_command:
            # Further on, `_arguments` itself sees where the options end.
            yield _BEHIND.replace("{condition}", "at == 2 && " if command.runs_command else "")
        yield _ARGUMENTS
        yield from _continued([*specs, *_operand_specs(command)])
    yield "}"


def _continued(lines: list[str]) -> Iterator[str]:
    yield from (f"        {line} \\" for line in lines[:-1])
    yield f"        {lines[-1]}"


def _format_group(command: Command, specs: list[str]) -> Iterator[str]:
    yield "    local state line"
    yield "    local -a below"
    yield _OF_GROUP
    yield from _continued([*specs, "'1: :->command'", "'*:: :->rest'"])
    yield "    case $state in"
    yield "        command)"
    yield "            below=("
    for child in command.children:
        yield f"                {_quote(f'{child.path[-1]}:{child.summary}')}"
    yield "            )"
    yield "            _describe -t commands command below"
    yield "            ;;"
    yield "        rest)"
    yield "            case $words[1] in"
    for child in command.children:
        yield f"                {'|'.join((child.path[-1], *child.aliases))}) {_function(child)} ;;"
    yield "            esac"
    yield "            ;;"
    yield "    esac"


def _option_specs(command: Command, option: Option) -> Iterator[str]:
    """One spec for each name; of an option that stands once, no name is offered behind another."""
    others = "" if option.many else f"({' '.join(option.names)})"
    for name in option.names:
        mark = ("=" if name.startswith("--") else "+") if option.metavar else ""
        help_ = _escape(option.help)
        value = ""
        if option.metavar:
            value = f":{_escape(option.metavar)}:{_action(find_option_values(command, option), option.metavar)}"
        yield _quote(f"{'*' if option.many else others}{name}{mark}[{help_}]{value}")


def _operand_specs(command: Command) -> Iterator[str]:
    if command.runs_command:
        yield "'(-)1:command: _command_names -e'"
        yield "'*::arguments: _normal'"
        return
    values = find_operand_values(command)
    if values.is_empty:
        yield _quote(f"*:{_escape(_describe(command.arguments))}: ")
    else:
        yield _quote(f"*:{_escape(_describe(command.arguments))}:{_action(values, 'word')}")


def _describe(arguments: Iterable[Argument]) -> str:
    return " ".join(argument.metavar for argument in arguments) or "nothing more"


def _action(values: Values, what: str) -> str:
    """What `_arguments` calls for a value."""
    comma = "," if values.comma else ""
    calls = []
    if values.kinds:
        calls.append(f'_cronoq_ask {",".join(values.kinds)} "{comma}" "{values.kind_suffix}" {_plain(what)}')
    if values.choices:
        calls.append(f'_cronoq_choose "{comma}" "{values.suffix}" {" ".join(values.choices)}')
    calls += {FILES: ["_files"], DIRECTORIES: ["_files -/"], COMMANDS: ["_command_names -e"]}.get(values.system, [])
    if len(calls) > 1:
        return "{" + "; ".join(calls) + "}"
    if not calls:
        return " "
    return "{" + calls[0] + "}" if calls[0].startswith("_cronoq") else calls[0]


def _plain(text: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in text).strip("-") or "value"


def _escape(text: str) -> str:
    for char in "\\[]:":
        text = text.replace(char, f"\\{char}")
    return text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
