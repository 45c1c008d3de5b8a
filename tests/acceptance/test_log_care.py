"""A log far above its cap as a user meets it: what is shown, what it takes, and what is said of files without one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

MIB = 1024 * 1024


def test_a_task_that_writes_far_more_than_its_cap_goes_on_and_its_newest_part_is_shown(cronoq) -> None:
    cronoq.configure('[logs]\ncap = "4MiB"\n')
    task = cronoq.wait_for(cronoq.submit("-c", "echo first; yes 0123456789abcde | head -c 64M; echo last"))
    assert task["status"] == "succeeded"
    log = Path(task["log"])
    assert log.stat().st_size == 64 * MIB + 11
    if log.stat().st_blocks * 512 > 8 * MIB:
        pytest.skip("this file system has no holes")
    assert log.stat().st_blocks * 512 <= 4 * MIB
    shown = cronoq.logs("last")
    assert shown.startswith(b"first\n")
    assert shown.endswith(b"abcde\nlast\n")
    assert b" bytes cut]\n" in shown
    assert b"\0" not in shown
    assert cronoq.logs("last", "-n", "2") == b"0123456789abcde\nlast\n"
    (part,) = cronoq.ask("logs", "last")["logs"]
    assert part["size_bytes"] == log.stat().st_size
    assert part["cut_bytes"] > 50 * MIB
    assert cronoq.show("last")["log_cap"] == 4 * MIB
    own = cronoq.submit("-o", str(cronoq.home / "out"), "-c", "yes | head -c 8M")
    assert cronoq.wait_for(own)["log_cap"] is None
    assert "/out, not capped: a file of its own (-o)" in cronoq.ok("show", own)
    assert (cronoq.home / "out").stat().st_blocks * 512 >= 8 * MIB
    assert cronoq.ask("logs", own)["logs"][0]["cut_bytes"] == 0
