"""Scenarios with everything that scheduling knows: deadlines, fixed starts, resources, tenants, learned run times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.commands.planning import QueueSnapshot
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.store.contract import LiveState
from tests.commands.conftest import Caller, FakeStreams

CONFIG = b"""
[pools.default]
workers = 4
[pools.one]
workers = 1
[pools.fair]
workers = 3
fair_share = true
tenant_weights = { alice = 2 }
[resources.gpu]
permits = 1
[resources.api]
rate = "1/s"
burst = 1
"""


class Streams(FakeStreams):
    """Streams that know a configuration, learned run times, and a pool that is paused now."""

    def load_queue(self) -> QueueSnapshot:
        """Nothing in the queue."""
        learned = {("default", "make"): [3.0, 7.0, 7.0, 7.0, 7.0, 7.0]}
        kept = LiveState(
            tasks=[], edges=[], batches=[], pools={"default": {"paused": True}}, next_id=9, run_times=learned
        )
        return QueueSnapshot(parse_settings(CONFIG, "config.toml"), kept)


@pytest.fixture
def planner(caller: Caller) -> Caller:
    """Somebody with that configuration."""
    caller.streams = Streams(caller.gateway)
    return caller


def simulate(planner: Caller, lines: list[dict[str, Any]], *words: str) -> dict[str, Any]:
    """The document of the scenario of these lines."""
    Path(planner.cwd, "plan.jsonl").write_text("\n".join(map(json.dumps, lines)))
    answer = planner("simulate", "plan.jsonl", "--json", *words)
    assert answer.status == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)["simulation"]
    return found


def order(found: dict[str, Any]) -> list[int]:
    """The tasks as they start."""
    return [task["id"] for task in found["tasks"]]


def test_deadlines_of_a_line_count_from_its_submission(planner: Caller) -> None:
    lines = [{"run_s": 10, "pool": "one", "estimate": "10s", "deadline": "+25s", "submit_at_s": n} for n in range(3)]
    found = simulate(planner, lines)
    assert found["deadlines"] == {"total": 3, "missed": 1}
    assert [task["deadline_missed"] for task in found["tasks"]] == [False, False, True]


def test_a_fixed_start_keeps_its_moment(planner: Caller) -> None:
    fixed = {"run_s": 2, "pool": "one", "start_at": "+20s", "estimate": "2s"}
    found = simulate(planner, [fixed, *({"run_s": 6, "pool": "one", "estimate": "6s"} for _ in range(5))])
    assert found["fixed_starts"] == {"total": 1, "late": 0}
    assert next(task["late_s"] for task in found["tasks"] if task["id"] == 1) == 0


def test_resources_bound_and_more_of_them_help(planner: Caller) -> None:
    lines = [{"run_s": 5, "use": {"gpu": 1}} for _ in range(4)]
    assert simulate(planner, lines)["makespan_s"] == 20
    assert simulate(planner, lines, "--resource", "gpu=2")["makespan_s"] == 10


def test_a_rate_spreads_starts_and_a_higher_one_less(planner: Caller) -> None:
    lines = [{"run_s": 0.1, "use": {"api": 1}} for _ in range(11)]
    assert simulate(planner, lines)["makespan_s"] == pytest.approx(10.1)
    assert simulate(planner, lines, "--resource", "api=2")["makespan_s"] == pytest.approx(5.1)


def test_tenants_share_by_weight(planner: Caller) -> None:
    lines = [{"run_s": 10, "pool": "fair", "tenant": tenant} for tenant in ["bob"] * 6 + ["alice"] * 6]
    first = simulate(planner, lines)["tasks"][:3]
    assert sorted(lines[task["id"] - 1]["tenant"] for task in first) == ["alice", "alice", "bob"]


def test_what_is_not_given_is_as_learned_and_a_paused_pool_runs_in_a_scenario(planner: Caller) -> None:
    found = simulate(planner, [{"command": ["make", "all"]}, {"name": "unknown"}])
    assert [task["run_s"] for task in found["tasks"]] == [7, 60]


def test_a_reservation_beyond_the_fraction_is_refused_and_told(planner: Caller) -> None:
    lines = [{"run_s": 5, "pool": "one", "start_at": "+20s", "estimate": "5s"} for _ in range(2)]
    found = simulate(planner, lines)
    assert order(found) == [1]
    assert found["refused"][0]["line"] == "2"
