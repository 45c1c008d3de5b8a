"""JSON for programs: exactly one document, exact values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.commands.render.json import format_json, print_json
from cronoq_cli.commands.render.notes import print_error, print_notes
from cronoq_cli.errors import NotFoundError
from tests.commands.render.samples import err_of, make_context, make_task, out_of

any_text = st.text(st.characters(codec=None), max_size=40)


def test_the_schema_comes_first_and_a_newline_last() -> None:
    context = make_context()
    print_json(context, {"tasks": []})
    assert out_of(context) == '{"schema": 1, "tasks": []}\n'


@given(any_text, st.lists(any_text, min_size=1, max_size=3))
def test_odd_names_and_commands_come_back_exactly(name: str, command: list[str]) -> None:
    text = format_json({"task": make_task(1, spec={"name": name, "command": command})})
    assert text.isascii()
    assert text.count("\n") == 1
    task = json.loads(text)["task"]
    assert (task["name"], task["command"]) == (name, command)


def test_bytes_that_are_not_utf8_stay_surrogate_escapes() -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert '"caf\\udce9"' in format_json({"name": name})


@pytest.mark.parametrize("env", [{"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}, {"COLUMNS": "40"}, {"TERM": "dumb"}])
def test_neither_terminal_nor_environment_changes_it(env: dict[str, str]) -> None:
    document: dict[str, Any] = {"tasks": [make_task(1, spec={"name": "n" * 300})]}
    terminal, pipe = make_context(columns=40, env=env, color="always"), make_context()
    print_json(terminal, document)
    print_json(pipe, document)
    assert out_of(terminal) == out_of(pipe)


def test_a_number_that_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        format_json({"value": float("nan")})


def test_an_error_is_one_line_beside_the_answer_or_a_document() -> None:
    error = NotFoundError("no task 7\x1b", hint="see cronoq ls")
    for_people, for_programs = make_context(), make_context()
    print_error(for_people, error)
    print_error(for_programs, error, as_json=True)
    assert (out_of(for_people), err_of(for_people)) == ("", "cronoq: no task 7\\x1b (see cronoq ls)\n")
    assert json.loads(out_of(for_programs)) == {
        "schema": 1,
        "error": {"code": "not-found", "message": "no task 7\x1b", "hint": "see cronoq ls", "exit": 3},
    }
    assert err_of(for_programs) == ""


def test_notes_go_to_standard_error_one_line_each() -> None:
    context = make_context()
    print_notes(context, ["first", "second\nline"])
    assert (out_of(context), err_of(context)) == ("", "cronoq: first\ncronoq: second\\nline\n")
