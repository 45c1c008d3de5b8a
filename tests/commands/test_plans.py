"""From configurations to engines, at the start and when one is read anew."""

from __future__ import annotations

from typing import Any

import msgspec

from cronoq_cli.commands.plans import build_engine, plan_pool, plan_shared
from cronoq_cli.config.pools import AutoscaleSettings, LimitSettings, PoolSettings
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.engine import autoscale
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


def test_the_engine_knows_every_number_of_the_tables_of_scaling_and_limits_by_the_same_name_and_default() -> None:
    for ours, theirs in ((autoscale.AutoscaleSettings, AutoscaleSettings), (autoscale.MachineLimits, LimitSettings)):
        values = msgspec.structs.asdict(theirs())
        assert msgspec.structs.asdict(ours()) == {name: values[name] for name in ours.__struct_fields__}
        assert values.keys() - set(ours.__struct_fields__) <= {"cost_per_worker_second"}


def test_the_cost_of_a_worker_second_counts_for_pools_of_a_fixed_size_too() -> None:
    plan = plan_pool(PoolSettings(workers=2, autoscale=AutoscaleSettings(cost_per_worker_second=0.5)))
    assert (plan.autoscale, plan.cost_per_worker_second) == (None, 0.5)
