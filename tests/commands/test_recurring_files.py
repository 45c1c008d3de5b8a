"""Schedules as text: exports that import to the same, crontabs accounted for line by line, take-over, the editor."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cronoq_cli.errors import InvalidError
from cronoq_cli.model.recurring import CatchUp, ScheduleSpec
from cronoq_cli.wire.schedules import ApplySchedules, PauseSchedules, RemoveSchedules, ResumeSchedules
from tests.commands.conftest import Caller, FakeStreams, Line
from tests.commands.schedules import TableGateway

CRONTABS = Path(__file__).parents[1] / "model" / "data" / "crontabs"


class Programs(FakeStreams):
    """A crontab and an editor in memory; `crash` names the step before which this client dies."""

    crontab = b""
    copies: tuple[bytes, ...] = ()
    edits: list[Callable[[str], str]]
    answers: list[bool]
    crash: str | None = None
    seen: list[str]

    def edit_text(self, text: str, suffix: str) -> str:
        """The text as the next edit leaves it."""
        assert suffix == ".toml"
        self.seen.append(text)
        return self.edits.pop(0)(text)

    def ask_yes(self, question: str) -> bool:
        """The next answer; no when there is none."""
        return self.answers.pop(0) if self.answers else False

    def read_crontab(self) -> bytes:
        """What `crontab -l` prints."""
        return self.crontab

    def write_crontab(self, data: bytes) -> None:
        """Make this the crontab."""
        if self.crash == "write":
            raise InvalidError("crontab refused")
        self.crontab = data

    def keep_copy(self, data: bytes, name: str) -> str:
        """Keep it."""
        self.copies = (*self.copies, data)
        return f"/state/{name}-copy"


@pytest.fixture
def planner(caller: Caller) -> Caller:
    """Somebody whose daemon keeps schedules."""
    return equip(caller)


def equip(caller: Caller) -> Caller:
    """Give the caller a table of schedules, a crontab and an editor."""
    caller.gateway = TableGateway()
    caller.streams = Programs(caller.gateway)
    caller.streams.edits, caller.streams.answers, caller.streams.seen = [], [], []
    return caller


def table(planner: Caller) -> dict[str, ScheduleSpec]:
    """What is kept, by name."""
    assert isinstance(planner.gateway, TableGateway)
    return {name: entry.spec for name, entry in sorted(planner.gateway.table.items())}


def streams(planner: Caller) -> Programs:
    assert isinstance(planner.streams, Programs)
    return planner.streams


def write(planner: Caller, text: str | bytes, name: str = "file") -> str:
    path = Path(planner.cwd, name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return name


def ok(line: Line) -> str:
    assert line.status == 0, line.err
    return line.out


# -- crontabs ------------------------------------------------------------------------------------------------------

FILES = {
    "poller": (8, True),
    "container": (11, True),
    "days": (3, True),
    "foreign-clock": (1, True),
    "identical": (5, True),
    "environment": (4, False),
    "sampler": (4, False),
}


@pytest.mark.parametrize(("name", "jobs", "system"), [(name, *about) for name, about in FILES.items()])
def test_real_crontabs_are_imported_with_every_line_accounted_for(
    planner: Caller, name: str, jobs: int, system: bool
) -> None:
    data = (CRONTABS / f"{name}.txt").read_bytes()
    words = ["recurring", "import", write(planner, data), *(["--system"] if system else [])]
    report = json.loads(ok(planner(*words, "--json")))
    assert [line["line"] for line in report["lines"]] == list(range(1, len(data.splitlines()) + 1))
    assert len(report["added"]) == len(table(planner)) == jobs
    assert {spec.catch_up for spec in table(planner).values()} == {CatchUp.NONE}
    again = json.loads(ok(planner(*words, "--json")))
    assert (again["added"], again["replaced"], len(again["unchanged"])) == ([], [], jobs)


@pytest.mark.parametrize(("name", "system"), [(name, system) for name, (_, system) in FILES.items()])
@pytest.mark.parametrize("form", ["--crontab", "--toml"])
def test_exporting_and_importing_real_crontabs_gives_the_same_table(
    planner: Caller, name: str, system: bool, form: str
) -> None:
    data = (CRONTABS / f"{name}.txt").read_bytes()
    ok(planner("recurring", "import", write(planner, data), *(["--system"] if system else [])))
    before = table(planner)
    exported = ok(planner("recurring", "export", form))
    ok(planner("recurring", "rm", "--all"))
    ok(planner("recurring", "import", write(planner, exported, "export")))
    assert table(planner) == before


def test_the_report_tells_people_when_each_job_runs_and_what_to_know(planner: Caller) -> None:
    text = "# nightly\nMAILTO=\n0 4 */30 * * ./a\n61 * * * * ./b\n\n@reboot ./c\n0 5 * * * date +%H\n"
    line = planner("recurring", "import", write(planner, text))
    assert line.status == 1
    rows = {row.split()[0]: row for row in line.out.splitlines()[1:-1]}
    assert set(rows) == {"1", "2", "3", "4", "6", "7"}
    assert "comment" in rows["1"]
    assert "at 04:00 on the 1st and 31st of the month" in rows["3"]
    assert "refused" in rows["4"]
    assert "minute field: '61'" in rows["4"]
    assert "once after each boot" in rows["6"]
    assert line.out.splitlines()[-1] == "3 added, 1 refused"
    assert "line 3: day of month */30 means 1, 31" in line.err
    assert "line 7: cut at the first bare %" in line.err
    assert table(planner)["a"].comment == ""


def test_a_job_runs_as_cron_would_run_it(planner: Caller) -> None:
    text = "0 1 * * * first\nSHELL=/bin/bash\nPATH=/opt/bin:/bin\nHOME=/srv/app\nCRON_TZ=Asia/Tokyo\n"
    text += "# why\n0 2 * * * cat%a%b\n"
    ok(planner("recurring", "import", write(planner, text)))
    first, cat = table(planner)["first"], table(planner)["cat"]
    assert (first.tz, first.template.shell, first.template.env_changes) == (None, None, {})
    assert (cat.tz, cat.template.shell, cat.template.cwd) == ("Asia/Tokyo", "/bin/bash", "/srv/app")
    assert (cat.template.shell_line, cat.template.stdin_text, cat.comment) == ("cat", "a\nb\n", "# why")
    assert cat.template.env_changes["PATH"] == "/opt/bin:/bin"
    assert isinstance(planner.gateway, TableGateway)
    assert b"TZ=Europe/Berlin" not in planner.gateway.envs[first.template.env], "the caller's variables are not cron's"
    assert b"PATH=/usr/bin:/bin\0" in planner.gateway.envs[first.template.env]
    assert (first.template.umask, cat.template.umask) == (0o022, 0o022)


def test_a_zone_above_a_boot_or_an_interval_is_for_the_jobs_that_follow_the_clock(planner: Caller) -> None:
    text = "CRON_TZ=America/New_York\n@reboot start\n@every 5m poll\n0 3 * * * save\n"
    ok(planner("recurring", "import", write(planner, text)))
    before = table(planner)
    assert {spec.when: spec.tz for spec in before.values()} == {
        "@reboot": None,
        "@every 5m": None,
        "0 3 * * *": "America/New_York",
    }
    exported = ok(planner("recurring", "export", "--crontab"))
    ok(planner("recurring", "rm", "--all"))
    ok(planner("recurring", "import", write(planner, exported, "export")))
    assert table(planner) == before


def test_mailto_becomes_a_hook_that_mails_output_where_there_is_a_sendmail(planner: Caller, tmp_path: Path) -> None:
    text = "MAILTO=ann@example.org,bob\n0 1 * * * job\n"
    planner.env["PATH"] = str(tmp_path)
    (tmp_path / "sendmail").write_text('#!/bin/sh\necho "$@"; cat\n')
    (tmp_path / "sendmail").chmod(0o755)
    ok(planner("recurring", "import", write(planner, text)))
    hooks = table(planner)["job"].hooks
    assert set(hooks) == {"on_end"}
    (tmp_path / "log").write_text("printed\n")
    line = ["/bin/sh", "-c", hooks["on_end"]]
    mail = subprocess.run(line, env={"CRONOQ_LOG": str(tmp_path / "log")}, capture_output=True, check=True).stdout
    words, _, body = mail.partition(b"\n\n")
    assert words.startswith(b"-i -t\nFrom: ")
    assert b"\nTo: ann@example.org, bob\nSubject: Cron <" in words
    assert body == b"printed\n"
    exported = ok(planner("recurring", "export", "--crontab"))
    (tmp_path / "sendmail").unlink()
    before = table(planner)
    ok(planner("recurring", "rm", "--all"))
    ok(planner("recurring", "import", write(planner, exported)))
    assert table(planner) == before


def test_another_command_of_a_known_name_does_not_replace_it(planner: Caller) -> None:
    ok(planner("recurring", "add", "backup", "@daily", "--", "./mine"))
    ok(planner("recurring", "import", write(planner, "0 1 * * * /opt/backup > /dev/null\n")))
    names = list(table(planner))
    assert names[0] == "backup"
    assert table(planner)["backup"].template.shell_line == "./mine"
    assert names[1].startswith("backup-")


def test_a_dry_run_changes_nothing(planner: Caller) -> None:
    out = ok(planner("recurring", "import", "--dry-run", write(planner, "0 1 * * * job\n")))
    assert out.endswith("1 added (a dry run: nothing was changed)\n")
    assert table(planner) == {}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 2),
        (("file", "--crontab"), 2),
        (("file", "--takeover"), 2),
        (("--crontab", "--takeover", "--give-back"), 2),
        (("--crontab", "--system"), 2),
        (("missing",), 7),
    ],
)
def test_a_wrong_import_is_one_line(planner: Caller, words: tuple[str, ...], status: int) -> None:
    write(planner, "0 1 * * * job\n")
    line = planner("recurring", "import", *words)
    assert (line.status, line.err.count("\n")) == (status, 1)


def test_bad_options_of_a_line_are_refused_with_their_field(planner: Caller) -> None:
    text = '# cronoq: {"overlap": "quue"}\n0 1 * * * job\n0 2 * * * good\n'
    line = planner("recurring", "import", write(planner, text))
    assert line.status == 1
    assert "overlap: 'quue' is not known here" in line.out
    assert list(table(planner)) == ["good"]


# -- the caller's own crontab --------------------------------------------------------------------------------------

OWN = b"# mine\nMAILTO=\n0 1 * * * one\n61 * * * * bad\n@daily two\n"
TAKEN = b"# mine\nMAILTO=\n#cronoq# 0 1 * * * one\n61 * * * * bad\n#cronoq# @daily two\n"


def resting(planner: Caller) -> dict[str, bool]:
    assert isinstance(planner.gateway, TableGateway)
    return {name: entry.paused for name, entry in sorted(planner.gateway.table.items())}


def test_a_crontab_is_added_paused_while_it_still_runs(planner: Caller) -> None:
    streams(planner).crontab = OWN
    line = planner("recurring", "import", "--crontab")
    assert (line.status, resting(planner)) == (1, {"one": True, "two": True})
    assert streams(planner).crontab == OWN
    assert "--takeover moves them over" in line.err


def test_taking_over_comments_out_and_starts_and_giving_back_undoes_it(planner: Caller) -> None:
    streams(planner).crontab = OWN
    line = planner("recurring", "import", "--crontab", "--takeover")
    assert line.status == 1, "one line was refused, and goes on running there"
    assert line.out.splitlines()[-1] == "2 added, 1 refused, 2 started here"
    assert (streams(planner).crontab, resting(planner)) == (TAKEN, {"one": False, "two": False})
    assert streams(planner).copies == (OWN,)
    assert " in " in line.out.splitlines()[3], "its next run is told, now that it runs here"
    assert "/state/crontab-copy" in line.err
    assert ok(planner("recurring", "import", "--crontab", "--give-back")).splitlines()[-1] == "removed here: one, two"
    assert (streams(planner).crontab, table(planner)) == (OWN, {})
    assert planner("recurring", "import", "--crontab", "--give-back").status == 3


class Crash(BaseException):
    """The client is killed."""


@pytest.mark.parametrize("words", [("--takeover",), ("--give-back",)])
@pytest.mark.parametrize("step", range(4))
def test_a_crash_between_the_steps_leaves_no_job_at_two_places_and_again_goes_on(
    planner: Caller, words: tuple[str, ...], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams(planner).crontab = OWN
    if words == ("--give-back",):
        planner("recurring", "import", "--crontab", "--takeover")
    steps = iter(range(100))
    gateway = planner.gateway

    def dying(call: Callable[..., Any], *kinds: type) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            if (not kinds or isinstance(given[0], kinds)) and next(steps) == step:
                raise Crash
            return call(*given)

        return wrapped

    changes = (ApplySchedules, PauseSchedules, ResumeSchedules, RemoveSchedules)
    with monkeypatch.context() as patch:
        patch.setattr(gateway, "ask", dying(gateway.ask, *changes))
        patch.setattr(streams(planner), "write_crontab", dying(streams(planner).write_crontab))
        try:
            planner("recurring", "import", "--crontab", *words)
        except Crash:
            there = {name for name in ("one", "two") if b"\n#cronoq# " not in streams(planner).crontab}
            here = {name for name, rests in resting(planner).items() if not rests}
            assert not there & here
    planner("recurring", "import", "--crontab", *words)
    if words == ("--takeover",):
        assert (streams(planner).crontab, resting(planner)) == (TAKEN, {"one": False, "two": False})
    else:
        assert (streams(planner).crontab, table(planner)) == (OWN, {})


def test_a_crontab_that_cannot_be_written_leaves_all_as_it_was(planner: Caller) -> None:
    streams(planner).crontab, streams(planner).crash = OWN, "write"
    assert planner("recurring", "import", "--crontab", "--takeover").status == 7
    assert (streams(planner).crontab, resting(planner)) == (OWN, {"one": True, "two": True})


# -- exports -------------------------------------------------------------------------------------------------------

DURATIONS = st.floats(0.001, 1e7, allow_nan=False).map(lambda x: round(x, 3)).filter(lambda x: x > 0)
TEXTS = st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF, exclude_characters="\r"), min_size=1, max_size=12)
WORDS = TEXTS.filter(lambda text: bool(text.strip()))
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True).filter(lambda name: name != "last")
VARIABLES = st.sampled_from(["A", "B_C", "SHELL", "HOME", "MAILTO", "CRON_TZ"])
OPTIONS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                ("--overlap", "queue"), ("--overlap", "replace"), ("--catch-up", "all"), ("--catch-up", "none"),
                ("--ping", "https://hc.example/x?y='1'"),
                ("--reserve",), ("--tolerance", "5s"), ("--max-runs", "3"), ("--pause-after-failures", "2"),
                ("--until", "2027-03-08T07:00:00.250Z"), ("--hook", "on_failure=mail 'x' \"y\""), ("-P", "low"),
                ("--retries", "4"), ("--backoff", "fixed:90s"), ("--retry-on", "1,5-9"), ("--success-codes", "3"),
                ("--stop-signal", "INT"), ("--on-lost", "hold"), ("--slots", "2"), ("--nice", "5"), ("-e", "err.log"),
                ("-o", "out.log"), ("--stdin", "in put"), ("--split",), ("--use", "gpu=0.125"), ("--tenant", "ann"),
                ("--on", "gpu=yes"), ("-t", "a=b c"), ("--kind", "k"), ("--umask", "077"),
                ("-C", "/srv/ä b"), ("-p", "net"), ("--clean-env",), ("--paused",),
                ("--on-failure", "tell 'a'"), ("--on-end", "b\nc"),
            ]
        ),
        st.tuples(
            st.sampled_from(["--timeout", "--heartbeat", "--grace", "--keep", "--estimate", "--jitter"]),
            DURATIONS.map(lambda x: f"{x:.3f}"),
        ),
        st.tuples(st.just("-E"), st.tuples(VARIABLES, TEXTS).map("=".join)),
    ),
    max_size=5,
)  # fmt: skip
TIMES = st.one_of(
    st.sampled_from([("30 2 * * *",), ("@daily",), ("0 9 * * mon-fri", "--tz", "Asia/Tokyo"), ("*/7 * * * *",)]),
    st.sampled_from([("*/5 * * * * *", "--seconds"), ("@every 90s",), ("--every", "1h30m")]),
)
COMMANDS = st.one_of(
    WORDS.map(lambda line: ["-c", line]), st.lists(TEXTS, min_size=2, max_size=3).map(lambda w: ["--", *w])
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=st.lists(st.tuples(NAMES, TIMES, OPTIONS, COMMANDS), min_size=1, max_size=3, unique_by=lambda one: one[0]))
@pytest.mark.parametrize("form", ["--toml", "--crontab", "edit"])
def test_an_import_of_an_export_gives_the_same_schedules(
    caller: Caller, form: str, found: list[tuple[str, tuple[str, ...], list[tuple[str, ...]], list[str]]]
) -> None:
    planner = equip(caller)
    for name, time, options, command in found:
        line = planner("recurring", "add", name, *time, *(word for one in options for word in one), *command)
        assert line.status in (0, 2), line.err
    before, rests = table(planner), resting(planner)
    if form == "edit":
        streams(planner).edits.append(lambda text: text + "\n")
        assert ok(planner("recurring", "edit")) == "nothing changed\n"
        return
    line = planner("recurring", "export", form, *(["--env"] if form == "--toml" else []))
    if line.status == 7:
        assert "cannot be written into a crontab" in line.err
        assert form == "--crontab"
        return
    if form == "--toml":
        ok(planner("recurring", "rm", "--all")) if before else None
    if before:
        ok(planner("recurring", "import", write(planner, line.out, "export")))
    assert (table(planner), resting(planner)) == (before, rests)


def test_an_environment_that_is_not_known_is_replaced_by_the_callers_with_a_note(planner: Caller) -> None:
    ok(planner("recurring", "add", "x", "@daily", "--", "a"))
    exported = ok(planner("recurring", "export"))
    assert "/home/ann" not in exported, "values of the environment are not printed unasked"
    assert "/home/ann" in ok(planner("recurring", "export", "--env"))
    ok(planner("recurring", "rm", "x"))
    planner.env["NEW"] = "1"
    line = planner("recurring", "import", write(planner, exported))
    assert "yours is taken for environments not known here" in line.err
    assert isinstance(planner.gateway, TableGateway)
    assert b"NEW=1\0" in planner.gateway.envs[table(planner)["x"].template.env]


def test_a_schedule_with_seconds_has_no_line_in_a_crontab(planner: Caller) -> None:
    ok(planner("recurring", "add", "tick", "*/5 * * * * *", "--seconds", "--", "a"))
    line = planner("recurring", "export", "--crontab")
    assert (line.status, line.out) == (7, "")
    assert "tick cannot be written into a crontab" in line.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[recurring.x]\nwhen = 3\nshell = 'a'\n", "x: when: 3 is not text"),
        ("[recurring.x]\nshell = 'a'\n", "x: when: it is missing"),
        ("[recurring.x]\nwhen = '@daily'\n", "x: it needs exactly one of command and shell"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\ntimeuot = '1h'\n", "did you mean timeout?"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\ntimeout = 'soon'\n", "x: timeout: 'soon' is not a duration"),
        ("[recurring.x]\nwhen = '61 * * * *'\nshell = 'a'\n", "x: bad schedule: minute field"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\noverlap = 'no'\n", "x: overlap: 'no' is not known here"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\nat = '18:00'\n", "x: unknown field 'at'"),
        ("[recurring]\nx = 1\n", "'x' is no table"),
        ("[pools.x]\n", "unknown table 'pools'"),
        ("[recurring.x\n", "it is not TOML"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\npaused = 'yes'\n", "x: paused: 'yes' is not true or false"),
        ("[recurring.x]\nwhen = '@daily'\nshell = 'a'\njitter = 2030-01-01\n", "x: jitter: '2030-01-01' is not a dura"),
    ],
)
def test_a_wrong_table_is_refused_with_its_name_and_field(planner: Caller, text: str, said: str) -> None:
    line = planner("recurring", "import", write(planner, text))
    assert (line.status, table(planner)) == (7, {})
    assert said in line.err


def test_an_import_of_paused_and_active_lines_is_one_request(planner: Caller) -> None:
    ok(planner("recurring", "add", "there", "@daily", "--", "a"))
    paused = '# cronoq: {"name": "rests", "paused": true}\n0 1 * * * x\n'
    again = '# cronoq: {"name": "there", "paused": true}\n0 1 * * * x\n'
    planner.gateway.requests.clear()
    ok(planner("recurring", "import", write(planner, paused + "0 2 * * * y\n" + again)))
    (one,) = [found for found in planner.gateway.requests if isinstance(found, ApplySchedules) and found.specs]
    assert sorted(spec.name for spec in one.specs) == ["rests", "there", "y"]
    assert resting(planner) == {"rests": True, "there": False, "y": False}, "a pause is not taken over what runs here"
    text = ok(planner("recurring", "export"))
    ok(planner("recurring", "rm", "--all"))
    planner.gateway.requests.clear()
    ok(planner("recurring", "import", write(planner, text)))
    (one,) = [found for found in planner.gateway.requests if isinstance(found, ApplySchedules) and found.specs]
    assert one.pausing == ["rests"]
    ok(planner("recurring", "rm", "--all"))
    ok(planner("recurring", "import", "--paused", write(planner, text)))
    assert set(resting(planner).values()) == {True}


@pytest.mark.parametrize("until", ["2030-01-02", "2030-01-02T00:00:00", "2030-01-01T23:00:00Z", "'2030-01-02'"])
def test_times_may_be_written_as_toml_has_them_also_on_windows(planner: Caller, until: str) -> None:
    text = f"\ufeff[recurring.x]\r\nwhen = '@daily'\r\nshell = 'a'\r\nuntil = {until}"
    assert ok(planner("recurring", "import", write(planner, text))) == "1 added\n"
    assert table(planner)["x"].until == 1_893_538_800.0


# -- edit ----------------------------------------------------------------------------------------------------------


def edit(planner: Caller, *edits: Callable[[str], str], answers: tuple[bool, ...] = ()) -> Line:
    streams(planner).edits, streams(planner).answers = list(edits), list(answers)
    return planner("recurring", "edit")


def test_edit_changes_adds_and_removes_and_keeps_comments(planner: Caller) -> None:
    ok(planner("recurring", "add", "old", "@daily", "--", "a"))
    ok(planner("recurring", "add", "gone", "@daily", "--", "b"))

    def change(text: str) -> str:
        begin, end = text.index("[recurring.gone]"), text.index("[recurring.old]")
        kept = text[:begin] + "# nightly\n" + text[end:].replace('"@daily"', '"0 3 * * *"\n# inside')
        return kept + "\n[recurring.new]\nwhen = '@hourly'\nshell = '''\nmake\n# no comment\n'''\npaused = true\n"

    assert ok(edit(planner, change)) == "added new\nreplaced old\nremoved gone\npaused new\n"
    found = table(planner)
    assert (found["old"].expr, found["old"].comment) == ("0 3 * * *", "# nightly\n# inside")
    assert (found["new"].template.shell_line, found["new"].comment) == ("make\n# no comment\n", "")
    assert found["new"].template.cwd == planner.cwd
    assert resting(planner) == {"new": True, "old": False}
    ok(edit(planner, lambda text: text))
    assert "# nightly\n# inside\n[recurring.old]" in streams(planner).seen[-1]
    assert ok(edit(planner, lambda text: text.replace("paused = true\n", ""))) == "resumed new\n"


def test_comments_at_the_end_of_lines_move_above_their_table(planner: Caller) -> None:
    text = """[recurring.x] # the big one
when = "0 3 * * *"  # night
command = [
  "a",  # no more
  "b # c", 'd \\', # nor this
]
shell_path = '/bin/#sh' #own
tag = { note = "a \\"# b" }
env = { A = \"\"\"
# text
\"\"\" } # of cron #2
[recurring.y]
when = "@daily" #
shell = "true # false"
"""
    ok(edit(planner, lambda _: text.replace("shell_path = '/bin/#sh' #own\n", "")))
    found = {name: spec.comment for name, spec in table(planner).items()}
    assert found == {"x": "# the big one\n# when: night\n# no more\n# nor this\n# of cron #2", "y": ""}
    ok(edit(planner, lambda kept: kept.replace("[recurring.y]", "[recurring.y] # !")))
    assert table(planner)["x"].comment == found["x"]
    assert table(planner)["y"].comment == "# !"


def test_an_edit_is_one_request_all_or_nothing(planner: Caller) -> None:
    for name in ("old", "gone", "quiet"):
        ok(planner("recurring", "add", name, "@daily", "--", "a"))
    ok(planner("recurring", "pause", "quiet"))
    planner.gateway.requests.clear()
    more = "[recurring.new]\nwhen = '@daily'\nshell = 'x'\npaused = true\n"

    def change(text: str) -> str:
        blocks = dict(zip(("gone", "old", "quiet"), text.split("\n\n")[1:], strict=True))
        return f"{blocks['old']}\npaused = true\n\n{blocks['quiet'].replace('paused = true', '')}\n\n{more}"

    ok(edit(planner, change))
    (one,) = [found for found in planner.gateway.requests if isinstance(found, ApplySchedules) and found.pausing]
    assert ([spec.name for spec in one.specs], one.removed) == (["new"], ["gone"])
    assert (one.pausing, one.resuming) == (["old", "new"], ["quiet"])
    assert resting(planner) == {"new": True, "old": True, "quiet": False}


def test_a_refused_text_is_offered_again_as_it_is(planner: Caller) -> None:
    ok(planner("recurring", "add", "x", "@daily", "--", "a"))
    bad = "[recurring.x]\nwhen = '61 * * * *'\nshell = 'mine'\n"
    line = edit(planner, lambda _: bad, lambda text: text.replace("61", "1"), answers=(True,))
    assert streams(planner).seen[-1] == bad
    assert "minute field" in line.err
    line = edit(planner, lambda text: text.replace('"1 *', '"1 * ', 1).replace("# What is", "# Mine is") + "oops\n")
    assert f"(at line {streams(planner).seen[-1].count(chr(10)) + 1}, column 5)" in line.err
    assert table(planner)["x"].expr == "1 * * * *"


def test_a_refused_text_is_kept_when_nobody_edits_it_again(planner: Caller) -> None:
    ok(planner("recurring", "add", "x", "@daily", "--", "a"))
    line = edit(planner, lambda _: "[recurring.x]\nwhen = 'never'\n")
    assert line.status == 7
    assert "the text is kept in /state/schedules-copy" in line.err
    assert streams(planner).copies == (b"[recurring.x]\nwhen = 'never'\n",)
    assert table(planner)["x"].expr == "@daily"


def test_an_empty_text_removes_all_only_when_somebody_says_so(planner: Caller) -> None:
    ok(planner("recurring", "add", "x", "@daily", "--", "a"))
    assert edit(planner, lambda _: "").status == 7
    assert list(table(planner)) == ["x"]
    assert ok(edit(planner, lambda _: "", answers=(True,))) == "removed x\n"


def test_only_the_named_schedules_are_edited(planner: Caller) -> None:
    for name in ("a", "b"):
        ok(planner("recurring", "add", name, "@daily", "--", "x"))
    streams(planner).edits = [lambda text: text.replace("@daily", "@hourly")]
    assert ok(planner("recurring", "edit", "a")) == "replaced a\n"
    assert {name: spec.expr for name, spec in table(planner).items()} == {"a": "@hourly", "b": "@daily"}
