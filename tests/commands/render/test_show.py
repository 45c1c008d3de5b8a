"""What `show`, `pool ls`, `events`, `daemon status` and one-line answers look like."""

from __future__ import annotations

from typing import Any

import pytest

from cronoq_cli.commands.render.events import print_event, print_events
from cronoq_cli.commands.render.lines import print_confirmation, print_ids, print_named
from cronoq_cli.commands.render.pools import print_pool, print_pools
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.status import print_status
from cronoq_cli.commands.render.task import print_task
from cronoq_cli.commands.render.text import display_width
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.snapshot import describe_pool, describe_transition
from cronoq_cli.model.task import AttemptRecord, Dependency, Transition
from tests.commands.render.samples import NOW, UTF8, make_context, make_task, out_of

PLAIN = {**UTF8, "NO_COLOR": "1"}


def failed_task() -> dict[str, Any]:
    attempts = [
        AttemptRecord(
            task=7, number=1, started_at=NOW - 500, ended_at=NOW - 400, run_s=100.0, outcome="failed",
            exit_code=2, cpu_user_s=55.5, cpu_system_s=3.25, max_rss=64 << 20, log="/logs/7.1.log",
        ),
        AttemptRecord(
            task=7, number=2, started_at=NOW - 300, ended_at=NOW - 200, run_s=100.0, outcome="failed",
            reason="retry", signal=9, cause="time limit", log="/logs/7.2.log",
        ),
    ]  # fmt: skip
    spec = {
        "name": "build", "command": None, "shell_line": "make -j8 | tee log", "shell": "/bin/bash", "key": "nightly",
        "tags": {"team": "core"}, "after": [Dependency(ref="3-5")], "retries": 1, "timeout_s": 100.0,
    }  # fmt: skip
    return make_task(
        7, Status.DEAD_LETTERED, spec=spec, facts={"attempts": attempts, "env_names": ["PATH", "HOME"]},
        attempt=2, max_attempts=2, start_reason="retry", ready_at=NOW - 510, started_at=NOW - 300,
        finished_at=NOW - 200, signal=9, reason="time limit", log="/logs/7.2.log", outputs={"url": "http://x"},
        usage={"cpu_user_s": 0.5, "cpu_system_s": 0.25, "max_rss": 1 << 20},
    )  # fmt: skip


POOLS = """\
POOL     STATE   BUSY  READY                       OLDEST  BLOCKED  SCHED  RETRY  REASON
default  open     8/8  44 (1 critical, 43 normal)   5m45s        2      0      0  -
media    paused   0/2  0                                -        0      0      0  TARGET
""".replace("TARGET", "0 to 4 workers, target 1")

SHOWN = """\
Task 7: build
  status         dead_lettered, SIGKILL
  reason         time limit
  attempt        2 of 2, retry
  command        make -j8 | tee log
  shell          /bin/bash
  directory      /src
  log            /logs/7.2.log
  pool           default
  priority       normal
  key            nightly
  tags           team=core
  after          3-5
  submitted      16:12:20 CEST, 1m ago
  started        16:08:20 CEST, 5m ago
  finished       16:10:00 CEST, 3m20s ago
  waited         3m30s
  ran            1m40s
  timeout        1m40s
  retries        1
  if lost        count
  cpu            0.5s user, 0.25s system
  memory         1MiB
  output         url=http://x

Attempts
NO  OUTCOME  END      STARTED (CEST)   TIME  CPU  MEMORY  WHY                LOG
 1  failed   exit 2   16:05:00        1m40s  58s   64MiB  -                  /logs/7.1.log
 2  failed   SIGKILL  16:08:20        1m40s    -       -  retry, time limit  /logs/7.2.log

  environment    HOME PATH
"""


def test_show_has_all_facts_in_groups_with_times_in_the_callers_zone() -> None:
    context = make_context()
    print_task(context, {"task": failed_task()})
    assert out_of(context) == SHOWN


def test_a_task_without_limit_says_so_and_one_not_started_too() -> None:
    context = make_context(env={})
    print_task(context, {"tasks": [make_task(1), make_task(2, max_attempts=4)]})
    lines = out_of(context).splitlines()
    assert "  timeout        none" in lines
    assert "  attempt        none yet" in lines
    assert "  attempt        none yet, at most 4" in lines
    assert lines.index("Task 2: make") == lines.index("") + 1


def test_show_says_how_far_a_running_task_is_or_may_be() -> None:
    told = make_task(1, Status.RUNNING, started_at=NOW - 30, progress="0.5", attempt=1)
    learned = make_task(1, Status.RUNNING, started_at=NOW - 30, facts={"expected_s": 60.0}, attempt=1)
    for task, terminal, pipe in ((told, "████░░░░ 50%", "50%"), (learned, "▒▒▒▒░░░░ ~50% of 1m", None)):
        for columns, said in ((80, terminal), (None, pipe)):
            context = make_context(columns=columns, env=PLAIN)
            print_task(context, {"task": task})
            found = [line.split(None, 1)[1] for line in out_of(context).splitlines() if "progress" in line]
            assert found == ([] if said is None else [said])


def test_show_has_what_a_task_wants_of_the_scheduler() -> None:
    spec = {
        "tenant": "alice", "labels": {"gpu": "yes"}, "uses": {"gpu": 2.0, "api": 0.5}, "group": "mail",
        "estimate_s": 90.0, "start_at": NOW + 60, "deadline": NOW + 600, "expires_at": NOW + 900,
    }  # fmt: skip
    context = make_context()
    print_task(context, {"task": make_task(1, spec=spec)})
    lines = out_of(context).splitlines()
    for line in (
        "  tenant         alice",
        "  runs on        gpu=yes",
        "  uses           2 gpu, 0.5 api",
        "  group          mail",
        "  fixed start    16:14:20 CEST, in 1m",
        "  deadline       16:23:20 CEST, in 10m",
        "  expires        16:28:20 CEST, in 15m",
        "  estimate       1m30s",
    ):
        assert line in lines


def test_values_of_the_environment_stand_a_line_each_when_asked_for() -> None:
    context = make_context()
    print_task(context, {"task": make_task(1, facts={"env": {"PATH": "/bin", "X": "a\nb"}})})
    assert out_of(context).endswith("\nEnvironment\n  PATH  /bin\n  X     a\\nb\n")


@pytest.mark.parametrize("columns", [60, 80, 133, 200])
def test_show_fits_a_terminal_and_loses_nothing_of_its_facts(columns: int) -> None:
    context = make_context(columns=columns, env=PLAIN)
    directory = "/very/long/" + "directory/" * 30
    print_task(context, {"task": {**failed_task(), "cwd": directory}})
    shown = out_of(context)
    assert all(display_width(line) <= columns for line in shown.splitlines())
    assert directory in shown.replace("\n", "").replace(" ", "")


def test_pools_show_how_full_they_are_and_what_waits() -> None:
    context = make_context()
    busy = describe_pool(
        "default", workers=8, busy=8, waiting={"critical": 1, "normal": 43}, oldest_ready_at=NOW - 345, now=NOW,
        blocked=2,
    )  # fmt: skip
    paused = describe_pool("media", workers=2, min=0, max=4, target=1, paused=True)
    print_pools(context, {"pools": [busy, paused]})
    assert out_of(context) == POOLS


def test_pools_show_what_is_kept_free_and_their_groups() -> None:
    context = make_context()
    groups = [{"labels": {"gpu": "yes"}, "workers": 2, "busy": 1, "shared": False}]
    print_pools(context, {"pools": [describe_pool("batch", workers=2, held=1, reservations=3, groups=groups)]})
    assert "  gpu=yes 1/2, 1 held, 3 reserved" in out_of(context)


def test_one_pool_is_shown_with_what_it_did() -> None:
    context = make_context()
    pool = describe_pool(
        "batch", workers=4, min=1, max=8, target=4, busy=3, waiting={"low": 2}, oldest_ready_at=1.0, now=61.0
    )
    times = {"mean": 2.0, "p50": 1.0, "p90": 4.0, "p99": 90.0}
    pool |= {
        "started": 9,
        "failed": 1,
        "run_s": times,
        "utilisation": 0.375,
        "deadline_hit_rate": 0.9,
        "worker_s": 75.0,
        "scalings": [{"at": "2026-09-21T14:03:20Z", "from": 1, "to": 4, "reason": "41 wait"}],
    }
    print_pool(context, {"pool": pool})
    assert out_of(context).splitlines() == [
        "Pool batch: open",
        "  busy          3 of 4",
        "  scales        1 to 8 workers, target 4",
        "  ready         2 (2 low), the oldest for 1m",
        "",
        "Last 24 hours",
        "  started       9",
        "  succeeded     0",
        "  failed        1",
        "  retried       0",
        "  runs          mean 2s, half within 1s, 90% within 4s, 99% within 1m30s",
        "  deadlines     90.0% kept",
        "",
        "In all",
        "  worker time   1m15s offered",
        "  used          37.5% of it",
        "",
        "AT (CEST)  WORKERS  WHY",
        "16:03:20   1 to 4   41 wait",
    ]


def make_events() -> list[dict[str, Any]]:
    return [
        describe_transition(
            Transition(at=NOW - 2, type="started", id=7, pool="default", status="running", attempt=1, seq=4)
        ),
        describe_transition(Transition(at=NOW, type="pool-paused", pool="media", message="by the user", seq=5)),
    ]


def test_events_are_a_table_with_the_zone_in_its_header() -> None:
    context = make_context()
    print_events(context, {"events": make_events()})
    assert out_of(context).splitlines() == [
        "AT (CEST)            ID  EVENT        STATUS   TRY  POOL     MESSAGE",
        "2026-09-21 16:13:18   7  started      running    1  default  -",
        "2026-09-21 16:13:20   -  pool-paused  -          -  media    by the user",
    ]


def test_a_stream_of_events_is_one_aligned_line_each() -> None:
    context = make_context()
    for event in make_events():
        print_event(context, event)
    assert out_of(context).splitlines() == [
        "2026-09-21 16:13:18      7  started       running        default",
        "2026-09-21 16:13:20      -  pool-paused   -              media  by the user",
    ]


def test_the_status_of_the_daemon_is_facts_with_what_it_recovered() -> None:
    context = make_context()
    daemon = {
        "epoch": 12, "state": "running", "started_at": "2026-09-21T14:00:00Z", "leader_pid": None, "running": 2,
        "recovered": {"adopted": 3, "ends_delivered": 1, "lost": 0}, "standbys": [], "auto_upgrade": True,
    }  # fmt: skip
    print_status(context, {"daemon": daemon})
    assert out_of(context).splitlines() == [
        "  state          running",
        "  started        16:00:00 CEST, 13m20s ago",
        "  epoch          12",
        "  running        2",
        "  recovered      3 adopted, 1 ends delivered",
        "  standbys       none",
        "  auto upgrade   yes",
    ]


def test_one_line_answers_name_runs_of_ids() -> None:
    context = make_context()
    print_ids(context, [101, 102, 103])
    print_confirmation(context, "cancelled", [3, 4, 5, 9])
    print_confirmation(context, "cancelled", [])
    print_named(context, "paused", ["default", "media"])
    assert out_of(context) == "101-103\ncancelled 3-5,9\npaused default, media\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"), (0.0, "0s"), (0.0004, "0.4ms"), (0.004, "4ms"), (0.0994, "99ms"), (0.0996, "0.1s"),
        (0.25, "0.25s"), (7.5, "7.5s"), (9.999, "10s"), (59.9, "59s"),
        (60.0, "1m"), (192.0, "3m12s"), (7500.0, "2h05m"), (86_400.0, "1d"), (360_000.0, "4d04h"),
    ],
)  # fmt: skip
def test_spans_have_at_most_two_units(seconds: float | None, text: str) -> None:
    assert short_span(seconds) == text


def test_moments_near_now_are_relative() -> None:
    assert [near_now(NOW + distance, NOW) for distance in (0.5, 33, -192, -86_400)] == [
        "now", "in 33s", "3m12s ago", "1d ago",
    ]  # fmt: skip
