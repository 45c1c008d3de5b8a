"""The engine from the store: at the start, and again after a commit that the disk refused."""

from __future__ import annotations

import logging
from collections.abc import Callable

from cronoq_cli.commands.plans import build_engine
from cronoq_cli.commands.zone import load_machine_zone
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.instance import find_boot_id
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.recovery import restore
from cronoq_cli.engine.schedule_changes import restore_schedules
from cronoq_cli.store.collector import without_collector
from cronoq_cli.store.contract import LiveState, Store, StoreReader

log = logging.getLogger(__name__)


def load_engine(
    store: Store,
    settings: Settings,
    now: Now,
    set_aside: dict[int, str],
    find_reader: Callable[[], StoreReader] | None = None,
) -> Engine:
    """An engine that stands where the store says; tasks that could not be read go into `set_aside` with the reason.

    `find_reader`: what the engine's questions to the store may use when they come; by default the store itself.
    Raises StoreError."""
    with without_collector():
        kept = store.load_live()
        engine = build_engine(settings, kept, now)
        orphans = restore(engine, kept, now)
    for task_id, reason in kept.damaged.items():
        log.error("task %d could not be read and is set aside as failed: %s", task_id, reason)
    set_aside.update(kept.damaged)
    for name, reason in kept.damaged_schedules.items():
        log.error("schedule %s could not be read and is set aside: %s", name, reason)
    _restore_schedules(engine, find_reader or (lambda: store), kept, now)
    if orphans:
        log.warning("%d tasks wait in pools that are configured no more", len(orphans))
    return engine


def _restore_schedules(engine: Engine, find_reader: Callable[[], StoreReader], kept: LiveState, now: Now) -> None:
    """The schedules behind their tasks, with what they go by on this machine."""
    schedules = engine.state.schedules
    schedules.zone, schedules.boot_id = load_machine_zone(), find_boot_id()
    schedules.remembers = lambda key: _find_key(find_reader(), key)
    restore_schedules(engine.state, kept.schedules, now)
    for one in schedules.by_name.values():
        if one.fault is not None:
            log.error("schedule %s cannot be run on this machine: %s", one.name, one.fault)


def _find_key(store: StoreReader, key: str) -> int | None:
    found = store.find_newest_with_key(key)
    return None if found is None else found.id
