"""What a task wants besides a slot, and the moments it lives by: small values, shared or absent for plain tasks.

How wants are met is in `admission`, what a moment means in the module of its duty.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cronoq_cli.model.task import TaskSpec

WORKERS = "@workers"
"""In a task's units: the set of workers its slots are in. No resource can have this name."""


class Demand(NamedTuple):
    """What is wanted: resources with amounts, labels of the workers, and for whom. Equal ones are one object."""

    tenant: str
    uses: tuple[tuple[str, float], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The resources, without amounts."""
        return tuple(name for name, _ in self.uses)


class Times(msgspec.Struct, frozen=True):
    """The moments of a task, unix seconds; durations in seconds. None: not asked for."""

    deadline: float | None = None
    expires_at: float | None = None
    start_at: float | None = None
    tolerance_s: float = 1.0
    on_miss: str = "run-late"
    estimate_s: float | None = None


NO_TIMES = Times()


def read_demand(spec: TaskSpec) -> Demand | None:
    """What a spec wants, or None for a plain one."""
    if not (spec.tenant or spec.uses or spec.labels):
        return None
    return Demand(spec.tenant, tuple(sorted(spec.uses.items())), tuple(sorted(spec.labels.items())))


def read_times(spec: TaskSpec) -> Times | None:
    """The moments of a spec, or None for one without any."""
    if spec.deadline is None and spec.start_at is None and spec.estimate_s is None and spec.expires_at is None:
        return None
    return Times(spec.deadline, spec.expires_at, spec.start_at, spec.tolerance_s, spec.on_miss, spec.estimate_s)
