"""docs/recurring.md is true: its commands print what the page shows, its tables are what the rules decide."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronoq_cli.engine.recurrence import decide_due
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.model.recurring import CatchUp, ScheduleSpec, ScheduleState
from cronoq_cli.model.task import TaskSpec
from tests.commands.conftest import Caller
from tests.commands.schedules import TableGateway
from tests.commands.test_simulated_days import DayStreams

PAGE = (Path(__file__).parents[2] / "docs" / "recurring.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    """Somebody who types the page from top to bottom."""
    caller = Caller(str(tmp_path_factory.mktemp("reader")))
    caller.gateway = TableGateway()
    caller.streams = DayStreams(caller.gateway)
    caller.streams.config = b""
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


MONDAY = datetime(2026, 6, 1, tzinfo=UTC)
DAYS = ("Mon", "Tue", "Wed", "Thu")


def moment(text: str) -> float:
    """`Tue 02:30` of one week."""
    day, clock = text.split()
    hour, minute = map(int, clock.split(":"))
    return (MONDAY + timedelta(days=DAYS.index(day), hours=hour, minutes=minute)).timestamp()


def name(slots: list[float]) -> str:
    return ", ".join(datetime.fromtimestamp(at, UTC).strftime("%a %H:%M") for at in slots) or "-"


def test_what_is_caught_up_is_what_the_page_says() -> None:
    lines = PAGE.split("| `--catch-up` | `--catch-up-within` |", 1)[1].splitlines()[2:]
    rows = [[cell.strip().strip("`") for cell in line.strip("| ").split("|")] for line in lines[: lines.index("")]]
    assert len(rows) == 6
    for policy, within, down, runs, missed in rows:
        begin, end = map(moment, down.split(" to "))
        spec = ScheduleSpec(name="x", template=TaskSpec(name="x"), expr="30 2 * * *", catch_up=CatchUp(policy))
        spec.catch_up_within_s = None if within == "-" else parse_duration(within)
        due = decide_due(spec, ScheduleState(decided_at=begin), end, UTC, able_since=end)
        assert (name([run.slot for run in due.run]), name(due.missed)) == (runs, missed), (policy, within, down)
