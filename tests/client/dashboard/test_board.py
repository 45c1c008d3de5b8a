"""What is shown: the window, the cursor in it, and what the keys act on."""

from __future__ import annotations

import pytest

from cronoq_cli.client.dashboard.board import BRIEF, PARTS, Panel, age_task
from cronoq_cli.model.lifecycle import Status
from tests.client.dashboard.documents import NOW, make_board, make_event, make_pool, make_task, make_window


def test_the_window_asked_for_is_a_page_before_and_behind_what_is_on_screen():
    board = make_board(*(make_task(n) for n in range(30)), height=20, total=500)
    board.go(100)
    wanted = board.wanted()
    assert (wanted.offset, wanted.limit, wanted.brief) == (board.rows.top - 20, 60, BRIEF)


def test_the_whole_of_a_part_can_be_paged_through():
    board = make_board(make_task(1))
    board.choose_view(part="waiting", pool="net", text="x")
    wanted = board.wanted()
    assert wanted.select.statuses == ["blocked", "ready", "retrying", "scheduled"]
    assert (wanted.select.pools, wanted.text, wanted.brief) == (["net"], "x", None)


def test_every_status_is_in_a_part():
    assert {status for statuses in PARTS.values() for status in statuses} == set(map(str, Status))


def test_the_cursor_stays_on_the_task_it_was_moved_to():
    board = make_board(*(make_task(n) for n in (1, 2, 3)))
    board.move(2)
    board.take_window(make_window(*(make_task(n) for n in (3, 4, 5))), NOW)
    assert board.selected is not None
    assert board.selected["id"] == 3


def test_the_head_of_the_list_stays_in_sight_when_a_task_comes_before_the_selected_one():
    board = make_board(*(make_task(n) for n in range(2, 30)))
    board.move(1)
    board.take_window(make_window(*(make_task(n) for n in range(30))), NOW)
    assert (board.rows.top, board.rows.cursor) == (0, 3)


def test_a_cursor_that_was_not_moved_stays_where_it_is():
    board = make_board(make_task(1, "running"), make_task(2, "running"))
    board.take_window(make_window(make_task(2, "running"), make_task(1, "succeeded")), NOW)
    assert board.selected is not None
    assert board.selected["id"] == 2


def test_a_task_that_is_listed_no_more_leaves_its_row_to_another():
    board = make_board(*(make_task(n) for n in (1, 2, 3)))
    board.move(2)
    board.take_window(make_window(make_task(1), make_task(2)), NOW)
    assert board.selected is not None
    assert board.selected["id"] == 2


def test_rows_that_are_not_loaded_are_known_to_be_missing():
    board = make_board(*(make_task(n) for n in range(30)), total=500)
    assert not board.is_missing_rows()
    board.go(200)
    assert board.is_missing_rows()
    assert board.selected is None
    assert board.targets() == []


def test_keys_act_on_the_marked_tasks_also_when_they_are_out_of_sight():
    board = make_board(*(make_task(n) for n in (1, 2, 3)))
    board.toggle_mark()
    board.move(1)
    board.toggle_mark()
    board.take_window(make_window(make_task(2, "running"), make_task(3)), NOW)
    assert [(task["id"], task["status"]) for task in board.targets()] == [(1, "ready"), (2, "running")]


def test_a_mark_is_taken_away_by_the_same_key():
    board = make_board(make_task(1))
    board.toggle_mark()
    board.toggle_mark()
    assert board.marked == {}


@pytest.mark.parametrize(("panel", "name"), [(Panel.TASKS, "net"), (Panel.POOLS, "default")])
def test_pool_keys_mean_the_task_s_pool_unless_the_pools_have_the_keys(panel: Panel, name: str):
    board = make_board(make_task(1, pool="net"), pools=[make_pool(), make_pool("net")])
    board.panel = panel
    assert board.chosen_pool is not None
    assert board.chosen_pool["name"] == name


def test_only_events_behind_the_answer_make_it_old():
    board = make_board(make_task(1), seq=7)
    assert not board.note_events([make_event(6, 1, "ready"), make_event(7, 1, "running")])
    assert board.note_events([make_event(8, 1, "succeeded")])


def test_what_runs_and_waits_goes_on_between_two_answers():
    assert age_task(make_task(1, "running"), NOW, NOW + 3)["run_s"] == 8.0
    assert age_task(make_task(1), NOW, NOW + 3)["wait_s"] == 13.0
    ended = make_task(1, "failed")
    assert age_task(ended, NOW, NOW + 3) == ended


def test_another_task_begins_with_an_empty_lower_part():
    board = make_board(make_task(1))
    assert board.choose(1)
    board.chosen.log.feed(b"old")
    board.pane_at_end = False
    assert not board.choose(1)
    assert board.choose(2)
    assert board.chosen.log.is_empty
    assert board.pane_at_end
