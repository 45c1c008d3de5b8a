"""The engine starts the same tasks at the same moments in the same order as an obvious, slow scheduler.

All moments are multiples of 1/64 s, so that both reckon exactly.
"""

from __future__ import annotations

import os
import random
from heapq import heappop, heappush

import pytest

from cronoq_cli.engine.messages import WantedEdge
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.state import State
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.model.task import Backoff, Condition, Priority
from tests.engine.story import Story
from tests.properties.reference_scheduler import Job, Pool, Reference, Tokens, Workers

GPU = {"gpu": "yes"}
WEIGHTS = {"alice": 2.0}
PLANS = {
    "default": PoolPlan(3),
    "fair": PoolPlan(3, fair_share=True, tenant_weights=WEIGHTS),
    "grouped": PoolPlan(2, groups=(GroupPlan(GPU, 2, shared=True), GroupPlan({"gpu": "no"}, 1))),
}
MEAN_GAP_S = 1.1
"""Between arrivals, so that all pools together are nearly busy."""
TASKS = 1_000


def make_reference(began: float) -> Reference:
    pools = {
        "default": Pool([Workers(3)]),
        "fair": Pool([Workers(3)], fair=True, weights=WEIGHTS),
        "grouped": Pool([Workers(2), Workers(2, GPU), Workers(1, {"gpu": "no"}, shared=False)]),
    }
    return Reference(pools, {"gpu": 3, "db": 1}, {"api": Tokens(0.5, 4.0, began, 4.0)})


def configure(state: State) -> None:
    state.resources.configure("gpu", Semaphore(3))
    state.resources.configure("db", Semaphore(1))
    state.resources.configure("api", Bucket(0.5, 4.0, 5000.0))


def make_workload(seed: int, began: float) -> list[Job]:
    """Random jobs: about as much work as the pools can do, sometimes more."""
    draw = random.Random(seed)
    load = draw.choice([0.6, 0.8, 1.0])
    at, jobs = began, []
    for number in range(1, TASKS + 1):
        at += draw.randint(0, 64) / 64 * MEAN_GAP_S * 2 / load
        at = round(at * 64) / 64
        jobs.append(_draw_job(draw, number, at))
    return jobs


def _draw_job(draw: random.Random, number: int, at: float) -> Job:
    job = Job(number, at, pool=draw.choice(list(PLANS)), run_s=draw.randint(1, 512) / 64)
    job.priority = draw.choice(["low", "normal", "normal", "high", "critical"])
    job.slots = draw.choice([1, 1, 1, 2])
    job.tenant = draw.choice(["", "alice", "bob"]) if job.pool == "fair" else draw.choice(["", "", "", "alice"])
    if job.pool == "grouped":
        job.labels = draw.choice([{}, {}, GPU, {"gpu": "no"}])
        job.slots = 1 if job.labels == {"gpu": "no"} else job.slots
    for name in draw.choice([*[[]] * 8, ["gpu"], ["db"], ["api"], ["gpu", "api"], ["db", "gpu"]]):
        job.uses[name] = 1 if name == "db" else draw.randint(1, 3)
    job.estimate_s = job.run_s
    if draw.random() < 0.4:
        job.deadline = at + draw.randint(64, 64 * 60) / 64
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        if number > 1:
            target = max(1, number - draw.randint(1, 30))
            job.after.append((target, draw.choice(["success", "success", "any", "any", "fail"])))
    job.after = list(dict(job.after).items())
    job.fails, job.retries = draw.choice([(0, 0), (0, 0), (1, 0), (1, 1), (2, 2), (3, 2)])
    return job


def submit(story: Story, job: Job) -> None:
    wanted = []
    for target, condition in job.after:
        status = story.status(target)
        wanted.append(WantedEdge(Condition(condition), target=target, final=status if status in FINAL else None))
    task = story.submit(
        pool=job.pool,
        priority=Priority[job.priority.upper()],
        slots=job.slots,
        tenant=job.tenant,
        uses=job.uses,
        labels=job.labels,
        deadline=job.deadline,
        estimate_s=job.estimate_s,
        retries=job.retries,
        backoff=Backoff(kind="fixed", first_s=7.0),
        after=wanted,
    )
    assert task == job.id


WORKLOADS = int(os.environ.get("CRONOQ_WORKLOADS", "6"))
"""How many random workloads are played; 50 of them take some minutes."""


class Match:
    """Both schedulers through one workload, step by step."""

    def __init__(self, seed: int) -> None:
        self.story = Story(PLANS["default"], setup=configure, fair=PLANS["fair"], grouped=PLANS["grouped"])
        self.began = self.story.now.wall
        self.reference = make_reference(self.began)
        self.jobs = make_workload(seed, self.began)
        self.arrivals = self.jobs[::-1]
        self.running: list[tuple[float, int]] = []
        self.starts = 0

    def play(self) -> None:
        while (at := self._find_next()) is not None:
            self.story.pass_time(at - self.story.now.wall)
            self._compare()
            while self.running and self.running[0][0] <= at:
                self._end(self.jobs[heappop(self.running)[1] - 1])
            while self.arrivals and self.arrivals[-1].arrives_at <= at:
                job = self.arrivals.pop()
                self.reference.submit(job)
                submit(self.story, job)
                self._compare()

    def _find_next(self) -> float | None:
        now = self.story.now.wall
        due_s = self.story.engine.next_due_s(self.story.now)
        moments = [None if due_s is None else now + due_s, self.reference.next_due(now)]
        moments += [end_at for end_at, _ in self.running[:1]] + [job.arrives_at for job in self.arrivals[-1:]]
        return min((at for at in moments if at is not None), default=None)

    def _end(self, job: Job) -> None:
        code = 0 if job.attempt > job.fails else 1
        self.reference.end(job, self.story.now.wall)
        self.story.end(job.id, code, run_s=job.run_s)
        self._compare()

    def _compare(self) -> None:
        """What starts now, pool by pool in order, is the same for both."""
        now = self.story.now.wall
        wanted, found = self.reference.start_all(now), self.story.started()
        for name in PLANS:
            mine = [task for task in found if self.jobs[task - 1].pool == name]
            assert mine == [job.id for job in wanted if job.pool == name], (now - self.began, name, self.starts)
        for job in wanted:
            heappush(self.running, (now + job.run_s, job.id))
        self.starts += len(wanted)


@pytest.mark.parametrize("seed", range(WORKLOADS))
def test_a_thousand_random_tasks_start_in_the_same_order_as_by_the_reference(seed: int) -> None:
    match = Match(seed)
    match.play()
    statuses = [match.story.status(job.id).value.replace("dead_lettered", "failed") for job in match.jobs]
    assert statuses == [match.reference.ended[job.id] for job in match.jobs]
    assert match.starts > 600
