"""When standard output is coloured."""

from __future__ import annotations

import pytest

from cronoq_cli.commands.render.colour import wants_colour
from tests.commands.render.samples import make_context

PLAIN = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("env", "terminal", "option", "wanted"),
    [
        (PLAIN, True, None, True),
        (PLAIN, False, None, False),
        ({**PLAIN, "NO_COLOR": "1"}, True, None, False),
        ({**PLAIN, "NO_COLOR": ""}, True, None, True),
        ({"TERM": "dumb"}, True, None, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, None, False),
        ({**PLAIN, "FORCE_COLOR": "1"}, False, None, True),
        ({**PLAIN, "FORCE_COLOR": "0"}, False, None, False),
        ({**PLAIN, "FORCE_COLOR": "0"}, True, None, False),
        ({**PLAIN, "FORCE_COLOR": "1", "NO_COLOR": "1"}, True, None, False),
        ({"TERM": "dumb", "NO_COLOR": "1"}, False, "always", True),
        ({**PLAIN, "FORCE_COLOR": "1"}, True, "never", False),
        (PLAIN, False, "auto", False),
    ],
)
def test_the_option_wins_then_the_environment_then_the_terminal(
    env: dict[str, str], terminal: bool, option: str | None, wanted: bool
) -> None:
    context = make_context(columns=80 if terminal else None, env=env, color=option)
    assert wants_colour(context) is wanted
