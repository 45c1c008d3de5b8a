"""Gathering (`--group`): tasks that wait to be run together by one task of the group's own command.

When a group goes; joining and ending are moves of `state`, making the group's task is in `groups`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import msgspec

from cronoq_cli.model.task import TaskSpec


class GroupTemplate(msgspec.Struct, frozen=True):
    """What the configuration says of a group (`[groups.NAME]`): its command as a spec, and when it is run."""

    spec: TaskSpec
    grace_s: float = 60.0
    max_delay_s: float = 600.0
    max_size: int = 100


class Gathering(msgspec.Struct):
    """The members of one group that wait, by id, and since when each could have run (unix seconds).

    `armed_at`: when a timer will look at it; one at a time is enough."""

    members: dict[int, float] = {}
    first_at: float = inf
    last_at: float = -inf
    armed_at: float | None = None

    def join(self, task_id: int, since: float) -> None:
        """One more member, unless it is one already."""
        self.members.setdefault(task_id, since)
        self.first_at, self.last_at = min(self.first_at, since), max(self.last_at, since)

    def drop(self, ids: Iterable[int]) -> None:
        """These wait with the group no more."""
        for task_id in ids:
            del self.members[task_id]
        moments = self.members.values()
        self.first_at, self.last_at = min(moments, default=inf), max(moments, default=-inf)

    def due_at(self, template: GroupTemplate) -> float:
        """When the group goes: nothing came for grace, or its oldest has waited max_delay (specification section 5)."""
        return min(self.last_at + template.grace_s, self.first_at + template.max_delay_s)
