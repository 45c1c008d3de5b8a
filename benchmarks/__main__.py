"""`python -m benchmarks [--quick] [--json FILE] [ROW...]`: run the rows and print the table."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import Figure, Skipped, time_call
from benchmarks.rows import ROWS, Row

MARKS = {True: "yes", False: "NO", None: ""}


def main() -> int:
    """Measure, print as it goes, and write the file asked for. The status is 0 also when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure cronoq beside its peers.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which; all: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, in about two minutes")
    parser.add_argument("--json", metavar="FILE", help="write everything, with the curves, to this file")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="run all so many times")
    options = parser.parse_args()
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; there are: {', '.join(ROWS)}")
    machine = describe_machine()
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    print(f"{'':68} {'value':>10} {'quartiles':>15}  {'target':>10}")
    figures: list[Figure] = []
    for _ in range(options.times):
        for name in options.rows or ROWS:
            figures += show(run_row(name, ROWS[name], quick=options.quick))
    if options.json:
        document = {"schema": 1, "machine": machine, "figures": [figure.to_dict() for figure in figures]}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    return 0


def run_row(name: str, row: Row, *, quick: bool) -> Iterable[Figure]:
    """The figures of a row, or one that says why there are none."""
    try:
        yield from row(quick)
    except Skipped as reason:
        yield Figure(name, math.nan, note=str(reason))


def show(figures: Iterable[Figure]) -> list[Figure]:
    """Print figures as they come, and return them."""
    shown = []
    for figure in figures:
        shown.append(figure)
        if math.isnan(figure.value):
            print(f"{figure.name:68} skipped: {figure.note}", flush=True)
            continue
        spread = "" if figure.low is None else f"{figure.low:.3g} to {figure.high:.3g}"
        target = "" if figure.target is None else f"{figure.sense} {figure.target:g}"
        line = (
            f"{figure.name:68} {figure.value:>10,.4g} {spread:>15}  {target:>10} {MARKS[figure.reached]} {figure.note}"
        )
        print(line.rstrip(), flush=True)
    return shown


def describe_machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "`python -c pass`": f"{1e3 * median(_time_pass() for _ in range(9)):.0f} ms",
        "a sync": f"{1e3 * median(_time_syncs(50)):.2f} ms",
        "at": time.strftime("%Y-%m-%d %H:%M"),
    }


def _time_pass() -> float:
    return time_call(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))


def _time_syncs(count: int) -> list[float]:
    """Seconds for each of so many writes of a page with its sync, where homes are made."""
    with tempfile.TemporaryFile(dir=os.environ.get("CRONOQ_BENCH_DIR")) as file:

        def call() -> None:
            file.write(bytes(4096))
            os.fdatasync(file.fileno())

        return [time_call(call) for _ in range(count)]


if __name__ == "__main__":
    sys.exit(main())
