"""The table of `ls` on terminals and in pipes."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.commands.render.tables import print_tasks
from cronoq_cli.commands.render.text import display_width
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Condition, Dependency, Edge
from tests.commands.render.samples import NOW, UTF8, err_of, make_context, make_task, mixed_tasks, out_of

COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")
ODD = 'x\x1b[31m\n<b>"quoted" \u202edrowkcab ' + b"\xff".decode("utf-8", "surrogateescape")


def test_a_pipe_gets_full_words_and_no_signs() -> None:
    context = make_context()
    print_tasks(context, {"tasks": mixed_tasks(), "more": 4242, "summary": {"ready": 4243}})
    assert out_of(context).splitlines() == [
        "ID  STATUS         PRIO      POOL       TIME  TASK                               REASON",
        "11  running        normal    default   3m12s  make -j8                           24%",
        "12  running        normal    media     2h05m  encode: for f in *; do x $f; done  attempt 2 of 4",
        "13  ready          critical  default     12s  make -j8                           no free slot in pool default",
        "14  retrying       normal    default  in 33s  make -j8                           exit 22",
        "15  scheduled      normal    default   in 3d  make -j8                           -",
        "16  blocked        normal    default       -  make -j8                           held",
        "+4242 more",
        " 9  failed         normal    default   1m40s  make -j8                           exit 3, 10m ago",
        " 8  dead_lettered  normal    default      1h  make -j8                           SIGKILL, 1d ago",
    ]


def test_a_terminal_gets_signs_short_words_and_a_summary_in_its_width() -> None:
    context = make_context(columns=72, env={**UTF8, "NO_COLOR": "1"})
    summary = {"ready": 4243, "running": 2, "dead_lettered": 1, "failed": 0}
    print_tasks(context, {"tasks": mixed_tasks(), "more": 4242, "summary": summary})
    assert out_of(context).splitlines() == [
        "ID  STATUS       PRIO  POOL       TIME  TASK             REASON",
        "11  ▸ running    -     default   3m12s  make -j8         ██░░░░░░ 24%",
        "12  ▸ running    -     media     2h05m  encode: for f …  attempt 2 of 4",
        "13  • ready      crit  default     12s  make -j8         no free slot i…",
        "14  ↻ retrying   -     default  in 33s  make -j8         exit 22",
        "15  ◦ scheduled  -     default   in 3d  make -j8         -",
        "16  ‖ held       -     default       -  make -j8         held",
        "+4242 more",
        " 9  ✗ failed     -     default   1m40s  make -j8         exit 3, 10m ago",
        " 8  ✗ dead       -     default      1h  make -j8         SIGKILL, 1d ago",
        "",
        "2 running, 4243 ready, 1 dead lettered",
    ]


def test_a_command_line_of_a_megabyte_is_cut_in_a_pipe_and_a_long_name_is_not() -> None:
    context = make_context()
    long, named = make_task(1, spec={"command": ["echo", "x" * 1_000_000]}), make_task(2, spec={"name": "n" * 150})
    print_tasks(context, {"tasks": [long, named], "more": 0, "summary": {}})
    assert len(out_of(context)) < 5000
    assert "n" * 150 in out_of(context)


def test_without_tasks_nothing_is_answered_but_a_note() -> None:
    context = make_context()
    print_tasks(context, {"tasks": [], "more": 0})
    assert (out_of(context), err_of(context)) == ("", "cronoq: no tasks\n")


def test_more_stands_at_the_end_when_nothing_waits() -> None:
    context = make_context()
    print_tasks(context, {"tasks": [make_task(1, Status.SUCCEEDED, finished_at=NOW)], "more": 5})
    assert out_of(context).splitlines()[-1] == "+5 more"


def test_what_waits_and_is_left_out_stands_before_what_has_ended() -> None:
    ended = make_task(1, Status.SUCCEEDED, finished_at=NOW)
    for tasks, place in (([ended], 1), ([make_task(2, Status.RUNNING, started_at=NOW), ended], 2)):
        context = make_context()
        print_tasks(context, {"tasks": tasks, "more": 5, "summary": {"ready": 5}})
        assert out_of(context).splitlines()[place] == "+5 more"


def test_open_dependencies_are_the_reason_where_no_other_is_given() -> None:
    after = [Dependency(ref="3"), Dependency(ref="4"), Dependency(ref="5-9", condition=Condition.ANY)]
    edges = [
        Edge(task=20, condition=Condition.SUCCESS, target=4),
        Edge(task=20, condition=Condition.ANY, target=6),
    ]
    context = make_context()
    print_tasks(
        context,
        {
            "tasks": [
                make_task(20, Status.BLOCKED, spec={"after": after}, facts={"edges": edges}, reason="dependencies")
            ]
        },
    )
    assert out_of(context).splitlines()[1].endswith("after 4, 5-9")


def test_a_reason_that_only_repeats_the_status_or_the_end_is_not_shown() -> None:
    tasks = [
        make_task(1, Status.SCHEDULED, due_at=NOW + 60, reason="scheduled"),
        make_task(2, Status.FAILED, signal=15, reason="signal 15", message="signal 15", finished_at=NOW),
        make_task(3, Status.FAILED, exit_code=7, reason="exit 7", finished_at=NOW),
    ]
    context = make_context()
    print_tasks(context, {"tasks": tasks})
    reasons = [line.rpartition("make -j8  ")[2] for line in out_of(context).splitlines()[1:]]
    assert reasons == ["-", "SIGTERM, now", "exit 7, now"]


def test_a_name_that_somebody_gave_can_be_found_in_a_pipe_whatever_its_length() -> None:
    name = "nightly-" + "x" * 150
    context = make_context(env={"COLUMNS": "40", "TERM": "dumb", "FORCE_COLOR": "0", "NO_COLOR": "1"})
    print_tasks(context, {"tasks": [make_task(1, spec={"name": name})]})
    assert name in out_of(context)
    assert "\x1b" not in out_of(context)


@pytest.mark.parametrize("columns", [None, 60, 100, 200])
def test_escape_sequences_in_names_are_shown_and_not_obeyed(columns: int | None) -> None:
    spec = {"name": ODD, "command": [ODD], "pool": ODD, "key": "k"}
    context = make_context(columns=columns)
    print_tasks(context, {"tasks": [make_task(1, spec=spec, reason=ODD, message=ODD)]})
    shown = COLOUR_CODE.sub("", out_of(context))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    assert len(shown.splitlines()) == 2
    assert "x\\x1b[31m" in shown


@given(
    st.lists(st.text(st.characters(codec=None), max_size=120), min_size=1, max_size=6),
    st.integers(min_value=60, max_value=200),
)
def test_whatever_the_names_a_listing_fits_the_terminal(names: list[str], columns: int) -> None:
    context = make_context(columns=columns)
    tasks = [
        make_task(place, spec={"name": name, "pool": name[:20] or "p"}, reason=name[::-1], ready_at=NOW - 5)
        for place, name in enumerate(names, 1)
    ]
    print_tasks(context, {"tasks": tasks, "more": 3, "summary": {"ready": 10**9, "running": 10**9}})
    shown = COLOUR_CODE.sub("", out_of(context))
    assert "\x1b" not in shown
    assert all(display_width(line) <= columns for line in shown.split("\n"))


@pytest.mark.parametrize(("left_s", "text"), [(300, "due in 5m"), (-12, "overdue 12s")])
def test_the_deadline_of_what_is_not_over_stands_in_its_reason(left_s: float, text: str) -> None:
    context = make_context()
    spec = {"deadline": NOW + left_s}
    ended = make_task(2, Status.SUCCEEDED, spec=spec, finished_at=NOW - 60)
    print_tasks(context, {"tasks": [make_task(1, spec=spec, reason="waits for a slot"), ended]})
    first, second = out_of(context).splitlines()[1:]
    assert first.endswith(f"waits for a slot, {text}")
    assert "due" not in second


def test_sixty_rows_are_drawn_fast() -> None:
    tasks = (mixed_tasks() * 8)[:60]

    def draw() -> float:
        began = time.process_time()
        print_tasks(make_context(columns=100), {"tasks": tasks, "more": 3})
        return time.process_time() - began

    assert min(draw() for _ in range(5)) < 0.005, "1 ms on an idle machine"
