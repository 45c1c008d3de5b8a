"""Why a task waits, what its score is made of, when it starts, and what ended it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cronoq_cli.engine import explain as explaining
from cronoq_cli.engine.autoscale import MachineLimits, MachineSeen
from cronoq_cli.engine.blockers import tell_briefly
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.endings import explain_ended
from cronoq_cli.engine.explain import describe_explanation, explain
from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.messages import (
    Cancelled,
    DrainBegan,
    MachineLooked,
    PoolPaused,
    PoolResized,
    ResourceChanged,
    RunnerGone,
    WantedEdge,
)
from cronoq_cli.engine.pools import GroupPlan, PoolPlan
from cronoq_cli.engine.resources import Bucket, Semaphore
from cronoq_cli.engine.sharing import TotalWorkers
from cronoq_cli.engine.simulate import Simulation
from cronoq_cli.engine.simulated import PlannedRun
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import AttemptRecord, Batch, Condition, Edge, Priority, TaskRecord
from tests.engine.story import Story, policy_of, spec, take_snapshot


def tell(story: Story, task_id: int) -> dict[str, Any]:
    """The explanation of a task now."""
    return explain(story.engine.state, story.task(task_id), story.now)


def reasons(story: Story, task_id: int) -> list[str]:
    """What blocks a task, in order."""
    return [blocker["what"] for blocker in tell(story, task_id)["blockers"]]


def detail(story: Story, task_id: int, what: str) -> str:
    """What is said of one blocker."""
    return next(str(one["detail"]) for one in tell(story, task_id)["blockers"] if one["what"] == what)


def plan_story(plan: PoolPlan) -> Story:
    """A story whose pool follows a plan."""
    story = Story(1)
    story.engine = Engine(policy_of, {"default": plan})
    story.engine.state.leases = "never"
    return story


# -- blockers ----------------------------------------------------------------------------------------------------


def test_a_running_task_has_no_blocker_and_no_score() -> None:
    story = Story(1)
    found = tell(story, story.submit())
    assert (found["status"], found["first"], found["blockers"], found["score"]) == ("running", None, [], None)
    assert (found["place"], found["estimated_start"]) == (None, None)


def test_a_task_without_a_free_slot_says_how_many_are_free_and_who_is_before_it() -> None:
    story = Story(2)
    for _ in range(4):
        story.submit()
    assert reasons(story, 3) == ["slots"]
    assert reasons(story, 4) == ["slots", "better-placed tasks"]
    assert detail(story, 3, "slots") == "needs 1, 0 of 2 free in pool default"
    assert detail(story, 4, "better-placed tasks") == "1 in pool default want the same and go first"
    assert (tell(story, 4)["place"], tell(story, 4)["ahead"]) == (2, 1)


def test_everything_that_holds_a_task_back_is_told_the_first_first() -> None:
    story = Story(1)
    story.submit()
    held = story.submit(after=[1], hold=True)
    story.handle(PoolPaused("default"))
    found = tell(story, held)
    assert reasons(story, held) == ["held", "dependency", "pool paused"]
    assert found["first"] == found["blockers"][0]
    assert found["estimated_start"] is None
    assert found["estimate_basis"].startswith("held")
    assert detail(story, held, "dependency") == "task 1 (running) has to succeed"


def test_a_key_that_is_awaited_is_a_dependency() -> None:
    story = Story(1)
    task = story.submit(after=[WantedEdge(Condition.SUCCESS, awaited="nightly")], await_deps_s=60.0)
    assert detail(story, task, "dependency").startswith("no task has the key nightly yet, waited for until 1970-")


def test_a_start_time_and_a_backoff_say_until_when() -> None:
    story = Story(2)
    later = story.submit(not_before=story.now.wall + 100)
    again = story.submit(retries=1)
    story.end(again, 1)
    assert reasons(story, later) == ["start time"]
    assert reasons(story, again) == ["backoff"]
    assert detail(story, again, "backoff").endswith("attempt 2 of 2")
    assert tell(story, later)["estimated_start"] == pytest.approx(story.now.wall + 100)
    assert tell(story, again)["estimated_start"] == pytest.approx(story.task(again).due_at)


def test_gathering_says_how_many_are_there() -> None:
    story = Story(1)
    story.engine.state.groups["mail"] = GroupTemplate(spec("send-all"), max_size=3)
    first, second = story.submit(group="mail"), story.submit(group="mail")
    assert reasons(story, first) == ["gathering"]
    assert detail(story, first, "gathering").startswith("group mail: 2 of 3 are there; it goes at ")
    story.submit(group="mail")
    assert reasons(story, second) == ["gathered"]


def test_a_draining_daemon_and_a_missing_runner_keep_everything_back() -> None:
    story = Story(1)
    story.submit()
    task = story.submit()
    story.handle(RunnerGone())
    story.handle(DrainBegan())
    assert reasons(story, task)[:2] == ["waiting for the runner", "draining"]


def test_the_machines_own_limit_is_named() -> None:
    story = plan_story(PoolPlan(1, limits=MachineLimits(max_load=1.5)))
    story.handle(MachineLooked(MachineSeen(load_per_cpu=3.0)))
    task = story.submit()
    assert tell(story, task)["first"] == {"what": "machine", "detail": "load 3.00 per CPU is above max_load 1.5"}


def test_a_leased_task_says_that_the_runner_has_it() -> None:
    story = Story(1, leases=True)
    for _ in range(3):
        story.submit("quick")
        story.end(story.started()[-1], run_s=0.05)
    for _ in range(3):
        last = story.submit("quick")
    assert reasons(story, last) == ["handed to the runner"]
    assert detail(story, last, "handed to the runner").endswith("1 given before it")


def test_an_array_at_its_limit_is_told() -> None:
    story = Story(4)
    ids = story.array(3, limit=1)
    assert reasons(story, ids[1])[0] == "array limit"
    assert detail(story, ids[1], "array limit") == "1 run of its array, at most 1 at once"


def test_a_resource_tells_have_need_and_holders() -> None:
    story = Story(4)
    story.engine.state.resources.configure("gpu", Semaphore(2))
    holder = story.submit(uses={"gpu": 1.0})
    task = story.submit(uses={"gpu": 2.0})
    assert reasons(story, task) == ["resource gpu"]
    assert detail(story, task, "resource gpu") == f"needs 2, has 1 of 2 free, held by {holder}"


def test_a_bucket_tells_when_there_is_enough() -> None:
    story = Story(4)
    story.engine.state.resources.configure("api", Bucket(0.5, 2.0, story.now.awake))
    story.submit(uses={"api": 2.0})
    task = story.submit(uses={"api": 1.0})
    assert detail(story, task, "resource api") == "needs 1, has 0, 0.5 a second come, enough in 2 s"
    assert tell(story, task)["estimated_start"] == pytest.approx(story.now.wall + 2)


def test_what_can_never_fit_says_what_is_there() -> None:
    story = Story(4)
    story.engine.state.resources.configure("gpu", Semaphore(3))
    story.submit(slots=4)
    wide = story.submit(slots=4, uses={"gpu": 3.0})
    story.handle(PoolResized("default", 2))
    story.handle(ResourceChanged("gpu", permits=1))
    assert reasons(story, wide) == ["cannot fit", "cannot fit"]
    assert [one["detail"] for one in tell(story, wide)["blockers"]] == [
        "needs 4 slots, pool default has 2",
        "needs 3 of gpu, there are 1 in all",
    ]
    assert tell(story, wide)["estimated_start"] is None


def test_labelled_workers_are_counted_apart() -> None:
    story = plan_story(PoolPlan(4, groups=(GroupPlan({"gpu": "yes"}, 1),)))
    story.submit(labels={"gpu": "yes"})
    task = story.submit(labels={"gpu": "yes"})
    story.submit()
    assert detail(story, task, "slots") == "needs 1, 0 of 1 with gpu=yes free in pool default"
    assert reasons(story, task) == ["slots"], "tasks that want no label are no rivals"


def test_workers_shared_by_all_pools_can_be_lacking() -> None:
    story = Story(4, other=4)
    story.engine.state.total = TotalWorkers(1)
    story.submit()
    task = story.submit(pool="other")
    assert detail(story, task, "shared workers") == "needs 1, 0 of 1 of all pools free"


def test_a_worker_held_for_a_fixed_start_names_it() -> None:
    story = Story(1)
    fixed = story.submit(start_at=story.now.wall + 30, estimate_s=10.0)
    task = story.submit(estimate_s=60.0)
    assert reasons(story, task) == ["fixed start"]
    assert f"kept for task {fixed}" in detail(story, task, "fixed start")
    assert tell(story, task)["estimated_start"] == pytest.approx(story.now.wall + 40)
    assert tell(story, fixed)["first"]["what"] == "fixed start"


# -- the score -----------------------------------------------------------------------------------------------------


def test_the_score_adds_up_term_by_term() -> None:
    story = Story(1)
    story.submit()
    task = story.submit("late", deadline=story.now.wall + 70, estimate_s=60.0)
    story.pass_time(8)
    score = tell(story, task)["score"]
    assert (score["base"], score["wait_s"], score["rate"], score["wait_points"]) == (100, 8, 2, 16)
    assert (score["slack_s"], score["expected_s"], score["basis"]) == (2, 60, "estimate")
    assert score["urgency"] == pytest.approx(5000 * 58 / 60)
    assert score["total"] == score["base"] + score["wait_points"] + score["urgency"]
    assert score["total"] == story.engine.state.score(story.task(task), story.now.wall)


@pytest.mark.parametrize(
    ("runs", "basis", "expected_s"),
    [(0, "default", 60.0), (1, "mean of 1 run", 3.0), (2, "mean of 2 runs", 3.0), (3, "learned median of 3 runs", 3.0)],
)
def test_the_basis_of_the_expected_run_time_is_told(runs: int, basis: str, expected_s: float) -> None:
    story = Story(1)
    for _ in range(runs):
        story.end(story.submit(), run_s=3.0)
    story.submit()
    score = tell(story, story.submit())["score"]
    assert (score["basis"], score["expected_s"]) == (basis, expected_s)


# -- the estimate --------------------------------------------------------------------------------------------------


def mixed_queue(count: int, seed: int) -> tuple[Story, dict[int, float]]:
    """A busy queue with known run times: classes, wide tasks, resources, dependencies; and how long each runs."""
    draw = random.Random(seed)
    story = Story(4)
    story.engine.state.resources.configure("gpu", Semaphore(2))
    real: dict[int, float] = {}
    for _ in range(count):
        estimate_s = draw.uniform(5, 50)
        task = story.submit(
            priority=draw.choice([0, 1, 1, 2]),
            slots=draw.choice([1, 1, 1, 2]),
            uses={"gpu": 1.0} if draw.random() < 0.2 else {},
            after=[draw.choice(list(real))] if real and draw.random() < 0.1 else [],
            estimate_s=estimate_s,
        )
        real[task] = estimate_s * draw.uniform(0.95, 1.05)
    return story, real


@pytest.mark.parametrize("seed", range(5))
def test_an_estimate_is_within_a_tenth_of_what_then_happens(seed: int) -> None:
    story, real = mixed_queue(120, seed)
    waiting = [task.id for task in story.engine.state.tasks.values() if task.is_waiting]
    before = take_snapshot(story.engine)
    foretold = {task: tell(story, task)["estimated_start"] for task in waiting[::10]}
    assert take_snapshot(story.engine) == before
    runs = {task: PlannedRun(run_s) for task, run_s in real.items()}
    outcome = Simulation(story.engine, story.now, runs=runs).run()
    started = {row.id: row.started_at for row in outcome.tasks}
    for task, at in foretold.items():
        waited_s = (started[task] or 0.0) - story.now.wall
        # A start that changes its turn with another moves by a whole run: beside the tenth, that of one task.
        assert abs(at - story.now.wall - waited_s) <= max(0.1 * waited_s, 5.0), task


def test_an_estimate_by_work_alone_is_close_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "FORWARD_MOST", 10)
    story = Story(4)
    for number in range(200):
        last = story.submit(estimate_s=5.0 + number % 7)
    found = tell(story, last)
    assert found["ahead"] == 195
    assert found["estimate_basis"].startswith("195 tasks stand before it")
    outcome = Simulation(story.engine, story.now).run()
    started_at = next(row.started_at for row in outcome.tasks if row.id == last)
    assert started_at is not None
    assert found["estimated_start"] - story.now.wall == pytest.approx(started_at - story.now.wall, rel=0.1)


def test_a_line_before_the_others_of_a_long_queue_is_run_forward_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "FORWARD_MOST", 10)
    story = Story(1)
    ids = [story.submit(estimate_s=10.0) for _ in range(50)]
    found = tell(story, ids[5])
    assert found["estimated_start"] == pytest.approx(story.now.wall + 50)
    assert "in its pool" in found["estimate_basis"]


def test_a_very_long_line_is_counted_by_class_and_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(1)
    ids = [story.submit(priority=number % 2, estimate_s=1.0) for number in range(60)]
    exact = tell(story, ids[40])["ahead"]
    monkeypatch.setattr(explaining, "LINE_MOST", 10)
    assert tell(story, ids[40])["ahead"] == exact


def test_a_task_that_is_skipped_before_it_starts_has_no_estimate_of_a_start() -> None:
    story = Story(1)
    story.submit(estimate_s=5.0)
    task = story.submit(after=[WantedEdge(Condition.FAIL, target=1)])
    found = tell(story, task)
    assert found["estimated_start"] is None
    assert found["estimate_basis"] == "it ends without a start: 1 succeeded"


def test_the_document_has_text_for_moments() -> None:
    story = Story(1)
    story.submit(estimate_s=10.0)
    document = describe_explanation(tell(story, story.submit()))
    assert document["estimated_start"] == "1970-01-12T13:46:50Z"
    assert document["blockers"][0]["since"] is None
    assert document["decided_by"] is None


# -- what ended it -------------------------------------------------------------------------------------------------


def ended(status: Status, **fields: Any) -> TaskRecord:
    """A finished task."""
    times = {"submitted_at": 1.0, "updated_at": 9.0, "finished_at": 9.0}
    return TaskRecord(**{"id": 7, "spec": spec(), "status": status, "seq": 7.0, "attempt": 1, **times, **fields})


def attempt(number: int = 1, outcome: str = "failed", **fields: Any) -> AttemptRecord:
    """One of its attempts."""
    return AttemptRecord(task=7, number=number, outcome=outcome, **fields)


@pytest.mark.parametrize(
    ("record", "attempts", "said"),
    [
        (ended(Status.SUCCEEDED, exit_code=0), [attempt(outcome="succeeded")], "exit 0"),
        (ended(Status.SUCCEEDED, exit_code=0, attempt=3), [], "exit 0, at attempt 3"),
        (ended(Status.SUCCEEDED, exit_code=4), [], "exit 4 by --success-codes"),
        (ended(Status.FAILED, exit_code=3, reason="exit 3"), [attempt()], "exit 3, no retries"),
        (ended(Status.FAILED, signal=9, reason="signal 9"), [attempt()], "signal 9, no retries"),
        (
            ended(Status.DEAD_LETTERED, exit_code=3, reason="exit 3", attempt=4, max_attempts=4),
            [attempt(4)],
            "exit 3, all 4 attempts are used",
        ),
        (
            ended(Status.FAILED, exit_code=127, reason="exit 127", max_attempts=4),
            [attempt()],
            "exit 127, trying again would not help",
        ),
        (
            ended(Status.FAILED, reason="time limit reached"),
            [attempt(cause="time limit")],
            "its time limit was reached, no retries",
        ),
        (ended(Status.MISSED, reason="not started before it expired", attempt=0), [], "not started before it expired"),
        (ended(Status.SHED, attempt=0), [], "dropped while the queue was full"),
        (ended(Status.CANCELLED, reason="cancelled by the user"), [], "cancelled by the user"),
    ],
)
def test_what_decided_an_end_is_told(record: TaskRecord, attempts: list[AttemptRecord], said: str) -> None:
    assert explain_ended(record, attempts) == said


def test_a_skipped_task_names_the_dependency_and_its_end() -> None:
    story = Story(1)
    first = story.submit()
    second = story.submit(after=[first])
    story.end(first, 3)
    record = story.record(second)
    said = explain_ended(record, edges=[Edge(task=second, condition=Condition.SUCCESS, target=first)])
    assert said == "task 1 was to succeed, but it ended failed"


def test_the_rest_of_a_failed_batch_says_how_many_failed() -> None:
    record = ended(Status.CANCELLED, reason="its batch failed", attempt=0)
    said = explain_ended(record, batch=Batch(first=1, last=9, max_fails=2, failed=3))
    assert said == "its batch failed: 3 of its batch failed, at most 2 may"


def test_the_users_own_choice_of_codes_is_named() -> None:
    policy = policy_of(spec(no_retry_on=[3], retries=2))
    record = ended(Status.FAILED, exit_code=3, reason="exit 3", max_attempts=3)
    assert explain_ended(record, [attempt()], policy=policy) == "exit 3, not tried again: --no-retry-on"


def test_a_cancelled_running_task_is_no_longer_waiting() -> None:
    story = Story(1)
    task = story.submit(priority=int(Priority.LOW))
    story.begin(task)
    story.handle(Cancelled([task]))
    assert reasons(story, task) == []


def brief(story: Story, task: int) -> str | None:
    return tell_briefly(story.engine.state, story.task(task), story.now)


def test_a_listing_tells_the_first_blocker_in_a_few_words() -> None:
    story = Story(PoolPlan(2), setup=lambda state: state.resources.configure("gpu", Semaphore(1)))
    busy = [story.submit(uses={"gpu": 1}), story.submit()]
    wide, lacking, blocked = story.submit(slots=2), story.submit(uses={"gpu": 1}), story.submit(after=busy)
    fixed, held = story.submit(start_at=story.now.wall + 90), story.submit(hold=True, after=busy)
    assert [brief(story, task) for task in (wide, lacking, blocked, fixed, held)] == [
        "waits for 2 slots",
        "waits for gpu",
        f"after {busy[0]}, {busy[1]}",
        "scheduled",
        "held",
    ]
    story.handle(PoolPaused("default"))
    assert brief(story, lacking) == "pool default is paused"


def test_a_listing_tells_for_which_fixed_start_a_worker_is_kept() -> None:
    story = Story(1)
    fixed, waiting = story.submit(start_at=story.now.wall + 20), story.submit(estimate_s=60)
    assert brief(story, waiting) == f"a worker is kept for {fixed}"
