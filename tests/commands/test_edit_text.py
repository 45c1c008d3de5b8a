"""Editing waiting tasks as a text: what is shown, what a changed text asks for, and that nothing of it is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cronoq_cli.commands.edit_text import describe_editable, format_editable, read_edited
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.task import Condition, Dependency
from cronoq_cli.wire.requests import Edit, EditEach, Reply, Selector, ShowTasks, TaskChanges
from tests.commands.conftest import Caller, task_document

TASK = {
    "timeout_s": 5400.0,
    "not_before": "2026-11-30T04:49:38.496Z",
    "tags": {"a": "b"},
    "resources": {"gpu": 2},
    "after": [
        {"ref": "3", "condition": "success", "open": True},
        {"ref": "last", "condition": "success", "open": None},
        {"ref": "4-6", "condition": "any", "open": True},
    ],
}


def waiting(number: int = 7, **changes: object) -> dict[str, object]:
    return task_document(number, "blocked", **{**TASK, **changes})


@pytest.fixture
def offer(caller: Caller) -> Callable[..., list[str]]:
    """Have `edit` offer tasks in an editor that makes of each text what the next of `texts` says (or is)."""

    def put(*edits: Callable[[str], str], again: bool = True, **tasks: object) -> list[str]:
        shown: list[str] = []
        ready = list(edits)

        def edit_text(text: str, suffix: str) -> str:
            shown.append(text)
            return ready.pop(0)(text)

        streams = caller.streams
        assert streams is not None
        streams.edit_text = edit_text  # type: ignore[attr-defined]
        streams.ask_yes = lambda question: again  # type: ignore[attr-defined]
        streams.keep_copy = lambda data, name: f"/kept/{name}"  # type: ignore[attr-defined]
        documents = [waiting(), waiting(8)]
        caller.gateway.answer(ShowTasks, Reply(doc={"tasks": documents}))
        caller.gateway.answer(EditEach, Reply(doc={"tasks": documents}))
        return shown

    return put


def edits(caller: Caller) -> list[Edit]:
    """What was asked for together, which is once or not at all."""
    asked = [request.edits for request in caller.gateway.requests if isinstance(request, EditEach)]
    assert len(asked) <= 1
    return asked[0] if asked else []


def test_a_text_that_is_not_changed_changes_nothing() -> None:
    tables = {7: describe_editable(waiting()), 8: describe_editable(waiting(shell='a "b"\nc\\', command=["sh"]))}
    text = format_editable(tables)
    assert read_edited(text, tables) == {}
    assert (tables[7]["after"], tables[7]["after_any"], tables[7]["timeout"]) == (["3"], ["4-6"], "1h30m")
    assert tables[8]["shell_line"] == 'a "b"\nc\\'
    assert "heartbeat" in text.split("[task.7]")[0]


def test_several_tasks_are_changed_each_as_its_table_says(caller: Caller, offer: Callable[..., list[str]]) -> None:
    def change(text: str) -> str:
        first, second = text.split("[task.8]")
        first = first.replace('priority = "normal"', "priority = 'high'").replace('"make", "test"', '"make", "-j8"')
        return first.replace('after = ["3"]\n', "") + "[task.8]" + second.replace('timeout = "1h30m"', "nice = 5")

    offer(change)
    done = caller("edit", "7,8")
    assert (done.status, done.out) == (0, "edited 7-8\n")
    seven = TaskChanges(priority=2, command=["make", "-j8"], after=[Dependency("4-6", Condition.ANY)])
    assert edits(caller) == [
        Edit(select=Selector(refs=["7"]), changes=seven),
        Edit(select=Selector(refs=["8"]), changes=TaskChanges(timeout_s=None, nice=5)),
    ]


def test_nothing_changed_is_said_and_not_asked_for(caller: Caller, offer: Callable[..., list[str]]) -> None:
    offer(lambda text: text)
    assert (caller("edit", "7").out, edits(caller)) == ("nothing changed\n", [])


def test_a_wrong_text_is_offered_again_as_it_was_left(caller: Caller, offer: Callable[..., list[str]]) -> None:
    shown = offer(
        lambda text: text.replace('"normal"', '"hgih"', 1), lambda text: text.replace('"hgih"', '"high"') + "# mine\n"
    )
    done = caller("edit", "7,8")
    assert done.status == 0 and "task 7: priority: 'hgih' is not a priority" in done.err
    assert '"hgih"' in shown[1]
    assert edits(caller) == [Edit(select=Selector(refs=["7"]), changes=TaskChanges(priority=2))]


def test_a_text_that_is_given_up_is_kept(caller: Caller, offer: Callable[..., list[str]]) -> None:
    offer(lambda text: "[task.7", again=False)
    done = caller("edit", "7")
    assert done.status == 7 and "/kept/tasks" in done.err and edits(caller) == []


def test_what_the_daemon_refuses_is_offered_again_too(caller: Caller, offer: Callable[..., list[str]]) -> None:
    shown = offer(lambda text: text.replace('"default"', '"nosuch"', 1), lambda text: text.replace("nosuch", "default"))
    caller.gateway.answer(EditEach, InvalidError("unknown pool 'nosuch'"))
    done = caller("edit", "7")
    assert done.out == "nothing changed\n" and "nosuch" in shown[1]


def test_only_waiting_tasks_are_offered(caller: Caller, offer: Callable[..., list[str]]) -> None:
    shown = offer()
    caller.gateway.answer(ShowTasks, Reply(doc={"task": task_document(7, "running")}))
    assert caller("edit", "7").status == ConflictError.exit and shown == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[task.9]\nname = 'x'", "none of the tasks"),
        ("[tasks.7]\nname = 'x'", "unknown table"),
        ("[task.7]\nprioritty = 'high'", "unknown field"),
        ("[task.7]\ncommand = 'make'", "not a list"),
        ("[task.7]\nname = ['make']", "not a text"),
        ("task = 7", "unknown table"),
    ],
)
def test_what_a_text_cannot_have_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        read_edited(text, {7: describe_editable(waiting())})
