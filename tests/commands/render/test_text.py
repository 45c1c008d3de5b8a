"""Escaping, measuring, cutting and wrapping of text from anywhere."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.commands.render.text import (
    cut_to_width,
    display_width,
    escape_for_terminal,
    pad_left_aligned,
    pad_right_aligned,
    wrap_to_width,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\rmore", "two\\nlines\\tand\\rmore"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07 del\x7f nul\0", "bell\\x07 del\\x7f nul\\x00"),
        ("\x9b31m", "\\u009b31m"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),
        ("abc\u202etxt.exe\u2066", "abc\\u202etxt.exe\\u2066"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\u2028separator", "line\\u2028separator"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("日本語 naïve e\u0301", "日本語 naïve e\u0301"),
        ("no\u00a0break", "no\u00a0break"),
        (r"sed 's/\./x/'", r"sed 's/\./x/'"),
    ],
)
def test_what_is_not_printable_is_shown_and_the_rest_left_alone(text: str, shown: str) -> None:
    assert escape_for_terminal(text) == shown


@given(ANY_TEXT)
def test_nothing_a_terminal_obeys_survives(text: str) -> None:
    shown = escape_for_terminal(text)
    assert not [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("naïve", 5), ("👍", 2), ("", 0), ("✓ ok", 4)]
)
def test_wide_characters_take_two_columns_and_accents_none(text: str, width: int) -> None:
    assert display_width(text) == width


@given(ANY_TEXT.map(escape_for_terminal), st.integers(min_value=0, max_value=40))
def test_cut_text_fits_and_short_text_stays(text: str, width: int) -> None:
    cut = cut_to_width(text, width)
    assert display_width(cut) <= width
    assert cut == text or display_width(text) > width


def test_a_cut_is_marked_and_never_splits_a_wide_character() -> None:
    assert cut_to_width("abcdef", 4) == "abc…"
    assert cut_to_width("日本語", 4) == "日…"
    assert cut_to_width("abcdef", 4, "~") == "abc~"


@given(ANY_TEXT.map(escape_for_terminal), st.integers(min_value=60, max_value=80))
def test_padding_makes_equal_widths(text: str, width: int) -> None:
    if display_width(text) <= width:
        assert display_width(pad_left_aligned(text, width)) == width
        assert display_width(pad_right_aligned(text, width)) == width


@given(ANY_TEXT.map(escape_for_terminal), st.integers(min_value=2, max_value=30))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = wrap_to_width(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_wrapping_breaks_at_blanks_where_it_can() -> None:
    assert wrap_to_width("alpha beta gamma", 11) == ["alpha beta", "gamma"]
    assert wrap_to_width("abcdefgh", 3) == ["abc", "def", "gh"]
