"""A crontab's text as values: jobs, variables and what is wrong, with every line accounted for.

Rules are those of Vixie's cron and cronie. Whether an expression is right is judged by a function that comes in;
writing a crontab lives in `crontab_format`, the names of imported jobs in `crontab_names`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from cronoq_cli.errors import CronoqError
from cronoq_cli.model.crontab_names import NameGiver
from cronoq_cli.model.duration import parse_positive_duration
from cronoq_cli.model.moment import load_zone

OPTIONS_MARK = "# cronoq:"
"""Begins the comment in which an export keeps, as JSON, what a crontab cannot say of the line below."""

DEFAULT_PATH, DEFAULT_SHELL = "/usr/bin:/bin", "/bin/sh"

_FIELDS = re.compile(r"[ \t]*((?:[^ \t]+[ \t]+){4}[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_MACRO = re.compile(r"[ \t]*(@[^ \t]*)(?:[ \t]+(.*))?", re.DOTALL)
_TIME_FIELD = re.compile(r"[0-9*?][0-9*?,/-]*", re.ASCII)
_UNLOGGED = re.compile(r"[ \t]*-[*@0-9]")
_VARIABLE = re.compile(r"[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^ \t=\"'#][^ \t=]*))[ \t]*=[ \t]*(.*)", re.DOTALL)
_QUOTED = re.compile(r"\"([^\"]*)\"[ \t]*|'([^']*)'[ \t]*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_EXPANSION = re.compile(r"\$(?:[A-Za-z_{(])|`")


class LineKind(StrEnum):
    """What a line of a crontab is."""

    JOB = "job"
    VARIABLE = "variable"
    COMMENT = "comment"
    BLANK = "blank"
    ERROR = "error"


class CrontabLine(msgspec.Struct, kw_only=True):
    """One line as it stands, from number 1. `reason` says what is wrong with an error, `warnings` what to know."""

    number: int
    kind: LineKind
    text: str
    reason: str | None = None
    warnings: list[str] = []


class CrontabJob(msgspec.Struct, kw_only=True):
    """One job. `expr` is five fields, a macro, `@reboot` or `@every DUR`, its blanks made single.

    `command` is what the shell gets, `stdin` what stands behind the first bare `%` (None: nothing). `variables` are
    those set above the line, in order; `tz` the CRON_TZ in force; `user` the column of a system crontab; `mailto`
    is "" for no mail and None when never set. `options` come from the comment an export wrote above the line, and
    `named` says that the name does too; `comment` has the other comments right above it.
    """

    line: int
    name: str
    expr: str
    command: str
    stdin: str | None = None
    variables: dict[str, str] = {}
    tz: str | None = None
    user: str | None = None
    options: dict[str, Any] = {}
    named: bool = False
    comment: str = ""

    @property
    def mailto(self) -> str | None:
        """The MAILTO in force."""
        return self.variables.get("MAILTO")

    @property
    def shell(self) -> str:
        """The shell that gets the command line."""
        return self.variables.get("SHELL") or DEFAULT_SHELL


class Crontab(msgspec.Struct, kw_only=True):
    """A whole file: `lines` has each of its lines, `jobs` what runs."""

    lines: list[CrontabLine]
    jobs: list[CrontabJob]

    def list_errors(self) -> list[CrontabLine]:
        """The lines that could not be taken."""
        return [line for line in self.lines if line.kind is LineKind.ERROR]

    def list_warnings(self) -> list[tuple[int, str]]:
        """Line numbers and what to know of them."""
        return [(line.number, warning) for line in self.lines for warning in line.warnings]


def parse_crontab(
    data: bytes | str, *, judge: Callable[[str], object], system: bool = False, user: str | None = None
) -> Crontab:
    """The file's lines and jobs; nothing in it raises, each bad line is an error line with its reason.

    `judge` raises CronoqError for an expression that is refused (engine/cron `parse_cron`). `system`: a user column
    stands behind the time; `user` is who will run the jobs, so that another name there can be warned of. Bytes that
    are not UTF-8 are surrogate-escaped, whatever the locale.
    """
    text = data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
    reader = _Reader(judge, system, user)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        reader.read(number, line)
    return Crontab(lines=reader.lines, jobs=reader.jobs)


def job_environment(job: CrontabJob, *, user: str, home: str) -> dict[str, str]:
    """The whole environment as cron gives it: its few defaults, then the file's variables; never the caller's."""
    environment = {"SHELL": DEFAULT_SHELL, "PATH": DEFAULT_PATH, "HOME": home, "USER": user}
    environment.update(job.variables)
    if job.tz is not None:
        environment["CRON_TZ"] = job.tz
    environment["LOGNAME"] = user
    return environment


class _Reader:
    """What holds from line to line: variables, the zone, the options of the comment above."""

    def __init__(self, judge: Callable[[str], object], system: bool, user: str | None) -> None:
        self.judge = judge
        self.system = system
        self.user = user
        self.lines: list[CrontabLine] = []
        self.jobs: list[CrontabJob] = []
        self.variables: dict[str, str] = {}
        self.tz: str | None = None
        self.bad_tz: str | None = None
        self.options: dict[str, Any] = {}
        self.comments: list[str] = []
        self.names = NameGiver()

    def read(self, number: int, text: str) -> None:
        """Take one line; it ends up in `lines` whatever it is."""
        line = CrontabLine(number=number, kind=LineKind.BLANK, text=text, warnings=[])
        self.lines.append(line)
        if number == 1 and text.startswith("\ufeff"):
            text = text[1:]
            line.warnings.append("begins with a byte-order mark, passed over")
        if text.endswith("\r"):
            text = text[:-1]
            line.warnings.append("ends with a carriage return, passed over (the file was written on Windows)")
        bare = text.strip(" \t")
        if not bare:
            self.comments = []
            return
        if bare.startswith("#"):
            self._take_comment(line, bare)
            return
        try:
            self._take(line, text)
        except CronoqError as error:
            line.kind, line.reason = LineKind.ERROR, error.line()
        self.options, self.comments = {}, []

    def _take_comment(self, line: CrontabLine, bare: str) -> None:
        line.kind, self.options = LineKind.COMMENT, {}
        if not bare.startswith(OPTIONS_MARK):
            self.comments.append(bare)
            return
        try:
            found = json.loads(bare.removeprefix(OPTIONS_MARK))
        except ValueError:
            found = None
        if isinstance(found, dict):
            self.options = found
        else:
            line.warnings.append(f"{OPTIONS_MARK} is not followed by a JSON object: taken as a plain comment")

    def _take(self, line: CrontabLine, text: str) -> None:
        if "\0" in text:
            raise CronoqError("the line contains a NUL byte")
        variable = _VARIABLE.fullmatch(text)
        if variable:
            self._take_variable(line, variable)
        else:
            self._take_job(line, text)

    def _take_variable(self, line: CrontabLine, match: re.Match[str]) -> None:
        name = next(part for part in match.groups()[:3] if part is not None)
        value = _value_of(match[4])
        if not _NAME.fullmatch(name):
            raise CronoqError(f"{name!r} is neither the name of a variable nor the beginning of a job")
        line.kind = LineKind.VARIABLE
        if name == "CRON_TZ":
            self._take_zone(value)
            return
        line.warnings += _warn_of_variable(name, value)
        if name != "LOGNAME":
            self.variables[name] = value

    def _take_zone(self, value: str) -> None:
        self.tz, self.bad_tz = None, None
        if value:
            try:
                load_zone(value)
            except CronoqError:
                self.bad_tz = value
                raise
            self.tz = value

    def _take_job(self, line: CrontabLine, text: str) -> None:
        if _UNLOGGED.match(text):
            text = text.replace("-", "", 1)
            line.warnings.append("the - before its time is passed over (some crons do not log such a job)")
        expr, rest = _split_time(text)
        if not expr.startswith(("@reboot", "@every ")):
            self.judge(expr)
        user, rest = _split_user(rest) if self.system else (None, rest)
        if not rest:
            raise CronoqError("the command is missing", hint=f"the user column is {user!r}" if user else None)
        if self.bad_tz is not None:
            raise CronoqError(f"its CRON_TZ {self.bad_tz!r} is no time zone, so nobody knows when it runs")
        command, stdin = split_command(rest)
        if not command.strip():
            raise CronoqError("the command is empty before the first %", hint="write \\% for a plain percent sign")
        line.kind = LineKind.JOB
        line.warnings += self._warn_of_job(command, stdin, user)
        unset = self.options.pop("unset", None)
        unset = unset if isinstance(unset, list) else []
        given = self.options.pop("name", None)
        self.jobs.append(
            CrontabJob(
                line=line.number,
                name=self.names.give(command, stdin, given if isinstance(given, str) else None),
                expr=expr,
                command=command,
                stdin=stdin,
                variables={name: value for name, value in self.variables.items() if name not in unset},
                tz=self.tz,
                user=user,
                options=self.options,
                named=isinstance(given, str),
                comment="\n".join(self.comments),
            )
        )

    def _warn_of_job(self, command: str, stdin: str | None, user: str | None) -> list[str]:
        warnings = []
        if stdin is not None:
            warnings.append(
                f"cut at the first bare %: the command is {command.strip()!r}, the rest its standard input, as in cron"
            )
        if user is not None and self.user is not None and user != self.user:
            warnings.append(f"its user column says {user}; it will run as {self.user}")
        first = command.split(maxsplit=1)[0]
        if _TIME_FIELD.fullmatch(first):
            warnings.append(f"its command begins with {first!r}: a crontab has five fields, this looks like more")
        if not self.system and re.match(r"root[ \t]", command):
            warnings.append("'root' looks like the user column of a system crontab: import it with --system")
        return warnings


def _split_time(text: str) -> tuple[str, str]:
    """Time and the rest of a line. `@every` takes its length along."""
    macro = _MACRO.fullmatch(text)
    if macro:
        word, rest = macro[1], macro[2] or ""
        if word.lower() != "@every":
            return (word.lower() if word.lower() == "@reboot" else word), rest
        length, _, command = rest.partition(" ")
        parse_positive_duration(length)
        return f"@every {length}", command.lstrip(" \t")
    match = _FIELDS.fullmatch(text)
    if match is None:
        count = len(text.split())
        raise CronoqError(
            f"it is no job: {count} word{'s' * (count != 1)} where five time fields and a command are wanted",
            hint="a variable is written NAME=VALUE, a comment begins with #",
        )
    return " ".join(re.split("[ \t]+", match[1])), match[2] or ""


def _split_user(rest: str) -> tuple[str, str]:
    match = re.fullmatch(r"([^ \t]+)(?:[ \t]+(.*))?", rest, re.DOTALL)
    if match is None:
        raise CronoqError("user column and command are missing")
    return match[1], match[2] or ""


def reads_as_variable(line: str) -> bool:
    """Whether a line sets a variable, as `@daily =x` does to cron too."""
    return _VARIABLE.fullmatch(line) is not None


def split_command(text: str) -> tuple[str, str | None]:
    """The command and its standard input: the first bare `%` divides them, further ones are newlines.

    A backslash makes the next character bare of meaning; only before `%` it goes away itself. Quotes protect
    nothing. Standard input ends with a newline, as cron makes it.
    """
    command: list[str] = []
    escaped = False
    for place, char in enumerate(text):
        if escaped:
            escaped = False
            if char == "%":
                command.pop()
        elif char == "\\":
            escaped = True
        elif char == "%":
            return "".join(command), _read_stdin(text[place + 1 :])
        command.append(char)
    return "".join(command), None


def _read_stdin(text: str) -> str:
    found: list[str] = []
    escaped = False
    for char in text:
        if escaped and char == "%":
            found.pop()
            found.append("%")
        else:
            found.append("\n" if char == "%" else char)
        escaped = char == "\\"
    if found and found[-1] != "\n":
        found.append("\n")
    return "".join(found)


def _value_of(text: str) -> str:
    """The value of a variable: quotes round it go, blanks behind it too; nothing in it is expanded."""
    if text[:1] not in ("'", '"'):
        return text.rstrip(" \t")
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        raise CronoqError(f"the value {text.strip()!r} has a quote that does not end at its end")
    return quoted[1] if quoted[1] is not None else quoted[2]


def _warn_of_variable(name: str, value: str) -> list[str]:
    warnings = []
    if _EXPANSION.search(value):
        warnings.append(f"{name} is taken literally, as cron does: $ is not expanded")
    if name == "MAILTO":
        warnings.append(
            "MAILTO is empty: no mail, nothing to do"
            if not value
            else "MAILTO: output goes to the logs, and where there is a local sendmail also into mails"
        )
    if name == "LOGNAME":
        warnings.append("LOGNAME cannot be set in a crontab: passed over")
    if name == "USER":
        warnings.append("USER is passed on; it does not change who runs the jobs")
    if name == "TZ":
        warnings.append("TZ is passed on to the commands; when they run is decided by CRON_TZ")
    if name == "RANDOM_DELAY" and value != "0":
        warnings.append("RANDOM_DELAY delays nothing here: use --jitter")
    return warnings
