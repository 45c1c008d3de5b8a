"""Dead letters and `retry --failed`: which tasks are meant, and that nobody changes any that were not named."""

from __future__ import annotations

import json

from cronoq_cli.errors import NotFoundError
from cronoq_cli.wire.requests import ListTasks, Remove, Retry, Selector
from tests.commands.conftest import Caller

DEAD = ["dead_lettered"]


def test_dead_letters_are_listed_and_none_is_no_error(caller: Caller) -> None:
    caller.gateway.answer(ListTasks, NotFoundError("nothing matched"))
    assert caller("dead", "ls").status == 0
    assert caller.request == ListTasks(select=Selector(statuses=DEAD), limit=50)
    assert json.loads(caller("dead", "ls", "--json", "--pool", "a", "--limit", "all").out)["tasks"] == []
    assert caller.request == ListTasks(select=Selector(statuses=DEAD, pools=["a"]), limit=None)
    assert caller("dead", "ls", "7").status == 3, "one that was named and is none is not there"


def test_dead_letters_are_retried_and_forgotten_only_by_name_or_all(caller: Caller) -> None:
    caller("dead", "retry", "7,9", "--with-dependents")
    assert caller.request == Retry(select=Selector(refs=["7", "9"], statuses=DEAD), with_dependents=True)
    caller("dead", "rm", "--all")
    assert caller.request == Remove(select=Selector(statuses=DEAD))
    asked = len(caller.gateway.requests)
    for verb in ("retry", "rm"):
        done = caller("dead", verb)
        assert done.status == 2 and "--all" in done.err
    assert len(caller.gateway.requests) == asked


def test_failed_is_short_for_all_that_failed_and_can_be_narrowed(caller: Caller) -> None:
    caller("retry", "--failed", "--pool", "a")
    assert caller.request == Retry(select=Selector(pools=["a"], statuses=["dead_lettered", "failed"]))
    assert caller("retry", "--failed", "--status", "failed").status == 2


def test_all_names_of_the_commands_are_listed_where_all_help_is_wanted(caller: Caller) -> None:
    assert "Another name of submit." in caller("--help-all").out
    assert "Another name of" not in caller("--help").out
    assert "Another name of ls." in caller("pool", "--help-all").out
