"""The dependencies of the store in memory, found by either end without a look at all of them."""

from __future__ import annotations

from collections.abc import Iterator

from cronoq_cli.model.task import Edge

_Key = tuple[int, str, str]
"""Target (0: none yet), awaited key, condition: what tells the dependencies of one task apart."""


class MemoryEdges:
    """Open and closed dependencies; all lists are in the order of task, target, awaited key and condition."""

    def __init__(self) -> None:
        self._of: dict[int, dict[_Key, tuple[Edge, bool]]] = {}
        self._dependents: dict[int, set[int]] = {}

    def open(self, edge: Edge) -> None:
        """Keep one that is open."""
        self._of.setdefault(edge.task, {})[_key(edge)] = (edge, True)
        if edge.target:
            self._dependents.setdefault(edge.target, set()).add(edge.task)

    def close(self, edge: Edge) -> None:
        """Mark one as closed; one that is not known stays unknown."""
        edges = self._of.get(edge.task, {})
        if stored := edges.get(_key(edge)):
            edges[_key(edge)] = (stored[0], False)

    def close_all(self, task: int) -> None:
        """Mark all of a task as closed."""
        edges = self._of.get(task, {})
        edges.update({key: (edge, False) for key, (edge, _) in edges.items()})

    def drop(self, task: int) -> None:
        """Forget those of a task that is gone."""
        for edge, _ in self._of.pop(task, {}).values():
            self._dependents.get(edge.target or 0, set()).discard(task)

    def iter_of(self, task: int) -> Iterator[tuple[Edge, bool]]:
        """The dependencies of a task, and whether each is open."""
        return (found for _, found in sorted(self._of.get(task, {}).items()))

    def iter_to(self, target: int) -> Iterator[tuple[Edge, bool]]:
        """The dependencies on a task, and whether each is open."""
        return (
            found for task in self.list_dependents(target) for found in self.iter_of(task) if found[0].target == target
        )

    def list_dependents(self, target: int) -> list[int]:
        """The tasks with a dependency on that one, open or closed."""
        return sorted(self._dependents.get(target, ()))

    def list_open(self) -> list[Edge]:
        """All that are open."""
        return [edge for task in sorted(self._of) for edge, is_open in self.iter_of(task) if is_open]


def _key(edge: Edge) -> _Key:
    return edge.target or 0, edge.awaited or "", str(edge.condition)
