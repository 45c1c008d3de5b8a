"""Simulated histories full of faults: every promise holds, every planted fault is found, every failure plays again.

`python -m tests.simulation` plays as many as asked for.
"""

from __future__ import annotations

import time
from functools import partial

import pytest

from cronoq_cli.daemon.pace import Choice
from cronoq_cli.engine.messages import Newcomer, RunnerGone, RunnersCompared, Start, Submitted
from cronoq_cli.engine.pools import Leases
from tests.engine.story import Story, spec
from tests.simulation.histories import STEPS as STEPS_BY_NAME
from tests.simulation.histories import Step, draw_history, find_fault, play, search, shrink, silence
from tests.simulation.loop import running
from tests.simulation.planted import PLANTED
from tests.simulation.world import World

BUDGET_S = 2.0
"""What the tests spend on new histories of each kind of commits and leases; how many depends on the machine."""
STEPS = 250


@pytest.mark.parametrize("leases", ["auto", "never", "always"])
@pytest.mark.parametrize("commit", ["loop", "thread"])
def test_histories_full_of_faults_keep_every_promise(commit: Choice, leases: Leases) -> None:
    deadline = time.monotonic() + BUDGET_S
    made = partial(World, commit=commit, leases=leases)
    played, failure = search(range(100_000), STEPS, made, until=lambda: time.monotonic() > deadline)
    assert failure is None, failure.tell()
    assert played >= 2


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_within_a_thousand_histories(fault: str) -> None:
    played, failure = search(range(1000), STEPS, PLANTED[fault])
    assert failure is not None, f"not found in {played} histories"
    assert len(failure.history) <= 40, failure.tell()
    again = find_fault(failure.history, PLANTED[fault])
    assert again == failure.error, "the same history breaks the same promise again"
    assert find_fault(failure.history) is None, "without the fault it breaks none"


def test_a_seed_is_the_same_history_and_the_same_world_each_time() -> None:
    assert draw_history(7, 300) == draw_history(7, 300)
    worlds = [play(draw_history(7, 300)) for _ in range(2)]
    assert worlds[0].base.tasks == worlds[1].base.tasks
    assert worlds[0].base.events == worlds[1].base.events
    assert len(worlds[0].base.tasks) > 10


def test_histories_reach_what_they_are_for() -> None:
    """A simulation in which nothing happens would keep every promise too."""
    worlds = [play(draw_history(seed, STEPS)) for seed in range(8)]
    outcomes = {attempt.outcome for world in worlds for attempt in world.base.attempts.values()}
    assert outcomes >= {"succeeded", "failed", "lost", "cancelled"}
    assert {task.status for world in worlds for task in world.base.tasks.values()} >= {
        "succeeded",
        "cancelled",
        "skipped",
    }
    assert any(attempt.number > 1 for world in worlds for attempt in world.base.attempts.values())


def test_histories_have_runners_of_two_versions_at_work_and_journals_taken_over_beside_them() -> None:
    seen: set[str] = set()
    for seed in range(0, 180, 3):
        world = World()
        with running(world.loop), silence():
            for word, number in draw_history(seed, 500):
                STEPS_BY_NAME[word][1](world, number)
                living = list(world.runners.values())
                seen |= {"two at work"} if sum(bool(one.running) for one in living) > 1 else set()
                seen |= {"taking over"} if len(living) > 1 and any(one.taken for one in living) else set()
        if len(seen) == 2:
            return
    pytest.fail(f"of both there was only {seen}")


def test_shrinking_leaves_only_what_is_needed() -> None:
    history: list[Step] = draw_history(3, 200)
    small = shrink(history, PLANTED["acknowledge before commit"])
    for place in range(len(small)):
        assert find_fault(small[:place] + small[place + 1 :], PLANTED["acknowledge before commit"]) is None


# -- what the simulation has found -------------------------------------------------------------------------------------

FOUND: dict[str, list[Step]] = {
    "a start that waits for its commit was taken for one that got lost, and ordered twice": [
        ("submit", 507975919),
        ("orders arrive", 158528995),
        ("reports arrive", 726092540),
        ("connection cut", 828263898),
        ("reports arrive", 298382051),
        ("orders arrive", 934801251),
        ("reports arrive", 1902309),
    ],
    "what waited in an old runner started beside what a new one had started, beyond the pool's size": [
        ("submit", 1054758512),
        ("submit", 548531840),
        ("turn", 80755162),
        ("cancel", 417679557),
        ("submit", 501916820),
        ("submit", 1037713354),
        ("orders arrive", 176061367),
        ("submit", 525810405),
        ("submit", 920519101),
        ("cancel", 1057979872),
        ("submit", 614219641),
        ("submit", 58996285),
        ("reports arrive", 936206398),
        ("turn", 933209116),
        ("rival", 253838606),
        ("orders arrive", 1064100032),
        ("schedule", 1053742333),
        ("turn", 33997539),
        ("submit", 1028673968),
        ("process ends", 419660659),
        ("orders arrive", 737954032),
        ("turn", 473178809),
        ("reports arrive", 582096013),
        ("submit", 157573055),
        ("submit", 114088717),
        ("reports arrive", 469411057),
        ("turn", 183284036),
        ("orders arrive", 1010080225),
        ("program upgraded", 48314393),
        ("submit", 363407128),
        ("time passes", 982828831),
    ],
    "one of two connections broke, and an old word of the other was taken for all it knew": [
        ("submit", 157177291),
        ("program upgraded", 305276868),
        ("orders arrive", 669709628),
        ("submit", 627277076),
        ("reports arrive", 793849309),
        ("reports arrive", 586507000),
        ("orders arrive", 837367395),
        ("reports arrive", 402019390),
        ("orders arrive", 76455271),
        ("reports arrive", 654925325),
        ("connection cut", 355147184),
        ("turn", 964921557),
        ("reports arrive", 551317420),
        ("orders arrive", 570494446),
        ("reports arrive", 441810442),
    ],
    "a dead runner's journal was never taken over when the order to do so got lost": [
        ("commit fails", 241747021),
        ("submit", 393327820),
        ("daemon dies soon", 113566459),
        ("runner killed", 13873167),
        ("turn", 251256447),
        ("submit", 183392711),
        ("orders arrive", 773932090),
        ("reports arrive", 115413063),
        ("connection cut", 321677481),
    ],
    "a second word that a journal was found had the runners compared by what they knew before": [
        ("submit", 769436505),
        ("turn", 535687094),
        ("submit", 17349306),
        ("orders arrive", 1062985230),
        ("submit", 874763883),
        ("reports arrive", 106839990),
        ("turn", 857716742),
        ("orders arrive", 739595095),
        ("process ends", 775107227),
        ("process ends", 411769481),
        ("runner killed", 32071162),
        ("daemon killed", 472055568),
        ("submit", 979021070),
        ("orders arrive", 607963129),
        ("reports arrive", 1048543406),
        ("orders arrive", 266074308),
        ("daemon killed", 909789424),
        ("start daemon", 54847921),
        ("orders arrive", 286423633),
        ("process ends", 533071527),
        ("reports arrive", 468398968),
        ("orders arrive", 491388546),
        ("reports arrive", 91704318),
        ("turn", 503326210),
        ("reports arrive", 517789374),
        ("turn", 883683427),
        ("reports arrive", 184306940),
    ],
    "a start committed between the hello and the end of a takeover was ordered twice": [
        ("submit", 133646463),
        ("commit fails", 1024251756),
        ("orders arrive", 214943806),
        ("reports arrive", 1047476103),
        ("runner killed", 979513609),
        ("reports arrive", 866136605),
        ("orders arrive", 180900296),
        ("turn", 202062716),
        ("reports arrive", 691562552),
        ("time passes", 859035358),
        ("turn", 377280022),
        ("orders arrive", 839120005),
        ("reports arrive", 909751527),
    ],
    "a lease reached the next runner while what the dead one had left still held the slots": [
        ("submit", 450113297),
        ("submit", 748335570),
        ("turn", 762545913),
        ("submit", 96277084),
        ("submit", 666626245),
        ("orders arrive", 258859794),
        ("reports arrive", 145460842),
        ("turn", 278506188),
        ("orders arrive", 249271746),
        ("rival", 793350668),
        ("reports arrive", 771508236),
        ("turn", 947812088),
        ("process ends", 582860555),
        ("submit", 11187467),
        ("submit", 51503565),
        ("process ends", 439876009),
        ("reports arrive", 935499094),
        ("orders arrive", 826518762),
        ("submit", 168959290),
        ("reports arrive", 879400468),
        ("turn", 550959577),
        ("submit", 729678359),
        ("orders arrive", 717729427),
        ("process ends", 640503453),
        ("reports arrive", 1041354344),
        ("submit", 702952180),
        ("time passes", 41328663),
        ("reports arrive", 72075946),
        ("turn", 587609706),
        ("orders arrive", 1051843091),
        ("runner killed", 381510443),
        ("submit", 152573664),
        ("reports arrive", 674830500),
        ("orders arrive", 185530343),
        ("reports arrive", 1052994887),
    ],
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_is_mended(what: str) -> None:
    play(FOUND[what], World)


def test_a_start_that_waits_for_its_commit_is_not_ordered_again_when_runners_are_compared() -> None:
    story = Story()
    story.crash(compare=False)
    story.engine.handle(Submitted([Newcomer(spec())]), story.now)
    for event in (RunnersCompared(set()), RunnerGone(), RunnersCompared(set())):
        assert not story.engine.handle(event, story.now)
    story.commit()
    assert [order.attempt for order in story.take_orders() if isinstance(order, Start)] == [1]
