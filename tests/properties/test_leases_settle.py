"""Leases over random queues: every disturbance is over after one round, and what is out is what would start next."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import (
    Action,
    Cancelled,
    Held,
    LeasesRevoked,
    LeasesSettled,
    Moved,
    PoolPaused,
    PoolResumed,
    Released,
    Revoke,
    Start,
)
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Priority
from tests.engine.story import Story

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["submit", "submit", "submit", "recall", "hold", "release", "front", "wait", "pause", "cancel"]
        ),
        st.integers(0, 10_000),
    ),
    min_size=5,
    max_size=40,
)


class Runner:
    """One that starts nothing and gives back what it is asked for, in an order of its own."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.gives: list[int] = []
        self.recalls: list[int] = []

    def settle(self, number: int) -> None:
        """Obey until nothing is said any more; what was given and asked back meanwhile is counted."""
        self.gives, self.recalls = [], []
        back: list[int] = []
        while self._take_in(back):
            self.story.give_back(back.pop(number % len(back)))

    def _take_in(self, back: list[int]) -> list[int]:
        for order in self.story.take_orders():
            self._obey(order)
            if not isinstance(order, Start):
                back.append(order.task)
        assert len(self.gives) + len(self.recalls) < 1000, "orders are given and recalled without end"
        return back

    def _obey(self, order: Action) -> None:
        if isinstance(order, Start):
            self.gives.append(order.task)
        elif isinstance(order, Revoke):
            self.recalls.append(order.task)


def make_story() -> Story:
    """One slot that is taken, and a kind of which five may be given ahead."""
    story = Story(1, leases=True)
    for _ in range(4):
        task = story.submit("short")
        story.begin(task)
        story.end(task, run_s=0.05)
    story.begin(story.submit("short"))
    story.take_orders()
    return story


def disturb(story: Story, what: str, number: int) -> None:
    """One thing that a person, or time, does."""
    tasks = [task for task in story.engine.state.tasks.values() if task.status is not Status.RUNNING]
    one = [tasks[number % len(tasks)].id] if tasks else []
    match what:
        case "submit":
            priority = Priority(number % 4) if number % 3 == 0 else Priority(number % 2)
            story.submit("long" if number % 11 == 0 else "short", priority=priority, hold=number % 5 == 0)
        case "wait":
            story.pass_time((5, 50, 200, 500)[number % 4])
        case "pause":
            story.handle(PoolPaused("default") if number % 3 == 0 else PoolResumed("default"))
        case "recall":
            story.handle(LeasesRevoked(pool="default") if number % 4 == 0 else LeasesRevoked(one))
            story.handle(LeasesSettled(one))
        case "hold":
            story.handle(Held(one))
        case "release":
            story.handle(Released([task.id for task in tasks][number % 3 :: 2]))
        case "front":
            story.handle(Moved([task.id for task in tasks if not task.leased][:1], first=True))
        case "cancel":
            story.handle(Cancelled(one))


def list_starts(story: Story) -> list[LiveTask]:
    """The ready tasks in the order of their starts: again and again the best head of a class."""
    state, wall = story.engine.state, story.now.wall
    ready = sorted((task for task in state.tasks.values() if task.status is Status.READY), key=lambda t: t.seq)
    lanes = [[task for task in ready if task.priority == priority] for priority in range(4)]
    order = []
    while any(lanes):
        best = max((lane for lane in lanes if lane), key=lambda lane: state.place(lane[0], wall))
        order.append(best.pop(0))
    return order


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_leases_come_to_rest_after_one_round_and_are_the_first_in_the_order(steps: list[tuple[str, int]]) -> None:
    story = make_story()
    runner = Runner(story)
    for what, number in steps:
        disturb(story, what, number)
        runner.settle(number)
        for told in (runner.gives, runner.recalls):
            assert len(told) == len(set(told)), f"more than one round after {what}: {told}"
        if what == "submit" and number % 5:  # time alone recalls nothing: it is a newcomer that is judged
            order = [task.id for task in list_starts(story)]
            out = story.engine.state.pools["default"].leased
            assert set(order[: len(out)]) == set(out)
