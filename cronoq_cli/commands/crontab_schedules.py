"""A job of a crontab as a schedule, and the way back; how a crontab's text is read and written is model/crontab's.

An import is as cron would run it: its environment, HOME as directory, nothing caught up. Options that an export wrote
above the line come before that.
"""

from __future__ import annotations

import os
import shlex
from typing import Any

import msgspec

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.schedule_table import CRON_ENVIRONMENT, Environments, Table, describe_schedule, read_schedule
from cronoq_cli.engine.cron import EVERY, REBOOT
from cronoq_cli.errors import CronoqError, InvalidError, UsageError
from cronoq_cli.model.crontab import CrontabJob
from cronoq_cli.model.mail_hook import build_mail_hook
from cronoq_cli.model.notice import HOOK_NAMES, Told
from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec

CRON_UMASK = "0022"
SENDMAIL_PLACES = ("/usr/sbin", "/usr/lib", "/usr/local/sbin")

_OWN = ("when", "shell", "command", "env", "tz", "stdin_text", "name")
"""Fields of a table that a crontab says itself, in its lines."""


def read_job(job: CrontabJob, environments: Environments, context: Context) -> ScheduleSpec:
    """The schedule of a job. Raises InvalidError for what its options say wrongly."""
    options = dict(job.options)
    environment = options.get("environment", CRON_ENVIRONMENT)
    table: Table = {
        "catch_up": CatchUp.NONE.value,
        "umask": CRON_UMASK,
        "cwd": job.variables.get("HOME") or environments.cron["HOME"],
        "environment": environment,
        "shell_path": job.variables.get("SHELL") or None,
        "hooks": make_mail_hooks(job, environments, context),
    }
    env = dict(job.variables)
    if job.tz is not None and environment == CRON_ENVIRONMENT:
        env["CRON_TZ"] = job.tz
    table |= {"env": env} | options
    if table.pop("exec", False):
        table["command"] = shlex.split(job.command)
    else:
        table["shell"] = job.command
    table |= {"when": job.expr, "tz": job.tz if follows_clock(job.expr) else None, "stdin_text": job.stdin}
    table = {key: value for key, value in table.items() if value is not None}
    spec = read_schedule(job.name, table, environments, context)
    spec.comment = job.comment
    return spec


def follows_clock(expr: str) -> bool:
    """Whether a zone means anything to a job: a boot and an interval have none, also below a CRON_TZ."""
    return expr.split(maxsplit=1)[0].lower() not in (REBOOT, EVERY)


def write_job(spec: ScheduleSpec, environments: Environments, context: Context, *, paused: bool) -> CrontabJob:
    """The job whose reading gives this schedule again. Raises InvalidError when a crontab cannot say it."""
    template = spec.template
    command = template.shell_line if template.shell_line is not None else shlex.join(template.command or ())
    variables = {name: text for name, text in template.env_changes.items() if text is not None and name != "CRON_TZ"}
    job = CrontabJob(
        line=0,
        name=spec.name,
        expr=spec.when,
        command=command,
        stdin=template.stdin_text,
        variables=variables,
        tz=spec.tz,
        options=_options(spec, environments, paused=paused),
        named=True,
        comment=spec.comment,
    )
    if not _reads_back(job, spec, environments, context):
        job.options |= {"env": dict(template.env_changes), "shell_path": template.shell}
        job.variables = {name: text for name, text in variables.items() if _fits_line(text)}
        if not _reads_back(job, spec, environments, context):
            raise InvalidError(
                f"{spec.name} cannot be written into a crontab", hint="export it as TOML", code="not-in-crontab"
            )
    return job


def _fits_line(text: str) -> bool:
    return "\n" not in text and not ("'" in text and '"' in text)


def _reads_back(job: CrontabJob, spec: ScheduleSpec, environments: Environments, context: Context) -> bool:
    try:
        return read_job(job, environments, context) == spec
    except CronoqError:
        return False


def _options(spec: ScheduleSpec, environments: Environments, *, paused: bool) -> dict[str, Any]:
    """What the lines of a crontab do not say, beside what is as usual for an import."""
    table = describe_schedule(spec, environments, paused=paused)
    usual = {
        "overlap": Overlap.SKIP.value,
        "catch_up": CatchUp.NONE.value,
        "umask": CRON_UMASK,
        "cwd": spec.template.env_changes.get("HOME") or environments.cron["HOME"],
        "environment": CRON_ENVIRONMENT,
        "shell_path": spec.template.env_changes.get("SHELL") or None,
    }
    options = {name: value for name, value in table.items() if name not in _OWN and usual.get(name) != value}
    if spec.template.command is not None:
        options["exec"] = True
    if spec.template.env_changes.get("MAILTO"):
        options["hooks"] = dict(spec.hooks)
    return options


def make_mail_hooks(job: CrontabJob, environments: Environments, context: Context) -> dict[str, str] | None:
    """What MAILTO becomes: a hook that mails what a run printed, as cron does, through the local sendmail.

    None without a sendmail, without an address, and for what cron would not mail to either."""
    sendmail = find_sendmail(context)
    if not job.mailto or sendmail is None:
        return None
    user, host = environments.cron["LOGNAME"], os.uname().nodename
    try:
        line = build_mail_hook(job.mailto, sendmail=sendmail, user=user, host=host, command=job.command)
    except UsageError:
        return None
    return None if line is None else {HOOK_NAMES[Told.END]: line}


def find_sendmail(context: Context) -> str | None:
    """The local program that takes mails: in the caller's PATH, or where it stands usually."""
    for directory in [*context.env.get("PATH", os.defpath).split(":"), *SENDMAIL_PLACES]:
        path = os.path.join(directory, "sendmail")
        if directory.startswith("/") and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def with_name(job: CrontabJob, name: str) -> CrontabJob:
    """The same job under another name."""
    return msgspec.structs.replace(job, name=name)
