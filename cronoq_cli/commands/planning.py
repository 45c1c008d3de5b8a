"""The queue as it is stored, and an engine that stands there: what `simulate` runs forward.

How the store and the configuration are read is the client's; running forward is engine/simulate.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from cronoq_cli.commands.plans import build_engine
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.recovery import restore
from cronoq_cli.engine.simulated import PlannedRun
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import LiveState

_NO_POOL = PoolSettings(workers=0)


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """What is stored of the queue at one moment, and the configuration."""

    settings: Settings
    kept: LiveState

    def list_specs(self) -> dict[int, TaskSpec]:
        """The specs of the live tasks, by id."""
        return {record.id: record.spec for record in self.kept.tasks}

    def list_runs(self) -> dict[int, PlannedRun]:
        """The time limits of the live tasks that have one; how long they run is for the engine to expect."""
        limits = {record.id: self.find_timeout_s(record.spec) for record in self.kept.tasks}
        return {task_id: PlannedRun(timeout_s=limit_s) for task_id, limit_s in limits.items() if limit_s is not None}

    def find_timeout_s(self, spec: TaskSpec) -> float | None:
        """The time limit of an attempt: the task's own, else its pool's."""
        return spec.timeout_s if spec.timeout_s is not None else self._pool_of(spec).timeout_s

    def _pool_of(self, spec: TaskSpec) -> PoolSettings:
        return self.settings.pools.get(spec.pool, _NO_POOL)


def restore_engine(snapshot: QueueSnapshot, now: Now, *, empty: bool = False) -> Engine:
    """An engine that stands where the store says; with `empty` one with its pools alone, nothing in them."""
    kept = snapshot.kept
    engine = build_engine(snapshot.settings, msgspec.structs.replace(kept, next_id=1) if empty else kept, now)
    engine.state.leases = "never"
    if not empty:
        tasks = [msgspec.structs.replace(record, leased=False) if record.leased else record for record in kept.tasks]
        pools = {name: {**stored, "leased": []} for name, stored in kept.pools.items()}
        restore(engine, msgspec.structs.replace(kept, tasks=tasks, pools=pools), now)
    return engine
