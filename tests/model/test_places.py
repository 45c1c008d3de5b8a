"""Names of files: hostile names stay in their directory, and what is said of the cap of a log."""

from __future__ import annotations

import os

import pytest

from cronoq_cli.model.places import describe_cap, fill_place, log_name, parse_token
from cronoq_cli.model.task import TaskSpec


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "\0", "..", "{id}", "\x1b[2J"])
def test_a_name_never_leaves_the_directory_it_is_filled_into(name: str) -> None:
    path = fill_place("/home/ann/out/{name}.log", 7, 1, name)
    assert os.path.dirname(os.path.normpath(path)) == "/home/ann/out"
    assert "\0" not in path


def test_a_log_is_named_by_numbers_alone() -> None:
    assert log_name(12345, 2) == "12/12345.2.log"
    assert log_name(12345, 2, stderr=True) == "12/12345.2.err"


@pytest.mark.parametrize("token", ["", "a", "a:1", "a:1:x", "a:-1:1", "a:²:1"])
def test_what_is_no_token_is_none(token: str) -> None:
    assert parse_token(token) is None


@pytest.mark.parametrize(
    ("fields", "cap", "holes", "kept", "note"),
    [
        ({}, 10, True, 10, None),
        ({}, 0, True, None, None),
        ({}, 10, False, None, "not capped: its file system cannot cut files"),
        ({"stdout": "/o"}, 10, True, None, "not capped: a file of its own (-o)"),
        ({"stdout": "/o", "stderr": "/e"}, 10, True, None, "not capped: a file of its own (-o and -e)"),
        ({"stderr": "/e"}, 10, True, 10, "stderr is not capped: a file of its own (-e)"),
    ],
)
def test_show_says_where_there_is_no_cap(
    fields: dict[str, str], cap: int, holes: bool, kept: int | None, note: str | None
) -> None:
    spec = TaskSpec(name="t", command=["true"], **fields)
    assert describe_cap(spec, cap, holes=holes) == {"log_cap": kept, "log_note": note}
