"""A task that waits for another one which needs the slot it holds itself: neither would ever end, so it is told."""

from __future__ import annotations

import os

from cronoq_cli.commands.answers import tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.errors import CronoqError
from cronoq_cli.wire.requests import ListTasks, Pools, Selector


def is_in_task(context: Context) -> bool:
    """Whether a task calls this command, with the daemon it belongs to."""
    if not context.env.get("CRONOQ_TASK_ID") or not context.env.get("CRONOQ_POOL"):
        return False
    return context.home is None or os.path.abspath(context.home) == context.env.get("CRONOQ_HOME")


def warn_of_own_slot(context: Context, select: Selector) -> None:
    """Say so when one of the selected tasks waits for a slot of the full pool in which the calling task runs.

    Others there may make room, so this is a note and no error; what cannot be found out is not said.
    """
    if not is_in_task(context):
        return
    name = context.env["CRONOQ_POOL"]
    waiting = Selector(refs=select.refs, tags=select.tags, name_glob=select.name_glob, pools=[name], statuses=["ready"])
    try:
        pool = context.gateway.ask(Pools(name=name)).doc["pool"]
        if pool["busy"] < pool["workers"]:
            return
        found = tasks_of(context.gateway.ask(ListTasks(select=waiting, limit=1)).doc)
    except CronoqError:
        return
    if found:
        note = f"task {found[0]['id']} waits for a slot in pool {name!r}, where the task that waits for it holds one"
        print_notes(context, [f"{note}: unless others end there, neither will; use another pool"])
        context.err.flush()
