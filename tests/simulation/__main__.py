"""`python -m tests.simulation [--seconds N | --histories N] [--steps N] [--first SEED] [--commit loop|thread] [--leases
auto|never|always]`: play, report, fail loudly. What is not given is each in turn.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from itertools import cycle, product

from tests.simulation.histories import search
from tests.simulation.world import World

_REPORT_EVERY = 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long")
    parser.add_argument("--histories", type=int, default=1_000_000_000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--commit", choices=["loop", "thread"], default=None, help="where commits are made")
    parser.add_argument("--leases", choices=["auto", "never", "always"], default=None, help="what is given ahead")
    words = parser.parse_args()
    begun, played = time.monotonic(), 0

    def is_over() -> bool:
        return words.seconds is not None and time.monotonic() - begun > words.seconds

    commits = [words.commit] if words.commit else ["loop", "thread"]
    for leases, commit in cycle(product([words.leases] if words.leases else ["auto", "never", "always"], commits)):
        if played >= words.histories or is_over():
            break
        first = words.first + played
        count = min(_REPORT_EVERY, words.histories - played)
        made = partial(World, commit=commit, leases=leases)
        done, failure = search(range(first, first + count), words.steps, made, until=is_over)
        played += done
        print(f"{played} histories of {words.steps} steps, {time.monotonic() - begun:.0f} s", flush=True)
        if failure is not None:
            print(f"a promise was broken, with commits in the {commit}, leases {leases}:\n{failure.tell()}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
