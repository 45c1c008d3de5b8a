"""Ten thousand waiting tasks: submit and ls answer as with none, by a generous factor. Figures are in benchmarks/."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

MANY = 10_000
FACTOR = 2.5
"""1.5 is the aim; a busy machine blurs it."""
GRAIN_S = 0.03


def best_of(cronoq: Any, *words: str, tries: int = 5) -> float:
    """The shortest of some runs, in seconds: what the machine does beside can only add to it."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        cronoq.ok(*words)
        times.append(time.perf_counter() - began)
    return min(times)


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


@pytest.fixture
def crowded(cronoq) -> Any:
    """A paused pool beside the usual one."""
    cronoq.configure("[pools.default]\nworkers = 2\n[pools.shut]\nworkers = 1\n")
    cronoq.ok("pool", "pause", "shut")
    return cronoq


def test_ten_thousand_waiting_tasks_slow_neither_submit_nor_ls_nor_a_start_and_are_small(crowded, tmp_path) -> None:
    crowded.ok("run", "--", "true")
    verbs = [["submit", "-p", "shut", "--", "true"], ["ls"], ["show", "last"], ["submit", "--wait", "--", "true"]]
    before = [best_of(crowded, *words) for words in verbs]
    size = resident_bytes(crowded.find_daemon())
    path = tmp_path / "batch"
    path.write_text("".join(json.dumps({"command": ["true", str(n)], "pool": "shut"}) + "\n" for n in range(MANY)))
    began = time.perf_counter()
    crowded.ok("submit", "--batch", str(path))
    assert time.perf_counter() - began < 20
    after = [best_of(crowded, *words) for words in verbs]
    for words, few, many in zip(verbs, before, after, strict=True):
        assert many < few * FACTOR + GRAIN_S, (words, few, many)
    assert (resident_bytes(crowded.find_daemon()) - size) / MANY < 8192  # with what the batch itself took on its way
    assert crowded.ask("ls")["more"] >= MANY - 50


def test_a_large_array_is_whole_after_the_daemon_was_killed_in_the_middle_of_it(crowded) -> None:
    ids = crowded.ok("submit", "-p", "shut", "--array", "0-1499", "--", "true").split()
    assert len(ids) == 1500 or ids == ["1-1500"]
    crowded.ok("cancel", "7", "900-1490")
    crowded.ok("priority", "1499", "high")
    os.kill(crowded.find_daemon(), signal.SIGKILL)
    crowded.ok("pool", "resume", "shut")
    crowded.ok("wait", "20")
    os.kill(crowded.find_daemon(), signal.SIGKILL)
    crowded.ok("cancel", "-p", "shut", "--status", "ready")
    crowded.ok("wait", "--all")
    listed = crowded.ask("ls", "--limit", "all", "--status", "succeeded,cancelled")["tasks"]
    ended = {task["id"]: task["status"] for task in listed}
    assert len(ended) == 1500 and ended[7] == ended[900] == "cancelled"
    assert {ended[number] for number in (1, 6, 8, 20, 1499)} == {"succeeded"}
    with contextlib.closing(sqlite3.connect(f"file:{crowded.home / 'cronoq.db'}?mode=ro", uri=True)) as store:
        told = "SELECT task, count(*) FROM events WHERE json_extract(record, '$.type') = 'submitted' GROUP BY task"
        assert dict(store.execute(told)) == dict.fromkeys(range(1, 1501), 1)


def test_a_follower_reads_its_own_task_however_many_wait(crowded) -> None:
    lines = "".join(f"{n}\n" for n in range(2000))
    crowded.ok("submit", "-p", "shut", "--each", "-", "--", "true", "{}", input=lines)
    running = crowded.start("run", "--", "sh", "-c", "echo $$; for i in 1 2 3; do sleep 0.1; done; echo end")
    running.stdout.readline()
    counted = Path(f"/proc/{running.pid}/io").read_text()
    out, _ = running.communicate(timeout=20)
    assert out == b"end\n"
    read_bytes = int(counted.split("rchar: ")[1].split()[0])
    assert read_bytes < 20_000_000  # nearly all of it Python's own files; the whole queue would show


def test_descriptors_and_memory_of_the_daemon_stay_as_they_are(crowded) -> None:
    # A slow moment of the disk would have the daemon open the store once more, for good.
    crowded.configure("[pools.default]\nworkers = 2\n[daemon]\ncommit = 'thread'\n")
    crowded.ok("daemon", "restart")
    crowded.ok("run", "--", "true")

    def descriptors(pid: int) -> int:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    for _ in range(10):
        crowded.ok("submit", "--wait", "--", "true")
    pids = [crowded.find_daemon(), *crowded.list_runners()]
    before = [descriptors(pid) for pid in pids]
    crowded.ok("submit", "--array", "0-99", "--", "true")
    for _ in range(20):
        crowded.ok("submit", "--", "true")
    crowded.ok("wait", "--all")
    crowded.wait_until(
        lambda: all(descriptors(pid) <= count for pid, count in zip(pids, before, strict=True)),
        what="as few descriptors as before",
    )


def test_a_foreign_reader_with_an_open_transaction_stops_no_writes(crowded) -> None:
    crowded.ok("submit", "-p", "shut", "--", "true")
    with contextlib.closing(sqlite3.connect(crowded.home / "cronoq.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM tasks").fetchone()
        for _ in range(5):
            crowded.ok("submit", "-p", "shut", "--", "true")
        crowded.ok("run", "--", "true")
        assert reader.execute("SELECT count(*) FROM tasks").fetchone() == before
        reader.execute("COMMIT")
    assert len(crowded.ask("ls", "--limit", "all")["tasks"]) == 7
