"""An engine that keeps alike tasks as runs does all that one does which has an object for each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronoq_cli.engine.fork import fork
from cronoq_cli.engine.messages import (
    Cancelled,
    Edited,
    Held,
    LeasesRevoked,
    LeasesSettled,
    Moved,
    Newcomer,
    PoolPaused,
    PoolReplanned,
    PoolResized,
    PoolResumed,
    Released,
    ResourceChanged,
    Start,
    WantedEdge,
)
from cronoq_cli.engine.pools import PoolPlan
from cronoq_cli.engine.resources import Semaphore
from cronoq_cli.engine.runs import NEVER
from cronoq_cli.engine.state import State
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.lifecycle import WAITING, Status
from cronoq_cli.model.task import Condition, Priority, TaskSpec
from tests.engine.story import Story, take_snapshot

SPECS: list[dict[str, Any]] = [
    *[{}] * 6,
    {"kind": "other"},
    {"priority": Priority.HIGH},
    {"priority": Priority.LOW},
    {"pool": "narrow"},
    {"uses": {"gpu": 1}},
    {"slots": 2},
    {"retries": 1},
    {"pool": "sheds", "priority": Priority.LOW},
    {"pool": "sheds"},
    {"hold": True},
    {"key": "k", "if_exists": "replace"},
    {"deadline": 1_000_100.0},
]
EVENTS = (
    *("submit", "submit", "array", "array", "mixture", "end", "end", "end", "fail", "cancel", "hold", "release"),
    *(
        "first",
        "before",
        "last",
        "priority",
        "depend",
        "size",
        "pause",
        "resume",
        "permits",
        "bound",
        "recall",
        "crash",
    ),
    *("wait", "batch"),
)
STEPS = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 10_000)), min_size=5, max_size=40)


def configure(state: State) -> None:
    state.resources.configure("gpu", Semaphore(2))


def make_story(runs: tuple[int, int], *, leases: bool) -> Story:
    plan = PoolPlan(2, max_pending=12, overflow="shed-lowest")
    return Story(3, leases=leases, setup=configure, runs=runs, narrow=1, sheds=plan)


class Pair:
    """The same done to both."""

    def __init__(self, window: int, *, leases: bool) -> None:
        self.stories = [make_story((window, 2), leases=leases), make_story((NEVER, NEVER), leases=leases)]
        self.running: list[int] = []

    def do(self, what: str, number: int) -> None:
        results = [self._do(story, what, number) for story in self.stories]
        assert results[0] == results[1]
        self._compare()

    def _do(self, story: Story, what: str, number: int) -> Any:
        try:
            return _STEPS[what](self, story, number)
        except CronoqError as error:
            return type(error), error.message

    def choose(self, story: Story, number: int) -> int:
        """A task that waits, or has waited."""
        waiting = sorted(task.id for task in story.shelf.tasks.values() if task.status in WAITING)
        return waiting[number % len(waiting)] if waiting else 1

    def end(self, story: Story, number: int, code: int) -> Any:
        return self.running and story.end(self.running[number % len(self.running)], code)

    def _compare(self) -> None:
        one, other = self.stories
        assert one.shelf.tasks == other.shelf.tasks
        assert one.shelf.history == other.shelf.history
        assert one.shelf.batch_rows == other.shelf.batch_rows
        assert one.shelf.attempts == other.shelf.attempts
        orders = one.take_orders()
        assert orders == other.take_orders()
        given = {order.task for order in orders if isinstance(order, Start)}
        live = one.shelf.tasks
        self.running = sorted(
            task_id
            for task_id in {*self.running, *given}
            if live[task_id].status is Status.RUNNING or live[task_id].leased or live[task_id].leaving
        )
        assert len(one.engine.state.tasks) == len(other.engine.state.tasks)
        assert one.engine.list_ids() == other.engine.list_ids()
        for name, pool in one.engine.state.pools.items():
            twin = other.engine.state.pools[name]
            assert one.queue(name) == other.queue(name)
            assert (pool.counts, pool.ready, pool.wanting, pool.arrivals, pool.totals) == (
                *(twin.counts, twin.ready, twin.wanting, twin.arrivals),
                twin.totals,
            )
            assert len(pool.victims) == len(twin.victims)
        assert {first: (batch.running, batch.kept) for first, batch in one.engine.state.batches.items()} == {
            first: (batch.running, batch.kept) for first, batch in other.engine.state.batches.items()
        }

    def compare_deeply(self) -> None:
        """All that the engines hold, and engines beside them; looking at all of it makes objects of all tasks."""
        one, other = self.stories
        assert take_snapshot(fork(one.engine.state)) == take_snapshot(fork(other.engine.state))
        assert take_snapshot(one.engine) == take_snapshot(other.engine)


def _spec(number: int) -> dict[str, Any]:
    return SPECS[number % len(SPECS)]


def _array(pair: Pair, story: Story, number: int) -> Any:
    fields = _spec(number)
    if "key" in fields:
        return None
    return story.array(2 + number % 7, limit=(None, 1, 2)[number % 3], max_fails=(None, 1)[number % 2], **fields)


def _mixture(pair: Pair, story: Story, number: int) -> Any:
    some = [SPECS[(number + n * (number % 3)) % 12] for n in range(2 + number % 5)]
    return story.accept(*(Newcomer(TaskSpec(**{"name": "job", "command": ["true"], **one})) for one in some)).ids


def _depend(pair: Pair, story: Story, number: int) -> Any:
    return story.submit(after=[WantedEdge(Condition.ANY, target=pair.choose(story, number))])


def _edit(pair: Pair, story: Story, number: int) -> Any:
    task_id = pair.choose(story, number)
    record = story.shelf.tasks.get(task_id)
    if record is None:
        return None
    fields = {name: getattr(record.spec, name) for name in record.spec.__struct_fields__}
    return story.handle(Edited(task_id, TaskSpec(**{**fields, "priority": Priority(number % 4)})))


def _bound(pair: Pair, story: Story, number: int) -> Any:
    plan = PoolPlan(2 + number % 2, max_pending=6 + number % 9, overflow=("shed-lowest", "wait")[number % 2])
    return story.handle(PoolReplanned("sheds", plan))


def _recall(pair: Pair, story: Story, number: int) -> Any:
    leased = story.handle(LeasesRevoked())
    for task_id in leased:
        story.give_back(task_id)
    story.handle(LeasesSettled([]))
    return leased


def _moved(story: Story, ids: list[int], **where: Any) -> Any:
    return story.handle(Moved(ids, **where))


def _pair_of(pair: Pair, story: Story, number: int) -> list[int]:
    return [pair.choose(story, number), pair.choose(story, number // 3)]


_STEPS: dict[str, Any] = {
    "submit": lambda pair, story, number: story.submit(**_spec(number)),
    "array": _array,
    "mixture": _mixture,
    "end": lambda pair, story, number: pair.end(story, number, 0),
    "fail": lambda pair, story, number: pair.end(story, number, 1),
    "cancel": lambda pair, story, number: story.handle(Cancelled(_pair_of(pair, story, number))),
    "hold": lambda pair, story, number: story.handle(Held(_pair_of(pair, story, number))),
    "release": lambda pair, story, number: story.handle(Released(_pair_of(pair, story, number))),
    "first": lambda pair, story, number: _moved(story, _pair_of(pair, story, number), first=True),
    "last": lambda pair, story, number: _moved(story, _pair_of(pair, story, number)),
    "before": lambda pair, story, number: _moved(
        story, [pair.choose(story, number)], before=pair.choose(story, number // 2)
    ),
    "priority": _edit,
    "depend": _depend,
    "size": lambda pair, story, number: story.handle(PoolResized("default", number % 4)),
    "pause": lambda pair, story, number: story.handle(PoolPaused("default")),
    "resume": lambda pair, story, number: story.handle(PoolResumed("default")),
    "permits": lambda pair, story, number: story.handle(ResourceChanged("gpu", permits=number % 3)),
    "bound": _bound,
    "recall": _recall,
    "crash": lambda pair, story, number: story.crash(),
    "wait": lambda pair, story, number: story.pass_time(float(number % 90)),
    "batch": lambda pair, story, number: story.handle(Cancelled(story.engine.list_ids({Status.READY})[number % 3 :])),
}


@pytest.mark.parametrize("window", [0, 1, 2, 64])
@settings(max_examples=60, deadline=None)
@given(steps=STEPS, leases=st.booleans())
def test_runs_change_nothing_of_what_happens(window: int, steps: list[tuple[str, int]], leases: bool):
    pair = Pair(window, leases=leases)
    for what, number in steps:
        pair.do(what, number)
    pair.compare_deeply()
