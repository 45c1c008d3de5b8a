"""Crontabs: every line accounted for, cron's meaning of variables, quotes and %, and export and import alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.engine.cron import parse_cron
from cronoq_cli.errors import InvalidError
from cronoq_cli.model.crontab import Crontab, CrontabJob, LineKind, job_environment, parse_crontab, split_command
from cronoq_cli.model.crontab_format import format_crontab, give_back_lines, take_over_lines
from cronoq_cli.model.crontab_names import shorten_command

FILES = Path(__file__).parent / "data" / "crontabs"


def read(text: str | bytes, *, system: bool = False, user: str | None = None) -> Crontab:
    return parse_crontab(text, judge=parse_cron, system=system, user=user)


def read_file(name: str, *, system: bool = True) -> Crontab:
    data = (FILES / f"{name}.txt").read_bytes()
    found = read(data, system=system, user="me")
    assert [line.text for line in found.lines] == data.decode().removesuffix("\n").split("\n")
    return found


def warnings_of(found: Crontab) -> str:
    return "\n".join(f"{number}: {warning}" for number, warning in found.list_warnings())


def kinds(found: Crontab) -> list[str]:
    return [line.kind.value for line in found.lines]


def test_a_pollers_table_has_eight_jobs_in_order() -> None:
    found = read_file("poller")
    assert len(found.jobs) == 8
    assert found.list_errors() == []
    assert found.jobs[0].expr == "33 */6 * * *"
    assert found.jobs[0].command == "/opt/mon/wrap /opt/mon/discover 1"
    assert {job.user for job in found.jobs} == {"mon"}
    assert kinds(found)[:4] == ["comment", "comment", "blank", "job"]
    assert [job.name for job in found.jobs] == [
        "wrap-discover-1", "discover-new", "wrap-poll-16", "alerts", "billing-poll", "billing-sum", "services", "daily",
    ]  # fmt: skip


def test_a_containers_table_keeps_the_percent_sign_and_its_shell() -> None:
    found = read_file("container")
    assert len(found.jobs) == 11
    sleeper = next(job for job in found.jobs if "RANDOM" in job.command)
    assert sleeper.command == 'sleep "$(( RANDOM % 3600 ))"; manage version-check > /var/log/app/version.log 2>&1 '
    assert (sleeper.stdin, sleeper.shell) == (None, "/bin/bash")
    assert sleeper.variables["BASH_ENV"] == "/etc/app.env"
    assert sleeper.mailto == ""
    assert "3: MAILTO is empty: no mail" in warnings_of(found)


def test_a_user_variable_does_not_change_who_runs_the_job() -> None:
    found = read_file("days")
    assert len(found.jobs) == 3
    assert "2: USER is passed on; it does not change who runs" in warnings_of(found)
    assert found.jobs[0].command == "( cd /src/; source env.sh; ./job-a ) 2>&1"
    assert [job.name for job in found.jobs] == ["job-a", "job-b", "job-c"]
    assert "its user column says app; it will run as me" in warnings_of(found)


def test_comments_in_any_script_are_comments() -> None:
    found = read_file("foreign-clock")
    assert kinds(found) == ["comment", "job", "blank", "comment"]
    assert found.jobs[0].command.startswith("cd /app && job-a >> ")
    assert found.jobs[0].name == "job-a"


def test_jobs_that_differ_in_the_last_word_are_separate_and_stable() -> None:
    first, again = read_file("identical"), read_file("identical")
    assert [job.name for job in first.jobs] == [
        "write-state-queue_01", "write-state-queue_02", "write-state-queue_03", "renew-quiet", "restart",
    ]  # fmt: skip
    assert first.jobs == again.jobs


def test_a_variable_reaches_only_the_lines_below_it() -> None:
    found = read_file("environment", system=False)
    assert len(found.jobs) == 4
    assert "PATH" not in found.jobs[0].variables
    assert found.jobs[2].variables["PATH"] == "/usr/local/bin:/usr/bin:/bin:/app/bin"
    assert found.jobs[2].command == "collect"
    assert found.jobs[0].variables == {"APP_CONFIG_DIR": "/data/config", "APP_VAR_DIR": "/data/var"}


def test_commented_lines_are_no_jobs_and_a_word_with_an_at_sign_no_macro() -> None:
    found = read_file("sampler", system=False)
    assert len(found.jobs) == 4
    assert found.jobs[2].command == "root test -e /run/some/flag || @LIBDIR@/scrub"
    assert "'root' looks like the user column" in warnings_of(found)


def test_the_percent_sign_cuts_the_command() -> None:
    found = read("* * * * * cat%one%two\n")
    assert (found.jobs[0].command, found.jobs[0].stdin) == ("cat", "one\ntwo\n")
    assert "1: cut at the first bare %" in warnings_of(found)


@pytest.mark.parametrize("rest", ["* echo six", "*/5 x", "2030 a seven fields", "? quartz", "1,2 x", "1-5 x"])
def test_a_command_that_looks_like_a_sixth_field_is_told(rest: str) -> None:
    found = read(f"0 0 * * * {rest}\n")
    assert found.jobs[0].command == rest, "it is what cron would run"
    assert f"1: its command begins with {rest.split(maxsplit=1)[0]!r}: a crontab has five fields" in warnings_of(found)
    assert warnings_of(read("0 0 * * * 7z x\n")) == warnings_of(read("0 0 * * * /bin/x *\n"))


def test_quotes_do_not_protect_a_percent_sign() -> None:
    job = read('*/1 * * * * date "+%H:%M" >> FILE').jobs[0]
    assert (job.command, job.stdin) == ('date "+', 'H:\nM" >> FILE\n')


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        (r"echo a\%b", "echo a%b", None),
        (r"echo a\\%b", r"echo a\\", "b\n"),
        (r"echo a\\\%b", r"echo a\\%b", None),
        (r"echo a\b", r"echo a\b", None),
        ("cat%", "cat", ""),
        ("cat%%", "cat", "\n"),
        (r"cat%a\%b%c\d", "cat", "a%b\nc\\d\n"),
        (r"cat%a\\%b", "cat", "a\\%b\n"),
        ("cat%a%", "cat", "a\n"),
    ],
)
def test_backslashes_and_percent_signs_mean_what_they_mean_to_cron(text: str, command: str, stdin: str | None) -> None:
    assert split_command(text) == (command, stdin)


def test_a_last_line_without_a_newline_is_a_job() -> None:
    assert [job.command for job in read("5 4 * * * backup").jobs] == ["backup"]


def test_values_lose_their_quotes_and_the_blanks_round_them() -> None:
    found = read('A = "x y"\nB=\'z\'\nC=\nD=a#b\n  E =  two words  \nF="it\'s"\n* * * * * printenv\n')
    assert found.jobs[0].variables == {"A": "x y", "B": "z", "C": "", "D": "a#b", "E": "two words", "F": "it's"}


def test_a_path_is_taken_literally_with_a_warning() -> None:
    found = read("PATH=$PATH:/opt/bin\n* * * * * tool\n")
    assert found.jobs[0].variables["PATH"] == "$PATH:/opt/bin"
    assert warnings_of(found) == "1: PATH is taken literally, as cron does: $ is not expanded"


def test_the_environment_is_that_of_cron_and_not_the_callers() -> None:
    job = read("PATH=/p\nLOGNAME=root\nCRON_TZ=UTC\n* * * * * x\n").jobs[0]
    assert job_environment(job, user="ada", home="/home/ada") == {
        "SHELL": "/bin/sh", "PATH": "/p", "HOME": "/home/ada", "USER": "ada", "LOGNAME": "ada", "CRON_TZ": "UTC",
    }  # fmt: skip


def test_a_zone_holds_for_the_lines_below_it_until_it_is_empty() -> None:
    found = read("0 1 * * * a\nCRON_TZ=Asia/Tokyo\n0 2 * * * b\nCRON_TZ=\n0 3 * * * c\n")
    assert [job.tz for job in found.jobs] == [None, "Asia/Tokyo", None]


def test_jobs_under_a_zone_that_is_none_are_errors() -> None:
    found = read('CRON_TZ=Asia/Tokio\n0 2 * * * b\nCRON_TZ="UTC"\n0 3 * * * c\n')
    assert kinds(found) == ["error", "error", "variable", "job"]
    assert "did you mean Asia/Tokyo?" in str(found.lines[0].reason)
    assert "'Asia/Tokio' is no time zone" in str(found.lines[1].reason)


def test_a_minus_before_the_time_is_passed_over_with_a_warning() -> None:
    table = read("-*/10 * * * * poll\n -@daily save\n- * * * * odd\n")
    assert [(job.expr, job.command) for job in table.jobs] == [("*/10 * * * *", "poll"), ("@daily", "save")]
    assert [number for number, _ in table.list_warnings()] == [1, 2]
    assert [line.number for line in table.list_errors()] == [3]


def test_macros_intervals_and_reboot_are_jobs() -> None:
    found = read("@daily a\n@reboot b --now\n@every 90s c\n\t@Hourly\td\n")
    assert [(job.expr, job.command) for job in found.jobs] == [
        ("@daily", "a"), ("@reboot", "b --now"), ("@every 90s", "c"), ("@Hourly", "d"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("61 * * * * x", "minute field: '61'"),
        ("0 0 30 2 * x", "never fires"),
        ("* * * * *", "the command is missing"),
        ("* * * * *   ", "the command is missing"),
        ("@fortnightly x", "unknown macro '@fortnightly'"),
        ("@daily", "the command is missing"),
        ("@every soon x", "is not a duration"),
        ("* * * x", "4 words where five time fields and a command"),
        ("hello", "no job: 1 word where"),
        ('A="x', "quote"),
        ('A="x" y', "quote"),
        ("1A-=x", "neither the name of a variable"),
        ("* * * * * %x", "empty before the first %"),
        ("0\u00a00 * * * x", "U+00A0"),
        ("* * * * * a\0b", "NUL"),
    ],
)
def test_a_bad_line_is_an_error_with_its_reason_and_the_rest_goes_on(line: str, reason: str) -> None:
    found = read(f"{line}\n0 1 * * * good\n")
    assert kinds(found) == ["error", "job"]
    assert reason in str(found.lines[0].reason)
    assert found.list_errors() == [found.lines[0]]


def test_a_system_line_without_a_command_says_what_the_user_column_is() -> None:
    found = read("10 3 * * * collect\n", system=True)
    assert "the user column is 'collect'" in str(found.lines[0].reason)


def test_windows_line_ends_and_a_byte_order_mark_are_passed_over_with_a_warning() -> None:
    found = read(b"\xef\xbb\xbf5 4 * * * a\r\n# c\r\n")
    assert [job.command for job in found.jobs] == ["a"]
    assert "byte-order mark" in warnings_of(found)
    assert "1: ends with a carriage return" in warnings_of(found)


def test_bytes_that_are_no_utf8_survive() -> None:
    job = read(b"* * * * * cat /tmp/\xff\n").jobs[0]
    assert job.command.encode("utf-8", "surrogateescape") == b"cat /tmp/\xff"
    assert read(format_crontab([job])).jobs[0].command == job.command


def test_different_commands_of_one_short_name_get_different_names() -> None:
    found = read("0 1 * * * b > /x\n0 2 * * * b > /y\n0 3 * * * b > /x\n")
    names = [job.name for job in found.jobs]
    assert names[0] == "b"
    assert names[1].startswith("b-")
    assert len(names[1]) == 6
    assert names[2] == "b-2"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/certbot renew --quiet", "certbot-renew-quiet"),
        ("cd /srv && ./run.sh >> log 2>&1", "run.sh"),
        ("test -x /a || exit 0", "exit-0"),
        ("7z a x", "job-7z-a-x"),
        ("'...'", "job"),
        ("last", "job-last"),
        ("x" * 60, "x" * 40),
        ("find /var/log -name '*.log' > /dev/null -delete", "find-log-name-log-delete"),
    ],
)
def test_a_name_tells_what_the_command_does(command: str, name: str) -> None:
    assert shorten_command(command) == name


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("poller", True), ("container", True), ("days", True), ("foreign-clock", True), ("identical", True),
        ("environment", False), ("sampler", False),
    ],
)  # fmt: skip
def test_an_import_of_an_export_gives_the_same_jobs(name: str, system: bool) -> None:
    before = read_file(name, system=system).jobs
    after = read(format_crontab(before, system=system), system=system).jobs
    assert without_lines(after) == without_lines(before)


def without_lines(jobs: list[CrontabJob]) -> list[tuple[object, ...]]:
    return sorted(
        (job.name, job.expr, job.command, job.stdin is None, job.stdin or "", sorted(job.variables.items()),
         job.tz or "", job.user or "", sorted(job.options.items()))
        for job in jobs
    )  # fmt: skip


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)
JOBS = st.builds(
    CrontabJob,
    line=st.just(1),
    name=st.just("j"),
    expr=st.sampled_from(["5 4 * * *", "@daily", "@reboot", "@every 1m30s"]),
    command=TEXT.filter(lambda text: text.strip(" ") == text),
    stdin=st.one_of(st.none(), st.lists(TEXT, max_size=3).map(lambda lines: "".join(line + "\n" for line in lines))),
    variables=st.dictionaries(st.sampled_from(["A", "B", "PATH"]), st.text("ab \"'#$=", max_size=6)),
    tz=st.sampled_from([None, "UTC", "Europe/Berlin"]),
    options=st.just({"overlap": "queue"}),
)


@given(jobs=st.lists(JOBS, min_size=1, max_size=4))
def test_any_jobs_come_back_from_an_export_or_are_refused(jobs: list[CrontabJob]) -> None:
    for number, job in enumerate(jobs):
        job.name = f"j{number}"
    try:
        text = format_crontab(jobs)
    except InvalidError as error:
        assert error.code == "not-in-crontab"
        return
    assert without_lines(read(text).jobs) == without_lines(jobs)


def test_an_export_names_the_job_that_has_no_spelling_there() -> None:
    job = CrontabJob(line=1, name="tick", expr="*/5 * * * * *", command="x")
    with pytest.raises(InvalidError, match="tick cannot be written into a crontab: its time has seconds"):
        format_crontab([job])


def test_a_line_that_would_set_a_variable_has_no_spelling() -> None:
    job = CrontabJob(line=1, name="odd", expr="@daily", command="=x")
    with pytest.raises(InvalidError, match="odd cannot be written into a crontab: its command begins with ="):
        format_crontab([job])


def test_jobs_of_the_machines_zone_come_first() -> None:
    abroad = CrontabJob(line=1, name="abroad", expr="0 1 * * *", command="a", tz="Asia/Tokyo")
    home = CrontabJob(line=2, name="home", expr="0 2 * * *", command="b")
    assert [job.name for job in read(format_crontab([abroad, home])).jobs] == ["home", "abroad"]


def test_lines_taken_over_are_given_back_byte_for_byte() -> None:
    original = b"A=1\n0 1 * * * a \xff\n# c\n0 2 * * * b"
    taken = take_over_lines(original, {2, 4})
    assert [line.kind for line in read(taken).lines] == [LineKind.VARIABLE, *[LineKind.COMMENT] * 3]
    assert give_back_lines(taken) == original
