"""What a daemon costs that has nothing to do."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.home import memory_kib, open_home, processor_s, switches
from benchmarks.measuring import Figure


def measure(quick: bool) -> Iterator[Figure]:
    """Wake-ups, processor time and memory, after one task has run."""
    span_s = 10.0 if quick else 30.0
    with open_home() as home:
        home.call("run", "--", "/bin/true")
        pid = home.pid()
        time.sleep(15.0)  # what follows a task (pruning, a look at the logs) is over
        before, used = switches(pid), processor_s(pid)
        time.sleep(span_s)
        yield Figure("idle: wake-ups in 10 s", (switches(pid) - before) * 10 / span_s, 1.0)
        yield Figure("idle: processor, % of a core", (processor_s(pid) - used) * 100 / span_s, 0.1)
        yield Figure("idle: memory, MiB", memory_kib(pid) / 1024, 60.0)
