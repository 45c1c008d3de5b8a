"""No descriptors are left: the daemon and the runner say so or wait, and go on by themselves when there are some."""

from __future__ import annotations

import os
import resource
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance


def count_descriptors(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def squeeze(pid: int) -> tuple[int, int]:
    """Leave a process no descriptor more than it has; its limits of before."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count_descriptors(pid), before[1]))
    return before


def test_a_daemon_without_descriptors_serves_again_when_it_has_some(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    daemon = cronoq.find_daemon()
    before = squeeze(daemon)
    asking = cronoq.start("submit", "--", "true")
    cronoq.wait_until(lambda: asking.poll() is not None or count_descriptors(asking.pid) > 3)
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, before)
    out, _ = asking.communicate(timeout=60)
    assert cronoq.find_daemon() == daemon
    last = cronoq.wait_for(cronoq.submit("--", "true"))
    assert last["status"] == "succeeded"
    if asking.returncode == 0:
        assert cronoq.wait_for(int(out))["status"] == "succeeded"


def test_a_start_without_descriptors_is_not_counted_and_tried_again(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    (runner,) = cronoq.list_runners()
    before = squeeze(runner)
    task = cronoq.submit("--", "true")
    cronoq.wait_until(lambda: cronoq.show(task)["attempts"], what="a first try")
    resource.prlimit(runner, resource.RLIMIT_NOFILE, before)
    ended = cronoq.wait_for(task, within_s=40)
    assert ended["status"] == "succeeded"
    assert ended["attempts"][0]["outcome"] in ("not-counted", "not-started")
    assert ended["max_attempts"] - ended["attempt"] == 0
