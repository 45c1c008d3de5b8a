"""Aligned tables: their exact look, and that they fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.style import style_of
from cronoq_cli.commands.render.text import display_width
from tests.commands.render.samples import UTF8, make_context

NO_COLOUR = {**UTF8, "NO_COLOR": "1"}
PIPE = style_of(make_context())


def terminal(columns: int) -> list[str]:
    return layout_table(sample_columns(), style_of(make_context(columns=columns, env=NO_COLOUR)))


def sample_columns() -> list[Column]:
    return [
        Column("ID", ["7", "1234"], right=True),
        Column("POOL", ["default", "default"], usual="default"),
        Column("TASK", ["make -j8 all the things", "true"], least=8),
        Column("WHY", ["", "no free slot in the pool"], least=6),
    ]


def test_a_piped_table_is_aligned_and_whole() -> None:
    assert layout_table(sample_columns(), PIPE) == [
        "  ID  POOL     TASK                     WHY",
        "   7  default  make -j8 all the things  -",
        "1234  default  true                     no free slot in the pool",
    ]


def test_what_says_nothing_goes_before_anything_is_cut() -> None:
    assert terminal(60) == [
        "  ID  TASK                     WHY",
        "   7  make -j8 all the things  -",
        "1234  true                     no free slot in the pool",
    ]


def test_the_widest_columns_are_cut_first_and_the_cut_is_marked() -> None:
    assert terminal(40) == [
        "  ID  TASK              WHY",
        "   7  make -j8 all th…  -",
        "1234  true              no free slot in…",
    ]


def test_a_column_is_cut_to_its_least_before_others_go_below_what_they_need_to_be_read() -> None:
    columns = [
        Column("POOL", ["a long name of a pool", "default"], least=8),
        Column("TASK", ["make -j8 all the things of today", "true"], least=8, modest=24),
    ]
    assert layout_table(columns, style_of(make_context(columns=34, env=NO_COLOUR))) == [
        "POOL      TASK",
        "a long …  make -j8 all the things…",
        "default   true",
    ]


def test_the_room_of_columns_that_went_is_used_by_those_that_were_cut() -> None:
    columns = [
        Column("POOL", ["video-transcoding"], least=8),
        Column("STARTED", ["12"], right=True),
        Column("LONGEST WAIT", ["123456"], right=True),
    ]
    assert layout_table(columns, style_of(make_context(columns=26, env=NO_COLOUR))) == [
        "POOL               STARTED",
        "video-transcoding       12",
    ]


def test_what_can_be_spared_goes_before_the_last_columns_are_cut_below_their_least() -> None:
    columns = [
        Column("ID", ["1"], right=True),
        Column("PRIO", ["high"], spare=1),
        Column("POOL", ["video"], spare=2, least=4),
        Column("TASK", ["make -j8 all"], least=10),
    ]

    def lines(width: int) -> list[str]:
        return layout_table(columns, style_of(make_context(columns=width, env=NO_COLOUR)))

    assert lines(26)[0] == "ID  PRIO  POOL  TASK"
    assert lines(20) == ["ID  PRIO  TASK", " 1  high  make -j8 …"]


def test_half_a_number_is_never_shown() -> None:
    columns = [Column("NAME", ["a" * 15]), Column("COUNT", ["123456"], right=True)]
    assert layout_table(columns, style_of(make_context(columns=20, env=NO_COLOUR))) == ["NAME", "a" * 15]


def test_a_locale_that_is_not_utf8_gets_ascii_marks() -> None:
    style = style_of(make_context(columns=40, env={"LANG": "C", "NO_COLOR": "1"}))
    assert "".join(layout_table(sample_columns(), style)).isascii()


def test_wide_characters_keep_the_columns_straight() -> None:
    columns = [Column("NAME", ["日本語", "abc"]), Column("END", ["x", "y"])]
    assert layout_table(columns, PIPE) == ["NAME    END", "日本語  x", "abc     y"]


cells = st.lists(st.text(st.characters(codec=None), max_size=90), min_size=3, max_size=3)


@given(cells, cells, cells, st.integers(min_value=60, max_value=200))
def test_no_line_is_wider_than_the_terminal(first: list[str], second: list[str], third: list[str], width: int) -> None:
    columns = [
        Column("ID", ["1", "22", "333"], right=True),
        Column("A", first, least=8),
        Column("B", second, least=10),
        Column("C", third),
    ]
    lines = layout_table(columns, style_of(make_context(columns=width, env=NO_COLOUR)))
    assert all(display_width(line) <= width for line in lines)
    assert len(lines) == 4


@given(cells)
def test_a_pipe_gets_every_cell_whole(texts: list[str]) -> None:
    columns = [Column("A", ["x" * 500, *texts[1:]], least=8), Column("B", ["y" * 300, "", ""], least=8)]
    lines = layout_table(columns, PIPE)
    assert "x" * 500 in lines[1]
    assert "y" * 300 in lines[1]
