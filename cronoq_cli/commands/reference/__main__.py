"""Writes completions and manual anew: `python -m cronoq_cli.commands.reference [DIRECTORY]`, which `make docs` does."""

from __future__ import annotations

import os
import sys

from cronoq_cli.commands.reference.pages import format_pages
from cronoq_cli.commands.reference.scripts import SCRIPTS
from cronoq_cli.commands.reference.tree import read_tree

COMPLETIONS, MANUAL = "completions", "man"


def format_all() -> dict[str, str]:
    """Every generated file, by its path in the checkout."""
    root = read_tree()
    found = {f"{COMPLETIONS}/{script.file}": script.format(root) for script in SCRIPTS.values()}
    return found | {f"{MANUAL}/{name}": text for name, text in format_pages(root).items()}


def write_all(directory: str) -> None:
    """Write them; pages of commands that are no more go. Raises OSError."""
    files = format_all()
    for path, text in files.items():
        os.makedirs(os.path.join(directory, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(directory, path), "w", encoding="utf-8") as file:
            file.write(text)
    for name in os.listdir(os.path.join(directory, MANUAL)):
        if name.endswith((".1", ".5")) and f"{MANUAL}/{name}" not in files:
            os.unlink(os.path.join(directory, MANUAL, name))


if __name__ == "__main__":
    write_all(sys.argv[1] if len(sys.argv) > 1 else ".")
