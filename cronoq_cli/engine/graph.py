"""Dependencies between live tasks: open edges both ways, keys that are waited for, and the search for cycles.

What an end means for an edge is `decide_edge`; moving the dependents is the core's work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TypeVar

from cronoq_cli.model.lifecycle import BAD_ENDS, Status
from cronoq_cli.model.task import Condition, Edge

Name = TypeVar("Name", int, str)


def decide_edge(condition: Condition, final: Status, *, leaving: bool = False) -> bool | None:
    """Whether a target's final status meets the condition; None: not to be told yet (its processes still go)."""
    if condition is Condition.GONE:
        return None if leaving else True
    if condition is Condition.ANY:
        return True
    if condition is Condition.FAIL:
        return final in BAD_ENDS
    return final is Status.SUCCEEDED


class Graph:
    """Open edges. Each costs O(1) to open and close; a target's edges are handed out when it ends."""

    __slots__ = ("_awaited", "_incoming", "_outgoing")

    def __init__(self) -> None:
        self._incoming: dict[int, dict[Edge, None]] = {}
        self._outgoing: dict[int, dict[Edge, None]] = {}
        self._awaited: dict[str, dict[Edge, None]] = {}

    def open(self, edge: Edge) -> bool:
        """Add an open edge of `edge.task`; False when the same is open already."""
        edges = self._outgoing.setdefault(edge.task, {})
        if edge in edges:
            return False
        edges[edge] = None
        if edge.target is not None:
            self._incoming.setdefault(edge.target, {})[edge] = None
        elif edge.awaited is not None:
            self._awaited.setdefault(edge.awaited, {})[edge] = None
        return True

    def close(self, edge: Edge) -> None:
        """Drop one open edge."""
        _drop(self._outgoing, edge.task, edge)
        if edge.target is not None:
            _drop(self._incoming, edge.target, edge)
        elif edge.awaited is not None:
            _drop(self._awaited, edge.awaited, edge)

    def forget(self, task_id: int) -> list[Edge]:
        """Drop all open edges of a task and return them."""
        edges = list(self._outgoing.get(task_id, ()))
        for edge in edges:
            self.close(edge)
        return edges

    def list_open(self, task_id: int) -> list[Edge]:
        """The open edges of a task."""
        return list(self._outgoing.get(task_id, ()))

    def has_dependents(self, target_id: int) -> bool:
        """Whether any open edge waits for a task."""
        return target_id in self._incoming

    def list_dependents(self, target_id: int) -> list[Edge]:
        """The open edges that wait for a task."""
        return list(self._incoming.get(target_id, ()))

    def list_awaiting(self, key: str) -> list[Edge]:
        """The open edges that wait for a key that no task has had yet."""
        return list(self._awaited.get(key, ()))

    def find_cycle(
        self, task_id: int, targets: Iterable[int], wanted: Mapping[int, Iterable[int]] | None = None
    ) -> list[int] | None:
        """The ids of a cycle that edges from `task_id` to `targets` would close, `task_id` first and last.

        `wanted`: targets by task of further edges that are about to be opened."""
        came_from: dict[int, int] = {}
        frontier = deque(targets)
        for target in frontier:
            came_from[target] = task_id
        while frontier:
            at = frontier.popleft()
            if at == task_id:
                return _trace(came_from, task_id)
            open_now = (edge.target for edge in self._outgoing.get(at, ()) if edge.target is not None)
            for target in chain(open_now, wanted.get(at, ()) if wanted else ()):
                if target not in came_from:
                    came_from[target] = at
                    frontier.append(target)
        return None


def _drop(index: dict[Name, dict[Edge, None]], name: Name, edge: Edge) -> None:
    edges = index.get(name)
    if edges is not None:
        edges.pop(edge, None)
        if not edges:
            del index[name]


def _trace(came_from: Mapping[int, int], task_id: int) -> list[int]:
    path = [task_id]
    at = came_from[task_id]
    while at != task_id:
        path.append(at)
        at = came_from[at]
    path.append(task_id)
    return path[::-1]


def find_cycle_among(wants: Mapping[int, Iterable[int]]) -> list[int] | None:
    """A cycle among the members of one submission (index -> indexes it waits for), first and last equal, or None."""
    waiting = {index: {target for target in targets if target in wants} for index, targets in wants.items()}
    dependents: dict[int, list[int]] = {}
    for index, targets in waiting.items():
        for target in targets:
            dependents.setdefault(target, []).append(index)
    open_count = {index: len(targets) for index, targets in waiting.items()}
    free = deque(index for index, count in open_count.items() if count == 0)
    while free:
        for dependent in dependents.get(free.popleft(), ()):
            open_count[dependent] -= 1
            if open_count[dependent] == 0:
                free.append(dependent)
    stuck = {index for index, count in open_count.items() if count > 0}
    return _walk_cycle(stuck, waiting) if stuck else None


def _walk_cycle(stuck: set[int], waiting: Mapping[int, set[int]]) -> list[int]:
    seen: dict[int, int] = {}
    path: list[int] = []
    at = min(stuck)
    while at not in seen:
        seen[at] = len(path)
        path.append(at)
        at = min(target for target in waiting[at] if target in stuck)
    return [*path[seen[at] :], at]


CYCLE_HINT = "leave one of these dependencies out"


def describe_cycle(cycle: list[int], names: Mapping[int, str]) -> str:
    """A cycle as text, the middle of a long one left out; ids without a name stand for themselves."""
    shown = [names.get(task_id, str(task_id)) for task_id in cycle]
    if len(shown) > 8:
        shown = [*shown[:4], "...", *shown[-3:]]
    return " -> ".join(shown)
