"""`python -m tests.fuzz [--inputs N] [--seed N] [SURFACE...]`: so many inputs for each surface; faults are printed."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.fuzz.fuzzing import fuzz
from tests.fuzz.surfaces import SURFACES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("surfaces", nargs="*", choices=[*SURFACES, []], default=[])
    words = parser.parse_args()
    # What the runner says of malformed orders is meant for its own log.
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    failed = 0
    for name in words.surfaces or SURFACES:
        begun = time.monotonic()
        tried, faults = fuzz(name, words.inputs, number=words.seed)
        took_s = time.monotonic() - begun
        print(f"{name}: {tried} inputs, {len(faults)} faults, {took_s:.0f} s", flush=True)
        for data, fault in faults:
            print(f"{data!r}\n{fault}")
        failed += len(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
