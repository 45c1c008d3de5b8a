"""Who makes room when it is full."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine.overload import OVERFLOWS, SLACK, Victims
from cronoq_cli.model.task import Priority

STEPS = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(list(Priority)), st.booleans()), max_size=200)


def crowd(*tasks: tuple[int, Priority]) -> Victims:
    victims = Victims()
    for task_id, priority in tasks:
        victims.add(task_id, priority)
    return victims


def test_the_newest_of_the_lowest_class_below_goes_first() -> None:
    victims = crowd(
        (1, Priority.NORMAL), (2, Priority.LOW), (3, Priority.LOW), (4, Priority.NORMAL), (5, Priority.HIGH)
    )
    assert victims.newest_below(Priority.CRITICAL) == 3
    victims.discard(3, Priority.LOW)
    victims.discard(2, Priority.LOW)
    assert victims.newest_below(Priority.HIGH) == 4
    assert victims.newest_below(Priority.NORMAL) is None
    assert victims.newest_below(Priority.LOW) is None


def test_the_oldest_low_task_goes_first_whatever_the_newcomer_is() -> None:
    victims = crowd((1, Priority.NORMAL), (3, Priority.LOW), (2, Priority.LOW))
    assert victims.oldest_low() == 2
    victims.discard(2, Priority.LOW)
    assert victims.oldest_low() == 3
    victims.discard(3, Priority.LOW)
    assert victims.oldest_low() is None


def test_a_policy_names_its_victim() -> None:
    victims = crowd((1, Priority.LOW), (2, Priority.LOW), (3, Priority.NORMAL))
    chosen = {name: choose(victims, Priority.HIGH) for name, choose in OVERFLOWS.items()}
    assert chosen == {"wait": None, "reject": None, "shed-lowest": 2, "shed-oldest": 1}


def test_a_task_that_comes_back_counts_once() -> None:
    victims = crowd((1, Priority.LOW), (1, Priority.LOW))
    assert len(victims) == 1
    victims.discard(1, Priority.LOW)
    victims.discard(1, Priority.LOW)
    victims.add(1, Priority.LOW)
    assert victims.oldest_low() == victims.newest_below(Priority.NORMAL) == 1
    victims.discard(1, Priority.LOW)
    assert victims.oldest_low() is victims.newest_below(Priority.NORMAL) is None


def test_tasks_that_came_and_went_leave_no_memory_behind() -> None:
    victims = crowd((1, Priority.LOW))
    for task_id in range(2, 10_000):
        victims.add(task_id, Priority.LOW)
        victims.discard(task_id, Priority.LOW)
    assert victims.oldest_low() == 1
    assert len(victims._newest[Priority.LOW]._heap) <= SLACK + 5


@given(STEPS)
def test_the_index_agrees_with_a_plain_search(steps: list[tuple[int, Priority, bool]]) -> None:
    victims, waiting = Victims(), dict[int, Priority]()
    for task_id, priority, comes in steps:
        if task_id in waiting:
            victims.discard(task_id, waiting.pop(task_id))
        if comes:
            victims.add(task_id, priority)
            waiting[task_id] = priority
        for newcomer in Priority:
            below = [(-other, task_id) for task_id, other in waiting.items() if other < newcomer]
            assert victims.newest_below(newcomer) == (max(below)[1] if below else None)
        assert victims.oldest_low() == min((t for t, p in waiting.items() if p == Priority.LOW), default=None)
        assert len(victims) == len(waiting)
