"""Which of two versions of cronoq is newer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.wire.version import is_newer, parse_version


@pytest.mark.parametrize(
    ("left", "right", "newer"),
    [
        ("0.10.0", "0.9.9", True),
        ("0.9.9", "0.10.0", False),
        ("1.0", "1.0.0", False),
        ("1.0.0.1", "1.0", True),
        ("0.2.0rc1", "0.1.0", True),
        ("0.1.0", "0.1.0", False),
        ("nonsense", "0.1.0", False),
        ("0.1.0", "", False),
    ],
)
def test_numbers_decide_which_is_newer(left: str, right: str, newer: bool) -> None:
    assert is_newer(left, right) is newer


@given(st.text(max_size=30))
def test_any_text_is_a_version_or_none(text: str) -> None:
    parsed = parse_version(text)
    assert parsed is None or all(number >= 0 for number in parsed)
