"""What each order of the daemon means: one method an order, and the environments kept for starts."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from cronoq_cli.runner.environment import Environment, read_variables
from cronoq_cli.runner.supervisor import Supervisor
from cronoq_cli.runner.takeover import Takeover
from cronoq_cli.wire.runner import ENVIRONMENTS_KEPT, Message, Order


class Environments:
    """The last environments sent, by id; those used least recently drop out first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Environment] = OrderedDict()

    def add(self, name: str, variables: list[str]) -> None:
        """Keep an environment of `NAME=VALUE` strings."""
        self._kept[name] = Environment(read_variables(variables))
        self._kept.move_to_end(name)
        if len(self._kept) > ENVIRONMENTS_KEPT:
            self._kept.popitem(last=False)

    def find(self, name: str | None) -> Environment | None:
        """The environment of that id, now the one used last; an absent id means an empty one."""
        if name is None:
            return Environment({})
        if name in self._kept:
            self._kept.move_to_end(name)
        return self._kept.get(name)


class Orders:
    """Carries out orders; one that is malformed is told on stderr and changes nothing."""

    def __init__(self, supervisor: Supervisor, takeover: Takeover) -> None:
        self._supervisor = supervisor
        self._takeover = takeover
        self._environments = Environments()
        self._handlers: Final[dict[str, Callable[[Message], None]]] = {
            Order.LANES: self._set_lanes,
            Order.ENV: self._keep_environment,
            Order.START: self._start,
            Order.STOP: self._stop,
            Order.REVOKE: lambda order: supervisor.revoke(order["token"]),
            Order.SIGNAL: lambda order: supervisor.signal(order["token"], int(order["signal"])),
            Order.FIND: lambda order: takeover.find(order["journal"]),
            Order.FORGET: lambda order: supervisor.forget(list(order["tokens"])),
            Order.CLOSE: lambda _order: supervisor.close(),
        }

    def carry_out(self, order: Message) -> None:
        """Do what one message says."""
        try:
            handler = self._handlers.get(order.get("order") or "")
            if handler is None:
                raise ValueError(f"unknown order {order.get('order')!r}")
            handler(order)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            sys.stderr.write(f"cronoq runner: malformed order: {type(error).__name__}: {error}\n")
            sys.stderr.flush()

    def _set_lanes(self, order: Message) -> None:
        self._supervisor.lanes.set_capacities(order["lanes"])

    def _keep_environment(self, order: Message) -> None:
        self._environments.add(order["id"], order["vars"])

    def _start(self, order: Message) -> None:
        self._supervisor.start(order, self._environments.find(order.get("env")))

    def _stop(self, order: Message) -> None:
        number, grace_s = order.get("signal"), order.get("grace_s")
        self._supervisor.stop(
            order["token"],
            None if number is None else int(number),
            None if grace_s is None else float(grace_s),
            order.get("cause"),
        )
