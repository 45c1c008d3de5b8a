"""Faults planted on purpose, one of each kind: the simulation must find every one of them, or it is worth nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import AttemptEnded, Event, Forget
from cronoq_cli.model.lifecycle import Status
from tests.simulation.world import World


class AcknowledgesBeforeCommit(Scheduler):
    """Answers as soon as the engine has spoken."""

    def must_commit(self) -> None:
        return


class SpawnsBeforeCommit(Scheduler):
    """Sends its orders while the commit is still to come."""

    def flush(self) -> None:
        effects = self.engine.state.effects
        early, effects.actions = effects.actions, []
        if self.performer is not None and early:
            self.performer.perform(early)
        super().flush()


class ForgetsBeforeCommit(Scheduler):
    """Lets the runner drop an end that is not stored yet."""

    def flush(self) -> None:
        actions = self.engine.state.effects.actions
        early = [action for action in actions if isinstance(action, Forget)]
        if self.performer is not None and early:
            self.performer.perform(early)
        super().flush()


class TakesAnEndTwice(Scheduler):
    """Takes an end for that of whatever attempt runs now, so that one told twice ends the next attempt too."""

    def apply(self, event: Event) -> Any:
        if isinstance(event, AttemptEnded):
            task = self.engine.find(event.task)
            if task is not None and task.status is Status.RUNNING:
                event = AttemptEnded(event.task, task.attempt, event.end)
        return super().apply(event)


class LeaksASlot(Scheduler):
    """Does not free what a task held whose process took its time to go."""

    def apply(self, event: Event) -> Any:
        leaving = self._find_leaving(event)
        result = super().apply(event)
        if leaving is not None and not leaving.leaving:
            self.engine.state.pools[leaving.pool].sets[0].busy += leaving.slots
        return result

    def _find_leaving(self, event: Event) -> LiveTask | None:
        task = self.engine.find(event.task) if isinstance(event, AttemptEnded) else None
        return task if task is not None and task.leaving and not task.leased else None


class DoublesAnOccurrence(Scheduler):
    """Stores the task of an occurrence without what its schedule has come to: the next daemon makes it again."""

    def flush(self) -> None:
        effects = self.engine.state.effects
        for name in list(effects.schedules):
            if name in {schedule.spec.name for schedule in self.store.list_schedules()}:
                del effects.schedules[name]
        super().flush()


PLANTED: dict[str, Callable[[], World]] = {
    "acknowledge before commit": lambda: World(AcknowledgesBeforeCommit),
    "spawn before commit": lambda: World(SpawnsBeforeCommit),
    "forget an end before commit": lambda: World(ForgetsBeforeCommit),
    "end delivered twice": lambda: World(TakesAnEndTwice),
    "slot leaked": lambda: World(LeaksASlot),
    "occurrence doubled": lambda: World(DoublesAnOccurrence),
}
