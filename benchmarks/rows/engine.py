"""The engine alone: submit-pick-complete cycles a second, in processes of their own (see engine_cycles.py)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from benchmarks.home import PYTHON, ROOT
from benchmarks.measuring import Figure

PROGRAM = ROOT / "benchmarks" / "engine_cycles.py"
TARGETS = {"plain": ([], 200_000.0), "mixed": (["--mixed"], 80_000.0)}


def measure(quick: bool) -> Iterator[Figure]:
    """Plain classes, and resources, tenants, deadlines and labels in play."""
    waiting, cycles = (100_000, 10_000) if quick else (1_000_000, 50_000)
    for name, (options, target) in TARGETS.items():
        words = [PYTHON, str(PROGRAM), *options, "--waiting", str(waiting), "--cycles", str(cycles)]
        done = subprocess.run(
            words, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False
        )
        few, many, memory = (float(text.replace(",", "")) for text in re.findall(r"^([\d,]+) ", done.stdout, re.M))
        yield Figure(f"engine, {name}: cycles/s", few, target, ">=")
        yield Figure(f"engine, {name}: cost at {waiting:,} waiting to 1,000", few / many, 1.1)
        yield Figure(f"engine, {name}: bytes a waiting task", memory, 200.0)
