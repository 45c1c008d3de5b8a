"""Opening a task's edges, and skipping it when one can never be met.

What an end means for an edge is in `graph`; passing ends down the graph is `state.finish`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cronoq_cli.engine.graph import decide_edge
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import WantedEdge
from cronoq_cli.engine.state import State
from cronoq_cli.engine.timers import Due
from cronoq_cli.model.lifecycle import Status, Trigger
from cronoq_cli.model.task import Edge


def skip(state: State, task: LiveTask, reason: str, now: Now) -> None:
    """An edge can no longer be met: the task is skipped, whatever else holds it back."""
    if task.status is not Status.BLOCKED:
        counts = state.pools[task.pool].counts
        counts[task.status] -= 1
        counts[Status.BLOCKED] += 1
        task.status = Status.BLOCKED
    task.reason = reason
    state.move(task, Trigger.EDGE_UNMEETABLE, Status.SKIPPED, now)
    state.finish(task, now)


def open_edges(
    state: State, task: LiveTask, edges: Iterable[WantedEdge], await_s: float | None, now: Now
) -> str | None:
    """Open what is open of a task's wanted edges; why it must be skipped, when one can never be met."""
    unmeetable: str | None = None
    for wanted in edges:
        if wanted.awaited is not None:
            _await_key(state, task, wanted, now.wall + (await_s or 0.0))
            continue
        target, final, leaving = _look_up(state, wanted)
        met = None if final is None else decide_edge(wanted.condition, final, leaving=leaving)
        if met is None:
            state.open_edge(Edge(task=task.id, condition=wanted.condition, target=target))
        elif not met and final is not None:
            unmeetable = f"{target} {final.value.replace('_', '-')}"
    return unmeetable


def _await_key(state: State, task: LiveTask, wanted: WantedEdge, until: float) -> None:
    state.open_edge(Edge(task=task.id, condition=wanted.condition, awaited=wanted.awaited, awaited_until=until))
    state.timers.arm_wall(until, Due.AWAITED, task.id)


def _look_up(state: State, wanted: WantedEdge) -> tuple[int, Status | None, bool]:
    """The target, its final status if it has one, and whether its processes still go; what is unknown never ran."""
    target = wanted.target if wanted.target is not None else 0
    live = state.tasks.get(target)
    if live is None:
        return target, wanted.final or Status.CANCELLED, False
    return target, live.status if live.finished_at is not None else None, live.leaving
