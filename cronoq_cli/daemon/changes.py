"""From the engine's effects to the rows of one commit. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

from cronoq_cli.engine.messages import Bulk, Effects
from cronoq_cli.model.task import Transition
from cronoq_cli.store.contract import Changes, NewTasks
from cronoq_cli.store.copying import Record, copy_record


def collect_changes(effects: Effects, extra: Changes) -> Changes:
    """The last state of every row the effects touch, and the rows asked for beside them.

    The engine may go on while they are written: what it changes in place is copied."""
    new, edited = effects.new, effects.edited
    changes = Changes(
        bulks=[_write_out(bulk) for bulk in effects.bulks],
        attempts=list(effects.attempts.values()),
        edges_opened=effects.edges_opened,
        edges_closed=effects.edges_closed,
        forgotten_edges=effects.forgotten_edges,
        batches=list(map(copy_record, effects.batches.values())),
        transitions=[*effects.transitions, *extra.transitions],
        envs=extra.envs,
        stdins=extra.stdins,
        pools={**effects.pools, **extra.pools},
        run_times={**effects.run_times, **extra.run_times},
        resources=extra.resources,
        incidents=_copy_all(effects.incidents),
        notices={**{notice.id: notice for notice in effects.notices}, **extra.notices},
        schedules=_copy_all(effects.schedules),
        passed=list(effects.passed.values()),
        removed=extra.removed,
    )
    fresh, updated, respecced = [], [], []
    for task_id, task in effects.touched.items():
        if task_id in new:
            fresh.append(task.to_record(edited.get(task_id, new[task_id])))
        elif task_id in edited:
            respecced.append(task.to_record(edited[task_id]))
        else:
            updated.append(task.to_record())
    changes.new, changes.updated, changes.respecced = fresh, updated, respecced
    return changes


def _write_out(bulk: Bulk) -> NewTasks:
    """The rows of tasks that were submitted by the thousand."""
    return NewTasks(
        first=bulk.first,
        specs=bulk.specs,
        records=[sample.to_record(bulk.specs[sample.id - bulk.first]) for sample in bulk.samples],
        events=[
            Transition(at=one.submitted_at, type="submitted", pool=one.pool, status=one.status.value)
            for one in bulk.samples
        ],
        kinds=bulk.kinds,
        told=bulk.told,
    )


def _copy_all(records: Mapping[str, Record | None]) -> dict[str, Record | None]:
    return {name: None if record is None else copy_record(record) for name, record in records.items()}
