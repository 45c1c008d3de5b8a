"""The completion for bash: tables made from the commands, and a few functions that read a line by them.

It needs no bash-completion package; where that is loaded, it completes the words of the tasks' own commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cronoq_cli.commands.reference.tree import PROGRAM, Command
from cronoq_cli.commands.reference.values import Values, find_operand_values, find_option_values

HEAD = """\
# Completion of cronoq for bash; generated from the commands by: make docs
# To use it: cronoq completion install bash, or source this file.
"""

FUNCTIONS = r"""
# Fills cronoq_words and cronoq_cword: the words of the line, those that bash takes apart at = and : put together.
_cronoq_read_line() {
    local i word join=
    cronoq_words=() cronoq_cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        [[ $word == [=:]* ]] && join=1
        if ((i > 1)) && [[ $join && $COMP_LINE != *" ${COMP_WORDS[i - 1]} $word"* ]]; then
            cronoq_words[${#cronoq_words[@]} - 1]+=$word
        else
            cronoq_words+=("$word")
        fi
        join=
        [[ $word == *[=:] ]] && join=1
        ((i == COMP_CWORD)) && cronoq_cword=$((${#cronoq_words[@]} - 1))
    done
}

# What the daemon, or the store, knows: _cronoq_ask KINDS PREFIX SUFFIX
_cronoq_ask() {
    local word text
    while IFS=$'\t' read -r word text; do
        printf '%s%s\n' "$word" "$3"
    done < <("${cronoq_program[@]}" __complete "$1" "$2" 2>/dev/null)
}

# Candidates from a table entry "kinds|choices|system|comma|suffix" for the word $2, which stands behind the prefix $3.
_cronoq_offer() {
    local entry=$1 word=$2 before=$3 kinds choices system comma suffix kind_suffix found
    IFS='|' read -r kinds choices system comma suffix <<<"$entry"
    kind_suffix=${choices:+ }
    kind_suffix=${kind_suffix:-$suffix}
    kind_suffix=${kind_suffix# }
    if [[ $comma && $word == *,* ]]; then
        before+=${word%,*},
        word=${word##*,}
    fi
    found=$(
        [[ $choices ]] && compgen -W "$choices" -S "$suffix" -- "$word"
        [[ $kinds ]] && _cronoq_ask "$kinds" "$word" "$kind_suffix"
        case $system in
            files) compgen -f -- "$word" ;;
            directories) compgen -d -- "$word" ;;
            commands) compgen -c -- "$word" ;;
        esac
    )
    [[ $found ]] || return 0
    local line
    while IFS= read -r line; do
        COMPREPLY+=("$before$line")
    done <<<"$found"
    [[ $suffix ]] && compopt -o nospace 2>/dev/null
    [[ $system == files || $system == directories ]] && compopt -o filenames 2>/dev/null
    return 0
}

# The words of a task's own command, from the word number $1 on.
_cronoq_foreign() {
    local first=$1 cur=${cronoq_words[cronoq_cword]}
    if ((cronoq_cword == first)); then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$cur" | sort -u)
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$first"
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    compopt -o filenames 2>/dev/null
}

# Bash puts only what is behind the last : or = of the word in its place.
_cronoq_cut() {
    local cur=${cronoq_words[cronoq_cword]} mark i
    for mark in : =; do
        if [[ $cur == *$mark* && $COMP_WORDBREAKS == *$mark* ]]; then
            local before=${cur%"${cur##*"$mark"}"}
            for i in "${!COMPREPLY[@]}"; do
                COMPREPLY[i]=${COMPREPLY[i]#"$before"}
            done
            cur=${cur##*"$mark"}
        fi
    done
}

_cronoq() {
    local cronoq_words cronoq_cword cronoq_program path=cronoq i word cur prev= ended=
    COMPREPLY=()
    _cronoq_read_line
    cur=${cronoq_words[cronoq_cword]}
    cronoq_program=("${cronoq_words[0]/#\~/$HOME}")
    for ((i = 1; i < cronoq_cword; i++)); do
        word=${cronoq_words[i]}
        if [[ $word == -- ]]; then
            [[ " $_cronoq_behind " == *" ${path// /_} "* ]] && { _cronoq_foreign $((i + 1)); return; }
            ended=1
        elif [[ ! $ended && $word == --*=* ]]; then
            [[ $word == --home=* ]] && cronoq_program+=("$word")
        elif [[ ! $ended && $word == -?* ]]; then
            if [[ ${_cronoq_valued[$path]+x} && " ${_cronoq_valued[$path]} " == *" $word "* ]]; then
                prev=$word
                ((++i < cronoq_cword)) && prev=
                [[ $word == --home && ! $prev ]] && cronoq_program+=(--home "${cronoq_words[i]/#\~/$HOME}")
            fi
        elif [[ ${_cronoq_below[$path]+x} ]]; then
            word="$path $word"
            path=${_cronoq_same[$word]:-$word}
        elif [[ " $_cronoq_running " == *" ${path// /_} "* ]]; then
            _cronoq_foreign "$i"
            return
        fi
    done
    if [[ $prev ]]; then
        _cronoq_offer "${_cronoq_values[$path $prev]:-}" "$cur" ""
    elif [[ ! $ended && $cur == --*=* ]]; then
        _cronoq_offer "${_cronoq_values[$path ${cur%%=*}]:-}" "${cur#*=}" "${cur%%=*}="
    elif [[ ! $ended && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${_cronoq_options[$path]:-}" -- "$cur")
    elif [[ ${_cronoq_below[$path]+x} ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${_cronoq_below[$path]}" -- "$cur")
    elif [[ " $_cronoq_running " == *" ${path// /_} "* ]]; then
        _cronoq_foreign "$cronoq_cword"
    else
        _cronoq_offer "${_cronoq_operands[$path]:-}" "$cur" ""
    fi
    _cronoq_cut
}

complete -F _cronoq cronoq
"""


def format_bash(root: Command) -> str:
    """The script."""
    commands = list(root.walk())
    tables = [
        *_table("_cronoq_below", ((one.line, _names_below(one)) for one in commands if one.is_group)),
        *_table("_cronoq_same", _aliases(commands)),
        *_table("_cronoq_options", ((one.line, " ".join(_list_options(one))) for one in commands)),
        *_table("_cronoq_valued", ((one.line, " ".join(_list_options(one, valued=True))) for one in commands)),
        *_table("_cronoq_values", _option_values(commands)),
        *_table("_cronoq_operands", _operands(commands)),
        f'_cronoq_running="{_mark(one for one in commands if one.runs_command)}"',
        f'_cronoq_behind="{_mark(one for one in commands if one.takes_command)}"',
    ]
    return HEAD + "\n" + "\n".join(tables) + "\n" + FUNCTIONS


def _table(name: str, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"declare -gA {name}=("
    yield from (f"    [{_quote(key)}]={_quote(value)}" for key, value in entries if value)
    yield ")"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`") + '"'


def _mark(commands: Iterable[Command]) -> str:
    return " ".join(one.line.replace(" ", "_") for one in commands)


def _names_below(command: Command) -> str:
    return " ".join(child.path[-1] for child in command.children)


def _aliases(commands: Iterable[Command]) -> Iterator[tuple[str, str]]:
    """What an alias, as it is typed, stands for."""
    for one in commands:
        for alias in one.aliases:
            yield " ".join((PROGRAM, *one.path[:-1], alias)), one.line


def _list_options(command: Command, *, valued: bool = False) -> list[str]:
    return [name for option in command.options if option.metavar or not valued for name in option.names]


def _option_values(commands: Iterable[Command]) -> Iterator[tuple[str, str]]:
    for one in commands:
        for option in one.options:
            values = find_option_values(one, option)
            for name in option.names if not values.is_empty else ():
                yield f"{one.line} {name}", _entry(values)


def _operands(commands: Iterable[Command]) -> Iterator[tuple[str, str]]:
    for one in commands:
        values = find_operand_values(one)
        if not values.is_empty and not one.is_group and not one.runs_command:
            yield one.line, _entry(values)


def _entry(values: Values) -> str:
    comma = "," if values.comma else ""
    return "|".join((",".join(values.kinds), " ".join(values.choices), values.system, comma, values.suffix))
