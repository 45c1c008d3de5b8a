"""Schedules from the command line: added, previewed, listed, changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.errors import NotFoundError
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec
from cronoq_cli.wire.requests import Reply
from cronoq_cli.wire.schedules import ApplySchedules, PauseSchedules, RunSchedule, ScheduleHistory, SkipSchedule
from tests.commands.conftest import NOW, Caller, task_document
from tests.commands.schedules import TableGateway


@pytest.fixture
def planner(caller: Caller) -> Caller:
    """Somebody whose daemon keeps schedules."""
    gateway = TableGateway()
    caller.gateway = gateway
    assert caller.streams is not None
    caller.streams.gateway = gateway
    return caller


def added(planner: Caller, *words: str) -> ScheduleSpec:
    """The schedule that these words add."""
    line = planner("recurring", "add", *words)
    assert line.status == 0, line.err
    (spec,) = planner.request.specs
    assert isinstance(spec, ScheduleSpec)
    return spec


# -- next ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("0 0 30 2 *",), 7),
        (("61 * * * *",), 7),
        (("@reboot",), 7),
        (("0 9 * * *", "--tz", "Europe/Berlim"), 2),
        (("0 9 * * *", "--after", "soon"), 2),
        (("0 9 * * *", "-n", "0"), 2),
        (("nobody",), 3),
        (("nobody", "--tz", "UTC"), 2),
    ],
)
def test_what_is_wrong_is_refused_with_one_line(planner: Caller, words: tuple[str, ...], status: int) -> None:
    line = planner("recurring", "next", *words)
    assert line.status == status
    assert line.err.count("\n") == 1


def test_the_next_instants_are_a_document_in_utc(planner: Caller) -> None:
    words = ("30 2 * * *", "--tz", "America/New_York", "--after", "2026-03-07T12:00:00Z", "-n", "3", "--json")
    line = planner("recurring", "next", *words)
    assert line.status == 0
    document = json.loads(line.out)
    assert document["schema"] == 1
    assert document["next"] == ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"]
    assert "03:00" in line.err, "that the wall time does not exist on the day of the change is said"


def test_people_see_words_and_times_of_the_zone(planner: Caller) -> None:
    line = planner("recurring", "next", "0 12 * * 0", "--tz", "Europe/Berlin", "--after", "2022-03-24")
    assert line.status == 0
    first, second, *_ = line.out.splitlines()
    assert "12:00" in first
    assert "Europe/Berlin" in first
    assert second == "Sun 2022-03-27 12:00:00 CEST"


def test_a_name_is_previewed_in_its_own_zone(planner: Caller) -> None:
    added(planner, "close", "15 16 * * 1-5", "--tz", "America/New_York", "--", "report")
    line = planner("recurring", "next", "close", "-n", "2", "--after", "2026-03-05T12:00:00Z", "--json")
    document = json.loads(line.out)
    assert document["next"] == ["2026-03-05T21:15:00Z", "2026-03-06T21:15:00Z"]
    assert (document["tz"], document["zone"]) == ("America/New_York", "America/New_York")
    assert "16:15:00 EST" in planner("recurring", "next", "close", "--after", "2026-03-05T12:00:00Z").out


# -- add -----------------------------------------------------------------------------------------------------------


def test_add_tells_words_zone_and_next_runs(planner: Caller) -> None:
    line = planner("recurring", "add", "backup", "30 2 * * *", "--", "./backup.sh", "--all")
    assert line.status == 0
    first, second, *rest = line.out.splitlines()
    assert first == "added backup: at 02:30 every day (Europe/Berlin)"
    assert second.startswith("Tue 2026-09-22 02:30:00 CEST  in ")
    assert len(rest) == 4
    assert "2027-03-28 02:30 does not exist: runs at 03:00" in line.err
    spec = planner.request.specs[0]
    assert spec.template.command == ["./backup.sh", "--all"]
    assert (spec.expr, spec.tz, spec.overlap, spec.catch_up) == ("30 2 * * *", None, Overlap.SKIP, CatchUp.LATEST)


def test_directory_umask_and_environment_are_those_of_the_caller(planner: Caller) -> None:
    spec = added(planner, "x", "@daily", "--", "make it")
    assert (spec.template.cwd, spec.template.umask, spec.template.shell_line) == (planner.cwd, 0o027, "make it")
    assert b"HOME=/home/ann\0" in planner.request.envs[spec.template.env]


def test_every_option_of_a_schedule_lands_in_its_field(planner: Caller) -> None:
    spec = added(
        planner,
        *("x", "0 9 * * *", "--tz", "Asia/Tokyo", "--overlap", "queue-on-success", "--catch-up", "all"),
        *("--catch-up-within", "2d", "--jitter", "5m", "--until", "2027-01-01T00:00:00Z", "--max-runs", "7"),
        *("--pause-after-failures", "3", "--reserve", "--tolerance", "10s", "--on-miss", "skip"),
        *("--deadline-after", "1h", "--hook", "on-failure=notify-send bad", "-p", "net", "-P", "high"),
        *("--on-failure", "./tell", "--on-failure", "./page", "--on-end", "./clean"),
        *("--timeout", "1h", "--retries", "2", "-t", "team=a", "-E", "A=b", "--", "x"),
    )
    assert (spec.tz, spec.overlap, spec.catch_up) == ("Asia/Tokyo", Overlap.QUEUE_ON_SUCCESS, CatchUp.ALL)
    assert (spec.catch_up_within_s, spec.jitter_s, spec.until, spec.max_runs) == (172_800, 300, 1798761600.0, 7)
    assert (spec.pause_after_failures, spec.reserve, spec.tolerance_s, spec.on_miss) == (3, True, 10, "skip")
    assert (spec.deadline_after_s, spec.hooks) == (3600, {"on_failure": "notify-send bad"})
    assert spec.reactions == {"on_failure": ["./tell", "./page"], "on_end": ["./clean"]}
    template = spec.template
    assert (template.pool, template.priority, spec.priority_given, template.timeout_s) == ("net", 2, True, 3600)
    assert (template.retries, template.tags, template.env_changes) == (2, {"team": "a"}, {"A": "b"})


def test_intervals_boots_and_seconds(planner: Caller) -> None:
    assert added(planner, "x", "--every", "90s", "--", "x").every_s == 90
    assert added(planner, "x", "@every 2m", "--", "x").every_s == 120
    assert added(planner, "x", "@reboot", "--", "x").reboot
    spec = added(planner, "x", "*/5 * * * * *", "--seconds", "--", "x")
    assert (spec.expr, spec.seconds) == ("*/5 * * * * *", True)
    line = planner("cron", "add", "x", "--every", "90s", "--", "x")
    assert line.out.startswith("replaced x: every 1m30s of elapsed time\n")


@pytest.mark.parametrize(
    "words",
    [
        ("x", "@daily", "rsync", "-a", "--tz", "b"),
        ("x", "@daily", "--overlap", "allow", "rsync", "-a", "--tz", "b"),
        ("x", "@daily", "--overlap=allow", "-p", "net", "--", "rsync", "-a", "--tz", "b"),
        ("--reserve", "x", "@daily", "rsync", "-a", "--tz", "b"),
        ("x", "--every", "10s", "rsync", "-a", "--tz", "b"),
        ("--every=10s", "x", "rsync", "-a", "--tz", "b"),
    ],
)
def test_what_follows_the_first_word_of_the_command_belongs_to_it(planner: Caller, words: tuple[str, ...]) -> None:
    assert added(planner, *words).template.command == ["rsync", "-a", "--tz", "b"]


def test_what_a_schedule_reads_is_kept_with_it(planner: Caller) -> None:
    planner.stdin = b"one\ntwo\xff\n"
    template = added(planner, "x", "@daily", "--stdin", "-", "--", "cat").template
    assert (template.stdin_text, template.stdin_kept, template.stdin) == ("one\ntwo\udcff\n", False, None)
    planner.stdin = b"x" * 70_000
    assert planner("recurring", "add", "x", "@daily", "--stdin", "-", "--", "cat").status == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "no name was given"),
        (("x",), 2, "it was not said when"),
        (("x", "./backup.sh"), 2, "it was not said when"),
        (("x", "30", "2", "*", "*", "*", "--", "y"), 7, "quote the expression"),
        (("x", "@daily"), 2, "no command was given"),
        (("x", "61 * * * *", "--", "y"), 7, "minute field"),
        (("x", "0 0 30 2 *", "--", "y"), 7, "never fires"),
        (("x", "* * * * * *", "--", "y"), 7, "add --seconds"),
        (("x", "@fortnightly", "--", "y"), 7, "unknown macro"),
        (("x y", "@daily", "--", "y"), 2, "is not a name for a schedule"),
        (("x", "@daily", "--tz", "Europe/Berlim", "--", "y"), 2, "--tz: 'Europe/Berlim' is not a time zone"),
        (("x", "@daily", "--overlap", "quue", "--", "y"), 2, "did you mean queue?"),
        (("x", "@daily", "--on-miss", "skip", "--", "y"), 2, "--on-miss without --tolerance"),
        (("x", "@reboot", "--tz", "UTC", "--", "y"), 2, "--tz with @reboot"),
        (("x", "--every", "10s", "--tz", "UTC", "--", "y"), 2, "--tz with an interval"),
        (("x", "--every", "10s", "--jitter", "1s", "--", "y"), 2, "--jitter with an interval"),
        (("x", "--every", "1ms", "--", "y"), 2, "too short"),
        (("x", "--every", "10s", "--seconds", "--", "y"), 2, "--seconds with --every"),
        (("x", "--every", "10s", "* * * * *", "--", "y"), 2, "'* * * * *' with --every"),
        (("x", "@daily", "--every", "10s", "--", "y"), 2, "'@daily' with --every"),
        (("x", "--every", "10s", "*/9 * * * * *", "y"), 2, "'*/9 * * * * *' with --every"),
        (("x", "README.md", "tests", "30", "echo"), 7, "'README.md' is one field of five (quote the expression"),
        (("x", "@daily", "--until", "2020-01-01", "--", "y"), 2, "--until: '2020-01-01' is not ahead"),
        (("x", "@daily", "--hook", "on_fire=y", "--", "y"), 2, "unknown hook 'on_fire'"),
        (("x", "@daily", "--hook", "on_failure", "--", "y"), 2, "on_failure has no command"),
        (("x", "@daily", "--ping", "ftp://x", "--", "y"), 2, "--ping: 'ftp://x' is not a URL to ping"),
        (("x", "@daily", "--at", "18:00", "--", "y"), 2, "no option --at"),
        (("x", "@daily", "--shell", "sh", "--", "y", "z"), 2, "--shell with a command of several words"),
    ],
)
def test_a_wrong_schedule_is_one_clear_line(planner: Caller, words: tuple[str, ...], status: int, said: str) -> None:
    line = planner("recurring", "add", *words)
    assert (line.status, line.out) == (status, "")
    assert said in line.err
    assert line.err.count("\n") == 1
    assert not planner.gateway.requests


def test_a_preview_of_an_expression_without_quotes_says_what_is_missing(planner: Caller) -> None:
    line = planner("recurring", "next", "30", "2", "README.md")
    assert (line.status, line.err.split(" (")[0]) == (2, "cronoq: 3 words where one is wanted")
    assert "quote the expression" in line.err
    assert "NAME|EXPR is missing" in planner("recurring", "next").err


def test_adding_again_replaces_and_says_so(planner: Caller) -> None:
    added(planner, "x", "@daily", "--", "a")
    assert planner("recurring", "add", "x", "@hourly", "--", "a").out.startswith(
        "replaced x: at minute 0 of every hour"
    )
    assert planner("recurring", "add", "x", "@hourly", "--", "a").out.startswith("unchanged x:")
    assert planner("recurring", "add", "x", "@daily", "--dry-run", "--", "a").out.startswith("would replace x:")
    document = json.loads(planner("recurring", "add", "x", "@daily", "--json", "--", "a").out)
    assert (document["replaced"], document["recurring"][0]["words"]) == (["x"], "at 00:00 every day")


def test_a_daemon_answers_add_itself(planner: Caller) -> None:
    planner.on_daemon_side()
    assert planner("recurring", "add", "x", "@daily", "--paused", "--", "a").out.endswith(
        "cronoq recurring resume x starts it\n"
    )
    assert planner.request == ApplySchedules(specs=planner.request.specs, envs=planner.request.envs, paused=True)


# -- looking -------------------------------------------------------------------------------------------------------


def fill(planner: Caller) -> None:
    """Four schedules of different kinds."""
    added(planner, "backup", "30 2 * * *", "--", "./backup.sh")
    added(planner, "poll", "--every", "90s", "--overlap", "allow", "--", "./poll")
    added(planner, "close", "15 16 * * 1-5", "--tz", "America/New_York", "--", "report")
    added(planner, "boot", "@reboot", "--paused", "--", "./prepare")
    assert isinstance(planner.gateway, TableGateway)
    planner.gateway.table["backup"].last = {"id": 7, "status": "failed", "finished_at": "2026-09-21T00:31:00Z"}


def test_a_pipe_has_all_columns_uncut(planner: Caller) -> None:
    fill(planner)
    rows = planner("recurring", "ls").out.splitlines()
    assert rows[0].split()[:3] == ["NAME", "WHEN", "NEXT"]
    assert "AT (CEST)" in rows[0]
    assert "ZONE" in rows[0]
    by_name = {row.split()[0]: row for row in rows[1:]}
    assert "at 02:30 every day" in by_name["backup"]
    assert "failed" in by_name["backup"]
    assert "@every 1m30s" in by_name["poll"]
    assert "paused" in by_name["boot"]
    assert "Sep 21 22:15" in by_name["close"] or "22:15:00" in by_name["close"], "the caller's zone, said in the header"


@pytest.mark.parametrize("columns", [20, 60, 80, 120, 140, 200])
def test_the_table_fits_a_terminal_and_has_words_where_there_is_room(planner: Caller, columns: int) -> None:
    fill(planner)
    planner.terminal, planner.columns = True, columns
    planner.env["NO_COLOR"] = "1"
    rows = planner("recurring", "ls").out.splitlines()
    assert len(rows) == 5
    assert all(len(row) <= columns for row in rows)
    assert ("IN WORDS" in rows[0]) == (columns >= 140)


def test_a_schedule_that_does_not_run_says_why_in_its_state(planner: Caller) -> None:
    fill(planner)
    assert isinstance(planner.gateway, TableGateway)
    planner.gateway.table["backup"].broken = True
    planner("recurring", "add", "over", "@daily", "--until", "+1d", "--", "x")
    planner.gateway.table["over"].spec.until = NOW - 1  # time has passed
    assert "no run is ahead" in planner("recurring", "show", "over").err
    rows = {row.split()[0]: row for row in planner("recurring", "ls").out.splitlines()}
    assert "broken" in rows["backup"]
    assert "ended" in rows["over"]
    assert "resume begins anew" in planner("recurring", "show", "backup").out


def test_a_slot_that_is_to_be_left_out_is_seen_before_it_is_due(planner: Caller) -> None:
    fill(planner)
    assert isinstance(planner.gateway, TableGateway)
    planner.gateway.table["backup"].skips = ["2026-09-22T00:30:00Z"]
    assert "Left out\n  Sep 22 02:30\n" in planner("recurring", "show", "backup").out


def test_one_schedule_is_one_document_and_a_listing_is_a_list(planner: Caller) -> None:
    fill(planner)
    shown = json.loads(planner("recurring", "show", "backup", "--json").out)
    assert (shown["schema"], shown["recurring"]["name"]) == (1, "backup")
    listed = json.loads(planner("recurring", "ls", "--json").out)["recurring"]
    assert "backup" in [document["name"] for document in listed]


def test_tasks_are_selected_by_their_schedule(planner: Caller) -> None:
    planner("ls", "--recurring", "backup")
    assert planner.request.select.tags == {"recurring": "backup"}
    planner("cancel", "--recurring", "*", "--tag", "a=b")
    assert planner.request.select.tags == {"recurring": None, "a": "b"}


def test_names_and_patterns_narrow_the_listing(planner: Caller) -> None:
    fill(planner)
    found = json.loads(planner("recurring", "ls", "b*", "--json").out)
    assert [one["name"] for one in found["recurring"]] == ["backup", "boot"]
    assert planner("recurring", "ls", "z*").status == 3
    assert planner("recurring", "ls", "nobody").status == 3


def test_no_schedules_are_a_note(planner: Caller) -> None:
    line = planner("recurring", "ls")
    assert (line.status, line.out) == (0, "")
    assert "no schedules" in line.err


def test_show_has_words_policies_and_the_environment_only_when_asked(planner: Caller) -> None:
    added(planner, "x", "0 9 * * *", "--jitter", "5m", "-E", "TOKEN=abc", "--", "sh", "-c", "echo a b")
    shown = planner("recurring", "show", "x").out
    for text in ("at 09:00 every day", "Europe/Berlin", "5m", "sh -c 'echo a b'", planner.cwd, "TOKEN", "Next runs"):
        assert text in shown
    assert "/home/ann" not in shown
    assert "HOME=/home/ann" in planner("recurring", "show", "x", "--env").out


def test_history_is_a_table_with_reasons(planner: Caller) -> None:
    runs: list[dict[str, Any]] = [
        {
            "id": 7, "status": "failed", "reason": "exit 3", "due_at": "2026-09-20T00:30:00Z", "manual": False,
            "started_at": "2026-09-20T00:30:01Z", "finished_at": "2026-09-20T00:31:01Z", "run_s": 60.0, "exit_code": 3,
        },
        {
            "id": None, "status": "missed", "reason": "the daemon was down", "due_at": "2026-09-21T00:30:00Z",
            "manual": False, "started_at": None, "finished_at": None, "run_s": None, "exit_code": None,
        },
    ]  # fmt: skip
    planner.gateway.answer(ScheduleHistory, Reply(doc={"runs": runs}))
    rows = planner("recurring", "history", "x").out.splitlines()
    assert rows[1].split()[-2:] == ["exit", "3"]
    assert rows[2].endswith("the daemon was down")
    runs[1] |= {"count": 10, "more": False, "last_due_at": "2026-09-21T00:39:00Z"}
    rows = planner("recurring", "history", "x").out.splitlines()
    assert "the daemon was down, 10 slots, up to " in rows[2]
    planner("recurring", "history", "x", "--limit", "all", "--before", "2026-09-21")
    assert planner.request.limit is None
    assert planner.request.before is not None


# -- changing ------------------------------------------------------------------------------------------------------


def test_pausing_and_resuming_by_name_pattern_and_all(planner: Caller) -> None:
    fill(planner)
    assert planner("recurring", "pause", "backup,poll").out == "paused backup, poll\n"
    assert planner("recurring", "resume", "b*").out == "resumed backup, boot\n"
    planner("recurring", "pause", "--all", "--until", "+2h", "--reason", "holiday")
    assert planner.request == PauseSchedules(names=[], until=NOW + 7200, reason="holiday")
    assert planner("recurring", "pause").status == 2
    assert planner("recurring", "pause", "--all", "poll").status == 2
    assert planner("recurring", "pause", "poll", "--until", "2020-01-01").status == 2


def test_removing(planner: Caller) -> None:
    fill(planner)
    assert planner("recurring", "rm", "nobody").status == 3
    assert planner("recurring", "rm", "poll").out == "removed poll\n"
    assert planner("recurring", "rm", "--all").out == "removed backup, close, boot\n"


def test_a_schedule_that_is_over_before_its_first_run_is_refused(planner: Caller) -> None:
    for words in (("0 4 * * *", "--tz", "UTC"), ("--every", "2h")):
        refused = planner("recurring", "add", "x", *words, "--until", "+1h", "--", "true")
        assert refused.status == 7
        assert "it never fires: its first run 2026-09-2" in refused.err
        assert "would come behind --until 2026-09-21T15:13:20Z" in refused.err
        assert planner("recurring", "add", "x", *words, "--until", "+3d", "--", "true").status == 0
    assert planner("recurring", "add", "x", "@reboot", "--until", "+1h", "--", "true").status == 0


def test_jitter_is_told_since_the_times_are_others_than_the_words(planner: Caller) -> None:
    line = planner("recurring", "add", "x", "0 4 * * *", "--jitter", "1h", "--", "true")
    assert "cronoq: with --jitter 1h each run starts 10m39s after its time\n" in line.err
    line = planner("recurring", "add", "x", "* * * * *", "--jitter", "1h", "--", "true")
    assert "each run starts 10m39s after its time: later than the next one falls due\n" in line.err


def test_skipping(planner: Caller) -> None:
    skipped = {"recurring": [{"name": "x", "next": "2026-09-23T00:30:00Z"}], "skipped": ["2026-09-22T00:30:00Z"]}
    planner.gateway.answer(SkipSchedule, Reply(doc=skipped))
    assert planner("recurring", "skip", "x").out == "x leaves out a run; next 2026-09-23T00:30:00Z\n"
    planner("recurring", "skip", "x", "-n", "3")
    assert planner.request == SkipSchedule(name="x", count=3)
    assert planner("recurring", "skip", "x", "-n", "3", "--at", "18:00").status == 2


def test_running_now_prints_the_id_or_waits(planner: Caller) -> None:
    planner.gateway.answer(RunSchedule, Reply(doc={"task": task_document(7)}))
    assert planner("recurring", "run", "x").out == "7\n"
    assert planner("recurring", "run", "x", "-w").status == 0
    planner.gateway.answer(RunSchedule, NotFoundError("no schedule is called 'x'"))
    assert planner("recurring", "run", "x").status == 3
    assert planner("recurring", "run", "x", "-w").status == 125


def test_refreshing_takes_this_directory_and_environment(planner: Caller) -> None:
    added(planner, "x", "@daily", "--", "a")
    planner.cwd, planner.umask, planner.env["NEW"] = str(Path("/tmp")), 0o077, "1"
    assert planner("recurring", "refresh", "x").out == "refreshed x\n"
    assert (planner.request.cwd, planner.request.umask) == ("/tmp", 0o077)
    assert b"NEW=1\0" in planner.request.env
    assert planner("recurring", "refresh", "--all").status == 2
