"""The index each running start has in its lane (CRONOQ_SLOT)."""

from __future__ import annotations

from cronoq_cli.runner.attempt import Attempt
from cronoq_cli.runner.lanes import Lanes


def _attempt(number: int, width: int = 1) -> Attempt:
    return Attempt({"token": f"s:{number}:1", "lane": "default", "width": width, "argv": ["true"], "cwd": "/"}, None)


def test_running_starts_have_the_smallest_free_indexes() -> None:
    lanes = Lanes()
    lanes.set_capacities({"default": 3})
    for number in range(5):
        lanes.add(_attempt(number))
    first, second, third = lanes.take(16)
    assert [first.slot, second.slot, third.slot] == [0, 1, 2]
    lanes.free(second)
    (fourth,) = lanes.take(16)
    assert fourth.slot == 1


def test_a_wide_start_has_one_index() -> None:
    lanes = Lanes()
    lanes.set_capacities({"default": 4})
    lanes.add(_attempt(1, width=3))
    lanes.add(_attempt(2))
    assert [attempt.slot for attempt in lanes.take(16)] == [0, 1]
