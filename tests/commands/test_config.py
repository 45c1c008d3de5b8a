"""`config`, `completion`, `backup --check`, `doctor` and `daemon install` as somebody at a shell sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.context import Finding
from cronoq_cli.config.effective import Changes
from cronoq_cli.config.template import format_template

from .conftest import Caller, FakeStreams

ROOT = Path(__file__).parents[2]


class Keeper(FakeStreams):
    """Streams whose housekeeping answers what was put ready."""

    findings: tuple[Finding, ...] = ()
    troubles: tuple[str, ...] = ()

    def housekeeping(self) -> Keeper:
        """Itself."""
        return self

    def load_changes(self) -> Changes:
        """One change."""
        return Changes(pools={"default": {"max_pending": 5}})

    def check_store(self, path: str | None) -> tuple[str, list[str]]:
        """The troubles put ready."""
        return path or "/the/store", list(self.troubles)

    def examine(self) -> tuple[Finding, ...]:
        """The findings put ready."""
        return self.findings

    def format_unit(self) -> str:
        """A short one."""
        return "[Unit]\n"

    def install_unit(self) -> str:
        """Where it would be."""
        self.calls.append(("install", None))
        return "/home/ann/x.service"

    def start_unit(self) -> None:
        """Note it."""
        self.calls.append(("start unit", None))

    def uninstall_unit(self) -> str | None:
        """There is none."""
        return None


@pytest.fixture
def keeper(caller: Caller) -> Iterator[Keeper]:
    streams = Keeper(caller.gateway)
    caller.streams = streams
    return streams


def run(caller: Caller, *words: str) -> Any:
    return caller("--home", caller.cwd, *words)


def test_a_file_is_written_once_and_shown_on_request(caller: Caller, keeper: Keeper) -> None:
    place = Path(caller.cwd) / "config.toml"
    assert run(caller, "config", "path").out == f"{place}\n"
    assert run(caller, "config", "init").out == f"{place}\n"
    assert place.read_text() == format_template() == run(caller, "config", "init", "--print").out
    assert run(caller, "config", "init").status == 4
    assert run(caller, "config", "check").status == 0


def test_a_mistake_is_named_with_its_line_and_the_nearest_key(caller: Caller, keeper: Keeper) -> None:
    (Path(caller.cwd) / "config.toml").write_text("[pools.default]\n\nwieght = 2\n")
    line = run(caller, "config", "check", "--json")
    assert line.status == 7
    assert "pools.default.wieght: unknown key, in line 3" in json.loads(line.out)["error"]["message"]
    assert "did you mean weight?" in line.err
    (Path(caller.cwd) / "other.toml").write_text("[daemon]\n")
    assert run(caller, "config", "check", "other.toml").status == 0
    assert run(caller, "config", "check", "none.toml").status == 7


def test_what_holds_is_shown_as_toml_with_where_it_comes_from(caller: Caller, keeper: Keeper) -> None:
    (Path(caller.cwd) / "config.toml").write_text("[pools.default]\nweight = 2\n")
    lines = [" ".join(line.split()) for line in run(caller, "config", "show", "pools.default").out.splitlines()]
    assert lines[0] == "[pools.default]"
    assert {"weight = 2 # file", "max_pending = 5 # changed by command", "fair_share = false # default"} <= set(lines)
    assert "# shell is not set # default" in lines
    line = run(caller, "config", "show", "pools.defualt")
    assert (line.status, "the configuration has no" in line.err) == (3, True)


@pytest.mark.parametrize(("level", "status"), [("ok", 0), ("note", 0), ("problem", 1)])
def test_the_doctor_ends_with_1_only_for_problems(caller: Caller, keeper: Keeper, level: str, status: int) -> None:
    keeper.findings = (Finding("clock", level, "it\x1b ticks", "wind it"), Finding("disk", "ok", "there"))
    line = caller("doctor")
    assert line.status == status
    assert line.out.splitlines() == [
        f"  {level:8}  clock: it\\x1b ticks",
        "            -> wind it",
        "  ok        disk: there",
    ]
    assert ("disk" in caller("doctor", "-q").out) is False
    assert json.loads(caller("doctor", "--json").out)["findings"][1] == {
        "subject": "disk",
        "level": "ok",
        "message": "there",
        "hint": None,
    }


def test_a_check_of_the_store_tells_every_trouble(caller: Caller, keeper: Keeper) -> None:
    assert (caller("backup", "--check").status, caller("backup", "--check").out) == (
        0,
        "/the/store: nothing is wrong\n",
    )
    keeper.troubles = ("page 3 is torn", "page 4 too")
    line = caller("backup", "--check", "copy.db")
    assert line.status == 1
    assert line.out == f"{caller.cwd}/copy.db: page 3 is torn\n{caller.cwd}/copy.db: page 4 too\n"


def test_the_service_is_printed_or_installed_and_the_daemon_handed_over(caller: Caller, keeper: Keeper) -> None:
    assert caller("daemon", "install", "--print").out == "[Unit]\n"
    assert keeper.calls == []
    caller("daemon", "install", "--no-start")
    assert [name for name, _ in keeper.calls] == ["install"]
    keeper.calls.clear()
    assert caller("daemon", "install").out == "installed /home/ann/x.service, and the daemon runs by it\n"
    assert [name for name, _ in keeper.calls] == ["install", "stop", "start unit"]
    stop = keeper.calls[1][1]
    assert (stop.mode, stop.restart) == ("keep", True), "tasks go on"
    assert caller("daemon", "uninstall").status == 3


def test_completions_are_shown_and_put_where_the_shell_looks(caller: Caller, keeper: Keeper) -> None:
    assert caller("completion", "show", "bash").out == (ROOT / "completions" / "cronoq").read_text()
    caller.env |= {"HOME": caller.cwd, "SHELL": "/bin/zsh"}
    place = Path(caller.cwd) / ".local/share/zsh/site-functions/_cronoq"
    line = caller("completion", "install")
    assert line.out == f"{place}\n"
    assert f"fpath=({place.parent} $fpath)" in line.err
    assert place.read_text() == (ROOT / "completions" / "_cronoq").read_text()
    assert caller("completion", "install").status == 0
    place.write_text("mine")
    assert caller("completion", "install").status == 4
    assert place.read_text() == "mine"
    caller.env["SHELL"] = "/bin/tcsh"
    assert caller("completion", "install").status == 2
