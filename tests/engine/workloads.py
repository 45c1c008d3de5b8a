"""A workload of tasks with deadlines near the capacity of a pool, and who misses how much under which order."""

from __future__ import annotations

import random
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import AttemptEnded, Newcomer, Start, Submitted
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.model.task import Priority, TaskSpec
from tests.engine.story import policy_of

WORKERS = 4
TASKS = 4_000
LOAD = 0.93
STRICT = Scoring(rate=0.0)
"""Classes alone: nobody ages."""


@dataclass(frozen=True)
class Timed:
    """A task: when it comes, how long it runs, by when it should have ended, and how much it matters."""

    arrives_at: float
    run_s: float
    deadline: float
    priority: Priority


@dataclass(frozen=True)
class Misses:
    """Percent of deadlines missed: of all tasks, and of the critical ones."""

    all: float
    critical: float


def make_timed(seed: int) -> list[Timed]:
    """Random tasks: 5 % critical, 15 % high, 60 % normal, 20 % low; deadlines of 2 to 12 run times, 10 s at least."""
    draw, at, made = random.Random(seed), 0.0, []
    for _ in range(TASKS):
        at += draw.expovariate(LOAD * WORKERS / 10.0)
        run_s = draw.uniform(1.0, 19.0)
        within_s = max(10.0, run_s * draw.uniform(2.0, 12.0))
        priority = draw.choices(list(Priority), weights=[20, 60, 15, 5])[0]
        made.append(Timed(at, run_s, at + within_s, priority))
    return made


def count_misses(tasks: list[Timed], ends: dict[int, float]) -> Misses:
    """What share of the deadlines was missed, by the number of each task."""
    missed = [task for number, task in enumerate(tasks) if ends[number] > task.deadline]
    critical = [task for task in tasks if task.priority is Priority.CRITICAL]
    lost = [task for task in missed if task.priority is Priority.CRITICAL]
    return Misses(100 * len(missed) / len(tasks), 100 * len(lost) / len(critical))


def run_engine(tasks: list[Timed], *, deadlines: bool, classes: bool, scoring: Scoring | None = None) -> Misses:
    """The misses when the engine schedules, told of deadlines and classes or not."""
    engine = Engine(policy_of, {"default": WORKERS}, scoring=scoring)
    engine.state.leases = "never"
    ends: dict[int, float] = {}
    running: list[tuple[float, int]] = []
    ahead = list(enumerate(tasks))[::-1]
    while ahead or running:
        arriving = ahead and (not running or ahead[-1][1].arrives_at <= running[0][0])
        at = ahead[-1][1].arrives_at if arriving else running[0][0]
        now = Now(at, at)
        if arriving:
            _, task = ahead.pop()
            fields: dict[str, Any] = {"deadline": task.deadline} if deadlines else {}
            priority = task.priority if classes else Priority.NORMAL
            spec = TaskSpec(name="job", command=["true"], priority=priority, estimate_s=task.run_s, **fields)
            engine.handle(Submitted([Newcomer(spec)]), now)
        else:
            _, number = heappop(running)
            ends[number] = at
            engine.handle(AttemptEnded(number + 1, 1, AttemptEnd(ended_at=at, exit_code=0)), now)
        for order in engine.take_effects().actions:
            if isinstance(order, Start):
                heappush(running, (at + tasks[order.task - 1].run_s, order.task - 1))
    return count_misses(tasks, ends)


def run_earliest_deadline_first(tasks: list[Timed]) -> Misses:
    """The misses when the earliest deadline goes first, whatever its class."""
    ends: dict[int, float] = {}
    running: list[float] = []
    waiting: list[tuple[float, int]] = []
    ahead = list(enumerate(tasks))[::-1]
    while ahead or waiting or running:
        at = min([task.arrives_at for _, task in ahead[-1:]] + running[:1])
        while ahead and ahead[-1][1].arrives_at <= at:
            number, task = ahead.pop()
            heappush(waiting, (task.deadline, number))
        while running and running[0] <= at:
            heappop(running)
        while waiting and len(running) < WORKERS:
            _, number = heappop(waiting)
            ends[number] = at + tasks[number].run_s
            heappush(running, ends[number])
    return count_misses(tasks, ends)


def compare_orders(seed: int) -> dict[str, Misses]:
    """Misses by the name of the order."""
    tasks = make_timed(seed)
    return {
        "cronoq": run_engine(tasks, deadlines=True, classes=True),
        "first in, first out": run_engine(tasks, deadlines=False, classes=False, scoring=STRICT),
        "strict priority": run_engine(tasks, deadlines=False, classes=True, scoring=STRICT),
        "earliest deadline first": run_earliest_deadline_first(tasks),
    }
