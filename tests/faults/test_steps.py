"""SIGKILL at each named step of a task's walk, on both sides of it: nothing acknowledged is lost, no end is invented,
nothing runs twice. How processes are killed at a step stands in steps/sitecustomize.py.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

PLACE = Path(__file__).parent / "steps"


def _load_steps() -> list[str]:
    spec = importlib.util.spec_from_file_location("fault_steps", PLACE / "sitecustomize.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.STEPS)


USUAL = ("daemon-after-commit", "runner-before-spawn", "runner-after-spawn", "runner-after-end-is-kept")
STEPS = _load_steps() if "CRONOQ_FAULTS" in os.environ else USUAL
"""`make faults` tries all of them, the usual tests those that have most to lose."""


@pytest.fixture
def prone(cronoq: Any, tmp_path: Path) -> Any:
    """A cronoq whose daemon and runner die at the steps that are armed, and which has run one task."""
    cronoq.env["PYTHONPATH"] = os.pathsep.join([str(PLACE), cronoq.env["PYTHONPATH"]])
    cronoq.env["FAULT_STEPS"] = str(tmp_path / "armed")
    (tmp_path / "armed").mkdir()
    cronoq.wait_for(cronoq.submit("--", "true"))
    return cronoq


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_a_step_loses_and_invents_nothing(step: str, prone: Any, tmp_path: Path) -> None:
    armed, runs = tmp_path / "armed" / step, tmp_path / "runs"
    armed.touch()
    # Three lines, so that a run that was cut short can be told from one that was not.
    script = f'echo "$CRONOQ_TASK_ID.$CRONOQ_ATTEMPT begins" >> {runs}; sleep 0.05; echo ends >> {runs}; exit 7'
    done = prone("submit", "-n", "tried", "--", "sh", "-c", script, timeout=60)
    prone.wait_until(lambda: not armed.exists(), what=f"a kill at {step}")
    after = prone.wait_for(prone.submit("--", "true"))
    assert after["status"] == "succeeded"
    tried = [task for task in prone.ask("ls", "--limit", "all")["tasks"] if task["name"] == "tried"]
    if done.returncode == 0:
        assert [task["id"] for task in tried] == [int(done.stdout)], "an acknowledged task is there, once"
    assert len(tried) <= 1
    for task in tried:
        check_end(prone.wait_for(task["id"]), runs, lost_is_possible=step.startswith("runner"))


def check_end(task: dict[str, Any], runs: Path, *, lost_is_possible: bool) -> None:
    """Its own end, or lost where the runner was killed; and it ran no more often than its attempts say."""
    lines = runs.read_text().splitlines() if runs.exists() else []
    begun = [line for line in lines if line.endswith("begins")]
    assert len(begun) == len(set(begun)) <= task["attempt"]
    if task["status"] == "failed":
        assert task["exit_code"] == 7
        assert lines[-1] == "ends"
    else:
        assert lost_is_possible, (task["status"], task["reason"])
        assert (task["status"], task["exit_code"]) == ("dead_lettered", None)
        assert "lost" in task["reason"]
