"""`cronoq completion`: the completion of a shell, shown or put where the shell looks for it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, verb
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.errors import UsageError
from cronoq_cli.model.words import hint_for

KNOWN = ("bash", "zsh", "fish")

Shell = Annotated[str | None, argument("[SHELL]", help="bash, zsh or fish; the one that SHELL names.")]


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    completion = group(
        app,
        "completion",
        help="Completion of commands, options, ids, keys, names and pools in a shell.",
        panel="Pools and daemon",
    )
    verb(completion, "install", examples=("cronoq completion install", "cronoq completion install fish"))(install)
    verb(completion, "show", examples=("source <(cronoq completion show bash)",))(show)


def install(context: Context, shell: Shell = None, json: Json = False) -> int | None:
    """Put the completion where the shell looks for it, and print where that is. An older one of ours is replaced."""
    from cronoq_cli.commands.reference.scripts import SCRIPTS, write_script  # made from all commands: not for others
    from cronoq_cli.commands.reference.tree import read_tree

    context.json = json
    context.need_streams()
    name = _choose(context, shell)
    script = SCRIPTS[name]
    place = script.find_place(context.env)
    write_script(place, script.format(read_tree()))
    if json:
        print_json(context, {"completion": {"shell": name, "path": place}})
    else:
        print_line(context, place)
        print_notes(context, [script.advice.format(place=place, directory=os.path.dirname(place))])
    return 0


def show(context: Context, shell: Shell = None, json: Json = False) -> int | None:
    """Print the completion of a shell, to be read by it."""
    from cronoq_cli.commands.reference.scripts import SCRIPTS
    from cronoq_cli.commands.reference.tree import read_tree

    context.json = json
    context.need_streams()
    name = _choose(context, shell)
    text = SCRIPTS[name].format(read_tree())
    if json:
        print_json(context, {"completion": {"shell": name, "text": text}})
    else:
        context.out.write(text)
    return 0


def _choose(context: Context, shell: str | None) -> str:
    chosen = os.path.basename(context.env.get("SHELL", "")) if shell is None else shell
    if chosen not in KNOWN:
        said = f"{chosen!r} is no shell that is known here" if chosen else "SHELL names no shell"
        raise UsageError(said, hint=hint_for(chosen, KNOWN))
    return chosen
