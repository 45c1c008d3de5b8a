"""Forgetting what has been kept long enough: in small steps, at the start and every hour."""

from __future__ import annotations

import asyncio
import logging

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.housekeeping import decide_retention, remove_files_of
from cronoq_cli.daemon.logkeeper import LogKeeper
from cronoq_cli.errors import CronoqError

log = logging.getLogger(__name__)

PRUNE_STEP = 500
"""Finished tasks forgotten in one step: a step must not hold up what else is to be written."""
FIRST_AFTER_S = 30.0
EVERY_S = 3600.0
AFTER_AN_END_S = 10.0
"""How soon after an end it is looked whether something is to go (`--keep 0s`); an idle daemon does not look."""
STEP_PAUSE_S = 0.05


class Pruner:
    """Applies `[retention]`, each task's own `--keep`, and what `[logs]` says of all logs together."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._keeper = LogKeeper(desk)
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin soon, not at once: a start has more important things to do."""
        self._arm(FIRST_AFTER_S)
        self._desk.scheduler.on_ended = self._note_end

    def stop(self) -> None:
        """Forget nothing more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._keeper.stop()

    def _note_end(self) -> None:
        if self._timer is not None and self._timer.when() - asyncio.get_running_loop().time() > AFTER_AN_END_S:
            self._arm(AFTER_AN_END_S)

    def _arm(self, after_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(after_s, self._step)

    def _step(self) -> None:
        retention = self._desk.settings.retention
        older = decide_retention(retention, self._desk.now().wall)
        most = retention.max_finished
        self._desk.scheduler.write_later(lambda store: store.prune(older, most, PRUNE_STEP), self._finish_step)

    def _finish_step(self, outcome: list[int] | CronoqError) -> None:
        if isinstance(outcome, CronoqError):
            log.warning("nothing was pruned: %s", outcome.message)
        pruned = [] if isinstance(outcome, CronoqError) else outcome
        remove_files_of(self._desk, pruned)
        if self._stopped:
            return
        self._keeper.consider()
        self._arm(STEP_PAUSE_S if len(pruned) >= PRUNE_STEP else EVERY_S)
