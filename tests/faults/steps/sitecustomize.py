"""Kills its process by SIGKILL at one named step, once: loaded by Python itself where PYTHONPATH has this directory.

The product knows nothing of it: functions are wrapped when their modules have been imported. A step is armed by a
file of its name in FAULT_STEPS; whoever removes that file dies.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

DIRECTORY = os.environ.get("FAULT_STEPS", "")

WRAPPED: dict[str, list[tuple[str, str, str, str]]] = {
    # module: (class, method, step before it, step after it)
    "cronoq_cli.store.sqlite.writer": [("SqliteStore", "commit", "daemon-before-commit", "daemon-after-commit")],
    "cronoq_cli.daemon.runners": [("Runners", "perform", "daemon-before-orders", "daemon-after-orders")],
    "cronoq_cli.runner.spawn": [("Spawner", "_spawn", "runner-before-spawn", "runner-after-spawn")],
    "cronoq_cli.runner.supervisor": [
        ("Supervisor", "keep", "runner-before-end-is-kept", "runner-after-end-is-kept"),
        ("Supervisor", "forget", "runner-before-forget", "runner-after-forget"),
    ],
}
STEPS = [step for entries in WRAPPED.values() for entry in entries for step in entry[2:]]


def die_at(step: str) -> None:
    """End here, if this step is armed."""
    try:
        os.unlink(os.path.join(DIRECTORY, step))
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def wrap(module: ModuleType) -> None:
    """Put the steps around the methods of one module."""
    for owner, name, before, after in WRAPPED[module.__name__]:
        setattr(getattr(module, owner), name, _around(getattr(getattr(module, owner), name), before, after))


def _around(method: Callable[..., Any], before: str, after: str) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **named: Any) -> Any:
        die_at(before)
        result = method(*arguments, **named)
        die_at(after)
        return result

    return wrapped


class Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it sees to it that a wrapped module is wrapped as soon as it is there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in WRAPPED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                wrap(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if DIRECTORY:
    sys.meta_path.insert(0, Finder())
