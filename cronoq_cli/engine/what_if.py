"""Changes to an engine before it is run forward: other sizes of pools and resources, tasks left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import Cancelled, PoolResized, ResourceChanged
from cronoq_cli.engine.resources import Bucket
from cronoq_cli.engine.simulate import LEFT_OUT
from cronoq_cli.errors import InvalidError


def fix_workers(engine: Engine, workers: Mapping[str, int], now: Now) -> None:
    """Give pools so many workers, by name; they are autoscaled no more. Raises InvalidError for an unknown pool."""
    state = engine.state
    for name, count in workers.items():
        pool = state.get_pool(name)
        pool.plan = msgspec.structs.replace(pool.plan, workers=count, least=None, most=None, autoscale=None)
        pool.configured = count
        engine.handle(PoolResized(name, count), now)
    state.scales = any(pool.plan.autoscale is not None for pool in state.pools.values())


def set_resources(engine: Engine, amounts: Mapping[str, float], now: Now) -> None:
    """Give resources so many permits, or so many tokens a second, by name. Raises InvalidError."""
    for name, amount in amounts.items():
        if isinstance(engine.state.resources.get(name), Bucket):
            engine.handle(ResourceChanged(name, rate=amount), now)
        elif amount != int(amount):
            raise InvalidError(f"{name}: {amount:g} is no number of permits", hint="permits are whole")
        else:
            engine.handle(ResourceChanged(name, permits=int(amount)), now)


def leave_out(engine: Engine, ids: Iterable[int], now: Now) -> None:
    """Let tasks be as if they were cancelled now: what depends on them is skipped, or goes on."""
    engine.handle(Cancelled(list(ids), reason=LEFT_OUT), now)
