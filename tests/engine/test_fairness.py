"""Shares by weight, of tenants and of pools."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from cronoq_cli.engine.fairness import Shares


def share_out(
    shares: Shares, names: list[str], slots: int, *, seed: int, starts: int, strictly: bool = False
) -> Counter[str]:
    """The slot seconds each got of a full house: all of them always have more to do, run times vary."""
    choose: Callable[[Iterable[str]], str] = shares.choose_strictly if strictly else shares.choose
    draw, now, got = random.Random(seed), 0.0, Counter[str]()
    running: list[tuple[float, str]] = []
    for _ in range(starts):
        if len(running) == slots:
            now, ended = running.pop(running.index(min(running)))
            shares.give_back(ended, 1)
        name = choose(names)
        length_s = draw.uniform(0.5, 1.5)
        shares.take(name, 1)
        running.append((now + length_s, name))
        got[name] += length_s
    return got


@pytest.mark.parametrize("slots", [10, 20, 50])
@pytest.mark.parametrize("seed", range(3))
def test_pools_of_weight_6_3_and_1_get_60_30_and_10_percent(slots: int, seed: int) -> None:
    shares = Shares({"critical": 6, "default": 3, "low": 1})
    got = share_out(shares, ["critical", "default", "low"], slots, seed=seed, starts=6000)
    for name, part in {"critical": 0.6, "default": 0.3, "low": 0.1}.items():
        assert got[name] / got.total() == pytest.approx(part, abs=0.01)


@pytest.mark.parametrize("slots", [3, 6, 12, 99])
@pytest.mark.parametrize("seed", range(3))
def test_tenants_of_weight_2_and_1_get_slots_two_to_one(slots: int, seed: int) -> None:
    got = share_out(Shares({"alice": 2}), ["alice", "bob"], slots, seed=seed, starts=6000)
    assert got["alice"] / got["bob"] == pytest.approx(2, rel=0.02)


def test_tenants_of_equal_weight_take_turns_in_a_pool_of_one() -> None:
    shares, order = Shares(), []
    for _ in range(6):
        name = shares.choose(["alice", "", "bob"])
        shares.take(name, 1)
        order.append(name)
        shares.give_back(name, 1)
    assert order == ["alice", "", "bob"] * 2


def test_the_fewest_running_slots_per_weight_go_first() -> None:
    shares = Shares({"alice": 3})
    shares.take("bob", 1)
    shares.take("alice", 2)
    assert (shares.load("alice"), shares.load("bob")) == (pytest.approx(2 / 3), 1)
    assert shares.choose(["bob", "alice"]) == "alice"
    shares.take("alice", 1)
    assert shares.choose(["alice", "bob"]) == "bob"  # equal now, and bob was served longer ago
    assert shares.choose(["alice"]) == "alice"
    shares.give_back("alice", 3)
    assert (shares.running("alice"), shares.running("bob")) == (0, 1)
    assert shares.choose(["bob", "alice"]) == "alice"


def test_changed_weights_count_from_the_next_choice() -> None:
    shares = Shares()
    shares.take("alice", 2)
    shares.take("bob", 1)
    assert shares.choose(["alice", "bob"]) == "bob"
    shares.set_weights({"alice": 4})
    assert shares.choose(["alice", "bob"]) == "alice"
    assert shares.weight("bob") == 1


def test_strictly_the_highest_weight_takes_all_it_can_use() -> None:
    shares = Shares({"critical": 6, "default": 3, "other": 3, "low": 1})
    names = ["low", "default", "other", "critical"]
    assert set(share_out(shares, names, 4, seed=0, starts=100, strictly=True)) == {"critical"}
    assert shares.choose_strictly(["low", "default", "other"]) == "default"
    shares.take("default", 1)
    assert shares.choose_strictly(["low", "default", "other"]) == "other"
    assert shares.choose_strictly(["low"]) == "low"


def test_there_is_no_turn_of_nobody() -> None:
    with pytest.raises(ValueError):
        Shares().choose([])
