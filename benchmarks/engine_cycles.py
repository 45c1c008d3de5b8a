"""Submit-pick-complete cycles a second of the engine alone, at few and at many waiting tasks, and memory of one.

Run: python benchmarks/engine_cycles.py [--waiting N] [--cycles N] [--profile]. Processor time counts, so that other
load matters little; the figure to trust is the ratio.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import resource
import sys
from time import process_time

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import AttemptEnded, Newcomer, Start, Submitted
from cronoq_cli.model.policy import AttemptEnd, Policy
from cronoq_cli.model.task import TaskSpec

POLICY = Policy()
SPEC = TaskSpec(name="job", command=["true"], kind="job")
GROUP = 64
"""Events that share one commit, as in a busy turn of the daemon's loop."""


def make_engine(waiting: int) -> tuple[Engine, Now]:
    """An engine with a worker of its own and so many tasks waiting behind it."""
    engine = Engine(lambda spec: POLICY, {"default": 1})
    engine.state.leases = False
    now = Now(1_000_000.0, 5_000.0)
    for first in range(0, waiting + 1, 10_000):
        engine.handle(Submitted([Newcomer(SPEC) for _ in range(min(10_000, waiting + 1 - first))]), now)
        engine.take_effects()
    return engine, now


def run_cycles(engine: Engine, now: Now, cycles: int) -> float:
    """Cycles a second of processor time: one task is submitted, the running one ends, the next starts."""
    running = [next(iter(engine.state.pools["default"].running))]
    gc.collect()
    gc.freeze()
    began = process_time()
    for done in range(cycles):
        engine.handle(Submitted([Newcomer(SPEC)]), now)
        task_id = running.pop()
        engine.handle(AttemptEnded(task_id, 1, AttemptEnd(ended_at=now.wall, exit_code=0, run_s=0.5)), now)
        running.append(_find_start(engine))
        if done % GROUP == 0:
            engine.take_effects()
    took = process_time() - began
    engine.take_effects()
    gc.unfreeze()
    return cycles / took


def _find_start(engine: Engine) -> int:
    order = engine.state.effects.actions[-1]
    assert isinstance(order, Start)
    return order.task


def measure_memory() -> int:
    """The peak memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--cycles", type=int, default=50_000)
    parser.add_argument("--profile", action="store_true", help="profile the short queue instead")
    options = parser.parse_args()
    few, now = make_engine(1_000)
    if options.profile:
        cProfile.runctx("run_cycles(few, now, options.cycles)", globals(), locals(), sort="tottime")
        return
    fast = max(run_cycles(few, now, options.cycles) for _ in range(3))
    before = measure_memory()
    many, now = make_engine(options.waiting)
    each = (measure_memory() - before) / options.waiting
    slow = max(run_cycles(many, now, options.cycles) for _ in range(3))
    print(f"{fast:,.0f} cycles/s at 1,000 waiting")
    print(f"{slow:,.0f} cycles/s at {options.waiting:,} waiting: ratio {fast / slow:.2f}")
    print(f"{each:,.0f} bytes a waiting task")
    sys.exit(0 if fast / slow <= 1.5 else 1)


if __name__ == "__main__":
    main()
