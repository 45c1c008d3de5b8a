"""Writing crontabs: an export that imports to the same jobs, and lines of an existing one taken over and given back."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from cronoq_cli.errors import InvalidError
from cronoq_cli.model.crontab import OPTIONS_MARK, CrontabJob, reads_as_variable, split_command

TAKEN = "#cronoq# "
"""Stands before a line of the user's crontab that runs here now."""


def format_crontab(jobs: Sequence[CrontabJob], *, system: bool = False) -> str:
    """The text of a crontab with these jobs; `system` writes the user column.

    What a crontab cannot say (name, options, a variable that is not set for one job) stands as JSON in a comment
    above the line, below the job's own comments. Jobs of the machine's zone come first, since CRON_TZ cannot be taken
    back. Raises InvalidError `not-in-crontab`, naming the job, for what has no spelling there: seconds, newlines, a
    backslash before %.
    """
    lines: list[str] = []
    variables: dict[str, str] = {}
    tz: str | None = None
    for job in sorted(jobs, key=lambda job: job.tz is not None):
        for name, value in job.variables.items():
            if variables.get(name) != value:
                lines.append(_format_variable(job, name, value))
                variables[name] = value
        if job.tz != tz:
            lines.append(_format_variable(job, "CRON_TZ", job.tz or ""))
            tz = job.tz
        unset = [name for name in variables if name not in job.variables]
        options = {"name": job.name, **({"unset": unset} if unset else {}), **job.options}
        lines += [line for line in job.comment.split("\n") if line]
        lines += [f"{OPTIONS_MARK} {json.dumps(options)}", _format_job(job, system)]
    return "".join(line + "\n" for line in lines)


def _format_job(job: CrontabJob, system: bool) -> str:
    if not job.expr.startswith("@") and len(job.expr.split()) != 5:
        raise _no_spelling(job, "its time has seconds")
    if system and not job.user:
        raise _no_spelling(job, "it has no user for the column of a system crontab")
    line = (f"{job.expr} {job.user} " if system else f"{job.expr} ") + _join_command(job)
    if reads_as_variable(line):
        raise _no_spelling(job, "its command begins with =, so that the line would set a variable")
    return line


def _join_command(job: CrontabJob) -> str:
    text = job.command.replace("%", "\\%")
    if job.stdin is not None:
        ends_itself = job.stdin == "\n" or job.stdin.endswith("\n\n")
        body = job.stdin if ends_itself else job.stdin.removesuffix("\n")
        text += "%" + body.replace("%", "\\%").replace("\n", "%")
    if "\n" in text or "\0" in text or text != text.lstrip(" \t"):
        raise _no_spelling(job, "its command has a newline, a NUL byte or a blank in front")
    if split_command(text) != (job.command, job.stdin):
        raise _no_spelling(job, "a backslash stands before % or a line end, or its input ends without a newline")
    return text


def _format_variable(job: CrontabJob, name: str, value: str) -> str:
    if "\n" in value or "\0" in value:
        raise _no_spelling(job, f"the value of {name} has a newline")
    if value and value == value.strip(" \t") and value[0] not in "'\"":
        return f"{name}={value}"
    for quote in "\"'":
        if quote not in value:
            return f"{name}={quote}{value}{quote}"
    raise _no_spelling(job, f"the value of {name} has both kinds of quotes")


def _no_spelling(job: CrontabJob, why: str) -> InvalidError:
    return InvalidError(
        f"{job.name} cannot be written into a crontab: {why}", hint="export it as TOML", code="not-in-crontab"
    )


def take_over_lines(text: bytes, numbers: Collection[int]) -> bytes:
    """The crontab with these lines (from 1) made comments, all other bytes as they were."""
    lines = text.split(b"\n")
    mark = TAKEN.encode()
    return b"\n".join(mark + line if number in numbers else line for number, line in enumerate(lines, 1))


def list_taken_lines(text: bytes) -> list[int]:
    """The numbers of the lines that were taken over."""
    return [number for number, line in enumerate(text.split(b"\n"), 1) if line.startswith(TAKEN.encode())]


def give_back_lines(text: bytes) -> bytes:
    """The crontab with all lines that were taken over made jobs again, all other bytes as they are."""
    mark = TAKEN.encode()
    return b"\n".join(line.removeprefix(mark) for line in text.split(b"\n"))
