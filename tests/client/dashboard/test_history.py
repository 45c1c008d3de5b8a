"""The chart's numbers."""

from __future__ import annotations

from cronoq_cli.client.dashboard.history import KEPT_S, STEP_S, History
from tests.client.dashboard.documents import NOW, make_event, make_task

BEGIN = NOW - NOW % 60


def test_what_ended_is_counted_in_the_bar_of_its_time():
    history = History()
    history.begin(0.0)
    for seq, (status, ago) in enumerate((("succeeded", 2), ("failed", 2), ("dead_lettered", 42), ("cancelled", 2)), 1):
        history.note(make_event(seq, seq, status, BEGIN - ago))
    bars = history.chart(60, 6, BEGIN - 1)
    assert [(bar.ended, bar.failed) for bar in bars if bar is not None] == [
        *((0, 0), (1, 1), (0, 0), (0, 0), (0, 0), (2, 1)),
    ]


def test_the_wait_is_from_ready_to_the_first_start_and_not_that_of_a_retry():
    history = History()
    history.note(make_event(1, 7, "ready", NOW - 30))
    history.note(make_event(2, 7, "running", NOW - 10))
    history.note(make_event(3, 7, "retrying", NOW - 9))
    history.note(make_event(4, 7, "ready", NOW - 6))
    history.note(make_event(5, 7, "running", NOW - 5, attempt=2))
    together = history.total(60, NOW)
    assert (together.started, together.wait_s) == (2, 20.0)


def test_a_task_that_was_ready_before_the_stream_began_has_its_wait_too():
    history = History()
    history.see_waiting([make_task(7)], NOW)
    history.note(make_event(1, 7, "running", NOW + 5))
    assert history.total(60, NOW + 6).wait_s == 15.0


def test_an_event_counts_once_though_it_comes_from_the_store_and_the_stream():
    history = History()
    for _ in range(2):
        history.note(make_event(3, 7, "succeeded"))
    assert history.total(60, NOW).ended == 1


def test_what_the_store_has_summed_up_goes_on_with_the_events_behind_it():
    history = History()
    step = int(BEGIN - 40) // STEP_S
    history.fill([[step, 3, 1, 2, 8.0]], last_seq=20)
    history.begin(BEGIN - 60)
    history.note(make_event(20, 7, "succeeded", BEGIN - 40))
    history.note(make_event(21, 8, "succeeded", BEGIN - 2))
    together = history.total(60, BEGIN - 1)
    assert (together.ended, together.failed, together.wait_s) == (4, 1, 4.0)
    assert [bar.ended for bar in history.chart(60, 6, BEGIN - 1) if bar is not None] == [0, 0, 3, 0, 0, 1]


def test_before_anything_is_known_there_are_no_bars_and_not_bars_of_zero():
    history = History()
    assert history.chart(60, 3, BEGIN - 1) == [None, None, None]
    history.begin(BEGIN - 15)
    assert [bar is None for bar in history.chart(60, 3, BEGIN - 1)] == [True, True, False]


def test_old_steps_are_forgotten():
    history = History()
    history.note(make_event(1, 1, "succeeded", NOW - KEPT_S - 2 * STEP_S))
    history.note(make_event(2, 2, "succeeded", NOW))
    assert history.total(10 * KEPT_S, NOW).ended == 1


def test_an_event_about_no_task_is_no_trouble():
    history = History()
    history.note({**make_event(1, 1, "ready"), "id": None, "status": None})
    assert history.total(60, NOW).started == 0
