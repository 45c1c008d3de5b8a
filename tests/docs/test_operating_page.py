"""The page on operating is true: its commands and options exist, its unit is ours, its file can be applied."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from cronoq_cli.client.unit import format_unit
from cronoq_cli.commands.reference.tree import Command, read_tree
from cronoq_cli.config.live import POOL_KEYS
from cronoq_cli.config.paths import find_paths

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text(encoding="utf-8")
SHELL = "".join(part.split("```")[0] for part in PAGE.split("```sh\n")[1:])
LINES = [line.split("#")[0].split(">")[0] for line in SHELL.splitlines() if line.startswith("cronoq ")]
QUOTED = [text for text in re.findall(r"`(cronoq [^`]+)`", PAGE) if "cronoq.db" not in text]


@pytest.mark.parametrize("line", [*LINES, *QUOTED])
def test_every_command_of_the_page_exists_with_its_options(line: str) -> None:
    command: Command = read_tree()
    for word in shlex.split(line)[1:]:
        below = {name: child for child in command.children for name in (child.path[-1], *child.aliases)}
        if command.is_group:
            assert word in below, f"{line}: there is no {word}"
            command = below[word]
        elif word.startswith("-"):
            assert word in {name for option in command.options for name in option.names}, f"{line}: {word}"


def test_what_is_said_of_the_unit_stands_in_it() -> None:
    text = format_unit(find_paths(None, {}), {}, 30)
    for part in re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE):
        for setting in re.findall("`([^`]+)`", part):
            assert re.search(rf"(?m)^{re.escape(setting)}", text), setting


def test_the_file_of_the_page_has_only_what_can_be_applied() -> None:
    found = tomllib.loads(PAGE.split("```toml\n")[1].split("```")[0])
    assert set(found) == {"pools", "resources", "recurring"}
    assert set(found["pools"]["batch"]) <= set(POOL_KEYS)
