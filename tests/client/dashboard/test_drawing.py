"""Lines of panels: they fit exactly, on any screen, whatever stands in them."""

from __future__ import annotations

import pytest

from cronoq_cli.client.dashboard.board import Board, Pane, Panel
from cronoq_cli.client.dashboard.columns import plan_columns, task_line
from cronoq_cli.client.dashboard.keys import GROUPS, footer_keys, list_keys
from cronoq_cli.client.dashboard.layout import decide_layout
from cronoq_cli.client.dashboard.lines import Line, fit, plain, rule
from cronoq_cli.client.dashboard.log_text import LogText
from cronoq_cli.client.dashboard.panels import chart, footer, pane, pools, recurring, tasks, title
from cronoq_cli.client.dashboard.scroll import Scroll
from cronoq_cli.client.dashboard.sparkline import draw_bars, draw_gauge
from cronoq_cli.client.dashboard.typed import Typed
from cronoq_cli.commands.render.text import display_width
from tests.client.dashboard.documents import ASCII, NOW, STYLE, make_board, make_event, make_pool, make_task

UGLY = "a\x1b[31mb\x07\n漢字\u202e"


def ugly_board() -> Board:
    board = make_board(
        make_task(1, "running", name=UGLY, progress=0.5),
        make_task(2, name=UGLY, pool=UGLY, reason=UGLY, priority="critical"),
        make_task(100_000, "failed", message=UGLY, exit_code=3),
        total=1000,
        more=99_000,
        pools=[make_pool(UGLY, paused=True), make_pool("net", min=1, max=9, reason=UGLY, oldest_ready_at=NOW - 100)],
    )
    board.schedules = [
        {"name": UGLY, "expr": "* * * * *", "every": None, "paused": False, "next": "2026-09-21T14:14:00Z"}
        | {"command": [UGLY], "shell": None, "last": {"status": "failed"}, "words": "x", "broken": False}
    ]
    board.history.begin(NOW - 100)
    board.history.note(make_event(1, 1, "succeeded"))
    board.choose(1)
    board.chosen.task = make_task(1, "running", name=UGLY)
    board.chosen.log_path = "/x"
    board.chosen.log.feed(UGLY.encode("utf-8", "surrogatepass") + b"\xff\ttab")
    return board


def draw_all(board: Board, width: int, height: int, style=STYLE) -> list[Line]:
    lines = [title.draw_title(board, width, style), footer.draw_footer(board, width, style)]
    for draw in (pools.draw_pools, chart.draw_chart, tasks.draw_tasks, recurring.draw_recurring, pane.draw_pane):
        drawn = draw(board, width, height, style)
        assert len(drawn) == height
        lines += drawn
    return lines


@pytest.mark.parametrize("width", [1, 5, 20, 40, 79, 80, 120, 200])
@pytest.mark.parametrize("height", [3, 10])
def test_every_line_is_as_wide_as_its_panel_and_has_nothing_a_terminal_obeys(width: int, height: int):
    for kind in Pane:
        board = ugly_board()
        board.pane = kind
        for line in draw_all(board, width, height):
            assert display_width(plain(line)) == width, plain(line)
            assert plain(line).isprintable()


def test_without_utf8_our_own_signs_are_ascii():
    board = make_board(make_task(1, "running"), make_task(2, "failed"), make_task(3, name="x" * 300))
    board.history.begin(NOW - 100)
    board.chosen.id = 1
    for line in draw_all(board, 80, 8, ASCII):
        assert plain(line).isascii()


def test_at_80_columns_a_row_has_room_for_why_it_waits_and_how_far_it_may_be():
    columns = plan_columns(80, newest_id=100, longest_pool=17)
    waits, runs = make_task(1, reason="waits for a slot"), make_task(2, "running", expected_s=1200.0, run_s=60.0)
    assert plain(task_line(waits, columns, ASCII, " ")).endswith("  waits for a slot")
    assert plain(task_line(runs, columns, ASCII, " ")).endswith("  .... ~5% of 20m ")


def test_recurring_jobs_show_no_column_of_which_nothing_can_be_read():
    board = ugly_board()
    assert "TASK" in plain(recurring.draw_recurring(board, 120, 4, STYLE)[1])
    board.schedules = [{**(board.schedules or [])[0], "name": "weekly-report-for-all-of-us", "expr": "0 9 * * mon-fri"}]
    _, head, row, _ = map(plain, recurring.draw_recurring(board, 80, 4, STYLE))
    assert head.rstrip().endswith("LAST") and row.rstrip().endswith("✗ failed")


def test_a_pool_that_has_more_to_finish_than_workers_is_full():
    board = make_board(pools=[make_pool(workers=0, busy=5)])
    assert "##########  5/0" in plain(pools.draw_pools(board, 80, 2, ASCII)[1])


def test_the_title_says_that_the_daemon_is_away_and_not_what_is_no_longer_known():
    board = make_board(make_task(1))
    board.link.state, board.link.since = "lost", NOW - 12
    board.link.trouble = "the daemon was stopped"
    text = plain(title.draw_title(board, 80, STYLE))
    assert "no daemon for 12s" in text
    assert "ready" not in text
    assert plain(footer.draw_footer(board, 80, STYLE)).startswith("the daemon was stopped")


def test_the_heading_says_how_many_more_wait_than_are_listed():
    board = make_board(make_task(1), more=99_950)
    assert "99,950 more wait" in plain(tasks.draw_tasks(board, 80, 5, STYLE)[0])


def test_an_empty_list_says_why():
    board = make_board()
    assert "cronoq submit" in plain(tasks.draw_tasks(board, 80, 5, STYLE)[2])
    board.choose_view(text="x")
    board.loaded = True
    assert "no task has this text" in plain(tasks.draw_tasks(board, 80, 5, STYLE)[2])


def test_the_cursor_line_is_where_the_selected_task_is_drawn():
    board = make_board(*(make_task(n) for n in range(30)), height=5)
    board.go(12)
    drawn = tasks.draw_tasks(board, 80, 7, STYLE)
    line = tasks.cursor_line(board)
    assert line is not None
    assert plain(drawn[line]).split()[0] == "12"
    board.panel = Panel.POOLS
    assert tasks.cursor_line(board) is None


def test_a_followed_log_shows_its_end_and_a_scrolled_one_stays():
    board = make_board(make_task(1, "running"))
    board.choose(1)
    board.chosen.task, board.chosen.log_path = make_task(1, "running"), "/x"
    board.chosen.log.feed(b"".join(b"line %d\n" % n for n in range(50)))
    assert plain(pane.draw_pane(board, 40, 6, STYLE)[-1]).strip() == "line 49"
    board.pane_rows.go(3)
    board.pane_at_end = False
    board.chosen.log.feed(b"more\n")
    assert plain(pane.draw_pane(board, 40, 6, STYLE)[1]).strip() == "line 3"


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 4), (80, 8), (80, 24), (120, 40), (200, 50), (110, 12)])
@pytest.mark.parametrize("zoomed", [False, True])
def test_panels_cover_the_screen_without_overlap(width: int, height: int, zoomed: bool):
    areas = [area for area in decide_layout(width, height, 3, zoomed=zoomed) if area.height and area.y < height]
    cells = [(x, y) for a in areas for x in range(a.x, a.x + a.width) for y in range(a.y, a.y + a.height)]
    assert len(cells) == len(set(cells)) or height < 2
    assert all(x < width and y < height for x, y in cells)
    assert {y for _, y in cells} == set(range(height))


def test_at_80x24_there_is_room_for_tasks_and_output():
    layout = decide_layout(80, 24, 2)
    assert layout.tasks.height >= 9
    assert layout.pane.height >= 5
    assert layout.chart.height == 3


def test_bars_show_the_highest_as_full_and_nothing_as_the_lowest():
    assert draw_bars([None, 0, 1, 4, 8], unicode=True) == " ▁▂▅█"
    assert draw_bars([None, 0, 8], unicode=False) == " _#"
    assert draw_bars([0, 0], unicode=True) == "▁▁"


def test_a_gauge_is_full_only_when_it_is():
    assert draw_gauge(0.0, 4, unicode=False) == "...."
    assert draw_gauge(0.01, 4, unicode=False) == "#..."
    assert draw_gauge(0.99, 4, unicode=False) == "###."
    assert draw_gauge(1.5, 4, unicode=False) == "####"


def test_lines_are_cut_with_a_mark_and_filled_with_blanks():
    assert plain(fit((("abc", ""), ("def", "")), 5)) == "abcd…"
    assert plain(fit((("ab", ""),), 5)) == "ab   "
    assert plain(fit((("漢字", ""),), 3)) == "漢…"
    assert display_width(plain(rule("title", "1-9 of 20", 40, STYLE, focused=True))) == 40


def test_a_progress_bar_is_seen_in_its_last_state():
    log = LogText()
    log.feed(b"10%\r20%")
    log.feed(b"\r30%")
    assert log.lines() == ["30%"]
    log.feed(b"\r100%\ndone\r\n")
    assert log.lines() == ["100%", "done"]


def test_a_line_without_end_does_not_grow_for_ever():
    log = LogText(most=3)
    for _ in range(50):
        log.feed(b"x" * 10_000)
    assert len(log.lines()[0]) == 4000
    log.feed(b"\n" * 10)
    assert log.lines() == ["", "", ""]


def test_a_character_cut_in_two_by_two_looks_is_whole_afterwards():
    log = LogText()
    log.feed("é".encode()[:1])
    log.feed("é".encode()[1:])
    assert log.lines() == ["é"]


def test_the_cursor_of_a_list_never_leaves_it():
    rows = Scroll(count=100, height=10)
    rows.move(1000)
    assert (rows.cursor, rows.top, rows.span) == (99, 90, "91-100 of 100")
    rows.resize(5, 10)
    assert (rows.cursor, rows.top, rows.span) == (4, 0, "")
    rows.resize(0, 10)
    assert (rows.cursor, rows.top) == (0, 0)


def test_no_key_is_bound_twice():
    names = [name for _, keys in GROUPS for key in keys for name in key.names.split(",")]
    assert len(names) == len(set(names))


def test_read_only_offers_no_key_that_changes_anything():
    offered = [key for _, keys in list_keys(read_only=True) for key in keys]
    assert not any(key.changes for key in offered)
    words = [word for _, word in footer_keys(Panel.TASKS, read_only=True)]
    assert "cancel" not in words
    assert "help" in words


def test_a_typed_line_is_edited_where_the_cursor_is():
    line = Typed("abc def", 7)
    for key in ("left", "backspace", "home", "delete"):
        assert line.edit(key)
    line.insert("X")
    assert (line.text, line.at) == ("Xbc df", 1)
    assert line.edit("end")
    assert line.edit("ctrl+w")
    assert line.text == "Xbc "
    assert line.edit("ctrl+u")
    assert line.text == ""
    assert line.edit("backspace")
    assert not line.edit("x")
