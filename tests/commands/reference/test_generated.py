"""Manual and completions are made from the commands and the settings, and those in the checkout are the newest."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cronoq_cli.commands.reference.__main__ import format_all, write_all
from cronoq_cli.commands.reference.tree import Command, read_tree
from cronoq_cli.config.declared import list_sections
from tests.commands.conftest import Caller

ROOT = Path(__file__).parents[3]
TREE = read_tree()
COMMANDS = list(TREE.walk())
FILES = format_all()
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][a-z-]*)")


@pytest.mark.parametrize("path", sorted(FILES))
def test_what_is_in_the_checkout_is_the_newest(path: str) -> None:
    assert (ROOT / path).exists(), "run: make docs"
    assert (ROOT / path).read_text(encoding="utf-8") == FILES[path], f"{path} is stale; run: make docs"


def test_nothing_is_left_of_commands_that_are_no_more() -> None:
    assert sorted(f"man/{path.name}" for path in (ROOT / "man").glob("*.[15]")) == sorted(
        path for path in FILES if path.startswith("man/")
    )


def test_pages_of_commands_that_are_no_more_go(tmp_path: Path) -> None:
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "cronoq-gone.1").touch()
    write_all(str(tmp_path))
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == sorted(
        path for path in FILES if "." in path
    )


def helped(caller: Caller, command: Command) -> set[str]:
    """The options that the help of a command lists."""
    said = caller(*command.path, "--help" if command.is_group else "--help-all").out
    lines = [line for line in said.splitlines() if re.match(r" {2}-", line)]
    return {name for line in lines for name in OPTION.findall(re.split(r"\s{2,}", line.strip())[0])}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.line)
def test_every_option_of_the_help_is_in_page_and_completions_and_the_reverse(command: Command, caller: Caller) -> None:
    expected = helped(caller, command)
    assert expected == {name for option in command.options for name in option.names}
    assert expected == _in_page(command)
    assert expected == _in_bash(command)
    assert expected == _in_zsh(command)
    assert expected == _in_fish(command)


def _in_page(command: Command) -> set[str]:
    page = FILES[f"man/{'-'.join(('cronoq', *command.path[:1]))}.1"].replace("\\-", "-")
    if len(command.path) > 1:
        page = page.split(f".SS {command.title}")[1].split("\n.SS ")[0].split("\n.SH ")[0]
    elif command.is_group:
        page = page.split(".SH OPTIONS")[1].split(".SH COMMANDS")[0]
    return {name for line in re.findall(r"\.TP\n(\\fB-.*)", page) for name in re.findall(r"\\fB(--?[A-Za-z-]+)", line)}


def _in_bash(command: Command) -> set[str]:
    table = FILES["completions/cronoq"].split("_cronoq_options=(")[1].split("\n)")[0]
    found = re.search(rf'\["{re.escape(command.line)}"\]="(.*)"', table)
    return set(found[1].split()) if found else set()


def _in_zsh(command: Command) -> set[str]:
    name = "_".join(("_cronoq_at", *command.path)).replace("-", "_")
    body = FILES["completions/_cronoq"].split(f"\n{name}() {{")[1].split("\n}")[0]
    return set(re.findall(r"^ +'(?:\([^)]*\)|\*)(--?[A-Za-z][a-z-]*)[=+]?\[", body, re.MULTILINE))


def _in_fish(command: Command) -> set[str]:
    lines = [line for line in FILES["completions/cronoq.fish"].splitlines() if f'__cronoq_at "{command.line}"' in line]
    heads = [line.split(" -d ")[0] for line in lines if re.search(r"' -[ls] ", line)]
    long = {f"--{name}" for head in heads for name in re.findall(r" -l (\S+)", head)}
    return long | {f"-{name}" for head in heads for name in re.findall(r" -s (\S+)", head)}


def test_every_command_and_alias_can_be_completed_and_has_a_page() -> None:
    for command in COMMANDS[1:]:
        assert f"man/cronoq-{command.path[0]}.1" in FILES
        for name in (command.path[-1], *command.aliases):
            for shell in ("cronoq", "_cronoq", "cronoq.fish"):
                assert name in FILES[f"completions/{shell}"]


def test_the_page_of_the_configuration_has_every_table_and_every_key() -> None:
    page = FILES["man/cronoq.toml.5"]
    for section in list_sections():
        assert f".SH {section.header.replace('pools.default', 'pools.NAME')}\n" in page
        for key in section.keys:
            assert f"\\fB{key.name}\\fR\n" in page


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_has_nothing_to_complain_of(tmp_path: Path) -> None:
    pages = [str(ROOT / path) for path in FILES if path.startswith("man/")]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8", "MANWIDTH": "80"}
    command = ["man", "--warnings", "-Tutf8", "-l", *pages]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    assert "cronoq submit [OPTIONS] [COMMAND] [ARG]..." in re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
