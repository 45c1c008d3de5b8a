"""What can be explained of a task from its stored record alone, while no daemon runs: what holds it, or what ended it.

Scores, places and estimates need the engine; the daemon has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cronoq_cli.engine.endings import explain_ended
from cronoq_cli.model.lifecycle import FINAL, Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.task import AttemptRecord, Batch, Edge, TaskRecord

NO_DAEMON = {"what": "no daemon runs", "detail": "nothing starts until one does: cronoq daemon start"}
ASKS = {"success": "to succeed", "any": "to end", "fail": "to fail", "gone": "to be gone"}


def explain_record(
    record: TaskRecord, edges: Sequence[Edge], attempts: Sequence[AttemptRecord] = (), batch: Batch | None = None
) -> dict[str, Any]:
    """The document of `explain` for one task; what only a daemon could tell is null.

    `edges`: of a final one those that are closed too."""
    nothing = dict.fromkeys(("score", "place", "ahead", "estimated_start", "running"))
    document: dict[str, Any] = {"id": record.id, "status": record.status.value, "first": None, "blockers": []}
    if record.status in FINAL or record.status is Status.RUNNING:
        decided = explain_ended(record, attempts, edges, batch) if record.status in FINAL else None
        return {**document, **nothing, "estimate_basis": None, "decided_by": decided}
    document["blockers"] = [{**NO_DAEMON, "since": None}, *_list_own(record, edges)]
    return {
        **document,
        **nothing,
        "first": dict(NO_DAEMON),
        "estimate_basis": "no daemon runs",
        "decided_by": None,
    }


def _list_own(record: TaskRecord, edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """What would hold the task back also while a daemon runs."""
    blockers = []
    if record.held:
        blockers.append({"what": "held", "detail": "until cronoq release", "since": None})
    for edge in edges:
        target = f"key {edge.awaited}" if edge.target is None else f"task {edge.target}"
        wanted = "to exist" if edge.target is None else ASKS.get(str(edge.condition), str(edge.condition))
        blockers.append({"what": "dependency", "detail": f"{target} has {wanted}", "since": None})
    if record.status in (Status.SCHEDULED, Status.RETRYING) and record.due_at is not None:
        what = "start time" if record.status is Status.SCHEDULED else "backoff"
        blockers.append({"what": what, "detail": f"not before {format_utc(record.due_at)}", "since": None})
    return blockers
