"""From configurations to engines, at the start and when one is read anew."""

from __future__ import annotations

from typing import Any

from cronoq_cli.commands.plans import build_engine, plan_shared
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Newcomer, Submitted
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import LiveState

NOW = Now(1_000_000.0, 5_000.0)


def start(settings: Settings) -> Engine:
    return build_engine(settings, LiveState(tasks=[], edges=[], batches=[], pools={}, next_id=1), NOW)


def submit(engine: Engine, **fields: Any) -> int:
    accepted = engine.handle(Submitted([Newcomer(TaskSpec(name="job", command=["true"], **fields))]), NOW)
    return int(accepted.ids[0])


def reload(engine: Engine, settings: Settings) -> None:
    for event in plan_shared(settings, {}, NOW):
        engine.handle(event, NOW)


def test_tasks_that_gather_go_at_once_when_a_reload_makes_their_group_small_enough() -> None:
    engine = start(Settings(groups={"mail": GatherSettings(command=["send"], max_size=9)}))
    first, second = submit(engine, group="mail"), submit(engine, group="mail")
    reload(engine, Settings(groups={"mail": GatherSettings(command=["send"], max_size=2)}))
    runner = engine.find(second + 1)
    assert runner is not None
    assert runner.status is Status.RUNNING
    assert [engine.find(one).gathered_by for one in (first, second)] == [runner.id] * 2  # type: ignore[union-attr]


def test_tasks_that_gather_go_when_a_reload_shortens_the_wait_that_was_armed() -> None:
    engine = start(Settings(groups={"mail": GatherSettings(command=["send"], grace_s=600)}))
    submit(engine, group="mail")
    reload(engine, Settings(groups={"mail": GatherSettings(command=["send"], grace_s=20)}))
    assert engine.next_due_s(NOW) == 20


def test_a_task_that_waits_for_a_resource_which_a_reload_takes_away_cannot_fit_until_it_is_back() -> None:
    settings = Settings(resources={"gpu": ResourceSettings(permits=1)})
    engine = start(settings)
    submit(engine, uses={"gpu": 1})
    waiting = engine.find(submit(engine, uses={"gpu": 1}))
    assert waiting is not None
    reload(engine, Settings())
    assert waiting.reason == "cannot fit"
    reload(engine, settings)
    assert waiting.reason is None
