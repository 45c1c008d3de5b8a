"""What the daemon knows of tasks, from the engine, what waits for its commit, and the store.

Who decides something sees everything there is; who only looks (`only_committed`) sees what no crash can undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cronoq_cli.daemon.commits import Commits
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import Effects
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import StoreReader

Counts = dict[str, dict[Status, int]]
"""By pool how many of its tasks stand in each live status."""


class Lookup:
    """Tasks by id. `specs`: those of new tasks, most of which are started soon.

    `only_committed`: for as long as a request that only looks is answered while changes wait for their commit."""

    engine: Engine

    def __init__(self, commits: Commits) -> None:
        self.specs: dict[int, TaskSpec] = {}
        self.only_committed = False
        self._commits = commits
        self._under_way: Effects | None = None
        """What a commit under way writes."""
        self._counts: Counts = {}
        """As they were when what is committed was taken from the engine."""

    @property
    def store(self) -> StoreReader:
        """What is committed, on the connection that reads may use now."""
        return self._commits.reader

    def is_uncommitted(self, task_id: int) -> bool:
        """Whether a change of this task waits for its commit."""
        return _changes(self.engine.state.effects, task_id) or (
            self._under_way is not None and _changes(self._under_way, task_id)
        )

    def is_unended(self, task_id: int) -> bool:
        """Whether a task is live, or its end waits for its commit."""
        tasks = self.engine.state.tasks
        task = tasks.find_made(task_id)
        if task is None and tasks.find_run(task_id) is not None:
            return True  # it waits; no object is made of it for that
        if task is not None and task.status in LIVE:
            return True
        under_way = self._under_way
        return task_id in self.engine.state.effects.ended or (under_way is not None and task_id in under_way.ended)

    def find_live(self, task_id: int) -> LiveTask | None:
        """The engine's task of that id, live or leaving; for who only looks not while a change waits."""
        if self.only_committed and self.is_uncommitted(task_id):
            return None
        return self.engine.find(task_id)

    def find_record(self, task_id: int) -> TaskRecord | None:
        """A task as it stands, also when its last change is not committed yet."""
        if self.only_committed:
            return self.store.find_task(task_id)
        task = self.engine.state.effects.touched.get(task_id) or self.engine.find(task_id)
        if task is None:
            return self.store.find_task(task_id)
        spec = self.find_spec(task_id)
        return None if spec is None else task.to_record(spec)

    def find_spec(self, task_id: int) -> TaskSpec | None:
        """The spec of a task: newly submitted ones are at hand, others are read from the store."""
        effects = self.engine.state.effects
        spec = effects.find_spec(task_id) or self.specs.get(task_id)
        if spec is None:
            record = self.store.find_task(task_id)
            spec = None if record is None else record.spec
        return spec

    def list_records(self, ids: Iterable[int]) -> list[TaskRecord]:
        """Records of these tasks, in the order asked for; unknown ids are left out."""
        wanted = list(ids)
        effects = self.engine.state.effects
        pending = set() if self.only_committed else {i for i in wanted if _changes(effects, i)}
        stored = {record.id: record for record in self.store.list_tasks(i for i in wanted if i not in pending)}
        found = (stored.get(i) or (self.find_record(i) if i in pending else None) for i in wanted)
        return [record for record in found if record is not None]

    def list_counts(self) -> Mapping[str, Mapping[Status, int]]:
        """By pool how many tasks stand in each live status."""
        return self._counts if self.only_committed else self._count()

    def _count(self) -> Counts:
        return {name: pool.counts for name, pool in self.engine.state.pools.items()}

    def _copy_counts(self) -> Counts:
        return {name: dict(pool.counts) for name, pool in self.engine.state.pools.items()}


def _changes(effects: Effects, task_id: int) -> bool:
    """Whether the task is new or changed by these."""
    return task_id in effects.touched or effects.is_new(task_id)
