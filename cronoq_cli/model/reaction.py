"""Reactions: tasks that are submitted with another one to react to its end (`--on-failure CMD`). Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from cronoq_cli.model.task import Condition, Dependency, TaskSpec

REACTIONS = MappingProxyType(
    {"on_success": Condition.SUCCESS, "on_failure": Condition.FAIL, "on_end": Condition.ANY},
)
"""The options that ask for a reaction, and what end each is for."""


def make_reactions(spec: TaskSpec, lines: Mapping[str, Sequence[str]], ref: str) -> Iterator[TaskSpec]:
    """The tasks that run shell lines where and as the task they react to runs. `lines`: by option; `ref`: that task."""
    for name, condition in REACTIONS.items():
        for line in lines.get(name, ()):
            yield make_reaction(spec, line, Dependency(ref=ref, condition=condition))


def make_reaction(spec: TaskSpec, line: str, edge: Dependency) -> TaskSpec:
    """One such task; its first word names it."""
    first = line.split(None, 1)[0]
    return TaskSpec(
        name=first,
        kind=first.rstrip("/").rpartition("/")[2] or first,
        shell_line=line,
        shell=spec.shell,
        cwd=spec.cwd,
        umask=spec.umask,
        env=spec.env,
        env_changes=spec.env_changes,
        pool=spec.pool,
        priority=spec.priority,
        tenant=spec.tenant,
        tags=spec.tags,
        after=[edge],
        reaction=True,
    )
