"""`simulate`: the queue or a scenario run forward, what-ifs, and how it is told."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.app import run_line
from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.planning import QueueSnapshot
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Batch, Condition, Edge, TaskRecord, TaskSpec
from cronoq_cli.store.contract import LiveState
from tests.commands.conftest import NOW, Caller, FakeStreams

CONFIG = b"""
[pools.default]
workers = 2
[pools.batch]
workers = 1
timeout = "20s"
"""


class QueueStreams(FakeStreams):
    """Streams that know a queue."""

    records: tuple[TaskRecord, ...] = ()
    edges: tuple[Edge, ...] = ()
    batches: tuple[Batch, ...] = ()

    def load_queue(self) -> QueueSnapshot:
        """The queue put ready."""
        kept = LiveState(
            tasks=list(self.records), edges=list(self.edges), batches=list(self.batches), pools={}, next_id=100
        )
        return QueueSnapshot(parse_settings(CONFIG, "config.toml"), kept)


@pytest.fixture
def planner(caller: Caller) -> Caller:
    """Somebody whose client knows a queue."""
    caller.streams = QueueStreams(caller.gateway)
    return caller


def put(planner: Caller, *records: TaskRecord, edges: tuple[Edge, ...] = ()) -> None:
    """Let the queue hold these tasks."""
    assert isinstance(planner.streams, QueueStreams)
    planner.streams.records, planner.streams.edges = records, edges


def live(
    task_id: int, status: Status = Status.READY, *, spec: dict[str, Any] | None = None, **state: Any
) -> TaskRecord:
    """A live task that is expected to run for 10 s."""
    wanted = TaskSpec(**{"name": f"job{task_id}", "command": ["job"], "estimate_s": 10.0, **(spec or {})})
    fields = {"seq": float(task_id), "submitted_at": NOW - 5, "updated_at": NOW, "ready_at": NOW - 5, **state}
    return TaskRecord(id=task_id, spec=wanted, status=status, **fields)


def write(planner: Caller, *lines: dict[str, Any] | str) -> str:
    """A scenario in a file."""
    path = Path(planner.cwd, "plan.jsonl")
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(path)


def simulate(planner: Caller, *words: str) -> dict[str, Any]:
    """The document of a simulation that went well."""
    line = planner("simulate", *words, "--json")
    assert line.status == 0, line.err
    found: dict[str, Any] = json.loads(line.out)["simulation"]
    return found


def spans(found: dict[str, Any]) -> dict[int, tuple[float | None, float | None]]:
    """For each task the seconds of its first wait and of all its runs."""
    return {task["id"]: (task["wait_s"], task["run_s"]) for task in found["tasks"]}


# -- scenarios -----------------------------------------------------------------------------------------------------


def test_a_scenario_tells_starts_ends_and_use(planner: Caller) -> None:
    found = simulate(
        planner,
        write(
            planner,
            {"name": "a", "run_s": 30, "key": "first"},
            {"name": "b", "run_s": 10},
            {"name": "c", "run_s": 5, "after": "first", "submit_at_s": 2},
        ),
    )
    assert spans(found) == {1: (0, 30), 2: (0, 10), 3: (0, 5)}
    assert (found["makespan_s"], found["complete"], found["counts"]) == (35, True, {"succeeded": 3})
    pool = found["pools"][0]
    assert (pool["name"], pool["workers"], pool["busy_s"], pool["most_busy"]) == ("default", 2, 45, 2)
    assert pool["utilisation"] == pytest.approx(45 / 70)


def test_dependencies_by_number_key_and_last(planner: Caller) -> None:
    lines: list[dict[str, Any]] = [{"run_s": 3}, {"run_s": 2, "key": "k"}]
    lines += [{"run_s": 1, "after": [ref]} for ref in ("1", "k", "last")]
    found = simulate(planner, write(planner, *lines), "--workers", "9")
    starts = {task["id"]: task["started_at"] for task in found["tasks"]}
    ends = {task["id"]: task["finished_at"] for task in found["tasks"]}
    assert (starts[3], starts[4], starts[5]) == (ends[1], ends[2], ends[4])


def test_failures_retries_and_their_backoff_are_run(planner: Caller) -> None:
    found = simulate(planner, write(planner, {"run_s": 1, "exit_code": 3, "retries": 1, "backoff": "fixed:10s"}))
    (task,) = found["tasks"]
    assert (task["status"], len(task["attempts"]), found["makespan_s"]) == ("dead_lettered", 2, 12)


def test_a_pools_time_limit_holds(planner: Caller) -> None:
    found = simulate(planner, write(planner, {"run_s": 100, "pool": "batch"}))
    assert spans(found) == {1: (0, 20)}


def test_times_of_a_line_count_from_its_submission(planner: Caller) -> None:
    found = simulate(planner, write(planner, {"run_s": 1, "submit_at_s": 100, "in": "10s"}))
    assert found["makespan_s"] == 111


def test_a_scenario_can_come_from_stdin(planner: Caller) -> None:
    planner.stdin = b'{"name": "x", "run_s": 4}\n\n'
    assert simulate(planner, "-")["makespan_s"] == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "line 2: it is not JSON"),
        ("[1]", "line 2: it is not an object"),
        ({"nmae": "x"}, "line 2: unknown field 'nmae'"),
        ({"run_s": "long"}, "line 2: run_s: 'long' is no number of seconds"),
        ({"exit_code": 256}, "line 2: exit_code: 256 is not a code"),
        ({"after": "3"}, "line 2: there is no task 3 here"),
        ({"after": "nobody"}, "line 2: no task here has the key 'nobody'"),
        ({"pool": "nowhere"}, "line 2: unknown pool 'nowhere'"),
        ({"on_end": "echo"}, "line 2: on_end: reactions are tasks of their own"),
        ({"priority": "urgent"}, "line 2: priority: 'urgent' is not a priority"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(planner: Caller, line: dict[str, Any] | str, said: str) -> None:
    answer = planner("simulate", write(planner, {"name": "fine"}, line))
    assert (answer.status, answer.out) == (7, "")
    assert said in answer.err


def test_an_empty_scenario_is_refused(planner: Caller) -> None:
    assert planner("simulate", write(planner, "")).status == 7


# -- the queue -----------------------------------------------------------------------------------------------------


def test_the_queue_goes_on_from_where_it_is(planner: Caller) -> None:
    put(
        planner,
        live(1, Status.RUNNING, started_at=NOW - 4, attempt=1),
        live(2),
        live(3, leased=True),
        live(4, Status.BLOCKED, ready_at=None),
        edges=(Edge(task=4, condition=Condition.SUCCESS, target=2),),
    )
    found = simulate(planner)
    assert spans(found) == {1: (1, 10), 2: (5, 10), 3: (11, 10), 4: (0, 10)}
    assert found["makespan_s"] == 20
    assert [task["name"] for task in found["tasks"]] == ["job1", "job2", "job3", "job4"]


def test_an_empty_queue_takes_no_time(planner: Caller) -> None:
    line = planner("simulate")
    assert line.status == 0
    assert line.out.split() == ["takes", "0s", "tasks", "none"]


def test_other_workers_shorten_it(planner: Caller) -> None:
    put(planner, *(live(number) for number in range(1, 9)), live(9, spec={"pool": "batch"}))
    assert simulate(planner)["makespan_s"] == 40
    assert simulate(planner, "--workers", "8")["makespan_s"] == 10
    found = simulate(planner, "--workers", "default=1", "--workers", "batch=3")
    assert found["makespan_s"] == 80
    assert {pool["name"]: pool["workers"] for pool in found["pools"]} == {"default": 1, "batch": 3}
    assert found["what_if"]["workers"] == {"default": 1, "batch": 3}


def test_what_is_left_out_is_not_there(planner: Caller) -> None:
    put(planner, live(1, Status.RUNNING, started_at=NOW, attempt=1), live(2, spec={"key": "k"}), live(3), live(4))
    found = simulate(planner, "--without", "1,k")
    assert spans(found) == {3: (5, 10), 4: (5, 10)}


def test_the_horizon_leaves_the_rest_as_it_is_then(planner: Caller) -> None:
    put(planner, *(live(number) for number in range(1, 6)))
    line = planner("simulate", "--horizon", "15s")
    assert "2 succeeded, 2 running, 1 ready" in line.out
    assert "not everything ends: it ends after 15 s" in line.err


def test_a_held_task_never_starts_and_that_is_said(planner: Caller) -> None:
    put(planner, live(1, Status.BLOCKED, held=True, ready_at=None))
    line = planner("simulate")
    assert "what is left never starts" in line.err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--workers", "many"], 2, "--workers"),
        (["--workers", "nowhere=3"], 7, "unknown pool 'nowhere'"),
        (["--resource", "gpu"], 2, "write it like gpu=2"),
        (["--resource", "gpu=x"], 2, "no amount"),
        (["--resource", "gpu=2"], 7, "no resource is named 'gpu'"),
        (["--without", "17"], 3, "no task 17"),
        (["--horizon", "soon"], 2, "--horizon"),
        (["--json", "--gantt"], 2, "--json with --gantt"),
        (["missing.jsonl"], 7, "cannot read missing.jsonl"),
    ],
)
def test_wrong_words_are_refused(planner: Caller, words: list[str], status: int, said: str) -> None:
    line = planner("simulate", *words)
    assert line.status == status
    assert said in line.err


def test_the_daemon_hands_it_to_the_client(caller: Caller) -> None:
    with pytest.raises(NeedsClient):
        caller.on_daemon_side()("simulate")


# -- how it is told ------------------------------------------------------------------------------------------------


def test_the_table_tells_starts_ends_and_what_is_wrong(planner: Caller) -> None:
    put(planner, live(1, spec={"deadline": NOW + 15}), live(2), live(3, spec={"deadline": NOW + 12}))
    line = planner("simulate", "--workers", "1")
    rows = [row.split() for row in line.out.splitlines()]
    assert rows[0] == ["ID", "END", "PRIO", "POOL", "STARTS", "ENDS", "WAITS", "RUNS", "TASK", "NOTE"]
    assert rows[1] == ["3", "succeeded", "normal", "default", "+0s", "+10s", "5s", "10s", "job3", "-"]
    assert rows[2][4:] == ["+10s", "+20s", "15s", "10s", "job1", "misses", "its", "deadline"]
    assert ["deadlines", "1", "of", "2", "missed"] in rows


def test_the_table_is_limited_and_says_so(planner: Caller) -> None:
    put(planner, *(live(number) for number in range(1, 61)))
    assert "+10 more" in planner("simulate").out
    assert "+58 more" in planner("simulate", "--limit", "2").out
    assert "more" not in planner("simulate", "--limit", "all").out


def test_the_picture_shows_waiting_and_running(planner: Caller) -> None:
    put(planner, live(1), live(2), live(3), live(4))
    drawn = planner("simulate", "--gantt", "--workers", "1").out.splitlines()
    bars = [row.split(maxsplit=2)[2] for row in drawn[1:5]]
    assert [set(bar) for bar in bars] == [{"#"}, {".", "#"}, {".", "#"}, {".", "#"}]
    assert [len(bar) for bar in bars] == sorted(len(bar) for bar in bars)
    assert abs(bars[1].index("#") - len(bars[0])) <= 1, "one begins where the other ends"
    assert drawn[0].split()[0] == "+0s"


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_the_picture_fits_the_terminal_without_colour_or_escapes(planner: Caller, columns: int) -> None:
    planner.env["NO_COLOR"] = "1"
    put(planner, live(1, spec={"name": "long \x1b[31m name " * 5}), live(2, spec={"deadline": NOW + 5}), live(3))
    out = run_wide(planner, columns, "simulate", "--gantt")
    assert all(len(row) <= columns for row in out.splitlines())
    assert "\x1b" not in out
    assert "|" in out


def run_wide(planner: Caller, columns: int, *words: str) -> str:
    """What a line writes to a terminal of so many columns."""
    out = io.StringIO()
    context = Context(
        gateway=planner.gateway,
        cwd=planner.cwd,
        umask=0o022,
        env=planner.env,
        out=out,
        err=io.StringIO(),
        now=lambda: NOW,
        streams=planner.streams,
        stdout_tty=True,
        columns=columns,
    )
    assert run_line(list(words), context) == 0
    return out.getvalue()


def test_the_queue_on_disk_is_not_touched(planner: Caller) -> None:
    put(planner, live(1))
    before = os.listdir(planner.cwd)
    simulate(planner)
    assert os.listdir(planner.cwd) == before
    assert planner.gateway.requests == []
