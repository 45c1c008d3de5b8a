"""Which edges have changed since the last commit, reduced to the last state of each.

The order in which a store applies them (opened, then closed, then forgotten) is kept in mind here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.model.task import Edge

EdgeName = tuple[int, int | None, str | None, str]


class EdgeChanges:
    """The changes of edges, so reduced that applying all opened, then all closed, then all forgotten is right."""

    __slots__ = ("_closed", "_forgotten", "_opened")

    def __init__(self) -> None:
        self._opened: dict[EdgeName, Edge] = {}
        self._closed: dict[EdgeName, Edge] = {}
        self._forgotten: dict[int, list[Edge]] = {}

    def open(self, edge: Edge) -> None:
        """The edge is open from here on. What its task forgot before is closed one by one, so that this one stays."""
        for old in self._forgotten.pop(edge.task, ()):
            self.close(old)
        name = _name(edge)
        self._closed.pop(name, None)
        self._opened[name] = edge

    def close(self, edge: Edge) -> None:
        """The edge is open no more."""
        self._closed[_name(edge)] = edge

    def forget(self, task_id: int, edges: Iterable[Edge]) -> None:
        """None of the task's edges, which are these, is open any more."""
        self._forgotten.setdefault(task_id, []).extend(edges)

    def list_opened(self) -> list[Edge]:
        """Edges to write first, as open."""
        return list(self._opened.values())

    def list_closed(self) -> list[Edge]:
        """Edges to close after that."""
        return list(self._closed.values())

    def list_forgotten(self) -> list[int]:
        """Tasks whose edges are all to be closed last."""
        return list(self._forgotten)


def _name(edge: Edge) -> EdgeName:
    """What makes an edge one and the same in the store: not until when a key is awaited."""
    return edge.task, edge.target, edge.awaited, edge.condition.value
