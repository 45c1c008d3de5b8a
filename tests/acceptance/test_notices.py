"""Hooks of a real daemon: what they are told, once, in spite of crashes, and without holding up anything."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from tests.acceptance.conftest import Cronoq

pytestmark = pytest.mark.acceptance


def read_told(cronoq: Cronoq) -> list[dict[str, Any]]:
    """The documents that hooks have kept, in order."""
    try:
        return [json.loads(line) for line in (cronoq.home / "told").read_text().splitlines()]
    except FileNotFoundError:
        return []


def test_an_incident_is_told_once_and_a_hook_that_hangs_holds_up_nothing(cronoq: Cronoq) -> None:
    told = f"cat >> {cronoq.home}/told; echo said so"
    cronoq.configure(
        f'[hooks]\non_failure = "{told}"\non_recovery = "{told}"\non_success = "sleep 1000"\ntimeout = "500ms"\n'
        '[pools.other.hooks]\non_failure = ["/nonexistent/hook"]\n'
    )
    for word in ("false", "false", "true"):
        cronoq.wait_for(cronoq.submit("-k", "job", word))
    cronoq.wait_until(lambda: len(read_told(cronoq)) == 2, what="the notices")
    failure, recovery = read_told(cronoq)
    assert (failure["schema"], failure["event"], failure["again"], failure["key"]) == (1, "failure", False, "job")
    assert (failure["task"]["id"], failure["task"]["exit_code"], failure["incident"]["count"]) == (1, 1, 1)
    assert (recovery["event"], recovery["task"]["id"]) == ("recovery", 3)
    assert recovery["incident"] == {"since": failure["incident"]["since"], "count": 2}
    cronoq.wait_for(cronoq.submit("-p", "other", "false"))
    log = cronoq.home / "hooks.log"
    cronoq.wait_until(lambda: "not started: /nonexistent/hook" in log.read_text(), what="the hook that is not there")
    cronoq.wait_until(lambda: "ended at its time limit" in log.read_text(), what="the end of the hook that hangs")
    assert f"{failure['id']}: | said so\n" in log.read_text()


def test_a_notice_whose_hook_a_crash_cut_off_is_told_again_and_then_no_more(cronoq: Cronoq) -> None:
    cronoq.configure(f'[hooks]\non_failure = "cat >> {cronoq.home}/told; test -e {cronoq.home}/go || sleep 1000"\n')
    cronoq.wait_for(cronoq.submit("-k", "job", "false"))
    cronoq.wait_until(lambda: len(read_told(cronoq)) == 1, what="the first notice")
    daemon = cronoq.find_daemon()
    assert daemon is not None
    os.kill(daemon, signal.SIGKILL)
    (cronoq.home / "go").touch()
    cronoq.ok("daemon", "start")
    cronoq.wait_until(lambda: len(read_told(cronoq)) == 2, what="the second notice")
    first, second = read_told(cronoq)
    assert (second["id"], first["again"], second["again"]) == (first["id"], False, True)
    log = cronoq.home / "hooks.log"
    cronoq.wait_until(lambda: f"{first['id']}: done" in log.read_text(), what="the end of the second hook")
    cronoq.ok("daemon", "restart")
    cronoq.wait_for(cronoq.submit("-k", "job", "false"))  # the incident is known, too: nothing is told
    cronoq.ok("daemon", "stop")
    assert len(read_told(cronoq)) == 2
