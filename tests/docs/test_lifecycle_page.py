"""docs/lifecycle.md is what the tables say."""

from __future__ import annotations

from pathlib import Path

from cronoq_cli.model.lifecycle import ALLOWED, FINAL, NEW, WAITING, Status, Trigger
from cronoq_cli.model.lifecycle_diagram import HAPPENINGS, MEANINGS, render_diagram, render_page

PAGE = Path(__file__).parents[2] / "docs" / "lifecycle.md"


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), (
        "run: python -m cronoq_cli.model.lifecycle_diagram > docs/lifecycle.md"
    )


def test_every_status_and_trigger_is_explained() -> None:
    assert set(MEANINGS) == set(Status)
    assert set(HAPPENINGS) == set(Trigger)


def test_the_diagram_draws_exactly_the_allowed_transitions() -> None:
    groups = {"any_waiting": WAITING, "any_final": FINAL}
    drawn: list[tuple[Status, Trigger, Status]] = []
    for line in render_diagram().splitlines():
        arrow, colon, words = line.strip().partition(": ")
        source, dashes, target = arrow.partition(" --> ")
        if not (colon and dashes):
            continue
        for status in groups.get(source) or [Status(source)]:
            drawn += [(status, Trigger(word), Status(target)) for word in words.split(", ")]
    assert sorted(drawn) == sorted(ALLOWED)


def test_a_new_task_enters_the_diagram_where_submissions_begin() -> None:
    entered = {line.split(" --> ")[1] for line in render_diagram().splitlines() if "[*] --> " in line}
    assert entered == {str(status) for status in NEW}
