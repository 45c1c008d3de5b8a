"""The stream of events: each once and in order, over restarts and crashes of the daemon, and only those wanted."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.acceptance.conftest import Cronoq

FIELDS = ["schema", "seq", "at", "type", "id", "key", "pool", "status", "attempt", "message"]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_a_stream_goes_on_over_restarts_without_a_gap_or_a_double(cronoq: Cronoq, tmp_path: Path) -> None:
    cronoq.wait_for(cronoq.submit("true"))
    everything, starts = tmp_path / "all", tmp_path / "starts"
    with everything.open("wb") as out, starts.open("wb") as few:
        following = [
            cronoq.start("events", "-f", "--json", "--after-seq", "0", stdout=out),
            cronoq.start("events", "-f", "--json", "--after-seq", "0", "--type", "start*", "-s", "running", stdout=few),
        ]
        try:
            for way in ("restart", "kill", "none"):
                cronoq.wait_for(cronoq.submit("-k", f"key-{way}", "true"))
                if way == "restart":
                    cronoq.ok("daemon", "restart")
                elif way == "kill":
                    os.kill(cronoq.status()["pid"], signal.SIGKILL)
                    cronoq.ok("daemon", "start")
            last = cronoq.ask("events")["last_seq"]
            cronoq.wait_until(lambda: (found := read(everything)) and found[-1]["seq"] >= last, what="the last event")
            cronoq.wait_until(lambda: len(read(starts)) >= 4, what="the last start")
        finally:
            for process in following:
                process.send_signal(signal.SIGINT)
                assert process.wait(20) == 130
                process.stderr.close()
    events = read(everything)
    assert [event["seq"] for event in events] == list(range(1, events[-1]["seq"] + 1))
    assert all(list(event) == FIELDS for event in events)
    assert [(event["id"], event["type"]) for event in read(starts)] == [(task, "started") for task in (1, 2, 3, 4)]
    stored = cronoq.ask("events", "--since", "1h", "--status", "succeeded", "--pool", "default")["events"]
    assert [(event["id"], event["key"]) for event in stored] == [
        (1, None),
        (2, "key-restart"),
        (3, "key-kill"),
        (4, "key-none"),
    ]
