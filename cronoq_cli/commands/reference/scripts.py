"""The completion scripts by shell: their text, and where a user's shell looks for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cronoq_cli.commands.reference.bash import format_bash
from cronoq_cli.commands.reference.fish import format_fish
from cronoq_cli.commands.reference.tree import Command
from cronoq_cli.commands.reference.zsh import format_zsh
from cronoq_cli.errors import ConflictError

OURS = "Completion of cronoq"


@dataclass(frozen=True, slots=True)
class Script:
    """One shell's script. `file`: its name among the generated ones; `place` below the directory that the variable
    `base` names, else below `usual` in the home; `advice`: what is needed for the shell to look there."""

    file: str
    format: Callable[[Command], str]
    base: str
    usual: str
    place: str
    advice: str

    def find_place(self, env: Mapping[str, str]) -> str:
        """Where the script of a user belongs."""
        named = env.get(self.base, "")
        home = env.get("HOME") or os.path.expanduser("~")
        return os.path.join(named if named.startswith("/") else os.path.join(home, self.usual), self.place)


SCRIPTS = {
    "bash": Script(
        "cronoq",
        format_bash,
        "XDG_DATA_HOME",
        ".local/share",
        "bash-completion/completions/cronoq",
        "new shells have it where bash-completion is loaded; elsewhere put into ~/.bashrc: source {place}",
    ),
    "zsh": Script(
        "_cronoq",
        format_zsh,
        "XDG_DATA_HOME",
        ".local/share",
        "zsh/site-functions/_cronoq",
        "new shells have it when ~/.zshrc has, before compinit: fpath=({directory} $fpath)",
    ),
    "fish": Script(
        "cronoq.fish",
        format_fish,
        "XDG_CONFIG_HOME",
        ".config",
        "fish/completions/cronoq.fish",
        "new shells have it",
    ),
}


def write_script(place: str, text: str) -> None:
    """Put a script in its place, in that of an older one of ours too. Raises ConflictError for a file of others."""
    raw = os.fsencode(place)
    try:
        if os.path.lexists(raw):
            with open(raw, encoding="utf-8", errors="replace") as file:
                if OURS not in file.read(4096):
                    raise ConflictError(f"{place} is there and is not ours", hint="move it away")
        os.makedirs(os.path.dirname(raw), exist_ok=True)
        with open(raw + b".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(raw + b".new", raw)
    except OSError as error:
        raise ConflictError(
            f"cannot write {place}: {error.strerror}", hint="cronoq completion show prints it instead"
        ) from error
