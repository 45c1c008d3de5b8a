"""Gathering (`--group`): tasks that wait to be run together by one task of the group's own command.

When a group goes; joining and ending are moves of `state`, making the group's task is in `groups`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cronoq_cli.model.task import TaskSpec


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """What the configuration says of a group (`[groups.NAME]`): its command as a spec, and when it is run."""

    spec: TaskSpec
    grace_s: float = 60.0
    max_delay_s: float = 600.0
    max_size: int = 100


@dataclass(slots=True)
class Gathering:
    """The members of one group that wait; moments are unix seconds."""

    name: str
    members: list[int] = field(default_factory=list)
    first_at: float = 0.0
    last_at: float = 0.0

    def join(self, task_id: int, at: float) -> None:
        """One more member, unless it is one already."""
        if task_id in self.members:
            return
        if not self.members:
            self.first_at = at
        self.members.append(task_id)
        self.last_at = at

    def due_at(self, template: GroupTemplate) -> float:
        """When the group goes: nothing came for grace, or its oldest has waited max_delay (specification section 5)."""
        return min(self.last_at + template.grace_s, self.first_at + template.max_delay_s)
