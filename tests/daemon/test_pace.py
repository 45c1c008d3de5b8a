"""Where commits are made: what sends them to the thread, and what brings them back."""

from __future__ import annotations

from cronoq_cli.daemon.pace import BESIDE, MOST_SLOW, REST_S, ROW_S, WINDOW, Pace

FAST, SLOW = 0.0003, 0.02


def make_slow(pace: Pace, now: float = 0.0) -> list[bool]:
    """As many slow commits as it takes; what each was said to mean."""
    return [pace.note(SLOW, 4, now) for _ in range(MOST_SLOW)]


def settle_beside(pace: Pace, took_s: float, now: float) -> None:
    """Commits in the thread that take so long."""
    for _ in range(BESIDE):
        assert pace.decide_beside(now)
        pace.note(took_s, 4, now)


def test_fast_commits_stay_in_the_loop_and_few_slow_ones_are_an_accident() -> None:
    pace = Pace()
    for turn in range(10 * WINDOW):
        assert not pace.decide_beside(turn)
        assert not pace.note(SLOW if turn % WINDOW < MOST_SLOW - 1 else FAST, 4, turn)


def test_several_slow_commits_send_them_to_the_thread_and_the_last_is_named() -> None:
    pace = Pace()
    assert make_slow(pace) == [False] * (MOST_SLOW - 1) + [True]
    assert pace.decide_beside(0.0)


def test_commits_that_are_hardly_slow_must_be_many() -> None:
    hardly, pace = 0.003, Pace()
    for turn in range(10 * WINDOW):
        assert not pace.note(hardly if turn % 3 == 0 else FAST, 4, turn), "one in three, 3 ms each"
    assert any(pace.note(hardly, 4, 0.0) for _ in range(WINDOW)), "each of them"


def test_a_long_commit_of_many_rows_is_not_a_slow_disk() -> None:
    pace = Pace()
    rows = 10_000
    for _ in range(WINDOW):
        pace.note(rows * ROW_S, rows, 0.0)
    assert not pace.decide_beside(0.0)


def test_a_disk_that_stays_slow_is_never_tried_in_the_loop_again() -> None:
    pace = Pace()
    make_slow(pace)
    for hour in range(1, 100):
        settle_beside(pace, SLOW, hour * 3600.0)


def test_a_disk_that_is_fast_again_brings_commits_back_after_a_rest() -> None:
    pace = Pace()
    make_slow(pace)
    settle_beside(pace, FAST, REST_S / 2)
    assert pace.decide_beside(REST_S / 2), "it has not rested yet"
    assert not pace.decide_beside(REST_S)


def test_one_fast_commit_among_waits_for_the_interpreter_is_enough_to_try() -> None:
    pace = Pace()
    make_slow(pace)
    settle_beside(pace, SLOW, 1.0)
    pace.note(FAST, 4, 2.0)
    assert not pace.decide_beside(REST_S)


def test_a_trial_in_vain_ends_with_its_first_slow_commit_and_doubles_the_rest() -> None:
    pace, now = Pace(), 0.0
    make_slow(pace, now)
    for doubled in (1, 2, 4):
        settle_beside(pace, FAST, now)
        now += doubled * REST_S
        assert pace.decide_beside(now - 0.1)
        assert not pace.decide_beside(now), "the rest is over"
        assert pace.note(SLOW, 4, now), "one slow commit ends the trial"
        assert pace.decide_beside(now)


def test_a_trial_bears_an_accident() -> None:
    pace = Pace()
    make_slow(pace)
    settle_beside(pace, FAST, 0.0)
    for turn in range(WINDOW):
        assert not pace.decide_beside(REST_S)
        assert not pace.note(0.003 if turn < 2 else FAST, 4, REST_S)


def test_a_trial_that_goes_well_makes_accidents_accidents_again() -> None:
    pace = Pace()
    make_slow(pace)
    settle_beside(pace, FAST, 0.0)
    assert not pace.decide_beside(REST_S)
    for _ in range(WINDOW):
        pace.note(FAST, 4, REST_S)
    assert not pace.note(SLOW, 4, REST_S)
    assert not pace.decide_beside(REST_S)


def test_what_is_configured_is_done_whatever_commits_take() -> None:
    loop, thread = Pace("loop"), Pace("thread")
    assert not any(make_slow(loop))
    assert not loop.decide_beside(0.0)
    assert thread.decide_beside(0.0)
    thread.choice = "auto"
    assert not thread.decide_beside(0.0)
