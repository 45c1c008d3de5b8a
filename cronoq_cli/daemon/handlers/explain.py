"""Why tasks wait and when they should start, or what decided their end."""

from __future__ import annotations

from typing import Any

from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers.reads import ALL_STATUSES
from cronoq_cli.model.lifecycle import FINAL
from cronoq_cli.wire.requests import Explain, Reply


def explain_tasks(desk: Desk, request: Explain) -> Reply:
    """The explanation of each selected task; one document, or a list of several."""
    ids = desk.selecting.select(request.select, ALL_STATUSES).ids
    found = [_explain_one(desk, task_id) for task_id in ids]
    return Reply(doc={"explain": found[0] if len(found) == 1 else found})


def _explain_one(desk: Desk, task_id: int) -> dict[str, Any]:
    from cronoq_cli.engine.endings import explain_ended
    from cronoq_cli.engine.explain import describe_explanation, explain

    task = desk.scheduler.find_live(task_id)
    if task is not None and task.status not in FINAL:
        return describe_explanation(explain(desk.scheduler.engine.state, task, desk.now()))
    record = desk.get_record(task_id)
    store = desk.scheduler.store
    decided_by = explain_ended(
        record,
        store.list_attempts(task_id),
        store.list_edges(task_id, closed=True),
        None if record.batch is None else store.find_batch(record.batch),
        desk.scheduler.engine.state.policy_of(record.spec),
    )
    nothing = dict.fromkeys(("first", "score", "place", "ahead", "estimated_start", "estimate_basis", "running"))
    return {"id": task_id, "status": record.status.value, "blockers": [], **nothing, "decided_by": decided_by}
