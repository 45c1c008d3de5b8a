"""Faults planted on purpose, one of each kind: the simulation must find every one of them, or it is worth nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.live import LiveTask
from cronoq_cli.engine.messages import AttemptEnded, Event, Forget
from cronoq_cli.engine.schedules import remember_nothing
from cronoq_cli.model.lifecycle import Status
from tests.simulation.world import SimRunners, World


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
    """Stores the task of an occurrence without what its schedule has come to, and looks for no key: the next daemon
    makes it again."""

    def flush(self) -> None:
        self.engine.state.schedules.remembers = remember_nothing
        effects = self.engine.state.effects
        for name in list(effects.schedules):
            if name in {schedule.spec.name for schedule in self.store.list_schedules()}:
                del effects.schedules[name]
        super().flush()


class DecidesUnderWay(Scheduler):
    """Lets requests decide by a store that lacks what is on its way there."""

    def begin_deciding(self) -> None:
        self.must_commit()


class LooksAtAll(Scheduler):
    """Tells who looks what the engine knows, committed or not."""

    def looking(self) -> AbstractContextManager[None]:
        return nullcontext()


class ComparesUnderWay(SimRunners):
    """Compares with what runners said while a start waits for its commit, of which they cannot know."""

    def _compare(self) -> None:
        scheduler = self._scheduler
        batch, scheduler._batch = scheduler._batch, None
        try:
            super()._compare()
        finally:
            scheduler._batch = batch


PLANTED: dict[str, Callable[[], World]] = {
    "acknowledge before commit": lambda: World(AcknowledgesBeforeCommit),
    "spawn before commit": lambda: World(SpawnsBeforeCommit),
    "forget an end before commit": lambda: World(ForgetsBeforeCommit),
    "end delivered twice": lambda: World(TakesAnEndTwice),
    "slot leaked": lambda: World(LeaksASlot),
    "occurrence doubled": lambda: World(DoublesAnOccurrence),
    "spawn while the commit is under way": lambda: World(SpawnsBeforeCommit, commit="thread"),
    "decide while a commit is under way": lambda: World(DecidesUnderWay, commit="thread"),
    "tell what is not committed": lambda: World(LooksAtAll, commit="thread"),
    "compare while a start is under way": lambda: World(make_runners=ComparesUnderWay, commit="thread"),
}
