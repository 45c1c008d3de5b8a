"""An obvious, slow scheduler after specification section 4, with plain lists: what the engine is compared with.

It shares no code with the engine. Everything is looked at anew at every moment: who is ready, who is a candidate, what
each lacks. No queue, no heap, no timer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BASES = {"low": 10.0, "normal": 100.0, "high": 1000.0, "critical": 10000.0}


@dataclass
class Job:
    """A task of a workload: what it wants, how long each attempt runs, and which attempts fail."""

    id: int
    arrives_at: float
    pool: str = "default"
    priority: str = "normal"
    slots: int = 1
    tenant: str = ""
    uses: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    deadline: float | None = None
    estimate_s: float = 60.0
    after: list[tuple[int, str]] = field(default_factory=list)
    run_s: float = 1.0
    fails: int = 0
    retries: int = 0
    # where it stands
    status: str = "new"
    attempt: int = 0
    ready_at: float | None = None
    due_at: float | None = None
    workers: int = 0


@dataclass
class Workers:
    """One set of workers of a pool."""

    count: int
    labels: dict[str, str] = field(default_factory=dict)
    shared: bool = True


@dataclass
class Pool:
    """A pool; `turns` holds the tenants in the order in which they were served last."""

    sets: list[Workers]
    fair: bool = False
    weights: dict[str, float] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)


@dataclass
class Tokens:
    """A token bucket: how full it was when something was last taken."""

    rate: float
    burst: float
    at: float
    left: float

    def level(self, now: float) -> float:
        """Tokens now."""
        return min(self.burst, self.left + self.rate * (now - self.at))

    def take(self, amount: float, now: float) -> None:
        """Tokens go out."""
        self.left, self.at = self.level(now) - amount, now


class Reference:
    """All jobs, pools and resources, and what starts at each moment."""

    def __init__(self, pools: dict[str, Pool], permits: dict[str, int], tokens: dict[str, Tokens]) -> None:
        self.pools = pools
        self.permits = permits
        self.tokens = tokens
        self.jobs: list[Job] = []
        self.running: list[Job] = []
        self.ended: dict[int, str] = {}
        self.backoff_s = 7.0

    # -- what happens ------------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> None:
        """A job arrives."""
        self.jobs.append(job)
        job.status = "blocked"

    def end(self, job: Job, now: float) -> None:
        """The running attempt ends, as its workload says."""
        self.running.remove(job)
        if job.attempt > job.fails:
            self._finish(job, "succeeded")
        elif job.attempt <= job.retries:
            job.status, job.due_at = "retrying", now + self.backoff_s
        else:
            self._finish(job, "failed")

    def _finish(self, job: Job, status: str) -> None:
        job.status = self.ended[job.id] = status
        self.jobs.remove(job)

    def start_all(self, now: float) -> list[Job]:
        """Everything that starts at this moment, in its order."""
        self._settle(now)
        started = []
        while (found := self._choose(now)) is not None:
            job, number = found
            job.status, job.workers = "running", number
            job.attempt += 1
            self.running.append(job)
            self._serve(job)
            for name, amount in job.uses.items():
                if name in self.tokens:
                    self.tokens[name].take(amount, now)
            started.append(job)
        return started

    def next_due(self, now: float) -> float | None:
        """The next moment at which something may start without anybody doing anything."""
        moments = [job.due_at for job in self.jobs if job.status == "retrying" and job.due_at is not None]
        for job in self.jobs:
            if job.status == "ready":
                waits = [self._tokens_wait_s(name, amount, now) for name, amount in job.uses.items()]
                moments.append(now + max(waits, default=0.0))
        return min((at for at in moments if at > now), default=None)

    def _tokens_wait_s(self, name: str, amount: float, now: float) -> float:
        bucket = self.tokens.get(name)
        return 0.0 if bucket is None else max(0.0, (amount - bucket.level(now)) / bucket.rate)

    # -- who is ready ------------------------------------------------------------------------------------------------

    def _settle(self, now: float) -> None:
        changed = True
        while changed:
            changed = False
            for job in list(self.jobs):
                if job.status == "blocked":
                    changed = self._judge_edges(job) or changed
                elif job.status == "retrying" and job.due_at is not None and job.due_at <= now:
                    job.status, job.due_at = "ready", None
        for job in self.jobs:
            if job.status == "ready" and job.ready_at is None:
                job.ready_at = now

    def _judge_edges(self, job: Job) -> bool:
        """Whether this job is skipped or ready now."""
        answers = [self._judge(self.ended.get(target), condition) for target, condition in job.after]
        if False in answers:
            self._finish(job, "skipped")
        elif None not in answers:
            job.status = "ready"
        return job.status != "blocked"

    @staticmethod
    def _judge(status: str | None, condition: str) -> bool | None:
        if status is None or condition == "any":
            return None if status is None else True
        return status == {"success": "succeeded", "fail": "failed"}[condition]

    # -- who is next -------------------------------------------------------------------------------------------------

    def place(self, job: Job, now: float) -> tuple[float, int]:
        """By score; of equal ones the older."""
        assert job.ready_at is not None
        score = BASES[job.priority] + min(2.0 * (now - job.ready_at), 800.0)
        if job.deadline is not None:
            slack, horizon = job.deadline - job.estimate_s - now, max(5.0, job.estimate_s)
            if slack <= 0:
                score += 5000.0 + min(10.0 * -slack, 3000.0)
            elif slack < horizon:
                score += 5000.0 * (1.0 - slack / horizon)
        return score, -job.id

    def _candidates(self, name: str) -> list[Job]:
        """The heads of each class's two lanes, for each tenant and each set of wanted things."""
        heads: dict[object, Job] = {}
        for job in self.jobs:
            if job.pool != name or job.status != "ready":
                continue
            wants = (tuple(sorted(job.uses)), tuple(sorted(job.labels.items())))
            lane = (job.priority, job.deadline is None, job.tenant, wants)
            head = heads.get(lane)
            if head is None or (job.deadline or 0.0, job.id) < (head.deadline or 0.0, head.id):
                heads[lane] = job
        return list(heads.values())

    def _order(self, name: str, now: float) -> list[Job]:
        """The candidates of a pool in their order; with fair sharing class by class the tenant with the least share."""
        pool, jobs = self.pools[name], self._candidates(name)
        if not pool.fair:
            return sorted(jobs, key=lambda job: self.place(job, now), reverse=True)
        queues = []
        for priority in BASES:
            mine = sorted((job for job in jobs if job.priority == priority), key=lambda job: self.place(job, now))
            mine.reverse()
            queues.append(sorted(mine, key=lambda job: self._share(name, job)))
        return self._merge(queues, now)

    def _share(self, name: str, job: Job) -> tuple[float, int]:
        pool = self.pools[name]
        slots = sum(other.slots for other in self._running(name) if other.tenant == job.tenant)
        turn = pool.turns.index(job.tenant) if job.tenant in pool.turns else -1
        return slots / pool.weights.get(job.tenant, 1.0), turn

    def _merge(self, queues: list[list[Job]], now: float) -> list[Job]:
        merged = []
        while any(queues):
            best = max((queue for queue in queues if queue), key=lambda queue: self.place(queue[0], now))
            merged.append(best.pop(0))
        return merged

    def _choose(self, now: float) -> tuple[Job, int] | None:
        """The first of all candidates that lacks nothing and wants nothing that one before it lacks."""
        if not any(self._free(name, n) > 0 for name, pool in self.pools.items() for n in range(len(pool.sets))):
            return None
        lacking: set[object] = set()
        for job in self._merge([self._order(name, now) for name in self.pools], now):
            lacks: set[object] = {name for name, amount in job.uses.items() if self._is_short(name, amount, now)}
            lacks |= {name for name in job.uses if name in lacking}
            if not lacks:
                fitting = [number for number, one in enumerate(self.pools[job.pool].sets) if self._serves(one, job)]
                free = [n for n in fitting if (job.pool, n) not in lacking and self._free(job.pool, n) >= job.slots]
                if free:
                    return job, free[0]
                lacks = {(job.pool, number) for number in fitting}
            lacking |= lacks
        return None

    @staticmethod
    def _serves(workers: Workers, job: Job) -> bool:
        if not job.labels:
            return workers.shared
        return all(workers.labels.get(k) == v for k, v in job.labels.items())

    def _running(self, name: str) -> list[Job]:
        return [job for job in self.running if job.pool == name]

    def _free(self, name: str, number: int) -> int:
        busy = sum(job.slots for job in self._running(name) if job.workers == number)
        return self.pools[name].sets[number].count - busy

    def _is_short(self, name: str, amount: float, now: float) -> bool:
        if name in self.tokens:
            return self.tokens[name].level(now) < amount - 1e-6
        out = sum(job.uses.get(name, 0.0) for job in self.running)
        return self.permits[name] - out < amount

    def _serve(self, job: Job) -> None:
        turns = self.pools[job.pool].turns
        if job.tenant in turns:
            turns.remove(job.tenant)
        turns.append(job.tenant)
