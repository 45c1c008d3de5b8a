"""Submit-pick-complete cycles a second of the engine alone, at few and at many waiting tasks, and memory of one.

Run: python benchmarks/engine_cycles.py [--mixed] [--waiting N] [--cycles N] [--profile]. `--mixed`: with resources,
tenants, deadlines, workers with labels and all classes in play. Processor time counts, so that other load matters
little; the figure to trust is the ratio.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import resource
import sys
from collections import deque
from time import process_time

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import AttemptEnded, Newcomer, Start, Submitted
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.model.policy import AttemptEnd, Policy
from cronoq_cli.model.task import Priority, TaskSpec

POLICY = Policy()
NOW = Now(1_000_000.0, 5_000.0)
GROUP = 64
"""Events that share one commit, as in a busy turn of the daemon's loop."""
GPU = {"gpu": "yes"}
PLANS = {
    False: PoolPlan(1),
    True: PoolPlan(8, fair_share=True, tenant_weights={"alice": 2.0}, groups=(GroupPlan(GPU, 2),)),
}


def make_specs(mixed: bool) -> list[TaskSpec]:
    """The tasks that come in turn."""
    plain = TaskSpec(name="job", command=["true"], kind="job")
    if not mixed:
        return [plain]
    at = NOW.wall
    fields: list[dict[str, object]] = [
        {},
        {"tenant": "alice"},
        {"tenant": "bob", "uses": {"db": 1}},
        {"tenant": "alice", "uses": {"api": 1}},
        {"deadline": at + 3600},
        {"tenant": "bob", "deadline": at + 1800, "uses": {"db": 1, "api": 0.5}},
        {"labels": GPU},
        {"priority": Priority.HIGH},
        {"priority": Priority.LOW, "tenant": "bob"},
    ]
    return [TaskSpec(**{"name": "job", "command": ["true"], "kind": "job", **some}) for some in fields]  # type: ignore[arg-type]


class Cycles:
    """An engine with busy workers and so many tasks waiting behind them."""

    def __init__(self, waiting: int, *, mixed: bool) -> None:
        self.engine = Engine(lambda spec: POLICY, {"default": PLANS[mixed]})
        self.engine.state.leases = "never"
        self.engine.state.resources.configure("db", Semaphore(4))
        self.engine.state.resources.configure("api", Bucket(1e9, 1e9, NOW.awake))
        specs = make_specs(mixed)
        self.specs = [specs[0]]
        """The spec of each task, by its id."""
        self.running: deque[int] = deque()
        most = self.engine.state.pools["default"].capacity
        for first in range(0, waiting + most, 10_000):
            count = min(10_000, waiting + most - first)
            coming = [specs[number % len(specs)] for number in range(first, first + count)]
            self.specs += coming
            self.engine.handle(Submitted([Newcomer(spec) for spec in coming]), NOW)
            self._hear()

    def _hear(self) -> None:
        """Take what has changed, as a commit does, and note what was started."""
        for order in self.engine.take_effects().actions:
            if isinstance(order, Start):
                self.running.append(order.task)

    def run(self, cycles: int) -> float:
        """Cycles a second of processor time: one that runs ends, another like it is submitted, what can start starts.

        So the mix of what waits stays as it is."""
        engine, running, specs = self.engine, self.running, self.specs
        heard = 0
        gc.collect()
        gc.freeze()
        began = process_time()
        for done in range(cycles):
            task = running.popleft()
            engine.handle(Submitted([Newcomer(specs[task])]), NOW)
            specs.append(specs[task])
            engine.handle(AttemptEnded(task, 1, AttemptEnd(ended_at=NOW.wall, exit_code=0, run_s=0.5)), NOW)
            actions = engine.state.effects.actions
            running.extend([order.task for order in actions[heard:] if isinstance(order, Start)])
            heard = len(actions)
            if done % GROUP == 0:
                engine.take_effects()
                heard = 0
        took = process_time() - began
        engine.take_effects()
        gc.unfreeze()
        return cycles / took


def measure_memory() -> int:
    """The peak memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--cycles", type=int, default=50_000)
    parser.add_argument("--profile", action="store_true", help="profile the short queue instead")
    options = parser.parse_args()
    few = Cycles(1_000, mixed=options.mixed)
    if options.profile:
        cProfile.runctx("few.run(options.cycles)", globals(), locals(), sort="tottime")
        return
    fast = max(few.run(options.cycles) for _ in range(3))
    before = measure_memory()
    many = Cycles(options.waiting, mixed=options.mixed)
    each = (measure_memory() - before) / options.waiting
    slow = max(many.run(options.cycles) for _ in range(3))
    print(f"{fast:,.0f} cycles/s at 1,000 waiting")
    print(f"{slow:,.0f} cycles/s at {options.waiting:,} waiting: ratio {fast / slow:.2f}")
    print(f"{each:,.0f} bytes a waiting task")
    sys.exit(0 if fast / slow <= 1.5 else 1)


if __name__ == "__main__":
    main()
