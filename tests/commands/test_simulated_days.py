"""`simulate --recurring`: a day of schedules, kept ones or those of a file, through the real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.planning import QueueSnapshot
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.model.recurring import Overlap, Schedule, ScheduleSpec, ScheduleState
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import LiveState
from tests.commands.conftest import NOW, Caller, FakeStreams

CONFIG = b"""
[pools.default]
workers = 2
default_duration = "60s"
timeout = "10m"
"""
DAY = ("--recurring", "--from", "2026-12-01T00:00:00Z")


class DayStreams(FakeStreams):
    """Streams that know schedules."""

    schedules: tuple[Schedule, ...] = ()
    config = CONFIG

    def load_queue(self) -> QueueSnapshot:
        """Nothing waits, and these schedules are kept."""
        kept = LiveState(tasks=[], edges=[], batches=[], pools={}, next_id=1, schedules=list(self.schedules))
        return QueueSnapshot(parse_settings(self.config, "config.toml"), kept)


@pytest.fixture
def planner(caller: Caller) -> Caller:
    """Somebody whose client knows schedules."""
    caller.streams = DayStreams(caller.gateway)
    return caller


def keep(planner: Caller, name: str, state: ScheduleState | None = None, **spec: Any) -> None:
    """Have a schedule of a task that is expected to run for a minute."""
    template = TaskSpec(name=name, command=["job"], **spec.pop("template", {}))
    wanted = ScheduleSpec(name=name, template=template, **spec)
    assert isinstance(planner.streams, DayStreams)
    at = state or ScheduleState(decided_at=NOW)
    planner.streams.schedules += (Schedule(spec=wanted, state=at, added_at=NOW, updated_at=NOW),)


def simulate(planner: Caller, *words: str) -> dict[str, Any]:
    line = planner("simulate", *DAY, *words, "--json")
    assert line.status == 0, line.err
    found: dict[str, Any] = json.loads(line.out)["simulation"]
    return found


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in found["recurring"]}


def test_a_day_has_its_first_instant_and_not_the_next_days(planner: Caller) -> None:
    keep(planner, "poll", expr="*/5 * * * *", tz="UTC")
    keep(planner, "every", every_s=3600.0)
    keep(planner, "boot", reboot=True)
    found = simulate(planner)
    days = by_name(found)
    assert (days["poll"]["runs"], days["every"]["runs"], days["boot"]["runs"]) == (288, 23, 0)
    assert days["poll"]["busy_s"] == 288 * 60
    assert (found["from"], found["until"]) == ("2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z")
    assert found["tasks"][0]["key"] == "poll@2026-12-01T00:00:00Z"


def test_jobs_at_one_instant_take_turns_and_none_is_dropped(planner: Caller) -> None:
    for number in range(7):
        keep(planner, f"night{number}", expr="0 3 * * *", tz="UTC")
    found = simulate(planner)
    assert {one["runs"] for one in found["recurring"]} == {1}
    assert max(one["longest_wait_s"] for one in found["recurring"]) == 180
    assert found["pools"][0]["most_busy"] == 2


def test_overlaps_time_limits_pauses_and_late_starts_are_those_of_the_engine(planner: Caller) -> None:
    keep(planner, "slow", expr="0 * * * *", tz="UTC", template={"estimate_s": 5400.0, "timeout_s": 36000.0})
    keep(planner, "cut", expr="30 5 * * *", tz="UTC", template={"estimate_s": 5400.0})
    keep(planner, "rests", ScheduleState(decided_at=NOW, paused=True), expr="0 * * * *")
    found = simulate(planner, "--for", "6h")
    days = by_name(found)
    assert (days["slow"]["runs"], days["slow"]["skipped"]) == (3, 3)
    assert days["rests"]["runs"] == 0
    assert days["cut"]["busy_s"] == 600
    keep(planner, "queued", expr="* * * * *", tz="UTC", overlap=Overlap.QUEUE, template={"estimate_s": 90.0})
    assert by_name(simulate(planner, "--for", "10m", "--workers", "9"))["queued"]["skipped"] == 0


def test_a_crontab_can_be_tried_before_it_is_imported(planner: Caller) -> None:
    Path(planner.cwd, "tab").write_text("CRON_TZ=UTC\n0 * * * * root a\n61 * * * * root b\n")
    line = planner("simulate", *DAY, "tab", "--system", "--for", "3h")
    assert line.status == 0
    assert "line 3 is left out: bad schedule" in line.err
    assert "a            3" in line.out
    assert "takes  " in line.out
    assert "+2h" in line.out


def test_an_export_can_be_tried_and_drawn(planner: Caller) -> None:
    Path(planner.cwd, "tab").write_text("[recurring.x]\nwhen = '*/20 * * * *'\nshell = 'a'\n")
    line = planner("simulate", *DAY, "tab", "--for", "1h", "--gantt")
    assert (line.status, line.out.count("#") > 2) == (0, True)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--from", "now"), 2),
        (("--for", "1h"), 2),
        (("--system",), 2),
        (("--recurring", "--horizon", "1h"), 2),
        (("--recurring", "--without", "1"), 2),
        (("--recurring", "--for", "0s"), 2),
        (("--recurring", "--from", "soon"), 2),
        (("--recurring",), 7),
        (("--recurring", "missing"), 7),
    ],
)
def test_a_wrong_day_is_one_line(planner: Caller, words: tuple[str, ...], status: int) -> None:
    line = planner("simulate", *words)
    assert (line.status, line.err.count("\n"), line.out) == (status, 1, "")
