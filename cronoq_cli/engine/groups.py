"""Handing a gathered group over: one task of the group's command that runs for all its members."""

from __future__ import annotations

import msgspec

from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.state import State
from cronoq_cli.engine.submissions import add_task, enter
from cronoq_cli.model.lifecycle import Status


def hand_over(state: State, name: str, now: Now) -> None:
    """Make the group's task and tie its members to it."""
    gathering = state.gatherings.pop(name, None)
    template = state.groups.get(name)
    if gathering is None or template is None:
        return
    found = [state.tasks.get(task_id) for task_id in gathering.members]
    members = [task for task in found if task is not None and _is_gathering(task, name)]
    if not members:
        return
    spec = msgspec.structs.replace(template.spec, members=[task.id for task in members])
    task = add_task(state, spec, state.next_id, now)
    task.facts = {**(task.facts or {}), "members": spec.members}
    for member in members:
        member.gathering, member.gathered_by = "", task.id
        member.reason = f"gathered into {task.id}"
        state.touch(member, now)
    enter(state, task, [], None, now, "submitted")


def _is_gathering(task: LiveTask, name: str) -> bool:
    return task.gathering == name and task.status is Status.BLOCKED and not task.held and not task.open_edges


def group_is_due(state: State, task: LiveTask, now: Now) -> None:
    """A timer of a member has come up: the group goes when its time is really there."""
    name = task.gathering
    gathering, template = state.gatherings.get(name), state.groups.get(name)
    if gathering is not None and template is not None and gathering.due_at(template) <= now.wall:
        hand_over(state, name, now)
