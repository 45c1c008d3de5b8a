"""Pools, resources and schedules from one file, a difference first, and the same file back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.config.effective import Changes
from cronoq_cli.errors import ConflictError
from cronoq_cli.wire.requests import Reply, SetPool, SetResource
from cronoq_cli.wire.schedules import ApplySchedules, Schedules

from .conftest import Caller, FakeStreams
from .schedules import TableGateway

CONFIG = """\
[pools.default]
workers = 4
[pools.batch]
workers = { min = 1, max = 8 }
max_hold = "5m"
[resources.gpu]
permits = 2
[resources.api]
rate = "10/s"
"""
FILE = """\
[pools.batch]
workers = 2
max_hold = 300
max_pending = "none"

[resources.gpu]
permits = 1
[resources.api]
rate = "600/m"
burst = 7

# every night
[recurring.nightly]
when = "0 3 * * *"
shell = "backup all"
priority = "low"

[recurring.rests]
when = "@hourly"
command = ["date"]
paused = true
"""


class Keeping(FakeStreams):
    """Streams whose housekeeping knows what was changed by the requests so far."""

    def housekeeping(self) -> Keeping:
        """Itself."""
        return self

    def load_changes(self) -> Changes:
        """As the daemon would have stored them."""
        pools: dict[str, dict[str, Any]] = {}
        resources: dict[str, dict[str, Any]] = {}
        for request in self.gateway.requests:
            if isinstance(request, SetPool):
                pools.setdefault(request.name, {}).update(request.changes)
            elif isinstance(request, SetResource):
                given = {"permits": request.permits, "rate_s": request.rate_s, "burst": request.burst}
                resources.setdefault(request.name, {}).update({k: v for k, v in given.items() if v is not None})
        return Changes(pools, resources)


@pytest.fixture
def planner(caller: Caller, tmp_path: Path) -> Iterator[Caller]:
    caller.gateway = TableGateway()
    for kind in (SetPool, SetResource):
        caller.gateway.answer(kind, Reply())
    caller.streams = Keeping(caller.gateway)
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "queue.toml").write_text(FILE)
    return caller


def apply(planner: Caller, *words: str) -> Any:
    return planner("--home", planner.cwd, "apply", *words)


def changing(planner: Caller) -> list[Any]:
    return [
        request
        for request in planner.gateway.requests
        if not isinstance(request, Schedules) and not getattr(request, "dry_run", False)
    ]


def test_the_difference_is_shown_and_with_dry_run_nothing_else_is_done(planner: Caller) -> None:
    line = apply(planner, "queue.toml", "--dry-run")
    assert (line.status, line.err) == (0, "")
    assert line.out.splitlines() == [
        "~ pools.batch.workers: { min = 1, max = 8 } -> 2",
        '~ pools.batch.max_pending: 100000 -> "none"',
        "~ resources.gpu.permits: 2 -> 1",
        "~ resources.api.burst: not set -> 7",
        "+ recurring.nightly: 0 3 * * *",
        "+ recurring.rests: @hourly",
        "~ recurring.rests.paused: false -> true",
    ]
    assert changing(planner) == []


def test_it_is_applied_and_then_there_is_nothing_to_change(planner: Caller) -> None:
    apply(planner, "queue.toml")
    pool, gpu, api, schedules = changing(planner)
    assert pool == SetPool(name="batch", changes={"workers": 2, "max_pending": "none"})
    assert gpu == SetResource(name="gpu", permits=1)
    assert api == SetResource(name="api", burst=7)
    assert isinstance(schedules, ApplySchedules)
    assert [spec.name for spec in schedules.specs] == ["nightly", "rests"]
    assert (schedules.specs[0].comment, schedules.removed) == ("# every night", [])
    assert (schedules.pausing, schedules.resuming) == (["rests"], [])
    before = len(changing(planner))
    assert apply(planner, "queue.toml").out == "nothing to change\n"
    assert len(changing(planner)) == before


def test_export_gives_it_back(planner: Caller, tmp_path: Path) -> None:
    apply(planner, "queue.toml")
    text = planner("--home", planner.cwd, "export").out
    assert "# every night\n" in text
    (tmp_path / "back.toml").write_text(text)
    assert apply(planner, "back.toml").out == "nothing to change\n"
    (tmp_path / "back.toml").write_text(planner("--home", planner.cwd, "export", "--env").out)
    planner.gateway.requests.clear()
    planner.gateway.table.clear()
    first = apply(planner, "queue.toml", "--dry-run", "--json").out
    assert apply(planner, "back.toml", "--dry-run", "--json").out == first
    assert json.loads(first)["dry_run"] is True


def test_export_of_all_is_whole_and_of_one_that_changed_nothing_empty(planner: Caller) -> None:
    assert "pools" not in planner("--home", planner.cwd, "export").out.split("\n", 1)[1]
    whole = json.loads(planner("--home", planner.cwd, "export", "--all", "--json").out)
    assert whole["pools"]["batch"]["workers"] == {"min": 1, "max": 8}
    assert whole["resources"] == {"gpu": {"permits": 2}, "api": {"rate": "10/s"}}
    assert set(whole) == {"schema", "pools", "resources", "recurring", "environments"}


def test_a_changed_schedule_is_shown_field_by_field_and_others_are_left_alone(planner: Caller, tmp_path: Path) -> None:
    apply(planner, "queue.toml")
    (tmp_path / "next.toml").write_text('[recurring.nightly]\nwhen = "0 4 * * *"\nshell = "backup all"\n')
    assert apply(planner, "next.toml").out.splitlines() == [
        '~ recurring.nightly.when: "0 3 * * *" -> "0 4 * * *"',
        '~ recurring.nightly.priority: "low" -> not set',
        '~ recurring.nightly (comment): "# every night" -> not set',
    ]
    assert set(planner.gateway.table) == {"nightly", "rests"}
    line = apply(planner, "next.toml", "--prune")
    assert line.out == "- recurring.rests: @hourly\n"
    assert set(planner.gateway.table) == {"nightly"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pools.btach]\nworkers = 1", "the configuration has no pools.btach (did you mean batch?"),
        ("[pools.batch]\nshell = '/bin/sh'", "pools.batch.shell: it can only stand in config.toml"),
        ("[pools.batch]\nworkers = -1", "pools.batch.workers: "),
        ("[pools.batch]\nworkers = { min = 3, max = 2 }", "pools.batch.workers: min, start and max must rise"),
        ("[resources.gpu]\nrate = '1/s'", "gpu is a semaphore"),
        ("[resources.gpu]\npermist = 1", "resources.gpu.permist: unknown key (did you mean permits?"),
        ("[resources]\ngpu = 1", "resources is no table of tables"),
        ("[pool.batch]\nworkers = 1", "unknown table 'pool' (did you mean pools?"),
        ("[recurring.x]\nwhen = '0 99 * * *'\nshell = 'x'", "x: "),
        ("workers = ", "queue.toml: "),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_changed(planner: Caller, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "queue.toml").write_text(f"{FILE if '=' in text and 'recurring' in text else ''}{text}\n")
    line = apply(planner, "queue.toml")
    assert line.status == 7
    assert said in line.err
    assert line.err.count("\n") == 1
    assert changing(planner) == []


def test_what_the_daemon_refuses_of_schedules_leaves_pools_alone(planner: Caller) -> None:
    planner.gateway.answer(ApplySchedules, ConflictError("no room at three"))
    line = apply(planner, "queue.toml")
    assert (line.status, "no room at three" in line.err, line.out) == (4, True, "")
    assert [request for request in changing(planner) if not isinstance(request, ApplySchedules)] == []


def test_comments_belong_to_the_table_below_them_and_a_change_of_one_is_shown(planner: Caller, tmp_path: Path) -> None:
    text = "# of the file\n[pools.batch]\n# of a key\nworkers = 1\n\n# mine\n[recurring.x]\nwhen = '@hourly'\n"
    text += "shell = 'y'\n"
    (tmp_path / "queue.toml").write_text(text + "[resources.gpu]\n# of permits\npermits = 1\n")
    apply(planner, "queue.toml")
    assert planner.gateway.table["x"].spec.comment == "# mine"
    assert apply(planner, "queue.toml").out == "nothing to change\n"
    (tmp_path / "queue.toml").write_text(text.replace("mine", "ours"))
    assert apply(planner, "queue.toml").out == '~ recurring.x (comment): "# mine" -> "# ours"\n'
    (tmp_path / "back.toml").write_text(planner("--home", planner.cwd, "export").out)
    assert apply(planner, "back.toml").out == "nothing to change\n"


def test_a_file_without_schedules_asks_for_none(planner: Caller, tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text("[pools.default]\nworkers = 1\n")
    assert apply(planner, "queue.toml").out == "~ pools.default.workers: 4 -> 1\n"
    assert not any(isinstance(request, Schedules) for request in planner.gateway.requests)
