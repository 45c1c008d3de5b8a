"""From a selector to tasks: ids, runs, keys, `last`, and filters, over live tasks and the history.

Which of them a verb can act on is the verb's matter (`handlers`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.errors import QUEUE_ONE, InvalidError, NotFoundError, UsageError
from cronoq_cli.model.ids import describe_missing, find_run, hint_for_id
from cronoq_cli.model.lifecycle import FINAL, LIVE, Status
from cronoq_cli.model.recurring import SCHEDULE_TAG, was_asked_for
from cronoq_cli.model.task import TaskRecord
from cronoq_cli.model.words import KEY_HINT, hint_for, hint_for_schedule, is_key, suggest
from cronoq_cli.store.contract import Filter
from cronoq_cli.wire.requests import Selector

LAST = "last"
FEW, MANY = 10, 1000
"""So many of the newest tasks are looked at for the last one that was asked for, at first and at once at most."""
MOST_COMPARED = 500
"""Keys that a mistyped one is compared with."""


class Selection(msgspec.Struct):
    """Ids in the order asked for. `explicit`: they were named, so that a verb that cannot act on one says so."""

    ids: list[int] = []
    explicit: bool = True


class Selecting:
    """Resolves selectors for one scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def select(self, selector: Selector, usual: Iterable[Status]) -> Selection:
        """The tasks a selector means. Without refs the filters range over tasks of the `usual` statuses.

        Raises NotFoundError (nothing matched, or an id or key that no task has), UsageError for a wrong word."""
        statuses = self.read_statuses(selector)
        if selector.is_empty():
            raise UsageError(
                "no task named", hint="name ids, 3-8, keys, last, or --pool, --status, --tag, --name, --all"
            )
        if selector.refs:
            ids = self._resolve_all(selector.refs)
            filtered = statuses or selector.pools or selector.tags or selector.name_glob
            chosen = self._filter(ids, selector, statuses) if filtered else ids
            selection = Selection(chosen, explicit=not filtered)
        else:
            found = self._search(selector, statuses or list(usual))
            if not statuses and not selector.tags:
                ahead = {task.id for task in self.list_ahead()}
                found = [task_id for task_id in found if task_id not in ahead]
            selection = Selection(found, explicit=False)
        if not selection.ids:
            raise NotFoundError("nothing matched", hint=self._hint_for_nothing(selector))
        return selection

    def list_ahead(self) -> list[LiveTask]:
        """Occurrences made ahead to reserve their start, which has not come: not of the queue yet. `recurring ls` has
        them, and so has who asks for them by id, status or schedule."""
        schedules = self._scheduler.engine.state.schedules.by_name.values()
        made = (self._scheduler.find_live(task_id) for one in schedules for task_id in one.ahead)
        return [task for task in made if task is not None and task.status in (Status.SCHEDULED, Status.BLOCKED)]

    def _hint_for_nothing(self, selector: Selector) -> str:
        """The schedule that may be meant where one was named that is not there, else where to look."""
        named = selector.tags.get(SCHEDULE_TAG)
        schedules = self._scheduler.engine.state.schedules.by_name
        if named and named not in schedules:
            return (
                f"no schedule is named {named!r}: {hint_for(named, schedules)}" if schedules else "no schedule is there"
            )
        return "cronoq ls --limit all shows what there is"

    def read_statuses(self, selector: Selector) -> list[Status]:
        """The statuses a selector names. Raises UsageError for an unknown one, InvalidError for an unknown pool."""
        known = [status.value for status in Status]
        found = []
        for word in selector.statuses:
            name = word.replace("-", "_")
            if name not in known:
                raise UsageError(f"no status {word!r}", hint=hint_for(name, known))
            found.append(Status(name))
        for pool in selector.pools:
            self._scheduler.engine.state.get_pool(pool)
        return found

    # -- references ----------------------------------------------------------------------------------------------

    def _resolve_all(self, refs: list[str]) -> list[int]:
        ids: dict[int, None] = {}
        for ref in refs:
            ids.update(dict.fromkeys(self.resolve(ref)))
        return list(ids)

    def resolve(self, ref: str) -> list[int]:
        """The ids that one reference means. Raises NotFoundError, UsageError."""
        if ref == LAST:
            return [self._find_last()]
        run = find_run(ref)
        if run is not None:
            return self._expand(run.start, run.stop - 1)
        if not is_key(ref):
            raise UsageError(f"{ref!r} is neither an id, a run of ids nor a key", hint="ids are numbers, runs are 3-8")
        task_id = self.find_key(ref)
        if task_id is None:
            raise NotFoundError(f"no task has the key {ref!r}", hint=self._hint_for_key(ref))
        return [task_id]

    def _hint_for_key(self, ref: str) -> str:
        """A schedule of that name, the nearest key of a live task, or how keys come about."""
        state = self._scheduler.engine.state
        if ref in state.schedules.by_name:
            return hint_for_schedule(ref)
        near = suggest(ref, islice(state.keys, MOST_COMPARED))
        return f"did you mean {near}?" if near else KEY_HINT

    def _find_last(self) -> int:
        before, few = self._scheduler.engine.state.next_id, FEW
        while True:
            records = self.list_before(before, few)
            for record in records:
                if was_asked_for(record.spec):
                    return record.id
            if not records:
                raise NotFoundError("there is no task yet, so there is no last one", hint=QUEUE_ONE)
            before, few = records[-1].id, min(4 * few, MANY)

    def list_before(self, before: int, few: int = FEW) -> list[TaskRecord]:
        """A few of the newest tasks with an id below `before`, newest first, pending ones among them."""
        scheduler = self._scheduler
        pending = [] if scheduler.only_committed else scheduler.engine.state.effects.list_new(before, few)
        if pending:
            return scheduler.list_records(pending)
        return scheduler.store.list_where(Filter(before_id=before, newest_first=True, limit=few))

    def _expand(self, first: int, last: int) -> list[int]:
        if first == last:
            if not self.exists(first):
                raise self._missing(first, last)
            return [first]
        end = min(last, max(first, self._scheduler.engine.state.next_id - 1))
        tasks = {} if self._scheduler.only_committed else self._scheduler.engine.state.tasks
        live = {task_id for task_id in range(first, end + 1) if task_id in tasks}
        stored: set[int] = set()
        if len(live) < end + 1 - first:
            stored = set(self._scheduler.store.list_ids(Filter(ids=[(first, end)])))
        ids = sorted(live | stored)
        if not ids:
            raise self._missing(first, last)
        return ids

    def _missing(self, first: int, last: int) -> NotFoundError:
        newest = self._scheduler.engine.state.next_id - 1
        return NotFoundError(describe_missing(first, last), hint=hint_for_id(first, newest))

    def exists(self, task_id: int) -> bool:
        """Whether a task of that id is live or remembered."""
        scheduler = self._scheduler
        if scheduler.find_live(task_id) is not None:
            return True
        if not scheduler.only_committed and task_id in scheduler.engine.state.effects.touched:
            return True
        return scheduler.store.find_task(task_id) is not None

    def find_key(self, key: str) -> int | None:
        """The newest task of that key: the live one, else the newest remembered."""
        scheduler = self._scheduler
        live = scheduler.engine.find_by_key(key)
        if live is not None and scheduler.find_live(live.id) is not None:
            return live.id
        if not scheduler.only_committed:
            pending = [task.id for task in scheduler.engine.state.effects.touched.values() if task.key == key]
            if pending:
                return max(pending)
        record = scheduler.store.find_newest_with_key(key)
        return None if record is None else record.id

    # -- filters -------------------------------------------------------------------------------------------------

    def _filter(self, ids: list[int], selector: Selector, statuses: list[Status]) -> list[int]:
        wanted = set(self._search(selector, statuses or list(Status)))
        return [task_id for task_id in ids if task_id in wanted]

    def _search(self, selector: Selector, statuses: list[Status]) -> list[int]:
        live_only = not (set(statuses) & FINAL)
        at_hand = live_only and not self._scheduler.only_committed
        if at_hand and not selector.tags and selector.name_glob is None:
            return self._search_engine(selector, frozenset(statuses))
        query = Filter(
            statuses=[status.value for status in statuses],
            pools=selector.pools or None,
            tags=selector.tags or None,
            name_glob=selector.name_glob,
        )
        return sorted(self._scheduler.store.list_ids(query))

    def _search_engine(self, selector: Selector, statuses: frozenset[Status]) -> list[int]:
        pools = frozenset(selector.pools)
        tasks = self._scheduler.engine.state.tasks
        return tasks.list_ids(lambda task: task.status in statuses and (not pools or task.pool in pools))


def check_pool_names(scheduler: Scheduler, names: list[str]) -> list[str]:
    """These pools, or all of them. Raises InvalidError for an unknown one."""
    known = scheduler.engine.state.pools
    for name in names:
        if name not in known:
            raise InvalidError(f"unknown pool {name!r}", hint=hint_for(name, list(known)), code="unknown-pool")
    return names or list(known)


__all__ = ["LIVE", "Selecting", "Selection", "check_pool_names"]
