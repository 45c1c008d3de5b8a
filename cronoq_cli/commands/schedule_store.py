"""The schedules as they are kept, whole and with their recorded environments, for exports, imports and `edit`."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cronoq_cli.commands.answers import ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.environment import select_variables
from cronoq_cli.commands.schedule_table import CRON_ENVIRONMENT, Environments, describe_schedule
from cronoq_cli.commands.schedule_toml import Tables, usable_comment
from cronoq_cli.model.crontab import CrontabJob, job_environment
from cronoq_cli.model.recurring import ScheduleSpec
from cronoq_cli.wire.schedules import ApplySchedules, Schedules


@dataclass(slots=True)
class Kept:
    """What there is: the specs and documents by name, and the environments that tables can name."""

    environments: Environments
    specs: dict[str, ScheduleSpec] = field(default_factory=dict)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)

    def is_paused(self, name: str) -> bool:
        """Whether it is paused without an end."""
        document = self.documents[name]
        return bool(document["paused"]) and document.get("paused_until") is None

    def list_environments(self) -> dict[str, dict[str, str]]:
        """The recorded environments by the name that tables have for them, but for the one that is cron's."""
        found: dict[str, dict[str, str]] = {}
        for name, document in self.documents.items():
            env_name = self.environments.name_of(self.specs[name].template.env)
            if env_name != CRON_ENVIRONMENT:
                found[env_name] = dict(sorted((document.get("env") or {}).items()))
        return found

    def to_tables(self) -> Tables:
        """All of it as tables."""
        tables = Tables()
        for name, spec in self.specs.items():
            tables.tables[name] = describe_schedule(spec, self.environments, paused=self.is_paused(name))
            if spec.comment:
                tables.comments[name] = usable_comment(spec.comment)
        return tables


def load_kept(context: Context, names: list[str] | None = None, *, to_change: bool = False) -> Kept:
    """All schedules, or those of these names. `to_change`: a daemon is started as for any change, where none runs.

    Raises NotFoundError."""
    if to_change:
        ask(context, ApplySchedules())
    kept = Kept(know_environments(context))
    for document in ask(context, Schedules(names=names, specs=True, env=True)).doc["recurring"]:
        spec = msgspec.convert(document["spec"], ScheduleSpec)
        kept.specs[spec.name], kept.documents[spec.name] = spec, document
        kept.environments.add(document.get("env") or {})
    return kept


def know_environments(context: Context) -> Environments:
    """The environments that have a name of their own: cron's, and the caller's."""
    user, home = find_user()
    plain = CrontabJob(line=0, name="", expr="", command="")
    return Environments(job_environment(plain, user=user, home=home), select_variables(context.env))


def find_user() -> tuple[str, str]:
    """The name and the home directory of whoever this process belongs to, as cron takes them."""
    try:
        found = pwd.getpwuid(os.getuid())
    except KeyError:
        return str(os.getuid()), os.environ.get("HOME", "/")
    return found.pw_name, found.pw_dir or "/"
