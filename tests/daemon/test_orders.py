"""From the engine's start to the runner's order: the environment of an attempt, and what it reads."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cronoq_cli.config.loading import parse_settings
from cronoq_cli.config.paths import Paths, find_paths, prepare_dirs
from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.daemon.orders import Orders, SentEnvironments
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Start
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.memory import MemoryStore

BASE = 1_790_000_000.0
NOW = Now(BASE, 100.0)
BAD = "caf\udce9"


class Desk:
    """Orders of a store in memory whose tasks run; nothing of it needs a loop."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.settings = parse_settings(b'[pools.default]\nworkers = 4\nshell = "/bin/bash"', "config.toml")
        self.store = MemoryStore()
        self.store.claim("test", BASE)
        self.made = 0

    def add(self, *, gathered_by: int | None = None, **spec: Any) -> int:
        """A running task, or one that a group's task runs for; its id."""
        self.made += 1
        wanted = {"name": "make", "command": ["make"], **spec}
        record = TaskRecord(
            id=self.made,
            spec=TaskSpec(**wanted),
            status=Status.RUNNING if gathered_by is None else Status.BLOCKED,
            gathered_by=gathered_by,
            seq=float(self.made),
            submitted_at=BASE,
            updated_at=BASE,
            attempt=1,
            started_at=BASE,
        )
        self.store.commit(Changes(new=[record]))
        return self.made

    def start(self, task_id: int, units: dict[str, list[int]] | None = None) -> dict[str, Any]:
        """The start order of its first attempt."""
        scheduler = Scheduler(Commits(self.store), lambda: load_engine(self.store, self.settings, NOW, {}), lambda: NOW)
        task = scheduler.engine.find(task_id)
        assert task is not None
        task.units = units
        orders = Orders(scheduler, self.paths, self.settings, "store")
        start = orders.build(Start(task_id, 1, task.pool, task.slots, ahead=False), SentEnvironments())[-1]
        built: dict[str, Any] = msgspec.to_builtins(start)
        return built


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a home of its own."""
    paths = find_paths(str(tmp_path / "home"), {})
    prepare_dirs(paths)
    return Desk(paths)


def scheduling_of(order: dict[str, Any]) -> dict[str, str]:
    """The variables that scheduling adds."""
    own = ("CRONOQ_RESOURCE_", "CRONOQ_DEADLINE", "CRONOQ_SCHEDULED_AT")
    return {name: value for name, value in order["vars"].items() if name.startswith(own)}


def test_the_units_a_task_was_given_are_in_its_environment(desk: Desk) -> None:
    task = desk.add(uses={"gpu": 2.0, "api.v2": 1.0})
    units = {"gpu": [0, 3], "api.v2": [1]}
    assert scheduling_of(desk.start(task, units)) == {
        "CRONOQ_RESOURCE_GPU": "0,3",
        "CRONOQ_RESOURCE_API_V2": "1",
    }


def test_a_task_whose_row_is_damaged_fails_for_good_in_place_of_running_nothing(desk: Desk) -> None:
    words = desk.start(desk.add(command=None))["argv"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 126 and b"damaged" in done.stderr


def test_a_task_without_units_start_or_deadline_has_none_of_it(desk: Desk) -> None:
    assert scheduling_of(desk.start(desk.add(), None)) == {}
    assert scheduling_of(desk.start(desk.add(), {"@workers": [1]})) == {}


def test_deadline_and_start_are_told_in_utc(desk: Desk) -> None:
    deadline = desk.add(deadline=BASE + 60.5)
    assert scheduling_of(desk.start(deadline)) == {"CRONOQ_DEADLINE": "2026-09-21T14:14:20.500Z"}
    fixed = desk.add(start_at=BASE + 3600)
    assert scheduling_of(desk.start(fixed)) == {"CRONOQ_SCHEDULED_AT": "2026-09-21T15:13:20Z"}
    earliest = desk.add(not_before=BASE + 1)
    assert scheduling_of(desk.start(earliest)) == {"CRONOQ_SCHEDULED_AT": "2026-09-21T14:13:21Z"}


def test_a_gathering_task_reads_one_line_of_json_a_member(desk: Desk) -> None:
    first = desk.add(command=["mail", "ann", BAD], tags={"to": "ann"}, gathered_by=3)
    second = desk.add(command=None, shell_line="echo $TO | mail bob", gathered_by=3)
    order = desk.start(desk.add(command=["send-all"], members=[second, first, 99]))
    lines = Path(order["stdin"]).read_text("ascii").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": second, "command": ["/bin/bash", "-c", "echo $TO | mail bob"], "tags": {}},
        {"id": first, "command": ["mail", "ann", BAD], "tags": {"to": "ann"}},
    ]
    assert Path(order["stdin"]).stat().st_mode & 0o777 == 0o600


def test_a_member_that_has_ended_or_gathers_anew_is_not_read_by_the_next_attempt(desk: Desk) -> None:
    members = [desk.add(gathered_by=5) for _ in range(4)]
    gathering = desk.add(members=members)

    def read() -> list[int]:
        lines = Path(desk.start(gathering)["stdin"]).read_text("ascii").splitlines()
        return [json.loads(line)["id"] for line in lines]

    assert read() == members
    missed, cancelled, retried, _ = desk.store.list_tasks(members)
    missed.status, cancelled.status, retried.gathered_by = Status.MISSED, Status.CANCELLED, None
    desk.store.commit(Changes(updated=[missed, cancelled, retried]))
    assert read() == members[3:]


def test_kept_input_is_still_laid_out_byte_for_byte(desk: Desk) -> None:
    task = desk.add(stdin_kept=True)
    desk.store.commit(Changes(stdins={task: b"a\0\xff"}))
    assert Path(desk.start(task)["stdin"]).read_bytes() == b"a\0\xff"
    assert desk.start(desk.add(stdin="/etc/hostname"))["stdin"] == "/etc/hostname"
