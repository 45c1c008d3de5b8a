"""A short storm: SIGKILLs on daemon and runner while known tasks run (python tests/faults/storm.py is a long one)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance


def load_storm() -> Any:
    """The class of the storm; its file is a program too, so it is loaded by its path."""
    path = Path(__file__).parents[1] / "faults" / "storm.py"
    spec = importlib.util.spec_from_file_location("storm", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["storm"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Storm


@pytest.mark.parametrize(
    ("victim", "kills", "tasks", "commit", "leases"),
    [("daemon", 8, 28, "thread", "always"), ("both", 6, 20, "loop", "auto")],
)
def test_what_was_acknowledged_ends_as_it_must_whatever_is_killed(
    tmp_path, victim, kills, tasks, commit, leases
) -> None:
    storm = load_storm()(tmp_path, kills, commit, leases)
    try:
        storm.run(tasks, kills, victim)
        storm.check(runner_killed=victim != "daemon")
    finally:
        storm.close()
    assert storm.problems == []
    assert storm.kills >= kills
    assert len(storm.wanted) + storm.unanswered == tasks
    assert len(storm.wanted) >= tasks // 2
