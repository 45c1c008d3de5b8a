"""The engine run forward in virtual time: starts and ends as the real engine makes them, and nothing but that."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.fork import fork
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import (
    Cancelled,
    Newcomer,
    PoolPaused,
    PoolResized,
    ResourceChanged,
    TimePassed,
    WantedEdge,
)
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.simulate import Simulation
from cronoq_cli.engine.simulated import Arrival, Outcome, PlannedRun
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff, Condition, Priority
from tests.engine.story import Story, policy_of, spec, take_snapshot

NOW = Now(1_000_000.0, 5_000.0)


def arrive(
    at_s: float = 0.0, run_s: float | None = 1.0, *, exit_code: int = 0, after: Any = (), **fields: Any
) -> Arrival:
    """A task of the input; `after`: positions in it that must succeed."""
    wanted = [WantedEdge(Condition.SUCCESS, index=index) for index in after]
    return Arrival(Newcomer(spec(**fields), wanted), at_s=at_s, run=PlannedRun(run_s, exit_code))


def run(*arrivals: Arrival, workers: int | PoolPlan = 1, horizon_s: float | None = None, **pools: int) -> Outcome:
    """Run arrivals through an empty engine."""
    engine = Engine(policy_of, {"default": workers, **pools})
    return Simulation(engine, NOW, arrivals=arrivals).run(horizon_s)


def spans(outcome: Outcome) -> list[tuple[int, list[tuple[float, float | None]]]]:
    """For each task its attempts, in seconds from the beginning."""
    began = outcome.began_at
    return [
        (row.id, [(start - began, None if end is None else end - began) for start, end in row.runs])
        for row in outcome.tasks
    ]


def test_one_worker_runs_one_after_the_other_best_first() -> None:
    outcome = run(arrive(run_s=2), arrive(run_s=3), arrive(run_s=1, priority=int(Priority.HIGH)))
    assert spans(outcome) == [(3, [(0, 1)]), (1, [(1, 3)]), (2, [(3, 6)])]
    assert outcome.makespan_s == 6
    assert outcome.is_whole
    assert outcome.count_by_status() == {Status.SUCCEEDED: 3}


def test_work_is_shared_by_the_workers_and_use_is_counted() -> None:
    outcome = run(arrive(run_s=4), arrive(run_s=2), arrive(run_s=1), workers=2)
    assert spans(outcome) == [(1, [(0, 4)]), (2, [(0, 2)]), (3, [(2, 3)])]
    (use,) = outcome.pools
    assert (use.busy_s, use.there_s, use.most_busy, use.started) == (7, 8, 2, 3)
    assert use.utilisation == pytest.approx(7 / 8)


def test_tasks_arrive_when_they_are_submitted() -> None:
    outcome = run(arrive(at_s=5), arrive(at_s=0))
    assert spans(outcome) == [(1, [(0, 1)]), (2, [(5, 6)])]


def test_a_failure_is_tried_again_after_its_backoff() -> None:
    outcome = run(arrive(run_s=2, exit_code=1, retries=2, backoff=Backoff(kind="fixed", first_s=10)))
    assert spans(outcome) == [(1, [(0, 2), (12, 14), (24, 26)])]
    assert outcome.tasks[0].status is Status.DEAD_LETTERED


def test_a_dependent_waits_and_one_that_cannot_run_is_skipped() -> None:
    outcome = run(
        arrive(run_s=3),
        arrive(run_s=1, after=[0]),
        arrive(run_s=1, exit_code=1),
        arrive(after=[2]),
        arrive(at_s=20, after=[0]),
        arrive(at_s=20, after=[3]),
        workers=4,
    )
    by_id = {row.id: row for row in outcome.tasks}
    assert dict(spans(outcome))[2] == [(3, 4)]
    assert by_id[4].status is Status.SKIPPED
    assert dict(spans(outcome))[5] == [(20, 21)]
    assert by_id[6].status is Status.SKIPPED


def test_a_task_that_waits_for_a_later_one_is_refused_with_its_place() -> None:
    early = Arrival(Newcomer(spec(), [WantedEdge(Condition.SUCCESS, index=1)]), what="line 1")
    with pytest.raises(InvalidError, match=r"line 1: .*later"):
        run(early, arrive(at_s=1))


def test_an_unknown_pool_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidError, match="line 9: unknown pool"):
        run(Arrival(Newcomer(spec(pool="nowhere")), what="line 9"))


def test_deadlines_missed_and_kept_are_counted() -> None:
    wall = NOW.wall
    outcome = run(
        arrive(run_s=5, deadline=wall + 6, estimate_s=5.0),
        arrive(run_s=5, deadline=wall + 7, estimate_s=5.0),
        arrive(run_s=1),
    )
    assert outcome.count_deadlines() == (2, 1)


def test_a_fixed_start_has_its_worker_held() -> None:
    wall = NOW.wall
    outcome = run(arrive(run_s=4, start_at=wall + 10, estimate_s=4.0), *(arrive(run_s=3, estimate_s=3.0),) * 6)
    assert dict(spans(outcome))[1] == [(10, 14)]
    assert outcome.count_fixed() == (1, 0)


def test_a_late_fixed_start_is_told() -> None:
    wall = NOW.wall
    outcome = run(arrive(run_s=20, estimate_s=1.0), arrive(run_s=4, start_at=wall + 10, estimate_s=4.0))
    row = next(row for row in outcome.tasks if row.id == 2)
    assert (row.late_s, row.is_late) == (10, True)
    assert outcome.count_fixed() == (1, 1)


def test_a_rate_lets_through_what_it_may() -> None:
    engine = Engine(policy_of, {"default": 1000})
    engine.state.resources.configure("api", Bucket(10.0, 20.0, NOW.awake))
    arrivals = [arrive(run_s=0.5, uses={"api": 1.0}) for _ in range(800)]
    outcome = Simulation(engine, NOW, arrivals=arrivals).run(60.0)
    started = sum(row.started_at is not None for row in outcome.tasks)
    assert abs(started - 620) <= 1


def test_a_semaphore_bounds_what_runs_at_once() -> None:
    engine = Engine(policy_of, {"default": 8})
    engine.state.resources.configure("gpu", Semaphore(1))
    outcome = Simulation(engine, NOW, arrivals=[arrive(run_s=2, uses={"gpu": 1.0}) for _ in range(3)]).run()
    assert outcome.makespan_s == 6


def test_other_workers_and_permits_are_what_ifs_of_events() -> None:
    engine = Engine(policy_of, {"default": 1})
    engine.state.resources.configure("gpu", Semaphore(1))
    engine.handle(PoolResized("default", 3), NOW)
    engine.handle(ResourceChanged("gpu", permits=3), NOW)
    outcome = Simulation(engine, NOW, arrivals=[arrive(run_s=2, uses={"gpu": 1.0}) for _ in range(3)]).run()
    assert outcome.makespan_s == 2


def test_what_is_left_out_takes_nothing_and_its_dependents_are_skipped() -> None:
    gone = Arrival(Newcomer(spec()), run=PlannedRun(50.0), left_out=True)
    outcome = run(gone, arrive(run_s=2), arrive(after=[0]))
    assert [(row.id, row.status) for row in outcome.tasks] == [(2, Status.SUCCEEDED), (3, Status.SKIPPED)]
    assert outcome.makespan_s == 2


def test_a_time_limit_ends_an_attempt() -> None:
    slow = Arrival(Newcomer(spec()), run=PlannedRun(50.0, timeout_s=5.0))
    outcome = run(slow)
    assert spans(outcome) == [(1, [(0, 5)])]
    assert outcome.tasks[0].status is Status.FAILED


def test_a_full_pool_refuses_and_the_rest_goes_on() -> None:
    plan = PoolPlan(1, max_pending=2, overflow="reject")
    outcome = run(*(arrive(run_s=1, at_s=n / 100) for n in range(5)), workers=plan)
    assert len(outcome.tasks) == 3
    assert [arrival.at_s for arrival, _ in outcome.refused] == [0.03, 0.04]


def test_the_horizon_ends_it_with_tasks_still_running() -> None:
    outcome = run(arrive(run_s=100), arrive(run_s=1), horizon_s=10.0)
    assert spans(outcome) == [(1, [(0, None)]), (2, [])]
    assert not outcome.is_whole
    assert outcome.tasks[0].status is Status.RUNNING


def test_what_never_starts_ends_the_simulation() -> None:
    engine = Engine(policy_of, {"default": PoolPlan(1)})
    engine.handle(PoolPaused("default"), NOW)
    outcome = Simulation(engine, NOW, arrivals=[arrive(), arrive(hold=True)]).run()
    assert not outcome.is_whole
    assert [row.status for row in outcome.tasks] == [Status.READY, Status.BLOCKED]


def test_a_batch_that_fails_too_often_is_ended_by_the_model_runner_at_once() -> None:
    story = Story(2)
    story.array(4, max_fails=0)
    simulation = Simulation(fork(story.engine.state), story.now, runs={1: PlannedRun(1.0, 1)})
    outcome = simulation.run()
    assert {row.id: row.status for row in outcome.tasks} == {
        1: Status.FAILED,
        2: Status.CANCELLED,
        3: Status.CANCELLED,
        4: Status.CANCELLED,
    }
    assert outcome.makespan_s == 1


def test_the_same_input_gives_the_same_outcome() -> None:
    arrivals = [
        arrive(at_s=n % 7, run_s=0.1 + n % 5, priority=n % 4, tenant=f"t{n % 3}", exit_code=n % 11 == 0, retries=1)
        for n in range(300)
    ]
    assert spans(run(*arrivals, workers=3)) == spans(run(*arrivals, workers=3))


# -- a fork ------------------------------------------------------------------------------------------------------


def busy_story() -> Story:
    """A queue with everything in it: running, ready, scheduled, retrying, blocked, held, in an array."""
    story = Story(2, other=1)
    for number in range(8):
        story.submit("work", estimate_s=10.0 + number, priority=number % 4)
    story.submit("later", not_before=story.now.wall + 30)
    story.submit("after", after=[1])
    story.submit("held", hold=True)
    story.submit("dated", deadline=story.now.wall + 100)
    story.submit("fixed", start_at=story.now.wall + 60, estimate_s=5.0)
    story.submit("elsewhere", pool="other")
    story.array(6, limit=1)
    failing = story.submit("failing", pool="other", priority=3, retries=3)
    story.end(next(order.task for order in story.orders if order.task not in (failing,)))
    return story


def test_running_a_fork_leaves_the_engine_as_it_was() -> None:
    story = busy_story()
    before = take_snapshot(story.engine)
    outcome = Simulation(fork(story.engine.state), story.now).run()
    assert take_snapshot(story.engine) == before
    assert not story.engine.state.effects.transitions
    assert outcome.count_by_status()[Status.BLOCKED] == 1, "the held one"
    assert sum(outcome.count_by_status().values()) == len(outcome.tasks) == len(before["tasks"])


def test_a_fork_does_what_the_engine_then_does() -> None:
    story = busy_story()
    foreseen = Simulation(fork(story.engine.state), story.now).run()
    real = Simulation(story.engine, story.now).run()
    assert spans(foreseen) == spans(real)


def test_a_fork_goes_on_with_what_runs_for_the_rest_of_its_time() -> None:
    story = Story(1)
    story.submit(estimate_s=10.0)
    story.begin(1)
    story.submit("next", estimate_s=1.0)
    story.pass_time(4)
    outcome = Simulation(fork(story.engine.state), story.now).run()
    assert spans(outcome) == [(1, [(-4, 6)]), (2, [(6, 7)])]


def test_a_fork_takes_leased_tasks_as_waiting() -> None:
    story = Story(1, leases=True)
    for _ in range(3):
        story.submit("quick")
        story.end(story.started()[-1], run_s=0.05)
    for _ in range(4):
        story.submit("quick")
    assert any(task.leased for task in story.engine.state.tasks.values())
    outcome = Simulation(fork(story.engine.state), story.now).run()
    assert outcome.makespan_s == pytest.approx(0.2)


def test_a_task_that_is_being_cancelled_frees_its_slot_at_once() -> None:
    story = Story(1)
    story.submit(estimate_s=100.0)
    story.begin(1)
    story.submit("next", estimate_s=1.0)
    story.handle(Cancelled([1]))
    outcome = Simulation(fork(story.engine.state), story.now).run()
    assert dict(spans(outcome))[2] == [(0, 1)]


def test_time_passes_in_a_fork_as_outside() -> None:
    story = Story(1)
    story.submit(not_before=story.now.wall + 0.1)
    story.engine.handle(TimePassed(), story.now)
    outcome = Simulation(fork(story.engine.state), story.now).run()
    assert spans(outcome)[0][1][0][0] == pytest.approx(0.1, abs=1e-5)


def test_many_thousand_tasks_are_simulated_in_seconds() -> None:
    arrivals = [arrive(at_s=n / 10, run_s=1.0, priority=n % 4) for n in range(5_000)]
    before = time.process_time()
    outcome = run(*arrivals, workers=8)
    assert outcome.count_by_status() == {Status.SUCCEEDED: 5_000}
    assert time.process_time() - before < 5.0
