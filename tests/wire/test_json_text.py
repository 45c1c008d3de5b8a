"""JSON as client and daemon write it: fast where it can be, the same for what no UTF-8 can say."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.wire.json_text import dump_json, load_json
from cronoq_cli.wire.requests import ListTasks

texts = st.text(st.characters(exclude_categories=())) | st.just("\udcff")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


@given(values)
def test_what_is_written_is_read_again_surrogates_included(value: Any):
    # Two escapes that follow each other are one character to every reader of JSON.
    if "\\ud8" not in ascii(value) and not any(f"\\ud{c}" in ascii(value) for c in "9ab"):
        assert load_json(dump_json(value)) == value


@given(values)
def test_what_is_written_is_json_to_the_standard_library(value: Any):
    assert json.loads(dump_json(value)) == json.loads(json.dumps(value))


def test_a_struct_with_a_lone_surrogate_is_written_with_its_name():
    assert load_json(dump_json(ListTasks(after_id=3)))["type"] == "list"
    assert load_json(dump_json([ListTasks(), "\udc80"]))[1] == "\udc80"


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"1e999", b"[1,]", b'"\xff"', b"", b"{} x"])
def test_what_is_no_json_or_no_finite_number_is_refused(text: bytes):
    with pytest.raises(ValueError, match=r"."):
        load_json(text)
    assert math.isfinite(load_json(b"1e300"))
