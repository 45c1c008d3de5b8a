"""A daemon and a runner that stood still over slots of a schedule: SIGSTOP, as a frozen machine has it."""

from __future__ import annotations

import os
import signal
import time
from datetime import datetime

import pytest

from tests.acceptance.conftest import Cronoq

pytestmark = pytest.mark.acceptance

STILL_S = 8.0


def test_slots_of_a_freeze_are_left_to_catch_up_and_told_once(cronoq: Cronoq) -> None:
    words = ("*/2 * * * * *", "--seconds", "--", "true")
    cronoq.ok("recurring", "add", "imported", *words[:2], "--catch-up", "none", *words[2:])
    cronoq.ok("recurring", "add", "usual", *words)
    cronoq.ok("recurring", "add", "long", "*/4 * * * * *", "--seconds", "--", "sleep 2.5")
    daemon = cronoq.find_daemon()
    assert daemon is not None
    frozen = [daemon, *cronoq.list_runners()]
    cronoq.wait_until(lambda: _is_amid_runs(cronoq), what="a run amid the others")
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    began = time.time()
    while time.time() < began + STILL_S:  # the freeze itself is what is waited for
        time.sleep(0.1)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    thawed = time.time()
    cronoq.wait_until(lambda: _tell_freeze(cronoq), within_s=5, what="the line that tells of the freeze")
    cronoq.wait_until(lambda: _count_after(cronoq, "usual", thawed) >= 1, what="the first run after the freeze")
    (told,) = _tell_freeze(cronoq)
    assert "the daemon stood still" in told
    assert _reasons(cronoq, "imported", began, thawed) == ["missed"]
    assert _reasons(cronoq, "usual", began, thawed) == ["missed", "succeeded"]  # the latest is caught up
    # What ended meanwhile is heard before that is decided: it is in nobody's way.
    cronoq.wait_until(lambda: "running" not in _reasons(cronoq, "long", began, thawed), what="the end of the long one")
    assert _reasons(cronoq, "long", began, thawed) == ["missed", "succeeded"]


def _is_amid_runs(cronoq: Cronoq) -> bool:
    """A long run is under way, a short one is over, and the next is not due while the processes are stopped."""
    short, long = (cronoq.ask("recurring", "history", name)["runs"][-1:] for name in ("usual", "long"))
    if not short or not long or (short[0]["status"], long[0]["status"]) != ("succeeded", "running"):
        return False
    return 0.2 < time.time() % 4 < 1.5


def _tell_freeze(cronoq: Cronoq) -> list[str]:
    return [one["message"] for one in cronoq.ask("events", "-n", "1000")["events"] if one["type"] == "frozen"]


def _runs(cronoq: Cronoq, name: str) -> list[tuple[float, str]]:
    runs = cronoq.ask("recurring", "history", name, "--limit", "1000")["runs"]
    return [(_unix(run["due_at"]), run["status"]) for run in runs]


def _reasons(cronoq: Cronoq, name: str, began: float, thawed: float) -> list[str]:
    return [status for due_at, status in _runs(cronoq, name) if began < due_at <= thawed]


def _count_after(cronoq: Cronoq, name: str, moment: float) -> int:
    return sum(status == "succeeded" for due_at, status in _runs(cronoq, name) if due_at > moment)


def _unix(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
