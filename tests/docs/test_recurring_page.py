"""docs/recurring.md is true: its commands are run, and print what the page says they do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.commands.conftest import Caller
from tests.commands.schedules import TableGateway

PAGE = (Path(__file__).parents[2] / "docs" / "recurring.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    """Somebody who types the page from top to bottom."""
    caller = Caller(str(tmp_path_factory.mktemp("reader")))
    caller.gateway = TableGateway()
    assert caller.streams is not None
    caller.streams.gateway = caller.gateway
    return caller


def play(reader: Caller, command: str, shown: str) -> str:
    """What a line of the page prints; `cat` makes the file it shows."""
    words = shlex.split(command)
    if words[0] == "cat":
        Path(reader.cwd, words[1]).write_text(shown)
        return shown
    assert words[0] == "cronoq"
    line = reader(*words[1:])
    return line.out + line.err + (f"[exit {line.status}]\n" if line.status else "")


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_commands_of_the_page_print_what_it_shows(reader: Caller, text: str) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        assert play(reader, command, shown) == shown, command
