"""The engine from the store: at the start, and again after a commit that the disk refused."""

from __future__ import annotations

import logging

from cronoq_cli.commands.plans import build_engine
from cronoq_cli.config.settings import Settings
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.recovery import restore
from cronoq_cli.store.collector import without_collector
from cronoq_cli.store.contract import Store

log = logging.getLogger(__name__)


def load_engine(store: Store, settings: Settings, now: Now, set_aside: dict[int, str]) -> Engine:
    """An engine that stands where the store says; tasks that could not be read go into `set_aside` with the reason.

    Raises StoreError."""
    with without_collector():
        kept = store.load_live()
        engine = build_engine(settings, kept, now)
        orphans = restore(engine, kept, now)
    for task_id, reason in kept.damaged.items():
        log.error("task %d could not be read and is set aside as failed: %s", task_id, reason)
    set_aside.update(kept.damaged)
    if orphans:
        log.warning("%d tasks wait in pools that are configured no more", len(orphans))
    return engine
