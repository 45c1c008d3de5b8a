"""Opening the edges a task wants: what is final already is judged at once.

What an end means for an edge is in `graph`; passing ends down the graph is `state.finish`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.engine.graph import decide_edge
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import WantedEdge
from cronoq_cli.engine.state import State, describe_unmet
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Edge


def open_edges(
    state: State, task: LiveTask, edges: Iterable[WantedEdge], await_s: float | None, now: Now
) -> str | None:
    """Open what is open of a task's wanted edges; why it must be skipped, when one can never be met."""
    unmeetable: str | None = None
    for wanted in edges:
        target = find_target(state, wanted)
        if target is None:
            _await_key(state, task, wanted, now.wall + (await_s or 0.0))
            continue
        final, leaving = _look_up(state, target, wanted.final)
        met = None if final is None else decide_edge(wanted.condition, final, leaving=leaving)
        edge = Edge(task=task.id, condition=wanted.condition, target=target)
        if met is None:
            state.open_edge(edge)
            continue
        state.remember_edge(edge)
        if not met and final is not None:
            unmeetable = describe_unmet(target, final)
    return unmeetable


def find_target(state: State, wanted: WantedEdge) -> int | None:
    """The task an edge waits for; None while nobody has the key it waits for."""
    if wanted.awaited is not None:
        return state.keys.get(wanted.awaited)
    return wanted.target or 0


def _await_key(state: State, task: LiveTask, wanted: WantedEdge, until: float) -> None:
    state.open_edge(Edge(task=task.id, condition=wanted.condition, awaited=wanted.awaited, awaited_until=until))
    state.timers.arm_wall(until, Due.AWAITED, task.id)


def _look_up(state: State, target: int, known: Status | None) -> tuple[Status | None, bool]:
    """The target's final status if it has one, and whether its processes still go; what is unknown never ran."""
    live = state.tasks.look(target) or state.effects.touched.get(target)
    if live is None:
        return known or Status.CANCELLED, False
    return live.status if live.finished_at is not None else None, live.leaving
